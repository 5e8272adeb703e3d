package chats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/excerpt"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ref"
	"piloto/internal/live/hook"
	"piloto/internal/store/hooks"
	"piloto/internal/store/kv"
)

const messageKind = "M#"

// messageRow is the messages of one transaction that the assistant wrote: the first one, whose position is in the
// key, and in More those after it.
type messageRow struct {
	kv.Key
	Said
	More     []Said `dynamodbav:"more,omitempty"`
	Replaced string `dynamodbav:"replaced_by,omitempty"` // of all its messages
}

// Said is one message of a row.
type Said struct {
	ID       string      `dynamodbav:"id"`
	Role     string      `dynamodbav:"role"`
	Kind     string      `dynamodbav:"kind"`
	Content  string      `dynamodbav:"content"`
	RunID    string      `dynamodbav:"run_id,omitempty"`
	JobID    string      `dynamodbav:"job_id,omitempty"`
	Code     string      `dynamodbav:"code,omitempty"`
	Action   string      `dynamodbav:"action,omitempty"`
	By       *byRow      `dynamodbav:"by,omitempty"`
	Notes    []noteRow   `dynamodbav:"notes,omitempty"`
	Sources  []sourceRow `dynamodbav:"sources,omitempty"`
	Calls    []byte      `dynamodbav:"transcript,omitempty"` // JSON of a conversation.Transcript, gzipped when that is shorter
	Writers  []string    `dynamodbav:"writers,omitempty"`
	ReadFrom []string    `dynamodbav:"read_from,omitempty"`
	Status   string      `dynamodbav:"status,omitempty"`
	Stop     string      `dynamodbav:"stop_reason,omitempty"`
	FromRun  string      `dynamodbav:"from_run_id,omitempty"`
	Feedback *ratingRow  `dynamodbav:"feedback,omitempty"`
	Asks     bool        `dynamodbav:"asks,omitempty"`
	Options  []string    `dynamodbav:"options,omitempty"` // their titles
	At       int64       `dynamodbav:"at"`
}

func saidOf(m conversation.Message) Said {
	return Said{
		ID: m.ID, Role: string(m.Role), Kind: string(m.Kind), Content: m.Content, RunID: m.RunID, JobID: m.JobID, Code: m.Code, Action: m.Action,
		By: (*byRow)(m.By), Notes: notes[noteRow](m.Notes), Sources: sourceRows(m.Sources), Writers: m.Writers, ReadFrom: m.ReadFrom, At: kv.Millis(m.At),
		Status: string(m.Status), Stop: string(m.StopReason), FromRun: m.FromRunID, Feedback: ratingOf(m.Feedback),
		Asks: m.Asks, Options: titles(m.Options), Calls: packed(m.Transcript),
	}
}

var transcripts = kv.Document[conversation.Transcript]{Name: "transcript"}

// packed returns a transcript as a row has it; nil for none.
func packed(t *conversation.Transcript) []byte {
	if t == nil {
		return nil
	}
	raw, err := transcripts.Pack(*t.Kept())
	if err != nil { // an extra member is no JSON: the message is stored without what led to it
		return nil
	}
	return raw
}

// unpacked returns the transcript of a row; nil for none, and for one that cannot be read: the text of the message is there.
func unpacked(raw []byte) *conversation.Transcript {
	if raw == nil {
		return nil
	}
	t, err := transcripts.Unpack(raw)
	if err != nil {
		return nil
	}
	return &t
}

func (s Said) message(seq string) conversation.Message {
	return conversation.Message{
		ID: s.ID, Seq: seq, Role: conversation.Role(s.Role), Kind: conversation.Kind(s.Kind), Content: s.Content, RunID: s.RunID, JobID: s.JobID, Code: s.Code,
		Action: s.Action, By: (*conversation.By)(s.By), Notes: notes[conversation.Note](s.Notes), Sources: sources(s.Sources), Writers: s.Writers, ReadFrom: s.ReadFrom, At: kv.Time(s.At),
		Status: conversation.Status(s.Status), StopReason: conversation.StopReason(s.Stop),
		FromRunID: s.FromRun, Feedback: s.Feedback.feedback(),
		Asks: s.Asks, Options: conversation.NewOptions(s.Options), Transcript: unpacked(s.Calls),
	}
}

// messages returns the messages of a row, in order. The positions of those after the first one extend its own, so
// that no other message stands between them.
func (row messageRow) messages() []conversation.Message {
	seq := row.SK[len(messageKind):]
	list := []conversation.Message{row.message(seq)}
	for i, said := range row.More {
		list = append(list, said.message(seq+"."+kv.Pad(int64(i+1), 3)))
	}
	for i := range list {
		list[i].ReplacedBy = row.Replaced
	}
	return list
}

// titles returns the titles of options, whose ids follow from their order.
func titles(options []conversation.Option) (list []string) {
	for _, o := range options {
		list = append(list, o.Title)
	}
	return list
}

