package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
)

// A model may ask the person, with a tool. In a turn the question is the answer, and the person answers with the next
// message. In a job it stands in the chat, and the job waits: the next message in that chat is the result of the call. The
// message is marked as a question (conversation.Message.Asks), so that a yes to it is known by the record, and not by its words.

// Bounds of a question.
const (
	mostOptions = 10
	mostAsked   = 2000 // bytes of a question
	mostTitle   = 200  // characters of an option
)

// inquiry is what a model asks the person.
type inquiry struct {
	at      int    // of its call, in the reply
	text    string // without its options
	options []conversation.Option
}

// content returns the text of the question with its options.
func (q inquiry) content() string { return q.text + conversation.OptionLines(q.options) }

// readQuestion reads the arguments of ask_person.
func readQuestion(raw json.RawMessage) (inquiry, []fault.Field) {
	var in struct {
		Question string       `json:"question"`
		Options  []optionText `json:"options"`
	}
	wrong := decodeStrict(raw, &in, []string{"question", "options"}, "question")
	if len(wrong) > 0 {
		return inquiry{}, wrong
	}
	bad := func(msg string, loc ...any) {
		wrong = append(wrong, fault.Field{Loc: loc, Msg: msg + "; nothing was asked", Type: "value_error"})
	}
	if in.Question = strings.TrimSpace(in.Question); seen(in.Question) == "" || len(in.Question) > mostAsked {
		bad("must be a question, of at most 2000 bytes", "question")
	}
	if n := len(in.Options); n > mostOptions {
		bad("must be at most 10, and these are "+strconv.Itoa(n)+": give the likeliest ones, or ask without options", "options")
		return inquiry{}, wrong
	}
	var titles []string
	for i, o := range in.Options {
		title := seen(string(o))
		switch {
		case title == "":
			bad("must be a text that the person can read", "options", i)
		case utf8.RuneCountInString(title) > mostTitle:
			bad("must have at most 200 characters: name the choice, and explain it in the question", "options", i)
		case slices.ContainsFunc(titles, func(before string) bool { return strings.EqualFold(before, title) }):
			bad("is there twice: give each choice once", "options", i)
		}
		titles = append(titles, title)
	}
	return inquiry{text: in.Question, options: conversation.NewOptions(titles)}, wrong
}

// optionText is the title of an option. A model may write it as it reads it elsewhere: {"id", "title"}. The ids are ours.
type optionText string

// UnmarshalJSON implements json.Unmarshaler.
func (o *optionText) UnmarshalJSON(raw []byte) error {
	var option struct{ Title *string }
	if json.Unmarshal(raw, &option) == nil && option.Title != nil {
		*o = optionText(*option.Title)
		return nil
	}
	return json.Unmarshal(raw, (*string)(o))
}

// seen returns what a person sees of a text, in one line.
func seen(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if ref.Invisible(r) {
			return -1
		}
		return r
	}, text))
}

// doAsk takes a question. Nothing is proposed beside it, because the answer may change what is to be proposed.
func doAsk(_ context.Context, _ *dialog, c toolCall) (string, error) {
	q, wrong := readQuestion(c.raw)
	if len(wrong) > 0 {
		return toolErrors(wrong), nil
	}
	if c.batch.question != nil {
		return toolError("", "ask one question at a time: this one was not asked"), nil
	}
	q.at = c.at
	c.batch.question = &q
	return "", nil
}

// askInTurn ends a turn with a question as its text, below what the model wrote beside the call. Many models write the
// question there, too.
func (d *dialog) askInTurn(ctx context.Context, q *inquiry) (Reply, error) {
	text := shorten(d.fullText(""))
	if !strings.HasSuffix(text, q.text) {
		text = strings.TrimSpace(text + "\n\n" + q.text)
	}
	notes, err := d.questionNotes(ctx, text)
	text += conversation.OptionLines(q.options)
	if err != nil {
		return Reply{}, err
	}
	d.question = q
	return d.finish(ctx, conversation.KindText, locale.Verbatim(text), notes...)
}

// mark makes a message a question.
func (q *inquiry) mark(m *conversation.Message) {
	if q != nil {
		m.Asks, m.Options = true, q.options
	}
}

// openQuestion reports whether a message answers a question of the model: it is the last one, and was there when the person wrote.
// A message that is served again is in the chat already. In a chat of the router the question is to the customer.
func (st chatState) openQuestion(req Request) bool {
	before := slices.DeleteFunc(slices.Clone(st.messages), func(m conversation.Message) bool { return req.MessageID != "" && m.ID == req.MessageID })
	q, asks := conversation.OpenQuestion(before)
	return asks && !req.sentBefore(q.At)
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
