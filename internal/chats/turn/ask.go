package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/chats/history"
	"piloto/internal/chats/intent"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/models/llm"
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

// inquiry is a model's question to the person.
type inquiry struct {
	at      int    // of its call, in the reply
	text    string // without its options
	options []conversation.Option
	missing locale.Phrase // says that not all options are there; nil: they are
	tag     locale.Tag
}

// content returns the text of the question with its options.
func (q inquiry) content() string { return q.whole(q.text) }

// whole returns a text that ends with the question, with its options below it.
func (q inquiry) whole(text string) string {
	if q.missing != nil {
		text += "\n\n" + q.missing.In(q.tag)
	}
	return shorten(text) + conversation.OptionLines(q.options)
}

// readQuestion reads the arguments of ask_person: the question, and the errors of its arguments. Without a text there is
// no question.
func readQuestion(raw json.RawMessage, tag locale.Tag) (inquiry, []fault.Field) {
	var in struct {
		Question string          `json:"question"`
		Options  json.RawMessage `json:"options"`
	}
	wrong := toolcall.Decode(raw, &in, []string{"question", "options"}, "question")
	q := inquiry{text: strings.TrimSpace(in.Question), tag: tag}
	if seen(q.text) == "" {
		q.text = ""
	}
	if q.text == "" || len(q.text) > mostAsked {
		wrong = append(wrong, fault.Field{Loc: []any{"question"}, Msg: "must be a question, of at most 2000 bytes; nothing was asked", Type: "value_error"})
	}
	return q, append(wrong, q.offer(in.Options)...)
}

// offer gives a question the options that a model wrote, as far as they can be shown, and returns their errors. An
// invisible option is dropped, and the same one twice is one. When one is missing, the question says so.
func (q *inquiry) offer(raw json.RawMessage) (wrong []fault.Field) {
	bad := func(msg string, loc ...any) {
		wrong = append(wrong, fault.Field{Loc: append([]any{"options"}, loc...), Msg: msg + "; nothing was asked", Type: "value_error"})
	}
	var list []optionText
	if raw = toolcall.Unquote(raw); raw != nil && json.Unmarshal(raw, &list) != nil {
		bad("must be a list of texts, or of {title}")
		q.missing = locale.Say("turn.options_missing")
	}
	var titles, whole []string
	for i, o := range list {
		title := seen(o.title)
		switch {
		case o.strange:
			bad("must be a text that the person can read", i)
			q.missing = locale.Say("turn.options_missing")
			continue
		case title == "" || slices.ContainsFunc(whole, func(before string) bool { return strings.EqualFold(before, title) }):
			continue
		}
		whole = append(whole, title)
		if runes := []rune(title); len(runes) > mostTitle {
			bad("must have at most 200 characters: name the choice, and explain it in the question", i)
			title = clip.Runes(title, mostTitle)
		}
		titles = append(titles, title)
	}
	if n := len(titles); n > mostOptions {
		bad("must be at most 10, and these are " + strconv.Itoa(n) + ": give the likeliest ones, or ask without options")
		q.missing = locale.Say("turn.options_missing")
	}
	q.options = conversation.NewOptions(titles[:min(len(titles), mostOptions)])
	return wrong
}

// optionText is the title of an option. A model may write it as it reads it elsewhere: {"id", "title"}. The ids are ours.
type optionText struct {
	title   string
	strange bool // it is no text
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *optionText) UnmarshalJSON(raw []byte) error {
	var option struct{ Title *string }
	var number json.Number
	switch {
	case json.Unmarshal(raw, &o.title) == nil:
	case json.Unmarshal(raw, &option) == nil && option.Title != nil:
		o.title = *option.Title
	case json.Unmarshal(raw, &number) == nil:
		o.title = number.String()
	default:
		o.strange = true
	}
	return nil
}

// seen returns the visible characters of a text, in one line.
func seen(text string) string { return clip.LineWithout(text, visible.Invisible) }

