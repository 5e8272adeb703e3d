package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"piloto/internal/conversation"
)

// sessionRecords serves the sessions of a client.
type sessionRecords struct {
	config Config
	chats  chatRecords
}

// sessions adds the routes of document 004 for the sessions of a client. A session is a chat, so each does the same as the
// route of chats, for a chat by the client's own name.
func (a *api) sessions(s sessionRecords) {
	register(a, operation{
		method: http.MethodGet, path: "/operator/sessions", id: "listSessions", access: withChat,
		summary: "List the sessions, those that changed last first, or search them (Operator API)", failures: []int{422},
	}, s.listSessions)
	register(a, operation{
		method: http.MethodGet, path: "/operator/session/{id}", id: "readSession", access: withChat,
		summary: "Read a session with its newest messages (Operator API)", failures: []int{404},
	}, s.session)
	register(a, operation{
		method: http.MethodPatch, path: "/operator/session/{id}", id: "updateSession", access: withChat,
		summary: "Rename a session, pin or archive it (Operator API)", failures: []int{404, 413, 415, 422},
	}, s.updateSession)
	register(a, operation{
		method: http.MethodDelete, path: "/operator/session/{id}", id: "deleteSession", access: withChat, status: http.StatusNoContent,
		summary: "Delete a session and its messages (Operator API)", failures: []int{404, 409},
	}, s.deleteSession)
	register(a, operation{
		method: http.MethodPost, path: "/operator/session/{id}/branch", id: "branchSession", access: withChat, status: http.StatusCreated,
		summary: "Begin a new session with the messages up to and with one of this session (Operator API)", failures: []int{404, 409, 413, 415, 422},
	}, s.branchSession)
	export := operation{
		method: http.MethodGet, path: "/operator/session/{id}/export", id: "exportSession", access: withChat,
		summary: "The session and its messages as one file (Operator API)", failures: []int{404, 422},
	}
	export.describe = describeExport
	register(a, export, s.exportSession)
}

// Sessions is a page of sessions.
type Sessions struct {
	Sessions []SessionInfo `json:"sessions" nullable:"false"`
	Cursor   string        `json:"cursor,omitempty" doc:"of the next page, when there is one. A page of a search may have fewer than limit, or none, although there is one"`
}

// SessionInfo is a session without its messages.
type SessionInfo struct {
	SessionID    string               `json:"session_id"`
	ChatID       string               `json:"chat_id"`
	UserID       string               `json:"user_id"`
	Title        string               `json:"title"`
	CreatedAt    time.Time            `json:"created_at"`
	UpdatedAt    time.Time            `json:"updated_at"`
	Pinned       bool                 `json:"pinned,omitempty"`
	Archived     bool                 `json:"archived,omitempty"`
	BranchedFrom *conversation.Origin `json:"branched_from,omitempty"`
	Match        *conversation.Match  `json:"match,omitempty"`
}

func showSession(c conversation.Chat) SessionInfo {
	return SessionInfo{
		SessionID: cmp.Or(c.SessionID, c.ID), ChatID: c.ID, UserID: cmp.Or(c.UserID, anyone), Title: c.Title, CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
		Pinned: c.Pinned, Archived: c.Archived, BranchedFrom: c.BranchedFrom,
	}
}

// SessionInput names a session.
type SessionInput struct {
	ID string `path:"id" doc:"as the client named it, or its chat_id"`
}

// chatID returns the chat of a session; "" when no session can have the name.
func (in SessionInput) chatID(ctx context.Context) string {
	if !isPrintable(in.ID) {
		return ""
	}
	return conversation.SessionChat(caller(ctx).Account, in.ID)
}

// asSession replaces the error of a missing chat by that of a missing session.
func asSession(err error) error {
	if errors.Is(err, conversation.ErrChatNotFound) {
		return errSession
	}
	return err
}

func (s sessionRecords) listSessions(ctx context.Context, in *SearchInput) (*reply[Sessions], error) {
	found, cursor, err := s.chats.find(ctx, *in, conversation.ChatFilter{Archived: in.Archived, Sessions: true})
	if err != nil {
		return nil, err
	}
	v := Sessions{Sessions: make([]SessionInfo, len(found)), Cursor: cursor}
	for i, f := range found {
		v.Sessions[i] = showSession(f.Chat)
		v.Sessions[i].Match = f.Match
	}
	return answer(v), nil
}

// SessionChange is the body that changes a session. Absent members are not changed.
type SessionChange struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"200"`
	Pinned   *bool   `json:"pinned,omitempty" doc:"true: it stands before the others, and leaves the archive"`
	Archived *bool   `json:"archived,omitempty" doc:"true: it leaves the list, and is not pinned any more"`
}

func (s sessionRecords) updateSession(ctx context.Context, in *struct {
	SessionInput
	Body SessionChange
},
) (*reply[SessionInfo], error) {
	c, err := s.chats.change(ctx, in.chatID(ctx), conversation.ChatChange{Title: in.Body.Title, Pinned: in.Body.Pinned, Archived: in.Body.Archived})
	if err != nil {
		return nil, asSession(err)
	}
	return answer(showSession(c)), nil
}

func (s sessionRecords) deleteSession(ctx context.Context, in *SessionInput) (*nothing, error) {
	return nil, asSession(s.chats.remove(ctx, in.chatID(ctx)))
}

func (s sessionRecords) branchSession(ctx context.Context, in *struct {
	Keyed
	SessionInput
	Body BranchRequest
},
) (*replayed[SessionInfo], error) {
	return serveOnce(ctx, s.config, func(ctx context.Context, t ticket) (SessionInfo, error) {
		c, err := s.chats.branch(ctx, t, in.chatID(ctx), in.Body.MessageID)
		return showSession(c), asSession(err)
	})
}

func (s sessionRecords) exportSession(ctx context.Context, in *struct {
	SessionInput
	ExportFormat
},
) (*exportReply, error) {
	file, err := s.chats.exported(ctx, in.chatID(ctx), in.ExportFormat)
	return file, asSession(err)
}
