package chats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// Bounds of a branch, and of the search for one message.
const (
	mostCopied   = 1000    // rows
	mostCopiedOf = 2 << 20 // bytes of their texts
	writtenAtOne = 8       // rows that are written at the same time
	mostScanned  = 2000    // rows of the chat of a message, from its time on
	mostAsked    = 1000    // chats that are asked for a message
	askedRows    = 100     // of each chat, around the message's time

	slack = time.Minute // between the time in the id of a message and that of its row
)

// errEnough ends a walk over rows.
var errEnough = errors.New("chats: enough was read")

// find returns the row of a message of a chat, and which of its messages it is.
func (r rows) find(ctx context.Context, key conversation.Key, messageID string) (found messageRow, at int, err error) {
	base, _, _ := strings.Cut(messageID, "#")
	from, ok := ids.Time(base)
	if !ok || !ids.Valid(key.ChatID) {
		return found, 0, conversation.ErrMessageNotFound
	}
	span := kv.Rows(kv.Chat(key.Account, key.ChatID), messageKind)
	span.From = messageKind + ids.First(from.Add(-slack))
	n := 0
	err = r.table.Each(ctx, span, searchedOnce, func(it kv.Item) (bool, error) {
		var row messageRow
		if err := kv.Decode(it, &row); err != nil {
			return false, err
		}
		if at = slices.IndexFunc(row.messages(), func(m conversation.Message) bool { return m.ID == messageID }); at >= 0 {
			found = row
			return false, nil
		}
		n++
		return n < mostScanned, nil
	})
	if err == nil && found.SK == "" {
		err = conversation.ErrMessageNotFound
	}
	return found, at, err
}

// ChatOfMessage implements conversation.Rater. A message is in the chat that has its time, or the message that it answers.
func (s *Store) ChatOfMessage(ctx context.Context, account ids.Account, messageID string) (string, error) {
	base, _, _ := strings.Cut(messageID, "#")
	said, ok := ids.Time(base)
	if !ok {
		return "", conversation.ErrMessageNotFound
	}
	sections, scope := []section{pinned, plain, archived}, "message\x00"+string(account)
	rows, _, err := s.rows.walk(ctx, account, scope, kv.Condition{}, sections, "", mostAsked)
	if err != nil {
		return "", err
	}
	rows = slices.DeleteFunc(rows, func(row listedRow) bool { return kv.Time(row.CreatedAt).After(said.Add(slack)) })
	for part := range slices.Chunk(rows, searchedAtOne) {
		has := make([]bool, len(part))
		reads, within := errgroup.WithContext(ctx)
		for i, row := range part {
			reads.Go(func() (err error) {
				has[i], err = s.rows.has(within, conversation.Key{Account: account, ChatID: row.ChatID}, base, said)
				return err
			})
		}
		if err := reads.Wait(); err != nil {
			return "", err
		}
		if i := slices.Index(has, true); i >= 0 {
			return part[i].ChatID, nil
		}
	}
	return "", conversation.ErrMessageNotFound
}

// has reports whether a chat has a message with the time of its id.
func (r rows) has(ctx context.Context, key conversation.Key, messageID string, said time.Time) (bool, error) {
	span := kv.Rows(kv.Chat(key.Account, key.ChatID), messageKind)
	span.From, span.To = messageKind+ids.First(said.Add(-slack)), messageKind+ids.First(said.Add(time.Millisecond))
	items, err := r.table.Read(ctx, span, askedRows)
	if err != nil {
		return false, err
	}
	rows, err := kv.DecodeAll[messageRow](items)
	return slices.ContainsFunc(rows, func(row messageRow) bool {
		return slices.ContainsFunc(row.messages(), func(m conversation.Message) bool { return m.ID == messageID })
	}), err
}

// ratingRow is a feedback on a message. At is unix milliseconds.
type ratingRow struct {
	Rating string `dynamodbav:"rating"`
	Note   string `dynamodbav:"note,omitempty"`
	By     string `dynamodbav:"by,omitempty"`
	At     int64  `dynamodbav:"at"`
}

func ratingOf(f *conversation.Feedback) *ratingRow {
	if f == nil {
		return nil
	}
	return &ratingRow{string(f.Rating), f.Note, f.By, kv.Millis(f.At)}
}

func (row *ratingRow) feedback() *conversation.Feedback {
	if row == nil {
		return nil
	}
	return &conversation.Feedback{Rating: conversation.Rating(row.Rating), Note: row.Note, By: row.By, At: kv.Time(row.At)}
}

