package webui

import (
	"net/http"

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

// nameOf returns what a chat is called on the page.
func nameOf(c conversation.Chat, tag locale.Tag) string {
	switch {
	case c.Title != "":
		return title(c.Title)
	case c.Company != 0:
		return plain(c.SessionID)
	}
	return locale.Text(tag, "page.chat.untitled")
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

func (s *site) searchFragment(w http.ResponseWriter, v visit) error {
	q := v.URL.Query()
	words := conversation.WordsOf(q.Get("q"))
	if len(words) == 0 {
		s.write(w, v, http.StatusOK, "found", foundView{})
		return nil
	}
	found, more, err := s.Chats.FindChats(v.Context(), v.who.Account, conversation.Search{Words: words, ProjectID: q.Get("project")}, q.Get("cursor"), chatsPage)
	if err != nil {
		return err
	}
	view := foundView{More: more}
	for _, f := range found {
		row := foundRow{ID: f.ID, Name: nameOf(f.Chat, v.tag), ProjectID: f.ProjectID, Pinned: f.Pinned, Archived: f.Archived, MessageID: f.Match.MessageID}
		row.Title, row.Snippet = conversation.Mark(row.Name, words), conversation.Mark(title(f.Match.Snippet), words)
		view.Rows = append(view.Rows, row)
	}
	s.write(w, v, http.StatusOK, "found", view)
	return nil
}
