// Package chats owns the rows of chats: their messages, who answers them, who was shown which
// plan, and the projects that they belong to.
package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// Store is the chats of a table.
type Store struct{ table *kv.Table }

// New returns the chats of a table.
func New(table *kv.Table) *Store { return &Store{table} }

// chatsOf is the list of an account's chats, by their last change.
func chatsOf(account string) string { return kv.Account(account) + "#CHATS" }

type chatRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
	ListPK    string `dynamodbav:"GSI1PK"`
	ListSK    string `dynamodbav:"GSI1SK"`
	ChatID    string `dynamodbav:"chat_id"`
	Title     string `dynamodbav:"title,omitempty"`
	ProjectID string `dynamodbav:"project_id,omitempty"`
	CreatedAt int64  `dynamodbav:"created_at"`
	UpdatedAt int64  `dynamodbav:"updated_at"`
	Pending   string `dynamodbav:"pending_run_id,omitempty"`
	Active    string `dynamodbav:"active_run_id,omitempty"`
	Last      string `dynamodbav:"last_run_id,omitempty"`
	LastState string `dynamodbav:"last_run_status,omitempty"`
	LastTS    int64  `dynamodbav:"last_run_ts,omitempty"`
	Automated string `dynamodbav:"automation,omitempty"`
	SessionID string `dynamodbav:"session_id,omitempty"`
	Company   int64  `dynamodbav:"company,omitempty"`
	UserID    string `dynamodbav:"user_id,omitempty"`
	Summary   string `dynamodbav:"context_summary,omitempty"`
	Metadata  []byte `dynamodbav:"metadata_json,omitempty"`
}

func rowOfChat(account string, c conversation.Chat) (chatRow, error) {
	raw, err := encodedMetadata(c.Metadata)
	return chatRow{
		PK: kv.Account(account), SK: "CHAT#" + c.ID, ListPK: chatsOf(account), ListSK: kv.At(c.UpdatedAt, c.ID),
		ChatID: c.ID, Title: c.Title, ProjectID: c.ProjectID, CreatedAt: kv.Millis(c.CreatedAt), UpdatedAt: kv.Millis(c.UpdatedAt),
		Automated: c.Automation, SessionID: c.SessionID, Company: c.Company, UserID: c.UserID, Summary: c.Summary, Metadata: raw,
	}, err
}

var metadata = kv.Document[map[string]json.RawMessage]{Name: "metadata"}

func encodedMetadata(values map[string]json.RawMessage) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}
	return metadata.Encode(values)
}

// metadata returns the values that a client gave with its session. Values that cannot be read
// are left out, because no turn depends on them.
func (row chatRow) metadata() map[string]json.RawMessage {
	values, err := metadata.Decode(row.Metadata)
	if err != nil {
		return nil
	}
	return values
}

func (row chatRow) chat() conversation.Chat {
	c := conversation.Chat{
		ID: row.ChatID, Title: row.Title, ProjectID: row.ProjectID,
		CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt),
		PendingRunID: row.Pending, ActiveRunID: row.Active, LastRunID: row.Last, LastRunStatus: row.LastState,
		Automation: row.Automated, SessionID: row.SessionID, Company: row.Company, UserID: row.UserID, Summary: row.Summary, Metadata: row.metadata(),
	}
	if row.LastTS != 0 {
		at := kv.Time(row.LastTS)
		c.LastRunTS = &at
	}
	return c
}

// CreateChat stores a new chat.
func (s *Store) CreateChat(ctx context.Context, account string, c conversation.Chat) error {
	row, err := rowOfChat(account, c)
	if err != nil {
		return err
	}
	w := kv.Put(row, "attribute_not_exists(PK)", kv.ErrTaken)
	return s.table.Commit(ctx, w)
}

