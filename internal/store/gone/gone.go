// Package gone owns the rows of deletions that are still due: the files of deleted projects and chats, and the chats that
// name a deleted project.
package gone

import (
	"context"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/store/kv"
)

// Store has the deletions of projects and chats of a table that are still due.
type Store struct{ table *kv.Table }

// New returns the deleted projects and chats of a table.
func New(table *kv.Table) *Store { return &Store{table} }

// goneRow notes that a project or a chat was deleted, and that its files may still be there, and chats that name it.
type goneRow struct {
	kv.Key
	DuePK   string `dynamodbav:"DuePK,omitempty"` // while files are there
	DueSK   string `dynamodbav:"DueSK,omitempty"`
	Project string `dynamodbav:"project_id,omitempty"`
	Chat    string `dynamodbav:"chat_id,omitempty"`
	Bare    bool   `dynamodbav:"no_files,omitempty"`
	TTL     int64  `dynamodbav:"ttl,omitempty"` // once they are deleted
}

const (
	goneKind = "GONE#"
	dueGone  = "GONE" // list
)

func rowOfGone(g conversation.Gone) goneRow {
	return goneRow{Key: kv.Key{PK: kv.Account(g.Account), SK: goneKind + g.ProjectID + "#" + g.ChatID}, Project: g.ProjectID, Chat: g.ChatID, Bare: g.Bare}
}

// Note returns the write that notes that files have to be deleted. They are due at once.
func Note(g conversation.Gone) kv.Write {
	row := rowOfGone(g)
	row.DuePK, row.DueSK = kv.DueList(dueGone, g.Account), dueAt(g, time.Unix(0, 0))
	return kv.Put(row)
}

func dueAt(g conversation.Gone, at time.Time) string { return kv.At(at, g.ProjectID+"#"+g.ChatID) }

// WithFiles lists the deleted projects and chats whose files are still there and due by a time, at most limit.
func (s *Store) WithFiles(ctx context.Context, at time.Time, limit int) ([]sweep.Row[conversation.Gone], error) {
	return kv.DueRows(ctx, s.table, dueGone, at, limit, func(k kv.DueKey) (conversation.Gone, error) {
		var row goneRow
		err := s.table.Get(ctx, k.Key, &row, kv.ErrBehind)
		switch {
		case err == nil && row.DuePK == "":
			err = kv.ErrBehind
		case err == nil && row.Project+row.Chat == "":
			err = k.Unknown()
		}
		return conversation.Gone{Account: kv.AccountOf(k.PK, ""), ProjectID: row.Project, ChatID: row.Chat, Bare: row.Bare}, err
	})
}

// Deleted lists the projects and chats of an account that were deleted, and whose files are still there.
func (s *Store) Deleted(ctx context.Context, account ids.Account) ([]conversation.Gone, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Account(account), goneKind), 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.Readable(ctx, s.table, items, func(row goneRow) (goneRow, error) { return row, nil })
	var list []conversation.Gone
	for _, row := range rows {
		if row.DuePK != "" && !row.Bare {
			list = append(list, conversation.Gone{Account: account, ProjectID: row.Project, ChatID: row.Chat})
		}
	}
	return list, err
}

// PutOffFiles sets when the files of a deleted project or chat are due again, if they are still there.
func (s *Store) PutOffFiles(ctx context.Context, g conversation.Gone, until time.Time) error {
	row := rowOfGone(g)
	return s.table.Do(ctx, kv.Update(row.Key).Set("DueSK", dueAt(g, until)).If(kv.Exists("DuePK")))
}

// WithoutFiles notes that the files of a deleted project or chat are deleted, too. Its row expires.
func (s *Store) WithoutFiles(ctx context.Context, g conversation.Gone, at time.Time) error {
	row := rowOfGone(g)
	row.TTL = at.Unix()
	return s.table.Do(ctx, kv.Put(row))
}
