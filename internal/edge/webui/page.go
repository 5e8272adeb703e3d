package webui

import (
	"context"
	"net/http"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
)

// shell is the whole page around one view.
type shell struct {
	Title string
	Name  string // of the view: new, chat, servers, server, projects, project, assistants, assistant, waiting, runs, credits, webhooks, error
	View  render.HTML
	Side  sidebar
	Facts Facts
	Who   auth.Principal
	Hooks bool // the viewer may see webhooks
	Rules bool // and rules
	Boot  boot
}

// sidebar is the list of chats of a project, or of all.
type sidebar struct {
	Projects []conversation.Project
	Project  string // id of the selected one
	Archived bool   // the list is that of the archived chats
	Chat     string // id of the open one
	Chats    []chatRow
	More     string // cursor
	Only     bool   // only rows, without the frame of the list
	Waiting  *waitingNow
}

// boot is the data with which the script starts.
type boot struct {
	Lang  string            `json:"lang"`
	Texts map[string]string `json:"texts"`
	Words string            `json:"words"` // address of the closed lists
	Now   int64             `json:"now"`   // milliseconds since 1970, by the server's clock
}

const scriptTexts = "page.js."

func (s *site) boot(tag locale.Tag, now time.Time) (boot, error) {
	b := boot{Lang: string(tag), Now: now.UnixMilli(), Texts: map[string]string{}}
	for _, key := range locale.Keys(scriptTexts) {
		b.Texts[strings.TrimPrefix(key, scriptTexts)], _ = locale.Lookup(tag, key)
	}
	var err error
	b.Words, err = s.assets.url("words.json")
	return b, err
}

// index serves the page. The address selects the view: ?chat=ID, ?project=ID, ?view=servers|projects|assistants
// with &id=, ?view=waiting|runs|credits|webhooks|rules, ?approve=RUN with &step= and &request_digest=, or ?view=receipt with &run=, which is a page
// of its own.
func (s *site) index(w http.ResponseWriter, v visit) error {
	if v.who.Account == "" {
		s.signInPage(w, v, http.StatusOK, "")
		return nil
	}
	if q := v.URL.Query(); q.Get("view") == "receipt" {
		return s.receiptPage(w, v, q.Get("run"))
	}
	sh, status, err := s.shell(v)
	if err != nil {
		return err
	}
	s.write(w, v, status, "page", sh)
	return nil
}

func (s *site) shell(v visit) (*shell, int, error) {
	status := http.StatusOK
	sh := &shell{Facts: s.Facts, Who: v.who, Hooks: s.Webhooks != nil && v.who.Allows(auth.ScopeAdmin), Rules: s.Rules != nil}
	name, title, data, projectID, err := s.open(v)
	switch {
	case isMissing(err):
		status = http.StatusNotFound
		name, title, data = "error-fragment", locale.Text(v.tag, "page.error.not_found"), failure{Key: "not_found", Facts: s.Facts}
	case err != nil:
		return nil, 0, err
	}
	sh.Name, sh.Title = name, title
	if sh.View, err = s.html(v.tag, name, data); err != nil {
		return nil, 0, err
	}
	if sh.Boot, err = s.boot(v.tag, v.now); err != nil {
		return nil, 0, err
	}
	sh.Side, err = s.side(v.Context(), v, conversation.ChatFilter{ProjectID: projectID}, v.URL.Query().Get("chat"), "")
	return sh, status, err
}

// open reads the view that the address selects, and its project.
func (s *site) open(v visit) (name, title string, data any, projectID string, err error) {
	q, ctx := v.URL.Query(), v.Context()
	id := q.Get("id")
	switch {
	case q.Get("chat") != "":
		c, err := s.chat(ctx, v, q.Get("chat"), "")
		if err != nil {
			return "", "", nil, "", err
		}
		return "chat", c.Chat.Title, c, c.Chat.ProjectID, nil
	case q.Get("view") == "servers" && id != "":
		d, err := s.server(ctx, v, id)
		if err != nil {
			return "", "", nil, "", err
		}
		return "server", d.Server.Name, d, "", nil
	case q.Get("view") == "servers":
		d, err := s.servers(ctx, v)
		return "servers", locale.Text(v.tag, "page.servers"), d, "", err
	case q.Get("view") == "projects" && id != "":
		d, err := s.project(ctx, v, id)
		if err != nil {
			return "", "", nil, "", err
		}
		return "project", d.Project.Name, d, id, nil
	case q.Get("view") == "projects":
		d, err := s.projects(ctx, v)
		return "projects", locale.Text(v.tag, "page.projects"), d, "", err
	case q.Get("view") == "assistants" && id != "":
		d, err := s.assistant(ctx, v, id)
		return "assistant", locale.Text(v.tag, "page.assistants"), d, "", err
	case q.Get("view") == "assistants":
		d, err := s.assistants(ctx, v)
		return "assistants", locale.Text(v.tag, "page.assistants"), d, "", err
	case q.Get("view") == "credits":
		d, err := s.credits(ctx, v)
		return "credits", locale.Text(v.tag, "page.credits"), d, "", err
	case q.Get("view") == "waiting":
		d, err := s.waiting(ctx, v)
		return "waiting", locale.Text(v.tag, "page.waiting"), d, "", err
	case q.Get("view") == "runs":
		d, err := s.history(ctx, v)
		return "runs", locale.Text(v.tag, "page.runs"), d, "", err
	case q.Get("view") == "rules":
		d, err := s.rules(ctx, v)
		return "rules", locale.Text(v.tag, "page.rules"), d, "", err
	case q.Get("approve") != "":
		c, err := s.approvalView(ctx, v, q.Get("approve"), q.Get("step"), q.Get("request_digest"))
		if err != nil {
			return "", "", nil, "", err
		}
		return "chat", c.Chat.Title, c, c.Chat.ProjectID, nil
	case q.Get("view") == "settings":
		return "settings", locale.Text(v.tag, "page.settings"), s.settings(v), "", nil
	case q.Get("view") == "webhooks":
		d, err := s.webhooks(ctx, v)
		return "webhooks", locale.Text(v.tag, "page.webhooks"), d, "", err
	}
	projectID = q.Get("project")
	d, err := s.newChat(ctx, v, projectID)
	return "new", locale.Text(v.tag, "page.new_chat"), d, projectID, err
}

func (s *site) side(ctx context.Context, v visit, filter conversation.ChatFilter, chatID, cursor string) (sidebar, error) {
	side := sidebar{Project: filter.ProjectID, Archived: filter.Archived, Chat: chatID, Only: cursor != "" || filter.Archived}
	var err error
	var list []conversation.Chat
	if list, side.More, err = s.Chats.Chats(ctx, v.who.Account, filter, cursor, chatsPage); err != nil {
		return side, err
	}
	side.Chats = chatRows(list, v.tag)
	side.Projects, err = s.Projects.Projects(ctx, v.who.Account)
	return side, err
}

func (s *site) chatsFragment(w http.ResponseWriter, v visit) error {
	q := v.URL.Query()
	var side sidebar
	var now *waitingNow
	err := runAll(
		func() (err error) {
			side, err = s.side(v.Context(), v, conversation.ChatFilter{ProjectID: q.Get("project"), Archived: q.Has("archived")}, q.Get("chat"), q.Get("cursor"))
			return
		},
		func() (err error) {
			if q.Has("waiting") {
				now, err = s.waitingNow(v.Context(), v)
			}
			return
		},
	)
	if err != nil {
		return err
	}
	side.Waiting = now
	s.write(w, v, http.StatusOK, "chats", side)
	return nil
}
