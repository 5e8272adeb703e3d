package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// A model may ask the person, with a tool. In a turn the question is the answer, and the person answers with the next
// message. In a job it stands in the chat, and the job waits: the next message in that chat is the result of the call.

// Bounds of a question.
const (
	mostOptions = 10
	mostAsked   = 2000 // bytes of a question or of an option
)

// inquiry is what a model asks the person.
type inquiry struct {
	at   int // of its call, in the reply
	text string
}

// readQuestion reads the arguments of ask_person.
func readQuestion(raw json.RawMessage) (string, []fault.Field) {
	var in struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	wrong := decodeStrict(raw, &in, []string{"question", "options"}, "question")
	if len(wrong) > 0 {
		return "", wrong
	}
	if in.Question = strings.TrimSpace(in.Question); in.Question == "" || len(in.Question) > mostAsked {
		wrong = append(wrong, fault.Field{Loc: []any{"question"}, Msg: "must be a question, of at most 2000 bytes", Type: "value_error"})
	}
	if len(in.Options) > mostOptions {
		wrong = append(wrong, fault.Field{Loc: []any{"options"}, Msg: "must be at most 10", Type: "value_error"})
	}
	lines := []string{in.Question}
	for i, o := range in.Options {
		if o = oneLine(o); o == "" || len(o) > mostAsked {
			wrong = append(wrong, fault.Field{Loc: []any{"options", i}, Msg: "must be a text, of at most 2000 bytes", Type: "value_error"})
		}
		lines = append(lines, "- "+o)
	}
	return strings.Join(lines, "\n"), wrong
}

// doAsk takes a question. Nothing is proposed beside it, because the answer may change what is to be proposed.
func doAsk(_ context.Context, _ *dialog, c toolCall) (string, error) {
	text, wrong := readQuestion(c.raw)
	if len(wrong) > 0 {
		return toolErrors(wrong), nil
	}
	if c.batch.question != nil {
		return toolError("", "ask one question at a time: this one was not asked"), nil
	}
	c.batch.question = &inquiry{c.at, text}
	return "", nil
}

// askInTurn ends a turn with a question as its text.
func (d *dialog) askInTurn(ctx context.Context, q *inquiry) (Reply, error) {
	text := d.fullText(q.text)
	notes, err := d.notes(ctx, text)
	if err != nil {
		return Reply{}, err
	}
	return d.finish(ctx, conversation.KindText, locale.Verbatim(shorten(text)), notes...)
}

// Questions takes a person's message as the answer to a question. *job.Service implements it.
type Questions interface {
	// Reply gives a message to the job that asks in its chat. It reports false when that job waits for no answer, and true
	// again for the message that it took.
	Reply(ctx context.Context, account, jobID, messageID, text string) (bool, error)
}

// replyToJob gives a message to the job that asks in the chat. It reports false when none does. A message that a job took
// when it was served before is not answered by a turn either, although that job may have gone on.
func (s *Service) replyToJob(ctx context.Context, req Request, chat conversation.Chat) (Reply, bool, error) {
	if s.Questions == nil {
		return Reply{}, false, nil
	}
	account, at := req.Principal.Account, s.Now()
	if s.mayBeRepeat(req) {
		messages, _, err := s.Store.Messages(ctx, account, chat.ID, "", historyMessages)
		if err != nil {
			return Reply{}, false, err
		}
		if slices.ContainsFunc(messages, func(m conversation.Message) bool { return m.ID == req.MessageID && m.JobID != "" }) {
			return s.transientNotice(req, chat, "turn.job_has_it"), true, nil
		}
	}
	if chat.AskingJobID == "" {
		return Reply{}, false, nil
	}
	message := s.userMessage(req, at)
	message.JobID = chat.AskingJobID
	taken, err := s.Questions.Reply(ctx, account, chat.AskingJobID, message.ID, req.Message)
	if err != nil || !taken {
		return Reply{}, false, err
	}
	if chat, err = s.add(ctx, req, chat, at, message); err != nil {
		return Reply{}, true, err
	}
	return s.transientNotice(req, chat, "turn.job_has_it"), true, nil
}
