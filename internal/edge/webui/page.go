package webui

import (
	"cmp"
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

func bootOf(tag locale.Tag, now time.Time, files assets) (boot, error) {
	b := boot{Lang: string(tag), Now: now.UnixMilli(), Texts: map[string]string{}}
	for _, key := range locale.Keys(scriptTexts) {
		b.Texts[strings.TrimPrefix(key, scriptTexts)], _ = locale.Lookup(tag, key)
	}
	var err error
	b.Words, err = files.url("words.json")
	return b, err
}

// site is the page around the views, with their readers.
type site struct {
	print  printer
	assets assets

	signing    signing
	list       chatList
	chats      chatReader
	drafts     editor
	history    historyReader
	rules      ruleReader
	registry   registry
	projects   projectReader
	assistants assistantReader
	credits    creditReader
	hooks      hookReader
	receipts   receiptReader
}

// newSite gives each reader the services that it needs.
func newSite(d Deps, files assets, pages printer) *site {
	answers := responders{d.Facts, d.Assistants}
	return &site{
		print: pages, assets: files, signing: signing{pages, d.Tokens, d.Meter, d.DropConnections},
		list:       chatList{d.Chats, d.Projects, waitReader{d.Runs, d.Chats, answers}},
		chats:      chatReader{d.Chats, d.Projects, d.Servers, jobReader{d.Jobs}, cardReader{d.Runs, d.Chats}, answers},
		drafts:     editor{d.Runs, d.Servers, d.Log},
		history:    historyReader{d.Runs, answers},
		rules:      ruleReader{d.Rules, d.Servers, answers},
		registry:   registry{d.Servers, d.Breakers, answers},
		projects:   projectReader{d.Projects, d.Servers, answers},
		assistants: assistantReader{d.Assistants, d.Projects, answers},
		credits:    creditReader{d.Credits, d.Assistants, d.Chats, answers},
		hooks:      hookReader{d.Webhooks, d.Hooks, answers},
		receipts:   receiptReader{d.Runs, d.Receipts},
	}
}

// index serves the page. The address selects the view: ?chat=ID, ?project=ID, ?view=servers|projects|assistants
// with &id=, ?view=waiting|runs|credits|webhooks|rules, ?approve=RUN with &step= and &request_digest=, or ?view=receipt with &run=, which is a page
// of its own.
func (s *site) index(w http.ResponseWriter, v visit) error {
	if v.who.Account == "" {
		s.signing.page(w, v, http.StatusOK, "")
		return nil
	}
	if v.req.URL.Query().Get("view") == "receipt" {
		return shows(s.print, "receipt-page", s.receipts.read)(w, v)
	}
	sh, status, err := s.shell(v)
	if err != nil {
		return err
	}
	s.print.write(w, v, status, "page", sh)
	return nil
}

func (s *site) shell(v visit) (*shell, int, error) {
	status := http.StatusOK
	sh := &shell{Facts: s.print.facts, Who: v.who, Hooks: s.hooks.webhooks != nil && v.who.Allows(auth.ScopeAdmin), Rules: s.rules.rules != nil}
	o, err := s.open(v)
	switch {
	case isMissing(err):
		status = http.StatusNotFound
		o.name, o.title, o.data = "error-fragment", locale.Text(v.tag, "page.error.not_found"), failure{Key: "not_found", Facts: s.print.facts}
	case err != nil:
		return nil, 0, err
	}
	sh.Name, sh.Title = o.name, o.title
	if sh.View, err = s.print.html(v.tag, o.name, o.data); err != nil {
		return nil, 0, err
	}
	if sh.Boot, err = bootOf(v.tag, v.now, s.assets); err != nil {
		return nil, 0, err
	}
	sh.Side, err = s.list.side(v.req.Context(), v, conversation.ChatFilter{ProjectID: o.project}, v.req.URL.Query().Get("chat"), "")
	return sh, status, err
}

// selected is the view that an address selects, with its project.
type selected struct {
	name, title string
	data        any
	project     string
}

// open reads the view that the address selects.
func (s *site) open(v visit) (o selected, err error) {
	q, ctx := v.req.URL.Query(), v.req.Context()
	id := q.Get("id")
	switch name := q.Get("view"); {
	case q.Get("chat") != "":
		return conversationOf(s.chats.one(ctx, v, q.Get("chat"), ""))
	case name == "servers" && id != "":
		view, err := s.registry.one(ctx, v, id)
		if err != nil {
			return o, err
		}
		return selected{name: "server", title: view.Server.Name, data: view}, nil
	case name == "projects" && id != "":
		view, err := s.projects.one(ctx, v, id)
		if err != nil {
			return o, err
		}
		return selected{name: "project", title: view.Project.Name, data: view, project: id}, nil
	case name == "assistants" && id != "":
		o.name = "assistant"
		o.data, err = s.assistants.one(ctx, v, id)
	case name == "servers":
		o.data, err = s.registry.all(ctx, v)
	case name == "projects":
		o.data, err = s.projects.all(ctx, v)
	case name == "assistants":
		o.data, err = s.assistants.all(ctx, v)
	case name == "credits":
		o.data, err = s.credits.all(ctx, v)
	case name == "waiting":
		o.data, err = s.list.waits.all(ctx, v)
	case name == "runs":
		o.data, err = s.history.all(ctx, v)
	case name == "rules":
		o.data, err = s.rules.all(ctx, v)
	case q.Get("approve") != "":
		return conversationOf(s.chats.asked(ctx, v, q.Get("approve")))
	case name == "settings":
		o.data, err = s.settings(ctx, v)
	case name == "webhooks":
		o.data, err = s.hooks.all(ctx, v)
	default:
		o = selected{name: "new", title: locale.Text(v.tag, "page.new_chat"), project: q.Get("project")}
		o.data, err = s.chats.empty(ctx, v, o.project)
		return o, err
	}
	o.title = locale.Text(v.tag, "page."+q.Get("view"))
	o.name = cmp.Or(o.name, q.Get("view"))
	return o, err
}

func conversationOf(view *chatView, err error) (selected, error) {
	if err != nil {
		return selected{}, err
	}
	return selected{name: "chat", title: view.Chat.Title, data: view, project: view.Chat.ProjectID}, nil
}
