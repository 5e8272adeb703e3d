package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

type chatRow struct {
	PK        string            `dynamodbav:"PK"`
	SK        string            `dynamodbav:"SK"`
	ListPK    string            `dynamodbav:"GSI1PK"`
	ListSK    string            `dynamodbav:"GSI1SK"`
	ChatID    string            `dynamodbav:"chat_id"`
	Title     string            `dynamodbav:"title,omitempty"`
	ProjectID string            `dynamodbav:"project_id,omitempty"`
	CreatedAt int64             `dynamodbav:"created_at"`
	UpdatedAt int64             `dynamodbav:"updated_at"`
	Pending   string            `dynamodbav:"pending_run_id,omitempty"`
	Active    string            `dynamodbav:"active_run_id,omitempty"`
	Last      string            `dynamodbav:"last_run_id,omitempty"`
	LastState string            `dynamodbav:"last_run_status,omitempty"`
	LastTS    int64             `dynamodbav:"last_run_ts,omitempty"`
	Automated string            `dynamodbav:"automation,omitempty"`
	SessionID string            `dynamodbav:"session_id,omitempty"`
	Company   int64             `dynamodbav:"company,omitempty"`
	UserID    string            `dynamodbav:"user_id,omitempty"`
	Summary   string            `dynamodbav:"context_summary,omitempty"`
	Metadata  []byte            `dynamodbav:"metadata_json,omitempty"`
	Texts     map[string]string `dynamodbav:"metadata,omitempty"` // how it was stored before values kept their types
}

func rowOfChat(account string, c conversation.Chat) (chatRow, error) {
	metadata, err := metadataJSON(c.Metadata)
	return chatRow{
		PK: accountKey(account), SK: "CHAT#" + c.ID, ListPK: chatsIndex(account), ListSK: changedAt(c.UpdatedAt, c.ID),
		ChatID: c.ID, Title: c.Title, ProjectID: c.ProjectID, CreatedAt: millis(c.CreatedAt), UpdatedAt: millis(c.UpdatedAt),
		Automated: c.Automation, SessionID: c.SessionID, Company: c.Company, UserID: c.UserID, Summary: c.Summary, Metadata: metadata,
	}, err
}

func metadataJSON(metadata map[string]json.RawMessage) ([]byte, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	return json.Marshal(metadata)
}

