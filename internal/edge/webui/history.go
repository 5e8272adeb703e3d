package webui

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/fold"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// runsView is the account's runs, over all chats, the newest first.
type runsView struct {
	Rows     []runRow
	More     string // query of the next page
	File     string // address of the list as a file
	Only     bool   // only more of the list
	Filter   runFilter
	Statuses []plan.Status
	Partly   bool
	Facts    Facts
}

// runFilter narrows the list. Empty members narrow nothing.
type runFilter struct{ Status, Text string }

// runRow is one run, as one row.
type runRow struct {
	ID, ChatID  string
	Goal        render.HTML
	Status      plan.Status
	Who         string // who confirmed it, or else who asked for it
	At          time.Time
	Took        string // from its proposal to its end: the list does not have the time of its confirmation
	Done, Total int
	Costs       []saidValue // amounts of money that its steps name
	Micros      int64       // what the model calls for it cost, micro-USD; 0: nothing was counted
	Receipt     bool
}

// Bounds of the list.
const (
	runsPage  = 50
	runsReads = 6     // pages that are read to fill one, when a filter leaves few
	csvRows   = 2_000 // of a file
)

var errNoStatus = fault.New(fault.Invalid, "request.invalid")

func (s *site) runsFragment(w http.ResponseWriter, v visit) error {
	view, err := s.history(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "runs", view)
	return nil
}

func (s *site) history(ctx context.Context, v visit) (*runsView, error) {
	q := v.URL.Query()
	view := &runsView{Only: q.Get("cursor") != "", Filter: runFilter{q.Get("status"), q.Get("q")}, Statuses: plan.Statuses()}
	complete, err := s.Runs.Complete(ctx)
	if err != nil {
		return nil, err
	}
	view.Partly = !complete
	cursor := q.Get("cursor")
	for range runsReads {
		var list []plan.Head
		if list, cursor, err = s.runHeads(ctx, v, view.Filter, cursor); err != nil {
			return nil, err
		}
		for _, h := range list {
			view.Rows = append(view.Rows, s.historyRow(v, h))
		}
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
	who, err := s.responder(ctx, v, "")
	view.Facts = who.Facts
	return view, err
}

// runHeads reads a page of runs, and leaves those that the filter lets through.
func (s *site) runHeads(ctx context.Context, v visit, f runFilter, cursor string) ([]plan.Head, string, error) {
	var of plan.Filter
	if f.Status != "" {
		of.Statuses = []plan.Status{plan.Status(f.Status)}
		if !slices.Contains(plan.Statuses(), plan.Status(f.Status)) {
			return nil, "", errNoStatus
		}
	}
	list, next, err := s.Runs.Runs(ctx, v.who.Account, of, cursor, runsPage)
	text := fold.Text(f.Text)
	var kept []plan.Head
	for _, h := range list {
		if strings.Contains(fold.Text(h.Plan.Goal), text) {
			kept = append(kept, h)
		}
	}
	return kept, next, err
}

func (s *site) historyRow(v visit, h plan.Head) runRow {
	run := h.Run
	r := runRow{
		ID: run.ID, ChatID: run.ChatID, Goal: display(run.Plan.Goal), Status: run.Status, Who: run.Confirmer, At: run.CreatedAt,
		Done: h.Done, Total: len(run.Plan.Steps), Receipt: run.Status.Terminal(),
		Micros: h.Micros,
	}
	if r.Who == "" {
		r.Who = run.User
	}
	w := words{tag: v.tag, now: s.Now}
	if run.Confirmer != "" && !h.EndedAt.IsZero() {
		r.Took = w.took(h.EndedAt.Sub(run.CreatedAt))
	}
	a := cardBuilder{run: run, card: &card{}, words: w, now: s.Now()}
	for _, step := range run.Plan.Steps {
		if b, ok := run.Plan.Binding(step.ID); ok && plan.RiskOf(step.Method) != plan.Read {
			r.Costs = append(r.Costs, a.sentence(step, b).costs()...)
		}
	}
	return r
}

// runsFile serves the list as a CSV file (RFC 4180), of at most csvRows runs.
func (s *site) runsFile(w http.ResponseWriter, v visit) error {
	q, ctx := v.URL.Query(), v.Context()
	f := runFilter{q.Get("status"), q.Get("q")}
	var body bytes.Buffer // whole, because an answer that has begun cannot say that the rest is missing
	file := csv.NewWriter(&body)
	_ = file.Write([]string{"run_id", "status", "goal", "services", "proposed_by", "confirmed_by", "created_at", "ended_at", "seconds_since_proposed", "steps_done", "steps_total", "receipt", "cost_usd", "amounts"})
	cursor := ""
	for n := 0; n < csvRows; {
		list, next, err := s.runHeads(ctx, v, f, cursor)
		if err != nil {
			return err
		}
		for _, head := range list[:min(len(list), csvRows-n)] {
			_ = file.Write(s.csvRow(v, head))
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
	_, err := w.Write(body.Bytes())
	return err
}

func (s *site) csvRow(v visit, h plan.Head) []string {
	var services []string
	for _, b := range h.Plan.Bindings {
		services = addNew(services, b.ServerName)
	}
	row := []string{h.ID, string(h.Status), cell(h.Plan.Goal), cell(strings.Join(services, ", ")), cell(h.User), cell(h.Confirmer), h.CreatedAt.UTC().Format(time.RFC3339), "", "", strconv.Itoa(h.Done), strconv.Itoa(len(h.Plan.Steps)), "", "", cell(s.amounts(v, h))}
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
func (s *site) amounts(v visit, h plan.Head) string {
	var list []string
	for _, c := range s.historyRow(v, h).Costs {
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
