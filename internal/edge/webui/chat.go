package webui

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Limits of a list.
const (
	chatsPage    = 40
	messagesPage = 40
	mostPages    = 6  // read for one view, until enough messages are visible
	fewestShown  = 10 // visible messages
	eventsPage   = 500
	cardEvents   = 2000
)

// chatView is one conversation.
type chatView struct {
	Chat    conversation.Chat
	Project conversation.Project // zero when the chat has none
	Facts   Facts
	Answers responder
	Lines   []line
	Older   string // cursor; "" at the beginning
	Only    bool   // only older lines, to be inserted before the others
	Asked   string // id of the element on a card that a link refers to
}

// line is one entry of a conversation.
type line struct {
	Message conversation.Message
	Card    *card
	Earlier bool     // its plan was changed; the card is further down
	Above   []string // the contradictions of the text, before it
	Notes   []conversation.Note
	Text    render.HTML
	Result  render.HTML // of the ended run, below the text of a final line
	Status  plan.Status // of the ended run, for a final line
	Action  string      // next step after a block
	Author  string      // provider and model; "" when no model wrote it
	Instead string      // the note about a replaced provider
	Agent   string      // the agent that answered
	Stopped bool        // a person stopped the answer here
	Job     *jobView    // that the message began
	Origin  string      // the chat that has the run of a plan that was copied with a branch
	Asks    bool        // it is the question that the next message answers
}

// newView is a conversation without messages.
type newView struct {
	Facts    Facts
	Answers  responder
	Project  conversation.Project
	Examples []string
	Empty    bool // no server is registered
	Admin    bool // the viewer may register one
}

// chatReader reads conversations.
type chatReader struct {
	chats    Chats
	projects conversation.ProjectReader
	servers  tool.ServerLister
	jobs     jobReader
	cards    cardReader
	answers  responders
}

// one reads a conversation, and its runs concurrently.
func (r chatReader) one(ctx context.Context, v visit, id, cursor string) (*chatView, error) {
	chat, err := r.chats.Chat(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	var messages []conversation.Message
	var older string
	var who responder
	err = runAll(
		func() (err error) { messages, older, err = r.messages(ctx, v, id, cursor); return },
		func() (err error) { who, err = r.answers.of(ctx, v, chat.ProjectID); return },
	)
	if err != nil {
		return nil, err
	}
	var cards map[string]*card
	var jobs map[string]*jobView
	err = runAll(
		func() (err error) { cards, err = r.cards.of(ctx, v, messages); return },
		func() (err error) { jobs, err = r.jobs.of(ctx, v, messages); return },
	)
	if err != nil {
		return nil, err
	}
	view := &chatView{Chat: chat, Facts: who.Facts, Answers: who, Older: older, Only: cursor != ""}
	if chat.ProjectID != "" {
		if view.Project, err = r.projects.Project(ctx, v.who.Account, chat.ProjectID); err != nil && !isMissing(err) {
			return nil, err
		}
	}
	asks, open := conversation.OpenQuestion(messages)
	open = open && cursor == "" && chat.Company == 0 // the router's questions are to its customer
	for _, m := range messages {
		if l, shown := newLine(m, cards, who.Facts.Provider, v.tag); shown {
			if l.Job = jobs[m.ID]; m.FromRunID != "" && chat.BranchedFrom != nil {
				l.Origin = chat.BranchedFrom.ChatID
			}
			l.Asks = open && m.ID == asks.ID
			view.Lines = append(view.Lines, l)
		}
	}
	keepNewestCard(view.Lines)
	if n := len(view.Lines); n > 0 && cursor == "" {
		openLast(view.Lines)
	}
	return view, nil
}

// messages reads pages until there are enough visible messages. The progress messages of a long plan, which are
// only in its card, may fill a page.
func (r chatReader) messages(ctx context.Context, v visit, id, cursor string) (list []conversation.Message, older string, err error) {
	shown := 0
	for range mostPages {
		page, next, err := r.chats.Messages(ctx, conversation.Key{Account: v.who.Account, ChatID: id}, cursor, messagesPage)
		if err != nil {
			return nil, "", err
		}
		for _, m := range page {
			if m.Kind != conversation.KindProgress {
				shown++
			}
		}
		list, older, cursor = append(page, list...), next, next
		if next == "" || shown >= fewestShown {
			break
		}
	}
	return list, older, nil
}

// keepNewestCard leaves the card of a run only at the newest message with its plan, so that there is one plan to
// confirm.
func keepNewestCard(lines []line) {
	seen := map[string]bool{}
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Card == nil {
			continue
		}
		if run := lines[i].Message.RunID; seen[run] {
			lines[i].Card, lines[i].Earlier = nil, true
		} else {
			seen[run] = true
		}
	}
}

