package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// chatRecords serves chats and their messages.
type chatRecords struct {
	config   Config
	chats    Chats
	projects conversation.ProjectReader
	loops    agent.LoopReader
	runs     plan.BareReader
	print    Printer
}

func (a *api) chats(s chatRecords) {
	register(a, operation{
		method: http.MethodGet, path: "/api/chats", id: "listChats", access: withChat,
		summary: "List the chats, the pinned ones first, or search their titles and messages", failures: []int{404, 422},
	}, s.listChats)
	register(a, operation{
		method: http.MethodPost, path: "/api/chats", id: "createChat", access: withChat, optionalBody: true, status: http.StatusCreated,
		summary: "Create a chat", failures: []int{404, 413, 415, 422},
	}, s.createChat)
	register(a, operation{
		method: http.MethodGet, path: "/api/chats/{id}", id: "readChat", access: withChat,
		summary: "Read a chat and its state", failures: []int{404},
	}, s.readChat)
	register(a, operation{
		method: http.MethodPatch, path: "/api/chats/{id}", id: "updateChat", access: withChat,
		summary: "Rename a chat, pin or archive it, move it to another project, or choose when and by which agent it is answered", failures: []int{404, 413, 415, 422},
	}, s.updateChat)
	register(a, operation{
		method: http.MethodDelete, path: "/api/chats/{id}", id: "deleteChat", access: withChat, status: http.StatusNoContent,
		summary: "Delete a chat and its messages", failures: []int{404, 409},
	}, s.deleteChat)
	register(a, operation{
		method: http.MethodGet, path: "/api/chats/{id}/messages", id: "listMessages", access: withChat,
		summary: "Read the newest messages in ascending order; the cursor leads to the ones before", failures: []int{404, 422},
	}, s.messages)
}

// ChatRequest is the body that creates a chat.
type ChatRequest struct {
	Title     string `json:"title,omitempty" maxLength:"200" doc:"made of the first message when absent"`
	ProjectID string `json:"project_id,omitempty"`
}

// ChatChange is the body that changes a chat. Absent members are not changed.
type ChatChange struct {
	Title     *string `json:"title,omitempty" minLength:"1" maxLength:"200"`
	ProjectID *string `json:"project_id,omitempty" doc:"empty takes the chat out of its project"`
	Pinned    *bool   `json:"pinned,omitempty" doc:"true: it stands before the others, and leaves the archive"`
	Archived  *bool   `json:"archived,omitempty" doc:"true: it leaves the list, and is not pinned any more"`

	Automation *string `json:"automation,omitempty" enum:"automatic,manual,off," doc:"when it is answered; empty is as the assistant says"`
	Agent      Named   `json:"agent,omitzero" doc:"of kind loop, that answers from now on; empty or null: none"`
	Conclude   *string `json:"conclude,omitempty" enum:"on,off," doc:"whether the model tells what came of its plans; empty is as the assistant says"`
}

// ChatList is a page of chats.
type ChatList struct {
	Chats  []conversation.Found `json:"chats" nullable:"false"`
	Cursor string               `json:"cursor,omitempty" doc:"of the next page, when there is one. A page of a search may have fewer than limit, or none, although there is one"`
}

// MessageList is a page of a chat's messages.
type MessageList struct {
	Messages []wire.Message `json:"messages" nullable:"false"`
	Cursor   string         `json:"cursor,omitempty" doc:"of the messages before these, when there are some"`
}

type chatInput struct {
	ID string `path:"id"`
}

// SearchInput is a page of a list of chats, or of a search in it.
type SearchInput struct {
	PageInput
	Archived bool   `query:"archived" doc:"the archived chats instead of the others"`
	Q        string `query:"q" maxLength:"200" doc:"words that the title or a message has, without regard to accents and case; also in archived chats"`
}

func (s chatRecords) listChats(ctx context.Context, in *struct {
	SearchInput
	ProjectID string `query:"project_id" doc:"only the chats of this project"`
},
) (*reply[ChatList], error) {
	if err := s.projectOf(ctx, caller(ctx).Account, in.ProjectID); err != nil {
		return nil, err
	}
	found, cursor, err := s.find(ctx, in.SearchInput, conversation.ChatFilter{ProjectID: in.ProjectID, Archived: in.Archived})
	if err != nil {
		return nil, err
	}
	return answer(ChatList{found, cursor}), nil
}

// find returns a page of chats: of a search, when it has words, or of the list.
func (s chatRecords) find(ctx context.Context, in SearchInput, filter conversation.ChatFilter) ([]conversation.Found, string, error) {
	account := caller(ctx).Account
	words := conversation.WordsOf(in.Q)
	if len(words) == 0 && strings.TrimSpace(in.Q) != "" { // all chats would appear as results
		return nil, "", errInvalid.At(field("string_too_short", "query", "q"))
	}
	if len(words) > 0 {
		found, cursor, err := s.chats.FindChats(ctx, account, conversation.Search{Words: words, ProjectID: filter.ProjectID, Archived: filter.Archived, Sessions: filter.Sessions}, in.Cursor, in.size())
		return list(found), cursor, err
	}
	chats, cursor, err := s.chats.Chats(ctx, account, filter, in.Cursor, in.size())
	all := make([]conversation.Found, len(chats))
	for i, c := range chats {
		all[i].Chat = c
	}
	return all, cursor, err
}