// OpenSession returns the chat of a client's session, and creates it when it does not exist. Values
// of c replace the stored ones; a value that c lacks stays, and so does the first user id.
func (s *Store) OpenSession(ctx context.Context, account string, c conversation.Chat) (conversation.Chat, error) {
	there, err := s.Chat(ctx, account, c.ID)
	if errors.Is(err, conversation.ErrChatNotFound) {
		if err = s.CreateChat(ctx, account, c); !errors.Is(err, kv.ErrTaken) {
			return c, err
		}
		there, err = s.Chat(ctx, account, c.ID) // another request created it
	}
	if err != nil || saysNothingNew(c, there) {
		return there, err
	}
	var sets []string
	values := kv.Item{}
	say := func(attribute string, v kv.Value) {
		sets = append(sets, attribute+" = :"+attribute)
		values[":"+attribute] = v
	}
	if c.Summary != "" {
		say("context_summary", kv.S(c.Summary))
	}
	if c.UserID != "" { // a session keeps its first user
		sets = append(sets, "user_id = if_not_exists(user_id, :user_id)")
		values[":user_id"] = kv.S(c.UserID)
	}
	if len(c.Metadata) > 0 {
		raw, err := encodedMetadata(c.Metadata)
		if err != nil {
			return c, err
		}
		say("metadata_json", kv.B(raw))
	}
	if err := s.table.Commit(ctx, Touch(account, c.ID, c.UpdatedAt, strings.Join(sets, ", "), "", "", values)); err != nil {
		return c, err
	}
	return s.Chat(ctx, account, c.ID)
}

// saysNothingNew reports whether the values of c are those of the stored chat.
func saysNothingNew(c, there conversation.Chat) bool {
	return (c.Summary == "" || c.Summary == there.Summary) && (c.UserID == "" || there.UserID != "") &&
		(len(c.Metadata) == 0 || maps.EqualFunc(c.Metadata, there.Metadata, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }))
}

// Session returns the chat of a client's session with its newest messages before the cursor, in the
// order of their ids, and a cursor to older ones when there are any.
func (s *Store) Session(ctx context.Context, account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error) {
	chat, err := s.Chat(ctx, account, conversation.SessionChat(account, sessionID))
	if err != nil {
		return chat, nil, "", err
	}
	messages, next, err := s.Messages(ctx, account, chat.ID, cursor, sessionMessages)
	return chat, messages, next, err
}

const sessionMessages = 200

// Chat returns a chat, as the last write left it.
func (s *Store) Chat(ctx context.Context, account, id string) (conversation.Chat, error) {
	var row chatRow
	err := s.table.Get(ctx, kv.Account(account), "CHAT#"+id, &row, conversation.ErrChatNotFound)
	return row.chat(), err
}