// doAsk takes a question. Nothing is proposed beside it, because the answer may change the proposal. Errors are returned
// to the model once; then it is asked as it is, because a model that does not mend them would never ask.
func doAsk(_ context.Context, l *loop, c toolCall) (string, error) {
	q, wrong := readQuestion(c.raw, l.req.Locale)
	if len(wrong) > 0 && (q.text == "" || !wasCorrected(l.query.Messages[l.query.Answered:])) {
		return toolcall.Errors(wrong), nil
	}
	if c.batch.question != nil {
		return toolcall.Error("", "ask one question at a time: this one was not asked"), nil
	}
	q.at = c.at
	c.batch.question = &q
	return "", nil
}

// wasCorrected reports whether the model got the errors of a question, in an earlier reply of this turn or job.
func wasCorrected(messages []llm.Message) bool {
	asked := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Calls {
			asked[c.ID] = c.Name == toolset.Ask
		}
		if m.Role == llm.ToolRole && asked[m.CallID] && strings.HasPrefix(m.Content, `{"error"`) {
			return true
		}
	}
	return false
}

// askPerson ends a turn with a question as its text, below the model's text beside the call. Many models write the
// question there, too.
func (d *dialog) askPerson(ctx context.Context, q *inquiry) (Reply, error) {
	text := shorten(d.loop.words.with(""))
	if !strings.HasSuffix(text, q.text) {
		text = strings.TrimSpace(text + "\n\n" + q.text)
	}
	notes, err := d.loop.checker().notes(ctx, withoutOptions(text))
	if err != nil {
		return Reply{}, err
	}
	d.question = q
	return d.finish(ctx, conversation.KindText, locale.Verbatim(q.whole(text)), notes...)
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
	q, asks := conversation.OpenQuestion(st.before(req))
	return asks && !req.sentBefore(q.At)
}

// before returns the last messages of a chat before that of a request.
func (st chatState) before(req Request) []conversation.Message {
	return slices.DeleteFunc(slices.Clone(st.messages), func(m conversation.Message) bool { return req.MessageID != "" && m.ID == req.MessageID })
}

// answersText reports whether a message answers a text of the model, and no plan: since the person's message before, no plan
// was shown, ended or taken back, or that text asks after it.
func (st chatState) answersText(req Request) bool {
	before := st.before(req)
	at := len(before) - 1
	if at < 0 || before[at].Role != conversation.RoleAssistant || before[at].Kind != conversation.KindText || req.sentBefore(before[at].At) {
		return false
	}
	last := before[at]
	for ; at >= 0 && before[at].Role != conversation.RoleUser; at-- {
		if cmp.Or(before[at].RunID, before[at].FromRunID) != "" {
			return last.RunID == "" && last.FromRunID == "" && intent.HasQuestionMark(last.Content)
		}
	}
	return true
}

// Questions takes a person's message as the answer to a question. *job.Service implements it.
type Questions interface {
	// Reply gives a message to the job that asks in its chat. It reports false when that job waits for no answer, and true
	// again for the message that it took.
	Reply(ctx context.Context, account ids.Account, jobID, messageID, text string) (bool, error)
}

// replyToJob gives a message to the job that asks in the chat. It reports false when none does. A message that a job took
// when it was served before is not answered by a turn either, although that job may have gone on.
func (s *Service) replyToJob(ctx context.Context, req Request, chat conversation.Chat) (Reply, bool, error) {
	if s.Questions == nil {
		return Reply{}, false, nil
	}
	account, at := req.Principal.Account, s.Now()
	if s.thread().mayBeRepeat(req) {
		messages, _, err := s.Chats.Messages(ctx, chat.Key(account), "", history.PageMessages)
		if err != nil {
			return Reply{}, false, err
		}
		if slices.ContainsFunc(messages, func(m conversation.Message) bool { return m.ID == req.MessageID && m.JobID != "" }) {
			return s.thread().transientNotice(req, chat, "turn.job_has_it"), true, nil
		}
	}
	if chat.AskingJobID == "" {
		return Reply{}, false, nil
	}
	message := s.thread().userMessage(req, at)
	message.JobID = chat.AskingJobID
	taken, err := s.Questions.Reply(ctx, account, chat.AskingJobID, message.ID, req.Message)
	if err != nil || !taken {
		return Reply{}, false, err
	}
	if chat, err = s.thread().add(ctx, req, chat, at, message); err != nil {
		return Reply{}, true, err
	}
	return s.thread().transientNotice(req, chat, "turn.job_has_it"), true, nil
}
