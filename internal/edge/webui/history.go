package webui

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/fold"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// runsView is the account's runs, over all chats, the newest first.
type runsView struct {
	Rows     []runRow
	More     string // query of the next page
	File     string // address of the list as a file
	Only     bool   // only more of the list
	Filter   runFilter
	Narrowed bool // the filter narrows something
	Statuses []plan.Status
	Facts    Facts
}

// runFilter narrows the list. Empty members narrow nothing.
type runFilter struct {
	Status, Text string
	From, To     string // days, UTC; both are in it
}

// runRow is one run, as one row.
type runRow struct {
	ID, ChatID  string
	Goal        render.HTML
	Says        []saidValue // of its first changing step
	Status      plan.Status
	Withdrawn   bool   // the model took the draft back
	Undone      bool   // a newer run of the same page, or of one that was read for it, undid it
	Who         string // who confirmed it, or else who asked for it
	At          time.Time
	Took        string // from its proposal to its end: the list does not have the time of its confirmation
	Done, Total int
	Costs       []saidValue // amounts of money that its steps name
	Micros      int64       // the cost of the model calls for it, micro-USD; 0: nothing was counted
	Receipt     bool

	head  plan.Head
	words string // its goal and the values of its changing steps, folded, for a search
}

// Bounds of the list.
const (
	runsPage  = 50
	runsReads = 6     // pages that are read to fill one, when a filter leaves few
	csvRows   = 2_000 // of a file
)

var errNoFilter = fault.New(fault.Invalid, "request.invalid")

// historyReader reads the list of runs.
type historyReader struct {
	runs    plan.Lister
	answers responders
}

func (r historyReader) all(ctx context.Context, v visit) (*runsView, error) {
	q := v.req.URL.Query()
	view := &runsView{Only: q.Get("cursor") != "", Filter: filterOf(q), Statuses: plan.Statuses()}
	view.Narrowed = view.Filter != runFilter{}
	list, err := newRunList(r.runs, v, view.Filter)
	if err != nil {
		return nil, err
	}
	cursor := q.Get("cursor")
	for range runsReads {
		var rows []runRow
		if rows, cursor, err = list.page(ctx, cursor); err != nil {
			return nil, err
		}
		view.Rows = append(view.Rows, rows...)
		if cursor == "" || len(view.Rows) >= runsPage {
			break
		}
	}
	q.Del("cursor")
	q.Del("view")
	view.File = "/ui/runs.csv"
	if query := q.Encode(); query != "" {
		view.File += "?" + query
	}
	if cursor != "" {
		q.Set("cursor", cursor)
		view.More = q.Encode()
	}
	who, err := r.answers.of(ctx, v, "")
	view.Facts = who.Facts
	return view, err
}

func filterOf(q url.Values) runFilter {
	return runFilter{q.Get("status"), q.Get("q"), q.Get("from"), q.Get("to")}
}

// runList is a list of runs that is read by pages.
type runList struct {
	runs   plan.Lister
	visit  visit
	of     plan.Filter
	text   string // folded
	undone map[string]bool
}

func newRunList(runs plan.Lister, v visit, f runFilter) (*runList, error) {
	l := &runList{runs: runs, visit: v, text: fold.Text(f.Text), undone: map[string]bool{}}
	var errFrom, errTo error
	if f.Status != "" {
		l.of.Statuses = []plan.Status{plan.Status(f.Status)}
	}
	if f.From != "" {
		l.of.From, errFrom = time.Parse(time.DateOnly, f.From)
	}
	if f.To != "" {
		l.of.To, errTo = time.Parse(time.DateOnly, f.To)
		l.of.To = l.of.To.AddDate(0, 0, 1)
	}
	if f.Status != "" && !slices.Contains(plan.Statuses(), plan.Status(f.Status)) || errFrom != nil || errTo != nil {
		return nil, errNoFilter
	}
	return l, nil
}