// Chats returns the account's chats, the last changed first, and a cursor when
// there are more. projectID narrows them to a project; empty means all.
func (s *Store) Chats(ctx context.Context, account, projectID, cursor string, limit int) ([]conversation.Chat, string, error) {
	span := kv.Listed(chatsOf(account))
	if projectID != "" {
		span.Filter, span.Values = "project_id = :vproject", kv.Item{":vproject": kv.S(projectID)}
	}
	items, next, err := s.table.Page(ctx, "chats\x00"+account+"\x00"+projectID, span, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := kv.DecodeAll[chatRow](items)
	if err != nil {
		return nil, "", err
	}
	chats := make([]conversation.Chat, len(rows))
	for i, row := range rows {
		chats[i] = row.chat()
	}
	return chats, next, nil
}

// UpdateChat changes the attributes that change names, and no other.
func (s *Store) UpdateChat(ctx context.Context, account, id string, change conversation.ChatChange, at time.Time) (conversation.Chat, error) {
	var sets, removes []string
	values := kv.Item{}
	say := func(attribute string, v *string) {
		switch {
		case v == nil:
		case *v == "":
			removes = append(removes, attribute)
		default:
			sets = append(sets, attribute+" = :"+attribute)
			values[":"+attribute] = kv.S(*v)
		}
	}
	say("title", change.Title)
	say("project_id", change.ProjectID)
	say("automation", change.Automation)
	w := Touch(account, id, at, strings.Join(sets, ", "), strings.Join(removes, ", "), "", values)
	w = w.Otherwise(conversation.ErrChatNotFound)
	if err := s.table.Commit(ctx, w); err != nil {
		return conversation.Chat{}, err
	}
	return s.Chat(ctx, account, id)
}

// DeleteChat removes a chat and its messages. A chat with an active run stays:
// plan.ErrAlreadyRunning. Its runs remain, because they record actions.
func (s *Store) DeleteChat(ctx context.Context, account, id string) error {
	if _, err := s.Chat(ctx, account, id); err != nil {
		return err
	}
	err := s.table.Commit(ctx, kv.Delete(kv.Account(account), "CHAT#"+id, "attribute_not_exists(active_run_id)", plan.ErrAlreadyRunning))
	if err != nil {
		return err
	}
	items, err := s.table.Read(ctx, kv.Rows(kv.Chat(account, id), messageKind), 0)
	if err != nil {
		return err
	}
	return s.table.DeleteAll(ctx, items)
}

// Touch returns the write that changes a chat and moves it to the top of the list. set and
// remove are parts of its update expression; condition comes on top of that the chat exists.
func Touch(account, id string, at time.Time, set, remove, condition string, values kv.Item) kv.Write {
	expr := "SET updated_at = :now, GSI1SK = :changed"
	if set != "" {
		expr += ", " + set
	}
	if remove != "" {
		expr += " REMOVE " + remove
	}
	cond := "attribute_exists(PK)"
	if condition != "" {
		cond += " AND " + condition
	}
	all := kv.Item{":now": kv.N(kv.Millis(at)), ":changed": kv.S(kv.At(at, id))}
	for k, v := range values {
		all[k] = v
	}
	return kv.Update(kv.Account(account), "CHAT#"+id, expr, cond, all, fault.ErrMoved)
}

const messageKind = "M#"

// messageRow is the messages of one transaction that the assistant wrote: the first one, whose position is in the
// key, and in More those after it. Until format 3 each message has a row.
type messageRow struct {
	Format int    `dynamodbav:"v,omitempty"`
	PK     string `dynamodbav:"PK"`
	SK     string `dynamodbav:"SK"`
	Said
	More []Said `dynamodbav:"more,omitempty"`
}

// messageFormat is the format of a row with more than one message.
const messageFormat = 4

// Said is one message of a row.
type Said struct {
	ID      string    `dynamodbav:"id"`
	Role    string    `dynamodbav:"role"`
	Kind    string    `dynamodbav:"kind"`
	Content string    `dynamodbav:"content"`
	RunID   string    `dynamodbav:"run_id,omitempty"`
	Code    string    `dynamodbav:"code,omitempty"`
	Action  string    `dynamodbav:"action,omitempty"`
	By      *byRow    `dynamodbav:"by,omitempty"`
	Notes   []noteRow `dynamodbav:"notes,omitempty"`
	At      int64     `dynamodbav:"at"`
}

func saidOf(m conversation.Message) Said {
	return Said{
		ID: m.ID, Role: string(m.Role), Kind: string(m.Kind), Content: m.Content, RunID: m.RunID, Code: m.Code, Action: m.Action,
		By: (*byRow)(m.By), Notes: notes[noteRow](m.Notes), At: kv.Millis(m.At),
	}
}

func (s Said) message(seq string) conversation.Message {
	return conversation.Message{
		ID: s.ID, Seq: seq, Role: conversation.Role(s.Role), Kind: conversation.Kind(s.Kind), Content: s.Content, RunID: s.RunID, Code: s.Code,
		Action: s.Action, By: (*conversation.By)(s.By), Notes: notes[conversation.Note](s.Notes), At: kv.Time(s.At),
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

// mostTogether bounds the contents of the messages of one row, in bytes.
const mostTogether = 64 << 10

// Append returns the writes that append messages to a chat. Messages that follow one another, and that no person
// wrote, are one row.
func Append(account, chatID string, list []conversation.Message) []kv.Write {
	var writes []kv.Write
	for len(list) > 0 {
		n := together(list)
		row := messageRow{PK: kv.Chat(account, chatID), SK: messageKind + list[0].Seq, Said: saidOf(list[0])}
		for _, m := range list[1:n] {
			row.Format, row.More = messageFormat, append(row.More, saidOf(m))
		}
		condition := "attribute_not_exists(PK)"
		if list[0].Role == conversation.RoleUser { // a repeated request writes the same message again
			condition = ""
		}
		writes, list = append(writes, kv.Put(row, condition, fault.ErrMoved)), list[n:]
	}
	return writes
}

// together returns how many of the first messages of a list are one row.
func together(list []conversation.Message) int {
	size := 0
	for n, m := range list {
		size += len(m.Content)
		if n > 0 && (m.Role == conversation.RoleUser || list[0].Role == conversation.RoleUser || size > mostTogether || n == mostOfRow) {
			return n
		}
	}
	return len(list)
}

// mostOfRow is how many messages one row holds at most.
const mostOfRow = 100

// AddMessages appends messages to a chat, all or none. Messages that were written before, by
// their ids, are there already. A title is set if the chat has none yet; "" sets none. It
// returns fault.ErrMoved when another writer was faster: the caller writes them again.
func (s *Store) AddMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) error {
	_, err := s.addMessages(ctx, account, chatID, title, at, list)
	return err
}

// AddNewMessages is AddMessages, and says whether the messages were new.
func (s *Store) AddNewMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) (bool, error) {
	return s.addMessages(ctx, account, chatID, title, at, list)
}

func (s *Store) addMessages(ctx context.Context, account, chatID, title string, at time.Time, list []conversation.Message) (bool, error) {
	writes := Append(account, chatID, list)
	for i := range writes {
		writes[i] = writes[i].Otherwise(kv.ErrTaken)
	}
	set, values := "", kv.Item(nil)
	if title != "" {
		set, values = "title = if_not_exists(title, :title)", kv.Item{":title": kv.S(title)}
	}
	w := Touch(account, chatID, at, set, "", "", values)
	w = w.Otherwise(conversation.ErrChatNotFound)
	err := s.table.Commit(ctx, append(writes, w)...)
	if errors.Is(err, kv.ErrTaken) { // all of them were written before, because they are written together
		return false, nil
	}
	return err == nil, err
}

// Say appends a message of a person to a chat that the caller has read. It writes that message alone: the answer
// moves the chat in the list. A repeated request writes the same message again.
func (s *Store) Say(ctx context.Context, account, chatID string, m conversation.Message) error {
	return s.table.Do(ctx, Append(account, chatID, []conversation.Message{m})[0])
}

// Expire has a message deleted that was written while its chat was being deleted. The row is only marked, because
// the function that answers turns may not delete rows of a chat.
func (s *Store) Expire(ctx context.Context, account, chatID, seq string, at time.Time) error {
	w := kv.Update(kv.Chat(account, chatID), messageKind+seq, "SET #ttl = :at", "attribute_exists(PK)", kv.Item{":at": kv.N(at.Unix())}, nil)
	return s.table.Do(ctx, w.Named("#ttl", "ttl"))
}

// Messages returns the newest messages of a chat before the cursor, in the order of their ids, and
// a cursor to older ones when there are any.
func (s *Store) Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error) {
	scope := "messages\x00" + account + "\x00" + chatID
	before, err := kv.ReadCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	if before != "" && !strings.HasPrefix(before, messageKind) { // no list gave it
		return nil, "", kv.ErrCursor
	}
	span := kv.Rows(kv.Chat(account, chatID), messageKind)
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
