package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// branches adds the routes of one message: a new chat up to it, and a person's feedback on it.
func (a *api) branches(s chatRecords) {
	register(a, operation{
		method: http.MethodPost, path: "/api/chats/{id}/branch", id: "branchChat", access: withChat, status: http.StatusCreated,
		summary: "Begin a new chat with the messages up to and with one of this chat", failures: []int{404, 409, 413, 415, 422},
	}, s.branchChat)
	register(a, operation{
		method: http.MethodPut, path: "/api/messages/{id}/feedback", id: "setFeedback", access: withChat,
		summary: "Say whether an answer was good, or take that back", failures: []int{404, 409, 413, 415, 422},
	}, s.setFeedback)
}

// BranchRequest is the body of POST /api/chats/{id}/branch.
type BranchRequest struct {
	MessageID string `json:"message_id" minLength:"1" maxLength:"128" doc:"the last message that goes along"`
}

func (s chatRecords) branchChat(ctx context.Context, in *struct {
	Keyed
	ID   string `path:"id"`
	Body BranchRequest
},
) (*replayed[conversation.Chat], error) {
	return serveOnce(ctx, s.config, func(ctx context.Context, t ticket) (conversation.Chat, error) {
		return s.branch(ctx, t, in.ID, in.Body.MessageID)
	})
}

// branch copies a chat up to a message. The ticket is the id of the copy.
func (s chatRecords) branch(ctx context.Context, t ticket, chatID, messageID string) (conversation.Chat, error) {
	if !ids.Valid(chatID) {
		return conversation.Chat{}, conversation.ErrChatNotFound
	}
	account, tag := caller(ctx).Account, requestInfoFrom(ctx).lang
	from, err := s.chats.Chat(ctx, account, chatID)
	switch {
	case err != nil:
		return from, err
	case from.Company != 0: // its messages are those of a customer
		return from, conversation.ErrNotBranched
	}
	title, err := s.branchTitle(ctx, account, from.Title, tag)
	if err != nil {
		return from, err
	}
	at := t.At.UTC()
	to := conversation.Chat{
		ID: t.ID, Title: title, ProjectID: from.ProjectID, CreatedAt: at, UpdatedAt: at, Automation: from.Automation, Agent: from.Agent,
		Conclude: from.Conclude, UserID: from.UserID, Summary: from.Summary, Metadata: from.Metadata,
	}
	if from.SessionID != "" {
		to.SessionID = to.ID
	}
	return s.chats.Branch(ctx, account, conversation.Branch{
		From: from.ID, MessageID: messageID, To: to, PlanNote: locale.Text(tag, "run.branch.plan"),
		Takes: func(bytes int) error { return s.config.takeBytes(ctx, bytes) },
	})
}

// Bounds of the title of a branch.
const (
	mostNames = 200 // chats whose titles it differs from: those that changed last
	mostTitle = 200 // characters, as of every title
)

// branchTitle returns the title of a chat with a mark that it is a branch, and a number when there is such a chat.
func (s chatRecords) branchTitle(ctx context.Context, account ids.Account, title string, tag locale.Tag) (string, error) {
	chats, _, err := s.chats.Chats(ctx, account, conversation.ChatFilter{}, "", mostNames)
	if err != nil {
		return "", err
	}
	named := func(title string, n int) string {
		key := "run.branch.first"
		if n > 1 {
			key = "run.branch.more"
		}
		return strings.TrimSpace(locale.Text(tag, key, "title", title, "n", strconv.Itoa(n)))
	}
	for n := range mostNames { // a branch of a branch has one mark
		if base, marked := strings.CutSuffix(title, " "+named("", n+1)); marked {
			title = base
			break
		}
	}
	title = clip.Runes(title, mostTitle-utf8.RuneCountInString(named("", mostNames))-1)
	n := 1
	for slices.ContainsFunc(chats, func(c conversation.Chat) bool { return c.Title == named(title, n) }) {
		n++
	}
	return named(title, n), nil
}

// FeedbackRequest is the body of PUT /api/messages/{id}/feedback.
type FeedbackRequest struct {
	Rating *conversation.Rating `json:"rating" nullable:"true" enum:"up,down" doc:"null takes the feedback back"`
	Note   string               `json:"note,omitempty" maxLength:"2000"`
}

func (s chatRecords) setFeedback(ctx context.Context, in *struct {
	ID     string `path:"id"`
	ChatID string `query:"chat_id" doc:"of the message. Without it, the message is looked for in the 1,000 chats that changed last"`
	Body   FeedbackRequest
},
) (*reply[wire.Message], error) {
	account := caller(ctx).Account
	chatID := in.ChatID
	if base, _, _ := strings.Cut(in.ID, "#"); !ids.Valid(base) {
		return nil, conversation.ErrMessageNotFound
	}
	if chatID == "" {
		var err error
		if chatID, err = s.chatOfMessage(ctx, account, in.ID); err != nil {
			return nil, err
		}
	}
	var feedback *conversation.Feedback
	note := strings.TrimSpace(in.Body.Note)
	if visible.Blank(note) {
		note = ""
	}
	switch {
	case in.Body.Rating != nil:
		feedback = &conversation.Feedback{Rating: *in.Body.Rating, Note: note, By: caller(ctx).User, At: s.config.Now().UTC()}
	case note != "":
		return nil, errInvalid.At(field("missing", "body", "rating"))
	}
	m, err := s.chats.Rate(ctx, conversation.Key{Account: account, ChatID: chatID}, in.ID, feedback)
	if err != nil {
		return nil, err
	}
	return answer(wire.Message(m)), nil
}

// chatOfMessage returns the chat of a message. The id of a message about the end of a run begins with that of the run.
func (s chatRecords) chatOfMessage(ctx context.Context, account ids.Account, id string) (string, error) {
	runID, _, _ := strings.Cut(id, "#")
	if id != conversation.FinalID(runID) && id != conversation.ConclusionID(runID) {
		return s.chats.ChatOfMessage(ctx, account, id)
	}
	r, err := s.runs.Bare(ctx, account, runID)
	if fault.KindOf(err) == fault.NotFound {
		err = conversation.ErrMessageNotFound
	}
	return r.ChatID, err
}