type byRow struct {
	Agent     string `dynamodbav:"agent,omitempty"`
	Provider  string `dynamodbav:"provider"`
	Model     string `dynamodbav:"model"`
	Preferred string `dynamodbav:"preferred,omitempty"`
	Reason    string `dynamodbav:"reason,omitempty"`
	Stopped   bool   `dynamodbav:"stopped,omitempty"`
}

type noteRow struct {
	Code string `dynamodbav:"code"`
	Text string `dynamodbav:"text"`
}

// sourceRow is a read of an answer. At is unix milliseconds.
type sourceRow struct {
	ID          string   `dynamodbav:"id"`
	MCPID       string   `dynamodbav:"mcp_id"`
	Service     string   `dynamodbav:"service"`
	Tool        string   `dynamodbav:"tool,omitempty"`
	Method      string   `dynamodbav:"method,omitempty"`
	URL         string   `dynamodbav:"url"`
	Status      int      `dynamodbav:"status,omitempty"`
	At          int64    `dynamodbav:"at"`
	RequestHash string   `dynamodbav:"request_hash"`
	AnswerHash  string   `dynamodbav:"answer_hash,omitempty"`
	Bytes       int      `dynamodbav:"bytes,omitempty"`
	Answer      string   `dynamodbav:"answer,omitempty"`
	Cut         bool     `dynamodbav:"cut,omitempty"`
	Cuts        []cutRow `dynamodbav:"cuts,omitempty"`
	Error       string   `dynamodbav:"error,omitempty"`
	Call        string   `dynamodbav:"call,omitempty"` // JSON

	Names []namedRow `dynamodbav:"names,omitempty"`
}

// cutRow is an excerpt.Cut.
type cutRow struct {
	At    string `dynamodbav:"at,omitempty"`
	Shown int    `dynamodbav:"shown"`
	Of    int    `dynamodbav:"of"`
	More  bool   `dynamodbav:"more,omitempty"`
}

// namedRow is a ref.Named.
type namedRow struct {
	Name  string `dynamodbav:"name"`
	Label string `dynamodbav:"label"`
}

func sourceRows(list []conversation.Source) []sourceRow {
	var rows []sourceRow
	for _, s := range list {
		var names []namedRow
		for _, n := range s.Names {
			names = append(names, namedRow(n))
		}
		var cuts []cutRow
		for _, c := range s.Cuts {
			cuts = append(cuts, cutRow(c))
		}
		rows = append(rows, sourceRow{
			s.ID, s.MCPID, s.Service, s.Tool, s.Method, s.URL, s.Status, kv.Millis(s.At), s.RequestHash, s.AnswerHash, s.Bytes, s.Answer, s.Cut, cuts, s.Error, string(s.Call), names,
		})
	}
	return rows
}

func sources(rows []sourceRow) []conversation.Source {
	var list []conversation.Source
	for _, r := range rows {
		var call json.RawMessage
		if r.Call != "" {
			call = json.RawMessage(r.Call)
		}
		var names []ref.Named
		for _, n := range r.Names {
			names = append(names, ref.Named(n))
		}
		var cuts []excerpt.Cut
		for _, c := range r.Cuts {
			cuts = append(cuts, excerpt.Cut(c))
		}
		list = append(list, conversation.Source{
			Call: call, Names: names, ID: r.ID, MCPID: r.MCPID, Service: r.Service, Tool: r.Tool, Method: r.Method, URL: r.URL, Status: r.Status, At: kv.Time(r.At),
			RequestHash: r.RequestHash, AnswerHash: r.AnswerHash, Bytes: r.Bytes, Answer: r.Answer, Cut: r.Cut, Cuts: cuts, Error: r.Error,
		})
	}
	return list
}

// Bounds of one row.
const (
	mostTogether = 64 << 10 // bytes of the contents of its messages, unless there is only one
	mostOfRow    = 100      // messages
)

// Append returns the writes that append messages to a chat. Messages that follow one another, and that no person
// wrote, are one row.
func Append(key conversation.Key, list []conversation.Message) []kv.Write {
	var writes []kv.Write
	for len(list) > 0 {
		n := together(list)
		row := messageRow{Key: kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: messageKind + list[0].Seq}, Said: saidOf(list[0])}
		for _, m := range list[1:n] {
			row.More = append(row.More, saidOf(m))
		}
		w := kv.Put(row).Else(fault.ErrMoved)
		if list[0].Role != conversation.RoleUser { // a repeated request writes the same message again
			w = w.If(kv.Missing("PK"))
		}
		writes, list = append(writes, w), list[n:]
	}
	return writes
}

// together returns how many of the first messages of a list are one row.
func together(list []conversation.Message) int {
	size := 0
	for n, m := range list {
		size += len(m.Content)
		for _, s := range m.Sources {
			size += len(s.Answer)
		}
		if n > 0 && (m.Role == conversation.RoleUser || list[0].Role == conversation.RoleUser || size > mostTogether || n == mostOfRow) {
			return n
		}
	}
	return len(list)
}

// AddMessages appends messages to a chat, all or none. Messages that were written before, by
// their ids, are there already. A title is set if the chat has none yet; "" sets none. It
// returns fault.ErrMoved when another writer was faster: the caller writes them again.
func (s *Store) AddMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) error {
	_, err := s.rows.add(ctx, key, title, at, list)
	return err
}

