package httpapi

import (
	"context"
	"log/slog"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/plan"
	"piloto/internal/run"
	"piloto/internal/tool"
	"piloto/internal/turn"
)

// Config is what every handler needs of the world around it.
type Config struct {
	Now   func() time.Time             // the clock
	NewID func(at time.Time) string    // ULIDs
	Trace func(context.Context) string // the trace id of a request
	Log   *slog.Logger                 // for causes, which clients are not told
}

// Turns answers messages.
type Turns interface {
	// Send answers one message. With a Session, ChatID is the client's own name
	// for the chat, which is made when it does not exist.
	Send(ctx context.Context, r turn.Request) (turn.Reply, error)
}

// Runs decides over drafts.
type Runs interface {
	Confirm(ctx context.Context, c run.Confirmation) (run.Decision, error)
	Cancel(ctx context.Context, c run.Cancellation) (run.Decision, error)
}

// Servers is the account's registry of services.
type Servers interface {
	Register(ctx context.Context, account string, r tool.Registration, at time.Time) (tool.Server, []tool.Entry, error)
	Refresh(ctx context.Context, account, id string, at time.Time) (tool.Server, []tool.Entry, tool.Diff, error)
	SetActive(ctx context.Context, account, id string, active bool, at time.Time) (tool.Server, error)
	// SetKey stores a server's key; nil removes it.
	SetKey(ctx context.Context, account, id string, key *tool.Credential, at time.Time) (tool.Server, error)
	Delete(ctx context.Context, account, id string) error
	List(ctx context.Context, account string) ([]tool.Server, error)
	Get(ctx context.Context, account, id string) (tool.Server, []tool.Entry, error)
}

// Store reads and writes what an account holds: projects, chats, messages,
// and the runs it reads only. Every method answers a foreign id as a missing one
// (conversation.ErrChatNotFound, ErrProjectNotFound, plan.ErrRunNotFound), and a
// cursor it did not make for this account and query with "cursor.invalid".
type Store interface {
	CreateProject(ctx context.Context, account string, p conversation.Project) error
	Project(ctx context.Context, account, id string) (conversation.Project, error)
	Projects(ctx context.Context, account string) ([]conversation.Project, error)
	// UpdateProject applies change to the project as it is, once more when it
	// moved meanwhile.
	UpdateProject(ctx context.Context, account, id string, change func(*conversation.Project) error) (conversation.Project, error)
	DeleteProject(ctx context.Context, account, id string) error
	// Server tells whether a service that a project names is the account's.
	Server(ctx context.Context, account, id string) (tool.Server, error)

	CreateChat(ctx context.Context, account string, c conversation.Chat) error
	Chat(ctx context.Context, account, id string) (conversation.Chat, error)
	// Chats lists newest first; projectID "" means all. cursor "" begins, and
	// the returned one is "" at the end.
	Chats(ctx context.Context, account, projectID, cursor string, limit int) ([]conversation.Chat, string, error)
	// UpdateChat writes only the title and the project, each when not nil; a
	// project "" takes the chat out of its project.
	UpdateChat(ctx context.Context, account, id string, title, projectID *string, at time.Time) (conversation.Chat, error)
	DeleteChat(ctx context.Context, account, id string) error

	// Messages returns a page in ascending order: the newest limit messages for
	// cursor "", and the ones before them for the cursor it returns.
	Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error)
	// Session returns the chat that a client named itself, with its newest
	// messages before the cursor in ascending order, and a cursor to older ones.
	Session(ctx context.Context, account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error)

	Run(ctx context.Context, account, id string) (plan.Run, error)
	// Events returns those with a sequence number above after, in order.
	Events(ctx context.Context, account, runID string, after, limit int) ([]plan.Event, error)
}

// Check is one dependency that /health asks.
type Check struct {
	Name string
	Ping func(context.Context) error
}
