package chats

import (
	"context"

	"piloto/internal/conversation"
	"piloto/internal/store/kv"
)

// place is where a chat is listed. A chat has one place.
type place string

// The places of chats, in the order in which they are read. A place is part of a partition's name.
const (
	pinned   place = "#PINNED"
	plain    place = ""
	archived place = "#ARCHIVED"
)

// listOf is the chats of an account in a place, by their last change.
func listOf(account string, p place) string { return kv.Account(account) + "#CHATS" + string(p) }

// placeAfter returns where a change brings a chat, and whether that is another place. "Not pinned" means nothing for an
// archived chat, nor "not archived" for a pinned one.
func placeAfter(c conversation.Chat, change conversation.ChatChange) (place, bool) {
	now := plain
	switch {
	case c.Archived:
		now = archived
	case c.Pinned:
		now = pinned
	}
	to := now
	switch pin, put := change.Pinned, change.Archived; {
	case pin != nil && *pin:
		to = pinned
	case put != nil && *put:
		to = archived
	case pin != nil && now == pinned, put != nil && now == archived:
		to = plain
	}
	return to, to != now
}

// Chats returns chats of an account, the pinned ones first, each part by its last change, and a cursor when there are
// more.
func (s *Store) Chats(ctx context.Context, account string, filter conversation.ChatFilter, cursor string, limit int) ([]conversation.Chat, string, error) {
	places, scope := []place{pinned, plain}, "chats\x00"+account+"\x00"+scopeOf(filter.ProjectID, filter.Sessions)
	if filter.Archived {
		places, scope = []place{archived}, scope+"\x00archived"
	}
	rows, more, err := s.rows.walk(ctx, account, scope, only(filter.ProjectID, filter.Sessions), places, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	chats := make([]conversation.Chat, len(rows))
	for i, row := range rows {
		chats[i] = row.chat()
	}
	if !more {
		return chats, "", nil
	}
	return chats, kv.WriteCursor(scope, rows[limit-1].position), nil
}

// only returns the filter of the chats of a project ("": of any), or of the sessions among them.
func only(projectID string, sessions bool) (keep kv.Condition) {
	if projectID != "" {
		keep = kv.Is("project_id", projectID)
	}
	if sessions { // a session of the router has a company
		keep = kv.All(keep, kv.Exists("session_id"), kv.Missing("company"))
	}
	return keep
}

// scopeOf is the part of a cursor's scope that names what only keeps.
func scopeOf(projectID string, sessions bool) string {
	if sessions {
		return projectID + "\x00sessions"
	}
	return projectID
}

// listedRow is a chat with its position for a cursor: the number of its place, as a letter, and where it is in the list.
type listedRow struct {
	chatRow
	position string
}

// walk reads at most limit rows of the lists of some places, one list after the other, and says whether there are more.
func (r rows) walk(ctx context.Context, account, scope string, keep kv.Condition, places []place, cursor string, limit int) ([]listedRow, bool, error) {
	position, err := kv.ReadCursor(scope, cursor)
	if err != nil {
		return nil, false, err
	}
	first, before := 0, ""
	if position != "" {
		first, before = int(position[0])-'a', position[1:]
	}
	if first < 0 || first >= len(places) { // no list gave it
		return nil, false, kv.ErrCursor
	}
	var rows []listedRow
	for i := first; i < len(places) && len(rows) <= limit; {
		span := kv.Listed(listOf(account, places[i]))
		span.Newest, span.Before, span.Filter, before = true, before, keep, ""
		most := limit + 1 - len(rows)
		items, err := r.table.Read(ctx, span, most)
		if err != nil {
			return nil, false, err
		}
		part, err := kv.Readable(ctx, r.table, items, func(row chatRow) (listedRow, error) {
			return listedRow{row, string(rune('a'+i)) + row.ListSK}, nil
		})
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, part...)
		if len(items) < most {
			i++
		} else {
			before = kv.Text(items[most-1], "GSI1SK")
		}
	}
	return rows[:min(len(rows), limit)], len(rows) > limit, nil
}