// AddNotified appends a message to a chat as AddMessages does, with its notification, and reports whether it was new.
func (s *Store) AddNotified(ctx context.Context, key conversation.Key, title string, at time.Time, m conversation.Message, what hook.Message) (bool, error) {
	outbox, err := hooks.Tell(ctx, s.table, key.Account, key.ChatID+"#"+m.ID, at, what)
	if err != nil {
		return false, err
	}
	return s.rows.add(ctx, key, title, at, []conversation.Message{m}, outbox...)
}

// AddNewMessages is AddMessages, and says whether the messages were new.
func (s *Store) AddNewMessages(ctx context.Context, key conversation.Key, title string, at time.Time, list ...conversation.Message) (bool, error) {
	return s.rows.add(ctx, key, title, at, list)
}

func (r rows) add(ctx context.Context, key conversation.Key, title string, at time.Time, list []conversation.Message, beside ...kv.Write) (bool, error) {
	writes := Append(key, list)
	for i := range writes {
		writes[i] = writes[i].Else(kv.ErrTaken)
	}
	w := Touch(key.Account, key.ChatID, at).Else(conversation.ErrChatNotFound)
	if title != "" {
		w = w.Set("title", kv.Path("title").IfMissing(title))
	}
	err := r.table.Commit(ctx, slices.Concat(writes, []kv.Write{w}, beside)...)
	if errors.Is(err, kv.ErrTaken) { // all of them were written before, because they are written together
		return false, nil
	}
	return err == nil, err
}

// Say appends a message of a person to a chat that the caller has read. It writes that message alone: the answer
// moves the chat in the list. A repeated request writes the same message again.
func (s *Store) Say(ctx context.Context, key conversation.Key, m conversation.Message) error {
	return s.table.Do(ctx, Append(key, []conversation.Message{m})[0])
}

// Replace appends messages to a chat and marks others as superseded by the last of them, in one transaction. It returns
// fault.ErrMoved when they were superseded meanwhile, and conversation.ErrChatNotFound.
func (s *Store) Replace(ctx context.Context, key conversation.Key, at time.Time, replaced []conversation.Message, list ...conversation.Message) error {
	writes := append(Append(key, list), Touch(key.Account, key.ChatID, at).Else(conversation.ErrChatNotFound))
	return s.table.Commit(ctx, append(writes, Replaced(key, replaced, list...)...)...)
}

// Replaced returns the writes that mark messages as superseded by the last one of a list. The mark is on the row, which has
// the messages of one answer.
func Replaced(key conversation.Key, replaced []conversation.Message, list ...conversation.Message) []kv.Write {
	var writes []kv.Write
	var rows []string
	for _, m := range replaced {
		row, _, _ := strings.Cut(m.Seq, ".")
		if slices.Contains(rows, row) {
			continue
		}
		rows = append(rows, row)
		w := kv.Update(kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: messageKind + row}).Set("replaced_by", list[len(list)-1].ID)
		writes = append(writes, w.If(kv.Exists("PK"), kv.Missing("replaced_by")).Else(fault.ErrMoved))
	}
	return writes
}

// Expire has a message deleted that was written while its chat was being deleted. The row is only marked, because
// the function that answers turns may not delete rows of a chat.
func (s *Store) Expire(ctx context.Context, key conversation.Key, seq string, at time.Time) error {
	w := kv.Update(kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: messageKind + seq})
	return s.table.Do(ctx, w.Set("ttl", at.Unix()).If(kv.Exists("PK")))
}

// Messages returns the newest messages of a chat before the cursor, in the order of their ids, and
// a cursor to older ones when there are any.
func (s *Store) Messages(ctx context.Context, key conversation.Key, cursor string, limit int) ([]conversation.Message, string, error) {
	scope := "messages\x00" + string(key.Account) + "\x00" + key.ChatID
	before, err := kv.ReadCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	if before != "" && !strings.HasPrefix(before, messageKind) { // no list gave it
		return nil, "", kv.ErrCursor
	}
	span := kv.Rows(kv.Chat(key.Account, key.ChatID), messageKind)
	span.Newest, span.Before = true, before
	items, err := s.table.Read(ctx, span, limit+1)
	if err != nil {
		return nil, "", err
	}
	rows, err := kv.DecodeAll[messageRow](items)
	if err != nil {
		return nil, "", err
	}
	list := []conversation.Message{} // the newest first
	for _, row := range rows {
		for _, m := range slices.Backward(row.messages()) {
			if before == "" || messageKind+m.Seq < before {
				list = append(list, m)
			}
		}
	}
	next := ""
	if len(list) > limit {
		list = list[:limit]
		next = kv.WriteCursor(scope, messageKind+list[limit-1].Seq)
	}
	slices.Reverse(list)
	return list, next, nil
}

// notes converts the notes of a message between their stored form and their own.
func notes[to, from conversation.Note | noteRow](list []from) []to {
	var out []to
	for _, n := range list {
		out = append(out, to(n))
	}
	return out
}