// openLast unfolds the newest plan, unless it cannot run any more.
func openLast(lines []line) {
	for i := len(lines) - 1; i >= 0; i-- {
		if c := lines[i].Card; c != nil {
			c.Open = c.Open || !c.Dead
			return
		}
	}
}

// outcomes are the sentences about the end of a run.
var outcomes = map[plan.Status]string{
	plan.Done: "page.outcome.done", plan.Failed: "page.outcome.error", plan.Cancelled: "page.outcome.cancelled", plan.InDoubt: "page.outcome.in_doubt",
}

// newLine returns the line of a message, and false for a progress message, which is in the card.
func newLine(m conversation.Message, cards map[string]*card, provider string, tag locale.Tag) (line, bool) {
	above, below := m.SplitNotes()
	l := line{Message: m, Notes: below, Text: prose(m.Content)}
	for _, n := range above {
		l.Above = append(l.Above, plain(n.Warning().In(tag)))
	}
	c := cards[m.RunID]
	switch m.Kind {
	case conversation.KindProgress:
		return l, false
	case conversation.KindPlan:
		l.Card = c
	case conversation.KindFinal:
		text, result, _ := strings.Cut(strings.TrimLeft(m.Content, "⏳✅❌⚠️❓🛑 "), "\n\n")
		l.Text = prose(text)
		if result != "" {
			l.Result = assistantText(result)
		}
		if c != nil {
			l.Status = c.Status
			if key := outcomes[c.Status]; key != "" { // the card says the rest
				l.Text = prose(locale.Text(tag, key, "done", itoa(c.Done), "n", itoa(c.Total)))
			}
		}
	case conversation.KindBlocked:
		l.Text = prose(strings.TrimLeft(m.Content, "⚠️ "))
		l.Action = remedy(m.Code, provider, tag)
	case conversation.KindText, conversation.KindConclusion:
		if m.Role == conversation.RoleAssistant {
			l.Text = assistantText(m.Question())
		}
	}
	if m.By != nil && m.Role == conversation.RoleAssistant {
		l.Author, l.Instead, l.Stopped = author(*m.By, tag), swapNote(*m.By, tag), m.By.Stopped
		l.Agent = plain(m.By.Agent)
	}
	return l, true
}

// page reads the part of a conversation that the address names.
func (r chatReader) page(ctx context.Context, v visit) (*chatView, error) {
	return r.one(ctx, v, v.req.PathValue("id"), v.req.URL.Query().Get("cursor"))
}

// fresh reads an empty conversation of the project that the address names.
func (r chatReader) fresh(ctx context.Context, v visit) (*newView, error) {
	return r.empty(ctx, v, v.req.URL.Query().Get("project"))
}

// empty returns an empty conversation, with examples of messages.
func (r chatReader) empty(ctx context.Context, v visit, projectID string) (*newView, error) {
	who, err := r.answers.of(ctx, v, projectID)
	if err != nil {
		return nil, err
	}
	view := &newView{Facts: who.Facts, Answers: who, Admin: v.who.Allows(auth.ScopeAdmin)}
	if projectID != "" {
		p, err := r.projects.Project(ctx, v.who.Account, projectID)
		if err != nil {
			return nil, err
		}
		view.Project = p
	}
	servers, err := r.servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	view.Empty = !slices.ContainsFunc(servers, func(s tool.Server) bool { return !s.IsAgent() })
	keys := []string{"page.example.what", "page.example.list", "page.example.plan", "page.example.help"}
	if view.Facts.Demo {
		keys = []string{"page.demo.find", "page.demo.book", "page.demo.mine", "page.demo.what"}
	}
	for _, k := range keys {
		view.Examples = append(view.Examples, locale.Text(v.tag, k))
	}
	return view, nil
}

// answerBody shows JSON as JSON, and a text, which is stored as a JSON string, as text.
func answerBody(raw json.RawMessage) *code {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return textCode(text)
	}
	return jsonCode(raw, nil)
}

func itoa(n int) string { return strconv.Itoa(n) }
