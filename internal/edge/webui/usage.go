package webui

import (
	"cmp"
	"context"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
)

// usage is this month's usage.
type usage struct {
	By      credit.By
	Choices []credit.By
	From    time.Time
	Rows    []usageRow
	More    int // rows that are only in the file
	Total   credit.Sum
	Partial bool // there were more turns than a page reads
	Chart   []usageBar
	Costs   bool // the bars are costs, not turns
}

// usageBar is the bar of one row in a chart of chartHeight units.
type usageBar struct {
	X, Y, Height int
	Title        string
}

// Sizes of the chart, in units of its drawing.
const (
	chartHeight = 64
	barGap      = 20
)

// chartOf draws the rows of a table, the oldest first: their costs or, when nothing cost anything, their turns.
func chartOf(rows []usageRow) (bars []usageBar, costs bool) {
	costs = slices.ContainsFunc(rows, func(r usageRow) bool { return r.Micros > 0 })
	value := func(r usageRow) int64 {
		if costs {
			return r.Micros
		}
		return int64(r.Turns)
	}
	most := int64(1)
	for _, r := range rows {
		most = max(most, value(r))
	}
	for i, r := range slices.Backward(rows) {
		height := int(value(r) * (chartHeight - 4) / most)
		if value(r) > 0 {
			height = max(height, 1)
		}
		bars = append(bars, usageBar{X: (len(rows) - 1 - i) * barGap, Y: chartHeight - height, Height: height, Title: r.Name})
	}
	return bars, costs
}

type usageRow struct {
	credit.Sum
	Name string // of the day, chat or model; "" for none
	Chat string // id, for a link
}

// Limits of the usage on a page.
const (
	turnsRead = 5000
	usageRows = 15
)

// usageReader reads the usage of an account.
type usageReader struct {
	turns credit.TurnReader
	chats conversation.ChatReader
}

// month sums this month's turns, grouped as the address asks.
func (r usageReader) month(ctx context.Context, v visit) (usage, error) {
	u := usage{By: credit.ByDay, Choices: []credit.By{credit.ByDay, credit.ByChat, credit.ByModel}}
	for _, by := range u.Choices {
		if string(by) == v.req.URL.Query().Get("by") {
			u.By = by
		}
	}
	now := v.now.UTC()
	u.From = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	adder, total := credit.Adder{By: u.By}, credit.Adder{By: credit.ByAccount}
	read := 0
	err := r.turns.Turns(ctx, v.who.Account, u.From, u.From.AddDate(0, 1, 0), func(t credit.Turn) bool {
		if read == turnsRead {
			u.Partial = true
			return false
		}
		read++
		adder.Add(t)
		total.Add(t)
		return true
	})
	if err != nil {
		return u, err
	}
	if all := total.Sums(); len(all) == 1 {
		u.Total = all[0]
	}
	sums := adder.Sums()
	if u.By == credit.ByDay {
		sortNewestFirst(sums)
	}
	u.More = max(0, len(sums)-usageRows)
	u.Rows, err = r.nameRows(ctx, v, u.By, sums[:min(len(sums), usageRows)])
	if len(u.Rows) > 1 {
		u.Chart, u.Costs = chartOf(u.Rows)
	}
	return u, err
}

// sortNewestFirst sorts the sums of days.
func sortNewestFirst(sums []credit.Sum) {
	slices.SortFunc(sums, func(a, b credit.Sum) int { return cmp.Compare(b.Key, a.Key) })
}

// nameRows sets the display name of each sum. A deleted chat keeps its cost.
func (r usageReader) nameRows(ctx context.Context, v visit, by credit.By, sums []credit.Sum) ([]usageRow, error) {
	rows := make([]usageRow, len(sums))
	reads := make([]func() error, 0, len(sums))
	for i, sum := range sums {
		rows[i] = usageRow{Sum: sum, Name: plain(sum.Key)}
		switch {
		case sum.Key == "":
			rows[i].Name = locale.Text(v.tag, "page.usage.none")
		case by == credit.ByChat:
			reads = append(reads, func() error { return r.setTitle(ctx, v, &rows[i]) })
		}
	}
	return rows, runAll(reads...)
}

func (r usageReader) setTitle(ctx context.Context, v visit, row *usageRow) error {
	chat, err := r.chats.Chat(ctx, v.who.Account, row.Key)
	switch {
	case isMissing(err):
		row.Name = locale.Text(v.tag, "page.usage.deleted")
		return nil
	case err != nil:
		return err
	}
	row.Chat, row.Name = chat.ID, plain(chat.Title)
	if chat.Title == "" {
		row.Name = locale.Text(v.tag, "page.chat.untitled")
	}
	return nil
}