func (s chatRecords) createChat(ctx context.Context, in *struct {
	Keyed
	Body ChatRequest
},
) (*replayed[conversation.Chat], error) {
	return serveOnce(ctx, s.config, func(ctx context.Context, t ticket) (c conversation.Chat, err error) {
		account := caller(ctx).Account
		if mayBeRetried(ctx) { // an attempt that died may have made it
			if c, err = s.chats.Chat(ctx, account, t.ID); !errors.Is(err, conversation.ErrChatNotFound) {
				return c, err
			}
		}
		if err := s.projectOf(ctx, account, in.Body.ProjectID); err != nil {
			return c, err
		}
		at := t.At.UTC()
		c = conversation.Chat{ID: t.ID, Title: strings.TrimSpace(in.Body.Title), ProjectID: in.Body.ProjectID, CreatedAt: at, UpdatedAt: at}
		if visible.Blank(c.Title) {
			c.Title = ""
		}
		return c, s.chats.CreateChat(ctx, account, c)
	})
}

func (s chatRecords) readChat(ctx context.Context, in *chatInput) (*reply[conversation.Chat], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrChatNotFound
	}
	c, err := s.chats.Chat(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(c), nil
}

func (s chatRecords) updateChat(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ChatChange
},
) (*reply[conversation.Chat], error) {
	c, err := s.change(ctx, in.ID, conversation.ChatChange{
		Title: in.Body.Title, ProjectID: in.Body.ProjectID, Pinned: in.Body.Pinned, Archived: in.Body.Archived, Automation: in.Body.Automation, Agent: in.Body.Agent.name, Conclude: in.Body.Conclude,
	})
	if err != nil {
		return nil, err
	}
	return answer(c), nil
}

// change checks a change of a chat and makes it.
func (s chatRecords) change(ctx context.Context, chatID string, change conversation.ChatChange) (conversation.Chat, error) {
	var none conversation.Chat
	if !ids.Valid(chatID) {
		return none, conversation.ErrChatNotFound
	}
	account := caller(ctx).Account
	if change.Title != nil {
		trimmed := strings.TrimSpace(*change.Title)
		change.Title = &trimmed
	}
	if change.Pinned != nil && change.Archived != nil && *change.Pinned && *change.Archived {
		return none, errInvalid.At(field("enum", "body", "archived"))
	}
	if change.ProjectID != nil {
		if err := s.projectOf(ctx, account, *change.ProjectID); err != nil {
			return none, err
		}
	}
	if err := s.agentOf(ctx, account, chatID, change.Agent); err != nil {
		return none, err
	}
	return s.chats.UpdateChat(ctx, conversation.Key{Account: account, ChatID: chatID}, change, s.config.Now().UTC())
}

// agentOf checks the agent that a chat chooses, if it chooses one, and writes its name as it is.
func (s chatRecords) agentOf(ctx context.Context, account ids.Account, chatID string, name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	chat, err := s.chats.Chat(ctx, account, chatID)
	switch {
	case err != nil:
		return err
	case chat.Company != 0: // the router answers there
		return agent.ErrRouted
	}
	l, err := agent.Resolve(ctx, s.loops, account, *name)
	*name = l.Name
	return err
}

// Named is a name that a change sets, or takes away with null.
type Named struct{ name *string }

// Schema implements huma.SchemaProvider.
func (Named) Schema(huma.Registry) *huma.Schema {
	most := 40
	s := &huma.Schema{Type: huma.TypeString, Nullable: true, MaxLength: &most}
	s.PrecomputeMessages()
	return s
}

// UnmarshalJSON implements json.Unmarshaler. null is the empty name.
func (n *Named) UnmarshalJSON(raw []byte) error {
	n.name = new(string)
	return json.Unmarshal(raw, n.name)
}

func (s chatRecords) deleteChat(ctx context.Context, in *chatInput) (*nothing, error) {
	return nil, s.remove(ctx, in.ID)
}

// remove deletes a chat.
func (s chatRecords) remove(ctx context.Context, chatID string) error {
	if !ids.Valid(chatID) {
		return conversation.ErrChatNotFound
	}
	account := caller(ctx).Account
	err := s.chats.DeleteChat(ctx, conversation.Key{Account: account, ChatID: chatID})
	if errors.Is(err, plan.ErrAlreadyRunning) {
		return s.blockingRun(ctx, account, chatID, err)
	}
	return err
}

// blockingRun names the run because of which a chat was not deleted. It returns err when the run
// ended meanwhile.
func (s chatRecords) blockingRun(ctx context.Context, account ids.Account, chatID string, err error) error {
	chat, readErr := s.chats.Chat(ctx, account, chatID)
	if readErr != nil || chat.ActiveRunID == "" {
		return err
	}
	active, readErr := s.runs.Bare(ctx, account, chat.ActiveRunID)
	if readErr != nil {
		return err
	}
	return plan.OtherRunning("chat", active)
}

func (s chatRecords) messages(ctx context.Context, in *struct {
	ID string `path:"id"`
	PageInput
},
) (*reply[MessageList], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrChatNotFound
	}
	account := caller(ctx).Account
	messages, cursor, err := s.chats.Messages(ctx, conversation.Key{Account: account, ChatID: in.ID}, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 { // an empty chat, or no such chat
		if _, err := s.chats.Chat(ctx, account, in.ID); err != nil {
			return nil, err
		}
	}
	return answer(MessageList{wire.Messages(messages), cursor}), nil
}

// projectOf returns an error for a project that is not the account's; "" means none.
func (s chatRecords) projectOf(ctx context.Context, account ids.Account, id string) error {
	if id == "" {
		return nil
	}
	if !ids.Valid(id) {
		return conversation.ErrProjectNotFound
	}
	_, err := s.projects.Project(ctx, account, id)
	return err
}
