// Package chats owns the rows of chats: their messages, who answers them, who was shown which
// plan, and the projects that they belong to.
package chats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/runs/plan"
	"piloto/internal/store/gone"
	"piloto/internal/store/jobs"
	"piloto/internal/store/kv"
)

// Store is the chats of a table.
type Store struct {
	table *kv.Table
	rows  rows
}

// New returns the chats of a table.
func New(table *kv.Table) *Store { return &Store{table, rows{table}} }

// rows finds, adds and copies rows.
type rows struct{ table *kv.Table }

type chatRow struct {
	kv.Key
	ListPK    string     `dynamodbav:"GSI1PK"`
	ListSK    string     `dynamodbav:"GSI1SK"`
	ChatID    string     `dynamodbav:"chat_id"`
	Title     string     `dynamodbav:"title,omitempty"`
	ProjectID string     `dynamodbav:"project_id,omitempty"`
	CreatedAt int64      `dynamodbav:"created_at"`
	UpdatedAt int64      `dynamodbav:"updated_at"`
	Pinned    bool       `dynamodbav:"pinned,omitempty"`
	Archived  bool       `dynamodbav:"archived,omitempty"`
	Pending   string     `dynamodbav:"pending_run_id,omitempty"`
	Active    string     `dynamodbav:"active_run_id,omitempty"`
	Last      string     `dynamodbav:"last_run_id,omitempty"`
	LastState string     `dynamodbav:"last_run_status,omitempty"`
	LastTS    int64      `dynamodbav:"last_run_ts,omitempty"`
	Files     bool       `dynamodbav:"has_files,omitempty"`
	Automated string     `dynamodbav:"automation,omitempty"`
	Agent     string     `dynamodbav:"agent_name,omitempty"`
	Conclude  string     `dynamodbav:"conclude,omitempty"`
	Asking    string     `dynamodbav:"asking_job_id,omitempty"`
	SessionID string     `dynamodbav:"session_id,omitempty"`
	Company   int64      `dynamodbav:"company,omitempty"`
	UserID    string     `dynamodbav:"user_id,omitempty"`
	Summary   string     `dynamodbav:"context_summary,omitempty"`
	Metadata  []byte     `dynamodbav:"metadata_json,omitempty"`
	Branched  *originRow `dynamodbav:"branched_from,omitempty"`
}

// originRow is where a chat was copied from.
type originRow struct {
	ChatID    string `dynamodbav:"chat_id"`
	MessageID string `dynamodbav:"message_id"`
	Shortened bool   `dynamodbav:"shortened,omitempty"`
}

// Key returns the key of the row of a chat.
func Key(account ids.Account, id string) kv.Key {
	return kv.Key{PK: kv.Account(account), SK: chatKind + id}
}

const chatKind = "CHAT#"

func rowOfChat(account ids.Account, c conversation.Chat) (chatRow, error) {
	raw, err := encodedMetadata(c.Metadata)
	return chatRow{
		Key: Key(account, c.ID), ListPK: listOf(account, plain), ListSK: kv.At(c.UpdatedAt, c.ID),
		ChatID: c.ID, Title: c.Title, ProjectID: c.ProjectID, CreatedAt: kv.Millis(c.CreatedAt), UpdatedAt: kv.Millis(c.UpdatedAt),
		Automated: c.Automation, Agent: c.Agent, Conclude: c.Conclude, SessionID: c.SessionID, Company: c.Company, UserID: c.UserID, Summary: c.Summary, Metadata: raw,
		Branched: (*originRow)(c.BranchedFrom),
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
		CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt), Pinned: row.Pinned, Archived: row.Archived, Files: row.Files,
		PendingRunID: row.Pending, ActiveRunID: row.Active, LastRunID: row.Last, LastRunStatus: row.LastState,
		Automation: row.Automated, Agent: row.Agent, Conclude: row.Conclude, AskingJobID: row.Asking, SessionID: row.SessionID, Company: row.Company, UserID: row.UserID, Summary: row.Summary, Metadata: row.metadata(),
		BranchedFrom: (*conversation.Origin)(row.Branched),
	}
	if row.LastTS != 0 {
		at := kv.Time(row.LastTS)
		c.LastRunTS = &at
	}
	return c
}