// page reads a page of runs, and keeps those that match the filter. The undo of a run is newer than the run, so that it was
// read before.
func (l *runList) page(ctx context.Context, cursor string) ([]runRow, string, error) {
	heads, next, err := l.runs.Runs(ctx, l.visit.who.Account, l.of, cursor, runsPage)
	var kept []runRow
	for _, h := range heads {
		if h.Plan.Undoes != "" && h.Status == plan.Done {
			l.undone[h.Plan.Undoes] = true
		}
		if r := historyRow(l.visit, h); strings.Contains(r.words, l.text) {
			r.Undone = l.undone[r.ID]
			kept = append(kept, r)
		}
	}
	return kept, next, err
}

func historyRow(v visit, h plan.Head) runRow {
	run := h.Run
	r := runRow{
		ID: run.ID, ChatID: run.ChatID, Goal: display(run.Plan.Goal), Status: run.Status, Withdrawn: run.Withdrawn != nil, Who: run.Confirmer, At: run.CreatedAt,
		Done: h.Done, Total: len(run.Plan.Steps), Receipt: run.Status.Terminal(),
		Micros: h.Micros, head: h,
	}
	if r.Who == "" {
		r.Who = run.User
	}
	w := v.words()
	if run.Confirmer != "" && !h.EndedAt.IsZero() {
		r.Took = w.took(h.EndedAt.Sub(run.CreatedAt))
	}
	said := []string{run.Plan.Goal}
	a := newBuilder(run, &card{}, w, v.now)
	for _, says := range a.changing(plan.EffectID{}) {
		r.Costs = append(r.Costs, says.costs()...)
		if r.Says == nil {
			r.Says = says.Values
		}
		for _, value := range says.Values {
			said = append(said, value.Value.Text(), value.Sent.Text())
		}
	}
	r.words = fold.Text(strings.Join(said, "\n"))
	return r
}

// file serves the list as a CSV file (RFC 4180), of at most csvRows runs.
func (r historyReader) file(w http.ResponseWriter, v visit) error {
	list, err := newRunList(r.runs, v, filterOf(v.req.URL.Query()))
	if err != nil {
		return err
	}
	var body bytes.Buffer // whole, because an answer that has begun cannot say that the rest is missing
	file := csv.NewWriter(&body)
	_ = file.Write([]string{"run_id", "status", "goal", "services", "proposed_by", "confirmed_by", "created_at", "ended_at", "seconds_since_proposed", "steps_done", "steps_total", "receipt", "cost_usd", "amounts"})
	cursor := ""
	for n := 0; n < csvRows; {
		rows, next, err := list.page(v.req.Context(), cursor)
		if err != nil {
			return err
		}
		for _, r := range rows[:min(len(rows), csvRows-n)] {
			_ = file.Write(csvRow(r))
			n++
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	file.Flush()
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="piloto.csv"`)
	h.Set("Cache-Control", "no-store")
	_, err = w.Write(body.Bytes())
	return err
}

func csvRow(r runRow) []string {
	h := r.head
	row := []string{h.ID, string(h.Status), cell(h.Plan.Goal), cell(strings.Join(view.Services(h.Plan, plan.EffectID{}), ", ")), cell(h.User), cell(h.Confirmer), h.CreatedAt.UTC().Format(time.RFC3339), "", "", strconv.Itoa(h.Done), strconv.Itoa(len(h.Plan.Steps)), "", "", cell(amounts(r))}
	if !h.EndedAt.IsZero() {
		row[7], row[8] = h.EndedAt.UTC().Format(time.RFC3339), strconv.FormatFloat(h.EndedAt.Sub(h.CreatedAt).Seconds(), 'f', 1, 64)
	}
	if h.Status.Terminal() {
		row[11] = "/?view=receipt&run=" + h.ID
	}
	if h.Micros > 0 {
		row[12] = strconv.FormatFloat(float64(h.Micros)/1e6, 'f', 6, 64)
	}
	return row
}

// amounts returns the amounts of money of a run, as the page shows them.
func amounts(r runRow) string {
	var list []string
	for _, c := range r.Costs {
		list = append(list, c.Value.Text())
	}
	return strings.Join(list, "; ")
}

// cell keeps a spreadsheet from reading a text as a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
