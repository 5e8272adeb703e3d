package chats

import (
	"context"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/sweep"
	"piloto/internal/store/kv"
)

const (
	answerKind = "ANSWER#"
	dueAnswers = "ANSWERING"
	answerLife = 7 * 24 * time.Hour // of a reservation that was left: a machine may be off for days
)

type answerRow struct {
	kv.Key
	Until  int64  `dynamodbav:"taken_until"`
	Asked  bool   `dynamodbav:"asked"`
	Locale string `dynamodbav:"locale"`
	DuePK  string `dynamodbav:"DuePK,omitempty"` // while it is not ended
	DueSK  string `dynamodbav:"DueSK,omitempty"`
	TTL    int64  `dynamodbav:"ttl"`
}

func rowOfAnswer(a conversation.Answering) answerRow {
	return answerRow{
		Key: kv.Key{PK: kv.Chat(a.Account, a.ChatID), SK: answerKind + a.MessageID}, Until: kv.Millis(a.Until), Asked: a.Asked, Locale: a.Locale,
		TTL: a.Until.Add(time.Hour).Unix(),
	}
}

// TakeAnswer leases the answer to a message to the caller, or returns conversation.ErrAnswering when somebody else has the
// lease at that time. The turn of the message itself takes the lease of an earlier attempt of the same request, which has
// died.
func (s *Store) TakeAnswer(ctx context.Context, a conversation.Answering, at time.Time) error {
	row := rowOfAnswer(a)
	row.DuePK, row.DueSK, row.TTL = kv.DueList(dueAnswers, a.Account), kv.At(a.Until, a.ChatID+"/"+a.MessageID), a.Until.Add(answerLife).Unix()
	free := kv.Any(kv.Missing("PK"), kv.AtMost("taken_until", at))
	if !a.Asked {
		free = kv.Any(free, kv.Is("asked", false))
	}
	return s.table.Commit(ctx, kv.Put(row).If(free).Else(conversation.ErrAnswering))
}

// EndAnswer ends a reservation of the caller, or one that was left, and adds messages to the chat:
// both or neither.
func (s *Store) EndAnswer(ctx context.Context, a conversation.Answering, at time.Time, said ...conversation.Message) error {
	was := a.Until
	a.Until = at
	ended := kv.Put(rowOfAnswer(a)).If(kv.Is("taken_until", was)).Else(conversation.ErrAnswering)
	if len(said) == 0 {
		return s.table.Commit(ctx, ended)
	}
	writes := Append(a.Key, said)
	return s.table.Commit(ctx, append(writes, ended, Touch(a.Account, a.ChatID, at).Else(conversation.ErrChatNotFound))...)
}

// askedRow notes that an agent is called for a message, or was.
type askedRow struct {
	kv.Key
	Reported bool  `dynamodbav:"told"` // the client knows that the agent failed: it may be called again
	TTL      int64 `dynamodbav:"ttl"`
}

const (
	askedKind = "ASKED#"
	askedLife = 25 * time.Hour // a request may come again for a day
)

func asked(key conversation.Key, messageID string, reported bool, at time.Time) askedRow {
	return askedRow{Key: kv.Key{PK: kv.Chat(key.Account, key.ChatID), SK: askedKind + messageID}, Reported: reported, TTL: at.Add(askedLife).Unix()}
}

// NoteAsked notes that an agent is about to be called for a message. It returns
// conversation.ErrAsked when one was called before, without EndAsked after it.
func (s *Store) NoteAsked(ctx context.Context, key conversation.Key, messageID string, at time.Time) error {
	w := kv.Put(asked(key, messageID, false, at)).If(kv.Any(kv.Missing("PK"), kv.Is("told", true)))
	return s.table.Commit(ctx, w.Else(conversation.ErrAsked))
}

// EndAsked lets an agent be called for a message again. The row stays, because the function that
// answers turns may not delete rows of a chat.
func (s *Store) EndAsked(ctx context.Context, key conversation.Key, messageID string, at time.Time) error {
	return s.table.Commit(ctx, kv.Put(asked(key, messageID, true, at)))
}

// LeftAnswers lists the reservations that were not ended by a time, the oldest first.
func (s *Store) LeftAnswers(ctx context.Context, at time.Time, limit int) ([]sweep.Row[conversation.Answering], error) {
	return kv.DueRows(ctx, s.table, dueAnswers, at, limit, func(k kv.DueKey) (conversation.Answering, error) {
		var row answerRow
		err := s.table.Get(ctx, k.Key, &row, kv.ErrBehind)
		account, chat, ok := kv.ChatOf(k.PK)
		switch {
		case err != nil:
			return conversation.Answering{}, err
		case row.DuePK == "":
			return conversation.Answering{}, kv.ErrBehind
		case !ok:
			return conversation.Answering{}, k.Unknown()
		}
		return conversation.Answering{
			Key: conversation.Key{Account: account, ChatID: chat}, MessageID: strings.TrimPrefix(k.SK, answerKind),
			Until: kv.Time(row.Until), Asked: row.Asked, Locale: row.Locale,
		}, nil
	})
}