// CreateChat stores a new chat.
func (s *Store) CreateChat(ctx context.Context, account ids.Account, c conversation.Chat) error {
	row, err := rowOfChat(account, c)
	if err != nil {
		return err
	}
	return s.table.Commit(ctx, kv.Insert(row).Else(kv.ErrTaken))
}

// OpenSession returns the chat of a client's session, and creates it when it does not exist. Values
// of c replace the stored ones; a value that c lacks stays, and so does the first user id.
func (s *Store) OpenSession(ctx context.Context, account ids.Account, c conversation.Chat) (conversation.Chat, error) {
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
	w := Touch(account, c.ID, c.UpdatedAt)
	if c.Summary != "" {
		w = w.Set("context_summary", c.Summary)
	}
	if c.UserID != "" { // a session keeps its first user
		w = w.Set("user_id", kv.Path("user_id").IfMissing(c.UserID))
	}
	if len(c.Metadata) > 0 {
		raw, err := encodedMetadata(c.Metadata)
		w = w.Set("metadata_json", raw).Unless(err)
	}
	if err := s.table.Commit(ctx, w); err != nil {
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
func (s *Store) Session(ctx context.Context, account ids.Account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error) {
	chat, err := s.Chat(ctx, account, conversation.SessionChat(account, sessionID))
	if err != nil {
		return chat, nil, "", err
	}
	messages, next, err := s.Messages(ctx, chat.Key(account), cursor, sessionMessages)
	return chat, messages, next, err
}

const sessionMessages = 200

// Chat returns a chat, as the last write left it.
func (s *Store) Chat(ctx context.Context, account ids.Account, id string) (conversation.Chat, error) {
	var row chatRow
	err := s.table.Get(ctx, Key(account, id), &row, conversation.ErrChatNotFound)
	return row.chat(), err
}

// UpdateChat changes the attributes that change names, and no other. A chat that is only named, pinned or
// archived keeps the time of its last change, because nothing happened in it.
func (s *Store) UpdateChat(ctx context.Context, key conversation.Key, change conversation.ChatChange, at time.Time) (chat conversation.Chat, err error) {
	err = retry.Do(ctx, func() error {
		chat, err = s.updateChat(ctx, key, change, at)
		return err
	})
	return chat, err
}

func (s *Store) updateChat(ctx context.Context, key conversation.Key, change conversation.ChatChange, at time.Time) (conversation.Chat, error) {
	w := kv.Update(Key(key.Account, key.ChatID))
	say := func(attribute kv.Path, v *string) {
		switch {
		case v == nil:
		case *v == "":
			w = w.Remove(attribute)
		default:
			w = w.Set(attribute, *v)
		}
	}
	say("project_id", change.ProjectID)
	say("automation", change.Automation)
	say("agent_name", change.Agent)
	say("conclude", change.Conclude)
	touched := !w.IsEmpty()
	say("title", change.Title)
	unchanged, otherwise := kv.Exists("PK"), error(conversation.ErrChatNotFound)
	if change.Pinned != nil || change.Archived != nil || change.Title != nil {
		there, err := s.Chat(ctx, key.Account, key.ChatID)
		if err != nil {
			return there, err
		}
		to, moves := sectionAfter(there, change)
		if !moves && !touched && change.Title == nil {
			return there, nil
		}
		w = w.Set("GSI1PK", listOf(key.Account, to))
		for name, p := range map[kv.Path]section{"pinned": pinned, "archived": archived} {
			if p == to {
				w = w.Set(name, true)
			} else {
				w = w.Remove(name)
			}
		}
		if !touched { // its position in the list stays, unless something happens in it at this moment
			at, unchanged, otherwise = there.UpdatedAt, kv.Is("updated_at", there.UpdatedAt), fault.ErrMoved
		}
	}
	writes := []kv.Write{touch(w, key.ChatID, at).If(unchanged).Else(otherwise)}
	if change.TakesOver() {
		writes = append(writes, stop(key, at))
	}
	if err := s.table.Commit(ctx, writes...); err != nil {
		return conversation.Chat{}, err
	}
	return s.Chat(ctx, key.Account, key.ChatID)
}

// DropAgent takes away the agent that a chat chose, and adds the message that says so, while it still is that agent.
// Otherwise it returns fault.ErrMoved.
func (s *Store) DropAgent(ctx context.Context, key conversation.Key, name string, at time.Time, m conversation.Message) error {
	w := Touch(key.Account, key.ChatID, at).Remove("agent_name").If(kv.Is("agent_name", name))
	return s.table.Commit(ctx, append(Append(key, []conversation.Message{m}), w)...)
}

// SetAsking changes the job that asks in a chat; "" is none. It returns fault.ErrMoved when it was not before, or when
// there is no such chat.
func (s *Store) SetAsking(ctx context.Context, key conversation.Key, before, now string) error {
	w := kv.Update(Key(key.Account, key.ChatID)).If(kv.Exists("PK"), kv.Unchanged("asking_job_id", before)).Else(fault.ErrMoved)
	if now == "" {
		return s.table.Do(ctx, w.Remove("asking_job_id"))
	}
	return s.table.Do(ctx, w.Set("asking_job_id", now))
}

// DeleteChat removes a chat and its messages; its files are due to be deleted. A chat with an active run stays:
// plan.ErrAlreadyRunning. Its runs remain, because they record actions. The sweep ends the jobs that wait for a person
// there. A step that fails after the chat is gone does not prevent the others, because a repetition finds no chat.
func (s *Store) DeleteChat(ctx context.Context, key conversation.Key) error {
	var waiting []string
	err := retry.Do(ctx, func() error {
		chat, err := s.Chat(ctx, key.Account, key.ChatID)
		if err != nil {
			return err
		}
		if chat.ActiveRunID != "" {
			return plan.ErrAlreadyRunning
		}
		if waiting, err = s.rows.jobsOf(ctx, key.Account, chat); err != nil {
			return err
		}
		return s.table.Commit(ctx, removal(key.Account, chat)...)
	})
	if err != nil {
		return err
	}
	var problems []error
	for _, job := range waiting { // one that is missed here is found later, when it is due
		problems = append(problems, jobs.Hurry(ctx, s.table, key.Account, job))
	}
	items, err := s.table.Read(ctx, kv.Rows(kv.Chat(key.Account, key.ChatID), messageKind), 0)
	return errors.Join(append(problems, err,
		s.table.Do(ctx, kv.Delete(summaryKey(key))),
		s.table.DeleteAll(ctx, items))...)
}

// removal returns the writes that delete the row of a chat. They do nothing, and are fault.ErrMoved, when the chat got a
// run or its first file after it was read.
func removal(account ids.Account, chat conversation.Chat) []kv.Write {
	w := kv.Delete(Key(account, chat.ID)).If(kv.Missing("active_run_id")).Else(fault.ErrMoved)
	if !chat.Files {
		return []kv.Write{w.If(kv.Missing("has_files"))}
	}
	return []kv.Write{w.If(kv.Exists("has_files")), gone.Note(conversation.Gone{Account: account, ChatID: chat.ID})}
}

// jobsOf returns the jobs that wait in a chat: for an answer to their question, or for a decision about their plan.
func (r rows) jobsOf(ctx context.Context, account ids.Account, chat conversation.Chat) (list []string, err error) {
	if chat.AskingJobID != "" {
		list = append(list, chat.AskingJobID)
	}
	if chat.PendingRunID == "" {
		return list, nil
	}
	row, err := r.table.Row(ctx, kv.Key{PK: kv.Run(account, chat.PendingRunID), SK: "RUN"})
	if id := kv.Text(row, "job_id"); id != "" {
		list = append(list, id)
	}
	return list, err
}

// Touch returns the write that moves a chat to the top of the list, if the chat is there.
func Touch(account ids.Account, id string, at time.Time) kv.Write {
	return touch(kv.Update(Key(account, id)), id, at).If(kv.Exists("PK")).Else(fault.ErrMoved)
}

func touch(w kv.Write, id string, at time.Time) kv.Write {
	return w.Set("updated_at", at).Set("GSI1SK", kv.At(at, id))
}
