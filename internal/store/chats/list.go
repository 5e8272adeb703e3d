package chats

import (
	"context"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// section is the list in which a chat stands. A chat is in one list.
type section string

// The lists of chats, in the order in which they are read. The value is part of a partition's name.
const (
	pinned   section = "#PINNED"
	plain    section = ""
	archived section = "#ARCHIVED"
)

// listOf is the partition of a list of an account's chats, sorted by their last change.
func listOf(account ids.Account, p section) string { return kv.Account(account) + "#CHATS" + string(p) }

// sectionAfter returns the list of a chat after a change, and whether that is another list. "Not pinned" has no effect on an
// archived chat, nor "not archived" on a pinned one.
func sectionAfter(c conversation.Chat, change conversation.ChatChange) (section, bool) {
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
func (s *Store) Chats(ctx context.Context, account ids.Account, filter conversation.ChatFilter, cursor string, limit int) ([]conversation.Chat, string, error) {
	sections, scope := []section{pinned, plain}, "chats\x00"+string(account)+"\x00"+scopeOf(filter.ProjectID, filter.Sessions)
	if filter.Archived {
		sections, scope = []section{archived}, scope+"\x00archived"
	}
	rows, more, err := s.rows.walk(ctx, account, scope, only(filter.ProjectID, filter.Sessions), sections, cursor, limit)
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

// scopeOf is the part of a cursor's scope that names the filter of the list.
func scopeOf(projectID string, sessions bool) string {
	if sessions {
		return projectID + "\x00sessions"
	}
	return projectID
}

// listedRow is a chat with its position for a cursor: the number of its list, as a letter, and its sort key in the list.
type listedRow struct {
	chatRow
	position string
}

// walk reads at most limit rows of some lists, one list after the other, and reports whether there are more.
func (r rows) walk(ctx context.Context, account ids.Account, scope string, keep kv.Condition, sections []section, cursor string, limit int) ([]listedRow, bool, error) {
	position, err := kv.ReadCursor(scope, cursor)
	if err != nil {
		return nil, false, err
	}
	first, before := 0, ""
	if position != "" {
		first, before = int(position[0])-'a', position[1:]
	}
	if first < 0 || first >= len(sections) { // no list gave it
		return nil, false, kv.ErrCursor
	}
	var rows []listedRow
	for i := first; i < len(sections) && len(rows) <= limit; {
		span := kv.Listed(listOf(account, sections[i]))
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
