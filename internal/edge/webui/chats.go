package webui

import (
	"context"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
)

// chatRow is a chat in the list. Same says that another one of the page has its name.
type chatRow struct {
	conversation.Chat
	Name string
	Same bool
}

func chatRows(list []conversation.Chat, tag locale.Tag) []chatRow {
	rows, names := make([]chatRow, len(list)), map[string]int{}
	for i, c := range list {
		rows[i] = chatRow{Chat: c, Name: nameOf(c, tag)}
		names[rows[i].Name]++
	}
	for i := range rows {
		rows[i].Same = names[rows[i].Name] > 1
	}
	return rows
}

// nameOf returns the name of a chat on the page.
func nameOf(c conversation.Chat, tag locale.Tag) string {
	switch {
	case c.Title != "":
		return title(c.Title)
	case c.Company != 0:
		return plain(c.SessionID)
	}
	return locale.Text(tag, "page.chat.untitled")
}

// chatList reads the list of chats.
type chatList struct {
	chats    Chats
	projects conversation.ProjectLister
	waits    waitReader
}

func (l chatList) side(ctx context.Context, v visit, filter conversation.ChatFilter, chatID, cursor string) (sidebar, error) {
	side := sidebar{Project: filter.ProjectID, Archived: filter.Archived, Chat: chatID, Only: cursor != "" || filter.Archived}
	var err error
	var list []conversation.Chat
	if list, side.More, err = l.chats.Chats(ctx, v.who.Account, filter, cursor, chatsPage); err != nil {
		return side, err
	}
	side.Chats = chatRows(list, v.tag)
	side.Projects, err = l.projects.Projects(ctx, v.who.Account)
	return side, err
}

// page reads the page of the list that the address asks for; with ?waiting, the waits of the viewer, too.
func (l chatList) page(ctx context.Context, v visit) (sidebar, error) {
	q := v.req.URL.Query()
	var side sidebar
	var now *waitingNow
	err := runAll(
		func() (err error) {
			side, err = l.side(ctx, v, conversation.ChatFilter{ProjectID: q.Get("project"), Archived: q.Has("archived")}, q.Get("chat"), q.Get("cursor"))
			return
		},
		func() (err error) {
			if q.Has("waiting") {
				now, err = l.waits.now(ctx, v)
			}
			return
		},
	)
	side.Waiting = now
	return side, err
}

// foundView is a page of a search.
type foundView struct {
	Rows []foundRow
	More string // cursor
}

// foundRow is a chat that a search found, with its words marked. MessageID is "" when only the title has them.
type foundRow struct {
	ID        string
	Name      string
	ProjectID string
	Pinned    bool
	Archived  bool
	Title     []conversation.Part
	MessageID string
	Snippet   []conversation.Part
}

// search reads the chats that ?q= finds.
func (l chatList) search(ctx context.Context, v visit) (foundView, error) {
	q := v.req.URL.Query()
	words := conversation.WordsOf(q.Get("q"))
	if len(words) == 0 {
		return foundView{}, nil
	}
	found, more, err := l.chats.FindChats(ctx, v.who.Account, conversation.Search{Words: words, ProjectID: q.Get("project")}, q.Get("cursor"), chatsPage)
	if err != nil {
		return foundView{}, err
	}
	view := foundView{More: more}
	for _, f := range found {
		row := foundRow{ID: f.ID, Name: nameOf(f.Chat, v.tag), ProjectID: f.ProjectID, Pinned: f.Pinned, Archived: f.Archived, MessageID: f.Match.MessageID}
		row.Title, row.Snippet = conversation.Mark(row.Name, words), conversation.Mark(title(f.Match.Snippet), words)
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}
