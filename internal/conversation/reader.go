package conversation

import (
	"context"

	"piloto/internal/ground/ids"
)

// ChatReader reads a chat. A missing one, or one of another account, is ErrChatNotFound.
type ChatReader interface {
	Chat(ctx context.Context, account ids.Account, id string) (Chat, error)
}

// ChatFilter chooses chats of an account.
type ChatFilter struct {
	ProjectID string // "" means every project
	Archived  bool   // the archived chats instead of the others
	Sessions  bool   // only the sessions of the Operator API
}

// ChatLister lists chats: the pinned ones first, each part by its last change. An empty cursor starts the list, and the
// returned one is empty at its end.
type ChatLister interface {
	Chats(ctx context.Context, account ids.Account, filter ChatFilter, cursor string, limit int) ([]Chat, string, error)
}

// ChatFinder searches titles and messages. A page has at most limit chats, in the order of the list with the archived
// ones last; it may have fewer, or none, although the returned cursor leads to more.
type ChatFinder interface {
	FindChats(ctx context.Context, account ids.Account, search Search, cursor string, limit int) ([]Found, string, error)
}

// MessageReader reads a page of messages in ascending order: the newest for an empty cursor, and
// older ones for the returned cursor. The cursor is empty at the beginning of the chat.
type MessageReader interface {
	Messages(ctx context.Context, key Key, cursor string, limit int) ([]Message, string, error)
}

// ProjectReader reads a project. A missing one, or one of another account, is ErrProjectNotFound.
type ProjectReader interface {
	Project(ctx context.Context, account ids.Account, id string) (Project, error)
}

// ProjectLister lists the projects of an account.
type ProjectLister interface {
	Projects(ctx context.Context, account ids.Account) ([]Project, error)
}
