package chats

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// Bounds of one page of a search.
const (
	mostSearched  = 200    // chats
	searchedRows  = 10_000 // rows of messages, after which no further chat is read
	searchedChat  = 1_000  // rows of one chat, the newest
	searchedOnce  = 100    // rows of one query
	searchedAtOne = 8      // chats that are read at the same time
)

// FindChats returns chats of an account whose title, or a message, has every word of a search. It reads the chats in
// the order of their lists, the archived ones last, until the page is full or enough was read.
func (s *Store) FindChats(ctx context.Context, account ids.Account, search conversation.Search, cursor string, limit int) ([]conversation.Found, string, error) {
	sections, scope := []section{pinned, plain, archived}, "found\x00"+string(account)+"\x00"+scopeOf(search.ProjectID, search.Sessions)+"\x00"+strings.Join(search.Words, " ")
	if search.Archived {
		sections, scope = []section{archived}, scope+"\x00archived"
	}
	rows, more, err := s.rows.walk(ctx, account, scope, only(search.ProjectID, search.Sessions), sections, cursor, mostSearched)
	if err != nil {
		return nil, "", err
	}
	found := []conversation.Found{}
	var read atomic.Int64
	last := ""
	for part := range slices.Chunk(rows, searchedAtOne) {
		matches := make([]*conversation.Match, len(part))
		reads, within := errgroup.WithContext(ctx)
		for i, row := range part {
			reads.Go(func() (err error) {
				matches[i], err = s.rows.match(within, account, row.chatRow, search.Words, &read)
				return err
			})
		}
		if err := reads.Wait(); err != nil {
			return nil, "", err
		}
		for i, row := range part {
			if matches[i] != nil && len(found) == limit {
				return found, kv.WriteCursor(scope, last), nil
			}
			if last = row.position; matches[i] != nil {
				found = append(found, conversation.Found{Chat: row.chat(), Match: matches[i]})
			}
		}
		if read.Load() >= searchedRows && last != rows[len(rows)-1].position {
			return found, kv.WriteCursor(scope, last), nil
		}
	}
	if more {
		return found, kv.WriteCursor(scope, last), nil
	}
	return found, "", nil
}

// match returns where a chat has all words: in its title, or in the newest message that has them; nil for nowhere.
func (r rows) match(ctx context.Context, account ids.Account, chat chatRow, words []string, read *atomic.Int64) (*conversation.Match, error) {
	if snippet, ok := conversation.Find(chat.Title, words); ok {
		return &conversation.Match{Snippet: snippet}, nil
	}
	span := kv.Rows(kv.Chat(account, chat.ChatID), messageKind)
	span.Newest = true
	var match *conversation.Match
	n := 0
	err := r.table.Each(ctx, span, searchedOnce, func(it kv.Item) (bool, error) {
		var row messageRow
		if err := kv.Decode(it, &row); err != nil {
			return false, err
		}
		read.Add(1)
		for _, m := range slices.Backward(row.messages()) {
			if !m.Searched() {
				continue
			}
			if snippet, ok := conversation.Find(m.Content, words); ok {
				match = &conversation.Match{MessageID: m.ID, Role: m.Role, Snippet: snippet}
				return false, nil
			}
		}
		n++
		return n < searchedChat, nil
	})
	return match, err
}
