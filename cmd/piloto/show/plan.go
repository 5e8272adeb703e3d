// Package show owns the text forms of plans, runs and lists for a terminal. A plan is shown as the page's card shows
// it: every request to its end, with every character visible.
package show

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/view"
	"piloto/internal/tools/tool"
)

// A Writer writes in one language, with colours or without.
type Writer struct {
	Tag    locale.Tag
	Colour bool
	Now    time.Time

	b strings.Builder
}

// String returns the written text.
func (w *Writer) String() string { return w.b.String() }

// text returns a sentence. A key that does not exist is of a status, or the like, that a deployment made up or that is newer.
func (w *Writer) text(key string, pairs ...string) string {
	if _, known := locale.Lookup(w.Tag, key); !known {
		return visible.Line(key)
	}
	return locale.Text(w.Tag, key, pairs...)
}

func (w *Writer) line(indent int, parts ...string) {
	w.b.WriteString(strings.Repeat(" ", indent))
	w.b.WriteString(strings.Join(parts, " "))
	w.b.WriteByte('\n')
}

// block writes a text of several lines.
func (w *Writer) block(indent int, text string) {
	for line := range strings.Lines(text) {
		w.line(indent, strings.TrimRight(line, "\n"))
	}
}

// The colours of a terminal.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (w *Writer) style(code, text string) string {
	if !w.Colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Warning writes a line that contradicts the text after it.
func (w *Writer) Warning(line string) { w.line(0, w.style(yellow, "! "+visible.Line(line))) }

// Plan writes a plan that waits for a decision, whole: nothing that would be sent is left out or shortened.
func (w *Writer) Plan(r httpapi.Run) {
	w.line(0, w.style(bold, visible.Line(r.Goal)))
	if r.Dropped != nil && r.Status == plan.Draft {
		w.line(0, w.style(yellow, visible.Line(run.Replaced(*r.Dropped).In(w.Tag))))
	}
	seen := r.View()
	head := []string{w.text("page.card.steps", "n", strconv.Itoa(seen.Total))}
	if seen.Changing == 0 {
		head = append(head, w.text("page.card.only_reads"))
	} else {
		head = append(head, w.text("page.card.writes", "n", strconv.Itoa(seen.Writes)), w.text("page.card.destroys", "n", strconv.Itoa(seen.Destroys)),
			w.undoable(seen))
	}
	if r.Revision > 1 {
		head = append(head, w.text("page.card.revision", "n", strconv.Itoa(r.Revision)))
	}
	w.line(0, w.style(faint, strings.Join(head, " · ")))
	for i, s := range r.Steps {
		w.step(i+1, s, r)
	}
	if w.marked() {
		w.line(0, w.style(yellow, w.text("page.card.marked")))
	}
	w.line(0, w.text("cli.plan.expires", "at", Moment(r.ExpiresAt)), "·", w.text("page.card.digest"), visible.Line(string(r.Digest)))
}

// marked reports whether a character of the text is named, because it is invisible or imitates another one.
func (w *Writer) marked() bool { return strings.Contains(w.b.String(), "⟦") }

func (w *Writer) undoable(seen view.View) string {
	if seen.Undoable == 0 {
		return w.text("page.card.undoable.none")
	}
	return w.text("page.card.undoable", "undoable", strconv.Itoa(seen.Undoable), "n", strconv.Itoa(seen.Changing))
}

// thing describes the object whose id a step has, in the words of its service.
func (w *Writer) thing(t plan.Taken) {
	said := []string{}
	if t.Label != "" {
		said = append(said, w.style(bold, visible.Line(t.Label)))
	}
	for _, f := range t.About {
		value := JSON(f.Value)
		if text := ""; json.Unmarshal(f.Value, &text) == nil {
			value = visible.Line(text)
		}
		if name, _ := ref.Called(t.Names, f.Name, ref.Words); value != visible.Line(t.Label) {
			said = append(said, visible.Line(name)+" "+value)
		}
	}
	if len(said) > 0 {
		w.line(6, strings.Join(said, " · "))
	}
}