// Rate implements conversation.Rater.
func (s *Store) Rate(ctx context.Context, key conversation.Key, messageID string, f *conversation.Feedback) (conversation.Message, error) {
	row, at, err := s.rows.find(ctx, key, messageID)
	if err != nil {
		return conversation.Message{}, err
	}
	m := row.messages()[at]
	if m.Role != conversation.RoleAssistant {
		return m, conversation.ErrNotAnAnswer
	}
	id, feedback := kv.Path("id"), kv.Path("feedback")
	if at > 0 {
		more := kv.Path("more").At(at - 1)
		id, feedback = more.Of("id"), more.Of("feedback")
	}
	w := kv.Update(row.Key).If(kv.Is(id, messageID)).Else(conversation.ErrMessageNotFound)
	if m.Feedback = f; f == nil {
		return m, s.table.Do(ctx, w.Remove(feedback))
	}
	return m, s.table.Do(ctx, w.Set(feedback, ratingOf(f)))
}

// Branch implements conversation.Brancher. The messages are written before the chat, so that nobody sees a part of them. A
// repetition writes the same rows again.
func (s *Store) Branch(ctx context.Context, account ids.Account, b conversation.Branch) (conversation.Chat, error) {
	if there, err := s.Chat(ctx, account, b.To.ID); !errors.Is(err, conversation.ErrChatNotFound) {
		return there, err
	}
	last, at, err := s.rows.find(ctx, conversation.Key{Account: account, ChatID: b.From}, b.MessageID)
	if err == nil && last.Replaced != "" {
		err = conversation.ErrMessageNotFound
	}
	if err != nil {
		return b.To, err
	}
	if last.More = slices.Clone(last.More[:at]); at == 0 {
		last.More = nil
	}
	writes, bytes, all, err := s.rows.copies(ctx, b, last, kv.Chat(account, b.To.ID))
	if err == nil && b.Takes != nil {
		err = b.Takes(bytes)
	}
	if err != nil {
		return b.To, err
	}
	b.To.BranchedFrom = &conversation.Origin{ChatID: b.From, MessageID: b.MessageID, Shortened: !all}
	puts, within := errgroup.WithContext(ctx)
	puts.SetLimit(writtenAtOne)
	for _, w := range writes {
		puts.Go(func() error { return s.table.Do(within, w) })
	}
	puts.Go(func() error { return s.rows.copyRefusals(within, account, b.From, b.To.ID) })
	if err := puts.Wait(); err != nil {
		return b.To, err
	}
	err = s.CreateChat(ctx, account, b.To)
	if errors.Is(err, kv.ErrTaken) { // a repetition was faster
		return s.Chat(ctx, account, b.To.ID)
	}
	return b.To, err
}

// copies returns the writes of the rows that end with last, in another chat, their bytes, and whether these are all of them.
func (r rows) copies(ctx context.Context, b conversation.Branch, last messageRow, to string) (writes []kv.Write, bytes int, all bool, err error) {
	size, read := 0, 0
	copyRow := func(row messageRow) error {
		read++
		for _, m := range row.messages() {
			size += len(m.Content)
			for _, source := range m.Sources {
				size += len(source.Answer)
			}
		}
		if read > mostCopied || size > mostCopiedOf && read > 1 {
			return errEnough
		}
		w, n, err := copied(b, row, to)
		if n > 0 {
			writes, bytes = append(writes, w), bytes+n
		}
		return err
	}
	span := kv.Rows(last.PK, messageKind)
	span.Newest, span.Before = true, last.SK
	if err = copyRow(last); err == nil {
		err = r.table.Each(ctx, span, searchedOnce, func(it kv.Item) (bool, error) {
			var row messageRow
			if err := kv.Decode(it, &row); err != nil {
				return false, err
			}
			return true, copyRow(row)
		})
	}
	if errors.Is(err, errEnough) {
		return writes, bytes, false, nil
	}
	return writes, bytes, true, err
}

// copied returns the write of a row in another chat, and its bytes: 0 when no message of it goes along.
func copied(b conversation.Branch, row messageRow, to string) (w kv.Write, bytes int, err error) {
	seq := strings.TrimPrefix(row.SK, messageKind)
	out := messageRow{Key: kv.Key{PK: to, SK: row.SK}}
	none := true
	for _, m := range row.messages() {
		m, along := b.Copied(m, seq)
		if !along {
			continue
		}
		raw, err := json.Marshal(wire.Message(m))
		if err != nil {
			return w, 0, err
		}
		bytes += len(raw)
		if none {
			out.Said, none = saidOf(m), false
		} else {
			out.More = append(out.More, saidOf(m))
		}
	}
	return kv.Put(out), bytes, nil
}
