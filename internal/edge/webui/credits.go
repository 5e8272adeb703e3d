package webui

import (
	"context"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

const entriesPage = 20

// creditsView is the credit, the limits and the spending of an account.
type creditsView struct {
	Facts    Facts
	Balance  int64
	Sessions []sessionRow
	Terms    eligibility.Terms
	Spent    []gauge
	Entries  []entryRow
	Older    string // cursor; "" at the beginning of the ledger
	Only     bool   // only older entries, to be inserted below the others
	Usage    usage
	Admin    bool // the viewer may set limits and open a session
	Billing  bool // the viewer may move credit and set prices
}

// sessionRow is a paid window of tokens.
type sessionRow struct {
	credit.Session
	Over bool // expired or refunded
}

// usedOrHeld returns the tokens that are used or held.
func (s sessionRow) usedOrHeld() int { return s.Tokens - s.Free }

// gauge is the spending against a limit, in micro-USD; a limit of 0 means none.
type gauge struct {
	Key   string // of the name in the catalogue
	Spent int64
	Limit int64
}

// level returns how near the limit is: "", near or full.
func (g gauge) level() string {
	switch {
	case g.Limit == 0 || g.Spent*10 < g.Limit*8:
		return ""
	case g.Spent < g.Limit:
		return "near"
	}
	return "full"
}

// entryRow is an entry of the ledger.
type entryRow struct {
	credit.Entry
	Who        string // the actor's name
	Refundable bool   // it paid for a session without a refund on this page
}

// cost returns the price of a session, in credits.
func (e entryRow) cost() int64 { return -e.Amount }

// creditReader reads the view of credit.
type creditReader struct {
	credits  Credits
	settings eligibility.SettingsReader
	chats    conversation.ChatReader
	answers  responders
}

// more reads the entries that ?cursor= names, or the view when it names none.
func (r creditReader) more(ctx context.Context, v visit) (*creditsView, error) {
	cursor := v.req.URL.Query().Get("cursor")
	if cursor == "" || r.credits == nil {
		return r.all(ctx, v)
	}
	entries, older, err := r.ledger(ctx, v, cursor)
	return &creditsView{Entries: entries, Older: older, Only: true, Billing: v.who.Allows(auth.ScopeBilling)}, err
}

// all reads all parts of the view concurrently.
func (r creditReader) all(ctx context.Context, v visit) (*creditsView, error) {
	if r.credits == nil || r.settings == nil {
		return nil, errNotFound
	}
	account := v.who.Account
	view := &creditsView{Admin: v.who.Allows(auth.ScopeAdmin), Billing: v.who.Allows(auth.ScopeBilling)}
	var standing credit.Standing
	var who responder
	err := runAll(
		func() (err error) { standing, err = r.credits.Standing(ctx, account, v.now); return },
		func() (err error) { view.Terms, err = r.settings.Terms(ctx, account); return },
		func() (err error) { view.Entries, view.Older, err = r.ledger(ctx, v, ""); return },
		func() (err error) { view.Usage, err = usageReader{r.credits, r.chats}.month(ctx, v); return },
		func() (err error) { who, err = r.answers.of(ctx, v, ""); return },
	)
	if err != nil {
		return nil, err
	}
	view.Facts, view.Balance = who.Facts, standing.Balance
	for _, open := range standing.Sessions {
		if row := (sessionRow{Session: open, Over: !open.Has(0, v.now)}); !row.Over {
			view.Sessions = append(view.Sessions, row)
		}
	}
	view.Spent = []gauge{
		{Key: "page.credits.today", Spent: standing.Day, Limit: view.Terms.Limits.Day},
		{Key: "page.credits.month", Spent: standing.Month, Limit: view.Terms.Limits.Month},
	}
	return view, nil
}

// ledger reads a page of the ledger. An entry with a refund on the page is not offered for another; the API decides
// in the end.
func (r creditReader) ledger(ctx context.Context, v visit, cursor string) ([]entryRow, string, error) {
	entries, older, err := r.credits.Ledger(ctx, v.who.Account, cursor, entriesPage)
	if err != nil {
		return nil, "", err
	}
	refunded := map[string]bool{}
	for _, e := range entries {
		if e.Kind == credit.KindRefund {
			refunded[e.Of] = true
		}
	}
	rows := make([]entryRow, 0, len(entries))
	for _, e := range entries {
		row := entryRow{Entry: e, Who: plain(e.Actor), Refundable: e.Kind == credit.KindSession && e.Amount < 0 && !refunded[e.ID]}
		if e.Actor == v.who.User {
			row.Who = locale.Text(v.tag, "page.credits.you")
		}
		rows = append(rows, row)
	}
	return rows, older, nil
}