// metadata reads what a client said of its session. What cannot be read is left out,
// because no turn depends on it.
func (row chatRow) metadata() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	if json.Unmarshal(row.Metadata, &out) == nil {
		return out
	}
	for name, text := range row.Texts {
		out[name], _ = json.Marshal(text)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (row chatRow) chat() conversation.Chat {
	c := conversation.Chat{
		ID: row.ChatID, Title: row.Title, ProjectID: row.ProjectID,
		CreatedAt: fromMillis(row.CreatedAt), UpdatedAt: fromMillis(row.UpdatedAt),
		PendingRunID: row.Pending, ActiveRunID: row.Active, LastRunID: row.Last, LastRunStatus: row.LastState,
		Automation: row.Automated, SessionID: row.SessionID, Company: row.Company, UserID: row.UserID, Summary: row.Summary, Metadata: row.metadata(),
	}
	if row.LastTS != 0 {
		at := fromMillis(row.LastTS)
		c.LastRunTS = &at
	}
	return c
}

var errTaken = errors.New("dynamo: the key is taken")

// CreateChat stores a new chat.
func (t *Table) CreateChat(ctx context.Context, account string, c conversation.Chat) error {
	row, err := rowOfChat(account, c)
	if err != nil {
		return err
	}
	w, err := t.put(row, "attribute_not_exists(PK)", errTaken)
	if err != nil {
		return err
	}
	return t.commit(ctx, w)
}

// OpenSession returns the chat of a client's session, made when it does not
// exist. What the client says of it now replaces what it said before; what it
// does not say stays, and so does whom it named first.
func (t *Table) OpenSession(ctx context.Context, account string, c conversation.Chat) (conversation.Chat, error) {
	err := t.CreateChat(ctx, account, c)
	if !errors.Is(err, errTaken) {
		return c, err
	}
	var sets []string
	values := item{}
	say := func(attribute string, v value) {
		sets = append(sets, attribute+" = :"+attribute)
		values[":"+attribute] = v
	}
	if c.Summary != "" {
		say("context_summary", str(c.Summary))
	}
	if c.UserID != "" { // a session is of whom it named first
		sets = append(sets, "user_id = if_not_exists(user_id, :user_id)")
		values[":user_id"] = str(c.UserID)
	}
	if len(c.Metadata) > 0 {
		raw, err := metadataJSON(c.Metadata)
		if err != nil {
			return c, err
		}
		say("metadata_json", &types.AttributeValueMemberB{Value: raw})
	}
	if err := t.commit(ctx, t.touch(account, c.ID, c.UpdatedAt, strings.Join(sets, ", "), "", "", values)); err != nil {
		return c, err
	}
	return t.Chat(ctx, account, c.ID)
}

// Session returns the chat of a client's session with its newest messages before
// the cursor, in the order they were said, and a cursor to older ones when there
// are any.
func (t *Table) Session(ctx context.Context, account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error) {
	chat, err := t.Chat(ctx, account, conversation.SessionChat(account, sessionID))
	if err != nil {
		return chat, nil, "", err
	}
	messages, next, err := t.Messages(ctx, account, chat.ID, cursor, sessionMessages)
	return chat, messages, next, err
}

const sessionMessages = 200

// Chat returns a chat, as the last write left it.
func (t *Table) Chat(ctx context.Context, account, id string) (conversation.Chat, error) {
	var row chatRow
	err := t.get(ctx, accountKey(account), "CHAT#"+id, &row, conversation.ErrChatNotFound)
	return row.chat(), err
}

// Chats returns the account's chats, the last changed first, and a cursor when
// there are more. projectID narrows them to a project; empty means all.
func (t *Table) Chats(ctx context.Context, account, projectID, cursor string, limit int) ([]conversation.Chat, string, error) {
	s := listIn(listed, chatsIndex(account))
	if projectID != "" {
		s.filter, s.values = "project_id = :vproject", item{":vproject": str(projectID)}
	}
	items, next, err := t.page(ctx, "chats\x00"+account+"\x00"+projectID, s, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	var rows []chatRow
	if err := attributevalue.UnmarshalListOfMaps(items, &rows); err != nil {
		return nil, "", err
	}
	chats := make([]conversation.Chat, len(rows))
	for i, row := range rows {
		chats[i] = row.chat()
	}
	return chats, next, nil
}

// UpdateChat changes what is named of a chat, and nothing else.
func (t *Table) UpdateChat(ctx context.Context, account, id string, change conversation.ChatChange, at time.Time) (conversation.Chat, error) {
	var sets, removes []string
	values := item{}
	say := func(attribute string, v *string) {
		switch {
		case v == nil:
		case *v == "":
			removes = append(removes, attribute)
		default:
			sets = append(sets, attribute+" = :"+attribute)
			values[":"+attribute] = str(*v)
		}
	}
	say("title", change.Title)
	say("project_id", change.ProjectID)
	say("automation", change.Automation)
	w := t.touch(account, id, at, strings.Join(sets, ", "), strings.Join(removes, ", "), "", values)
	w.otherwise = conversation.ErrChatNotFound
	if err := t.commit(ctx, w); err != nil {
		return conversation.Chat{}, err
	}
	return t.Chat(ctx, account, id)
}

// DeleteChat removes a chat and its messages. A chat with an active run stays:
// plan.ErrAlreadyRunning. Its runs remain, as the record of what was done.
func (t *Table) DeleteChat(ctx context.Context, account, id string) error {
	if _, err := t.Chat(ctx, account, id); err != nil {
		return err
	}
	err := t.commit(ctx, t.remove(accountKey(account), "CHAT#"+id, "attribute_not_exists(active_run_id)", plan.ErrAlreadyRunning))
	if errors.Is(err, plan.ErrAlreadyRunning) {
		return t.occupied(ctx, account, id, err)
	}
	if err != nil {
		return err
	}
	items, err := t.read(ctx, kindsIn(chatKey(account, id), messageKind), 0)
	if err != nil {
		return err
	}
	return t.removeAll(ctx, items)
}

// occupied names the run because of which a chat may not be deleted; or returns err, when
// the run ended meanwhile.
func (t *Table) occupied(ctx context.Context, account, chatID string, err error) error {
	chat, lookErr := t.Chat(ctx, account, chatID)
	if lookErr != nil || chat.ActiveRunID == "" {
		return err
	}
	active, lookErr := t.Run(ctx, account, chat.ActiveRunID)
	if lookErr != nil {
		return err
	}
	return plan.OtherRunning("chat", active)
}

// touch returns a write that changes a chat and moves it to the top of the list.
func (t *Table) touch(account, id string, at time.Time, set, remove, condition string, values item) write {
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
	all := item{":now": num(millis(at)), ":changed": str(changedAt(at, id))}
	for k, v := range values {
		all[k] = v
	}
	return t.update(accountKey(account), "CHAT#"+id, expr, cond, all, plan.ErrMoved)
}

const messageKind = "M#"

type messageRow struct {
	PK      string    `dynamodbav:"PK"`
	SK      string    `dynamodbav:"SK"`
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

// messages returns the writes that append messages to a chat.
func (t *Table) messages(account, chatID string, list []conversation.Message) ([]write, error) {
	var writes []write
	for _, m := range list {
		unsaid := "attribute_not_exists(PK)"
		if m.Role == conversation.RoleUser { // one that is sent again is the same again
			unsaid = ""
		}
		w, err := t.put(messageRow{
			PK: chatKey(account, chatID), SK: messageKind + m.Seq, ID: m.ID, Role: string(m.Role), Kind: string(m.Kind),
			Content: m.Content, RunID: m.RunID, Code: m.Code, Action: m.Action, By: (*byRow)(m.By), Notes: notes[noteRow](m.Notes), At: millis(m.At),
		}, unsaid, plan.ErrMoved)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// AddMessages appends messages to a chat, all or none; those that were said before,
// by their ids, are there already. A title, when given, is set if the chat has none
// yet. It returns plan.ErrMoved when another writer was faster: write them again.
func (t *Table) AddMessages(ctx context.Context, account, chatID, title string, at time.Time, list ...conversation.Message) error {
	writes, err := t.messages(account, chatID, list)
	if err != nil {
		return err
	}
	for i := range writes {
		writes[i].otherwise = errTaken
	}
	set, values := "", item(nil)
	if title != "" {
		set, values = "title = if_not_exists(title, :title)", item{":title": str(title)}
	}
	w := t.touch(account, chatID, at, set, "", "", values)
	w.otherwise = conversation.ErrChatNotFound
	err = t.commit(ctx, append(writes, w)...)
	if errors.Is(err, errTaken) { // they were said before, all of them: they are written together
		return nil
	}
	return t.told(ctx, account, chatID, list, err)
}

// Messages returns the newest messages of a chat before the cursor, in the
// order they were said, and a cursor to older ones when there are any.
func (t *Table) Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error) {
	scope := "messages\x00" + account + "\x00" + chatID
	before, err := readCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	if before != "" && !strings.HasPrefix(before, messageKind) { // somebody made it up
		return nil, "", ErrCursor
	}
	s := kindsIn(chatKey(account, chatID), messageKind)
	s.newest, s.before = true, before
	items, err := t.read(ctx, s, limit+1)
	if err != nil {
		return nil, "", err
	}
	var said []messageRow
	if err := attributevalue.UnmarshalListOfMaps(items, &said); err != nil {
		return nil, "", err
	}
	next := ""
	if len(said) > limit {
		said = said[:limit]
		next = writeCursor(scope, said[limit-1].SK)
	}
	slices.Reverse(said)
	list := make([]conversation.Message, len(said))
	for i, row := range said {
		list[i] = conversation.Message{
			ID: row.ID, Seq: row.SK[len(messageKind):], Role: conversation.Role(row.Role), Kind: conversation.Kind(row.Kind),
			Content: row.Content, RunID: row.RunID, Code: row.Code, Action: row.Action, By: (*conversation.By)(row.By), Notes: notes[conversation.Note](row.Notes), At: fromMillis(row.At),
		}
	}
	return list, next, nil
}

// notes are the notes of a message, as they are stored or as they are read.
func notes[to, from conversation.Note | noteRow](list []from) []to {
	var out []to
	for _, n := range list {
		out = append(out, to(n))
	}
	return out
}

func conditionFailed(err error) bool {
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}