// step writes one step: its title, its address, and everything that is sent.
func (w *Writer) step(n int, s httpapi.Step, r httpapi.Run) {
	w.line(0, fmt.Sprintf("%2d.", n), w.style(bold, visible.Line(s.Title)), "·", w.risk(s.Risk))
	if !w.files(4, s) {
		w.request(4, s.Base, s.URL, s.Media, callOf(s.PlannedStep))
		w.keys(4, s.Auth)
		w.line(4, w.style(faint, w.text("cli.plan.service", "service", visible.Line(s.Server))))
		if s.About != "" {
			w.line(4, w.style(faint, w.text("page.says.about", "service", visible.Line(s.Server))+": "+visible.Line(s.About)))
		}
	}
	id := plan.ParseEffect(s.ID)
	w.crossings(4, r, id)
	if s.Unanswered != nil {
		w.line(4, w.style(yellow, visible.Line(s.Unanswered.Phrase().In(w.Tag))))
	}
	if len(s.Needs) > 0 {
		w.line(4, w.text("cli.plan.after", "steps", visible.Line(strings.Join(s.Needs, ", "))))
	}
	if s.When != nil {
		w.line(4, w.text("page.step.when"), w.condition(*s.When))
	}
	if s.ForEach != "" {
		w.line(4, w.text("page.step.each"), visible.Line(s.ForEach))
	}
	for _, t := range s.Targets {
		w.line(4, visible.Line(t.Ref), "→", visible.Line(t.Label), JSON(t.Value))
	}
	for _, t := range r.Taken {
		if t.StepID.String() == s.ID {
			w.line(4, visible.Line(t.Value), w.text("page.step.taken.of", "service", visible.Line(t.Service)), Moment(t.At))
			w.thing(t)
		}
	}
	if s.Ask != nil {
		key := "page.step.ask"
		if s.Ask.Maybe {
			key = "page.step.ask.maybe"
		}
		also := ""
		if s.Ask.Another {
			also = w.text("page.step.ask.another")
		}
		w.line(4, w.style(yellow, strings.TrimSpace(w.text(key)+" "+visible.Line(s.Ask.Reason)+" "+also)))
	}
	if s.Undo != nil && s.MCPID == tool.FilesID {
		w.line(4, w.text("files.undo"))
	} else if s.Undo != nil {
		w.line(4, w.text("page.step.undo")+":")
		w.request(8, s.Undo.Base, s.Undo.URL, s.Undo.Media, s.Undo.Call)
		w.keys(8, s.Undo.Auth)
		w.crossings(8, r, plan.UndoOf(id))
	}
	if s.Verify != nil {
		w.line(4, w.text("page.step.check")+":")
		w.request(8, s.Verify.Base, s.Verify.URL, "", s.Verify.Call)
		w.keys(8, s.Verify.Auth)
		w.crossings(8, r, plan.CheckOf(id))
		w.line(8, w.text("page.step.check.expect"), w.condition(s.Verify.Expect))
	}
}

func callOf(s httpapi.PlannedStep) plan.Call {
	return plan.Call{Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body}
}

// request writes a call: its method or tool, its whole address, its arguments, and the type of its body.
func (w *Writer) request(indent int, base, url, media string, c plan.Call) {
	address, ok := visible.AddressOf(base)
	if !ok {
		address = visible.Address{Origin: base}
	}
	own := ""
	if address.Own != "" {
		own = " (" + visible.Line(address.Own) + ")"
	}
	if c.Tool != "" {
		w.line(indent, w.text("page.step.tool"), w.style(bold, visible.Line(c.Tool)), visible.Line(address.Origin)+own+visible.Line(address.Prefix))
	} else {
		w.line(indent, w.style(bold, visible.Line(c.Method)), visible.Line(address.Origin)+own+visible.Line(address.Prefix+strings.TrimPrefix(url, base)))
	}
	w.arguments(indent+2, "page.step.query", c.Query)
	w.arguments(indent+2, "page.step.headers", c.Headers)
	w.arguments(indent+2, "page.step.body", c.Body, notPlain(media))
}

// keys says where the service's keys are in a call.
func (w *Writer) keys(indent int, places string) {
	if places != "" {
		w.line(indent, w.style(faint, w.text("run.plan_keys", "places", visible.Line(places))))
	}
}

// notPlain returns the type of a body that is not plain JSON, else "".
func notPlain(media string) string {
	if media == "application/json" {
		return ""
	}
	return media
}

