package httpapi

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/negotiation"

	"piloto/internal/ground/fault"
	"piloto/internal/models/credit"
)

// Limits of a usage report.
const (
	mostDays = 93
	mostRows = 5000 // rows; the total counts every turn
)

func (a *api) usage(s aiHandler) {
	op := operation{
		method: http.MethodGet, path: "/ai/usage", id: "usage", access: withChat,
		summary: "What was used in a span of time, added up, as JSON or CSV", failures: []int{422},
	}
	op.describe = func(h huma.API, op *huma.Operation) {
		content := op.Responses["200"].Content
		content["application/json"] = &huma.MediaType{Schema: schemaOf[Usage](h)}
		content["text/csv"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	register(a, op, s.usage)
}

// Usage is the usage of a period.
type Usage struct {
	By        credit.By    `json:"by" enum:"account,day,project,chat,run,turn,model,source"`
	From      time.Time    `json:"from"`
	To        time.Time    `json:"to" doc:"the first moment that is not in it"`
	Usage     []credit.Sum `json:"usage" nullable:"false" doc:"the costliest first"`
	Total     UsageTotal   `json:"total"`
	Truncated bool         `json:"truncated,omitempty" doc:"there is more than is listed: the newest is; the total counts all"`
}

// UsageTotal is the sum of all turns of the period.
type UsageTotal struct {
	Turns   int   `json:"turns"`
	Blocked int   `json:"blocked" doc:"turns that did not run"`
	Input   int   `json:"input_tokens"`
	New     int   `json:"new_tokens" doc:"of input_tokens: what providers read anew"`
	Cached  int   `json:"cached_tokens" doc:"of input_tokens: what providers read from their cache"`
	Output  int   `json:"output_tokens"`
	Micros  int64 `json:"cost_micros"`
	Guessed int   `json:"estimated" doc:"turns whose tokens were estimated"`
	Listed  int   `json:"list_priced" doc:"turns whose cost is an estimate: by the list price of the model, or by the highest known one"`
}

// UsageInput are the parameters of a usage report.
type UsageInput struct {
	By     credit.By `query:"by" enum:"account,day,project,chat,run,turn,model,source" doc:"day when absent"`
	From   string    `query:"from" maxLength:"40" doc:"a day (2026-03-01, UTC) or a moment (RFC 3339); the first of the month when absent"`
	To     string    `query:"to" maxLength:"40" doc:"a day, which is in it, or a moment, which is not; today when absent"`
	Format string    `query:"format" enum:"json,csv" doc:"as Accept says when absent, else json"`
	Accept string    `header:"Accept" hidden:"true"`
}

// usageReply is Usage as JSON, or as CSV.
type usageReply struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Truncated   string `header:"X-Truncated"`
	Body        any
}

func (s aiHandler) usage(ctx context.Context, in *UsageInput) (*usageReply, error) {
	from, to, err := parsePeriod(in.From, in.To, s.config.Now())
	if err != nil {
		return nil, err
	}
	if in.By == "" {
		in.By = credit.ByDay
	}
	got, err := s.sumUsage(ctx, in.By, from, to)
	if err != nil {
		return nil, err
	}
	if !in.asCSV() {
		return &usageReply{ContentType: "application/json", Body: got}, nil
	}
	raw, err := got.csv()
	out := &usageReply{
		ContentType: "text/csv; charset=utf-8", Body: raw,
		Disposition: fmt.Sprintf(`attachment; filename="piloto-usage-%s-%s-%s.csv"`, in.By, from.Format(time.DateOnly), to.Add(-1).Format(time.DateOnly)),
	}
	if got.Truncated {
		out.Truncated = "true"
	}
	return out, err
}

func (in *UsageInput) asCSV() bool {
	if in.Format != "" {
		return in.Format == "csv"
	}
	return negotiation.SelectQValueFast(in.Accept, []string{"application/json", "text/csv"}) == "text/csv"
}

// parsePeriod parses the two ends of a period.
func parsePeriod(first, last string, now time.Time) (from, to time.Time, err error) {
	from, to, isDay, err := parseEnds(first, last, errPeriod)
	if err != nil {
		return from, to, err
	}
	if last == "" {
		to = midnight(now).AddDate(0, 0, 1)
	}
	if first == "" {
		day := to.Add(-1)
		from = midnight(day).AddDate(0, 0, 1-day.Day())
	}
	switch {
	case to.Before(from), isDay && to.Equal(from): // a period with a day is never empty
		return from, to, errPeriod.At(field("period_order", "query", "to"))
	case from.Year() < 1970 || to.Year() > 9999: // no turn is outside of these years, and JSON cannot represent them
		return from, to, errPeriod.At(field("datetime_parsing", "query", "to"))
	case to.Sub(from) > mostDays*24*time.Hour:
		return from, to, errPeriod.At(field("period_too_long", "query", "to"))
	}
	return from, to, nil
}

// parseEnds parses the two ends of a period; "" is the zero time. A day at its end is in it, so that to is the next one.
// It returns the fault bad at the unreadable ends.
func parseEnds(first, last string, bad *fault.Error) (from, to time.Time, isDay bool, err error) {
	from, _, errFrom := parseEnd(first)
	to, isDay, errTo := parseEnd(last)
	if errFrom != nil || errTo != nil {
		if errFrom != nil {
			bad = bad.At(field("datetime_parsing", "query", "from"))
		}
		if errTo != nil {
			bad = bad.At(field("datetime_parsing", "query", "to"))
		}
		return from, to, isDay, bad
	}
	if isDay {
		to = to.AddDate(0, 0, 1)
	}
	return from, to, isDay, nil
}

// parseEnd parses a day or a time; "" is the zero time.
func parseEnd(text string) (at time.Time, isDay bool, err error) {
	if text == "" {
		return time.Time{}, false, nil
	}
	if at, err = time.Parse(time.DateOnly, text); err == nil {
		return at, true, nil
	}
	at, err = time.Parse(time.RFC3339, text)
	return at.UTC(), false, err
}

func midnight(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

// sumUsage sums the turns of a period. It holds at most mostRows rows, however many turns there are.
func (s aiHandler) sumUsage(ctx context.Context, by credit.By, from, to time.Time) (Usage, error) {
	account := caller(ctx).Account
	rows, all := credit.Adder{By: by, Account: account}, credit.Adder{By: credit.ByAccount, Account: account}
	known := map[string]bool{}
	out := Usage{By: by, From: from, To: to}
	err := s.Books.Turns(ctx, account, from, to, func(t credit.Turn) bool {
		all.Add(t)
		one := credit.Adder{By: by, Account: account}
		one.Add(t)
		key := one.Sums()[0].Key
		if !known[key] && len(known) == mostRows {
			out.Truncated = true
			return true
		}
		known[key] = true
		rows.Add(t)
		return true
	})
	out.Usage = rows.Sums()
	for _, sum := range all.Sums() {
		out.Total = UsageTotal{sum.Turns, sum.Blocked, sum.Input, sum.New, sum.Cached, sum.Output, sum.Micros, sum.Guessed, sum.Listed}
	}
	return out, err
}

var usageColumns = []string{
	"by", "key", "turns", "blocked", "input_tokens", "output_tokens", "estimated", "cost_micros", "cost_usd", "first_at", "last_at", "cached_tokens", "list_priced", "new_tokens",
}

// csv writes the rows in the format of RFC 4180.
func (u Usage) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.Write(usageColumns)
	for _, r := range u.Usage {
		_ = w.Write([]string{
			string(u.By), escapeFormula(r.Key), strconv.Itoa(r.Turns), strconv.Itoa(r.Blocked), strconv.Itoa(r.Input), strconv.Itoa(r.Output),
			strconv.Itoa(r.Guessed), strconv.FormatInt(r.Micros, 10), dollars(r.Micros),
			r.First.UTC().Format(time.RFC3339), r.Last.UTC().Format(time.RFC3339),
			strconv.Itoa(r.Cached), strconv.Itoa(r.Listed), strconv.Itoa(r.New),
		})
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// escapeFormula returns a text that no spreadsheet takes for a formula, because clients choose the names of
// providers and models.
func escapeFormula(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(text)[0]) {
		return text
	}
	return "'" + text
}

// dollars formats micro-USD as USD, exactly.
func dollars(micros int64) string {
	sign := ""
	if micros < 0 {
		sign, micros = "-", -micros
	}
	return fmt.Sprintf("%s%d.%06d", sign, micros/1_000_000, micros%1_000_000)
}