// arguments writes a part of a call below its name, beside which also stands.
func (w *Writer) arguments(indent int, key string, raw json.RawMessage, also ...string) {
	if text := strings.TrimSpace(string(raw)); text == "" || text == "null" {
		return
	}
	w.line(indent, w.style(faint, strings.TrimSpace(w.text(key)+" "+visible.Line(strings.Join(also, " ")))))
	w.block(indent, JSON(raw))
}

// crossings warns that a call sends data of one service to another.
func (w *Writer) crossings(indent int, r httpapi.Run, id plan.EffectID) {
	for _, c := range r.Crossings(id) {
		w.line(indent, w.style(yellow, w.text("run.plan_crossing")+" "+shownOrigin(c.From)+" → "+shownOrigin(c.To)))
	}
}

// shownOrigin returns the origin of a base address in the form in which it is resolved.
func shownOrigin(base string) string {
	if address, ok := visible.AddressOf(base); ok {
		return visible.Line(address.Origin)
	}
	return visible.Line(base)
}

// condition returns a condition in words.
func (w *Writer) condition(c ref.Condition) string {
	switch {
	case len(c.All) > 0:
		return w.join(c.All, "page.when.and")
	case len(c.Any) > 0:
		return w.join(c.Any, "page.when.or")
	case c.Not != nil:
		return w.text("page.when.not", "condition", w.condition(*c.Not))
	}
	key := "page.when." + string(c.Is)
	if _, known := locale.Lookup(w.Tag, key); !known {
		key = "page.when.unknown"
	}
	return w.text(key, "value", visible.Line(c.Value), "to", JSON(c.To), "is", visible.Line(string(c.Is)))
}

func (w *Writer) join(list []ref.Condition, word string) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = w.condition(c)
		if len(c.All) > 0 || len(c.Any) > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " "+w.text(word)+" ")
}

// Approval writes the exact request of a step of a run that waits for an approval.
func (w *Writer) Approval(r httpapi.Run, s httpapi.Step) {
	a := s.Approval
	if a == nil {
		return
	}
	w.line(0, w.style(bold, visible.Line(s.Title)), "·", w.risk(s.Risk))
	w.line(4, w.style(yellow, visible.Line(a.Reason)))
	if a.Another {
		w.line(4, w.text("page.step.ask.another"))
	}
	asked := s
	asked.Body = a.Body
	if !w.files(4, asked) { // a body that was cut is no JSON
		w.line(4, w.style(bold, visible.Line(a.Method)), address(a.URL))
		w.arguments(6, "page.step.headers", a.Headers)
		w.arguments(6, "page.step.body", a.Body, notPlain(s.Media))
	}
	w.crossings(4, r, plan.ParseEffect(s.ID))
	if a.Cut {
		w.line(6, w.text("page.step.truncated"))
	}
	w.line(4, w.text("cli.plan.expires", "at", Moment(a.ExpiresAt)))
	w.line(0, w.text("page.card.digest"), visible.Line(string(a.Digest)))
}

// address returns a whole URL with its host as it is resolved.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return visible.Line(raw)
	}
	u.Host = visible.HostPort(u)
	return visible.Line(u.String())
}

func (w *Writer) risk(r plan.Risk) string {
	text := w.text("page.risk." + string(r))
	switch r {
	case plan.Destructive:
		return w.style(red, text)
	case plan.Write:
		return w.style(yellow, text)
	default:
		return w.style(green, text)
	}
}

// Status returns the status of a run in words. withdrawn is nil unless the model took the draft back.
func (w *Writer) Status(s plan.Status, withdrawn *plan.Withdrawal) string {
	if withdrawn != nil {
		return w.text("page.status.withdrawn")
	}
	text := w.text("page.status." + string(s))
	switch s {
	case plan.Done:
		return w.style(green, text)
	case plan.Failed, plan.InDoubt:
		return w.style(red, text)
	case plan.Draft, plan.Waiting:
		return w.style(yellow, text)
	default:
		return text
	}
}

// Moment returns a time of this machine.
func Moment(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Local().Format("2006-01-02 15:04") //nolint:gosmopolitan // a person reads it
}
