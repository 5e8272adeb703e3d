package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

func (a *api) credits(s aiHandler) {
	register(a, operation{
		method: http.MethodGet, path: "/ai/credits", id: "credits", access: withChat,
		summary: "What the account has, has open, and has spent",
	}, s.credits)
	register(a, operation{
		method: http.MethodGet, path: "/ai/ledger", id: "ledger", access: withChat,
		summary: "Every movement of credit, the newest first", failures: []int{422},
	}, s.ledger)
	register(a, operation{
		method: http.MethodPost, path: "/ai/ledger", id: "moveCredit", access: withBilling, status: http.StatusCreated,
		summary:  "Give credit, correct the balance, or refund what a session cost; once for each Idempotency-Key",
		failures: []int{404, 409, 413, 415, 422},
	}, s.move)
	register(a, operation{
		method: http.MethodPost, path: "/ai/sessions", id: "openCreditSession", access: withAdmin, optionalBody: true, status: http.StatusCreated,
		summary:  "Open a session now, at what the policy says it costs; once for each Idempotency-Key",
		failures: []int{409, 413, 415, 422},
	}, s.open)
}

// Credits is the credit, the sessions and the spending of an account.
type Credits struct {
	Balance  int64           `json:"balance" doc:"credits"`
	Policy   credit.Policy   `json:"policy"`
	Sessions []CreditSession `json:"sessions" nullable:"false" doc:"whose time is not over, the first to end first"`
	Requires *bool           `json:"requires_credits,omitempty" doc:"answers of the account's assistant cost credits; absent when it has none"`
	Limits   credit.Limits   `json:"limits"`
	Spent    Spent           `json:"spent"`
	Block    *Block          `json:"block,omitempty" doc:"why an answer of the account's assistant cannot be paid now; absent: it can"`
}

// CreditSession is a paid window of tokens.
type CreditSession credit.Session

// Spent is money that was spent or is held, in UTC days and months.
type Spent struct {
	Day   int64 `json:"day_micros" doc:"micro-USD today"`
	Month int64 `json:"month_micros" doc:"micro-USD this month"`
}

func (s aiHandler) credits(ctx context.Context, _ *nothing) (*reply[Credits], error) {
	account := caller(ctx).Account
	got, err := s.Decisions.Read(ctx, eligibility.Question{Account: account, Need: eligibility.NominalNeed()})
	if err != nil {
		return nil, err
	}
	// A decision reads the wallet only where it depends on it.
	standing, err := s.Books.Standing(ctx, account, s.config.Now())
	if err != nil {
		return nil, err
	}
	v := Credits{
		Balance: standing.Balance, Policy: got.Policy, Limits: got.Limits,
		Sessions: make([]CreditSession, 0, len(standing.Sessions)), Spent: Spent{standing.Day, standing.Month},
		Block: showBlock(got.Unpaid(), requestInfoFrom(ctx).lang),
	}
	for _, one := range standing.Sessions {
		v.Sessions = append(v.Sessions, CreditSession(one))
	}
	for _, p := range got.Providers {
		if got.Assistant != nil && p.Name == got.Assistant.Provider {
			v.Requires = &p.CostsCredits
		}
	}
	return answer(v), nil
}

// LedgerPage is a page of the ledger.
type LedgerPage struct {
	Entries []credit.Entry `json:"entries" nullable:"false"`
	Cursor  string         `json:"cursor,omitempty" doc:"of the entries before these, when there are some"`
}

func (s aiHandler) ledger(ctx context.Context, in *struct{ PageInput }) (*reply[LedgerPage], error) {
	entries, cursor, err := s.Books.Ledger(ctx, caller(ctx).Account, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	return answer(LedgerPage{list(entries), cursor}), nil
}

// MovementRequest is the body that moves credit.
type MovementRequest struct {
	Kind   credit.Kind `json:"kind" enum:"grant,adjustment,refund"`
	Amount int64       `json:"amount,omitempty" minimum:"-1000000000" maximum:"1000000000" doc:"credits of a grant, or of an adjustment, which may be below 0"`
	Of     string      `json:"of,omitempty" maxLength:"128" doc:"of a refund: the entry of the session to give back"`
	Reason string      `json:"reason" minLength:"1" maxLength:"300"`
}

func (s aiHandler) move(ctx context.Context, in *struct {
	Idempotency
	Body MovementRequest
},
) (*reply[credit.Entry], error) {
	who := caller(ctx)
	if in.Body.Of != "" && !ids.Valid(in.Body.Of) && in.Body.Kind == credit.KindRefund {
		return nil, credit.ErrEntryNotFound
	}
	entry, err := s.Wallet.Move(ctx, who.Account, credit.Movement{
		Kind: in.Body.Kind, Amount: in.Body.Amount, Of: in.Body.Of, Reason: in.Body.Reason, Actor: who.User, Key: in.Key,
	})
	if err != nil {
		return nil, s.withBalance(ctx, err, -in.Body.Amount)
	}
	return answer(entry), nil
}

func (s aiHandler) open(ctx context.Context, in *struct {
	Idempotency
	Body struct{}
},
) (*reply[CreditSession], error) {
	who := caller(ctx)
	terms, err := s.Settings.Terms(ctx, who.Account)
	if err != nil {
		return nil, err
	}
	id := s.config.NewID(s.config.Now())
	if in.Key != "" {
		id = ids.Derive("credit session", string(who.Account), in.Key)
	}
	reason := locale.Text(requestInfoFrom(ctx).lang, "credit.session_by_hand")
	session, err := s.Wallet.Open(ctx, who.Account, credit.Purchase{ID: id, Actor: who.User, Reason: reason, Units: 1}, terms.Policy)
	if err != nil {
		return nil, s.withBalance(ctx, err, terms.Policy.SessionCost)
	}
	return answer(CreditSession(session)), nil
}

// withBalance adds the balance and the needed credits to an ErrInsufficient.
func (s aiHandler) withBalance(ctx context.Context, err error, need int64) error {
	if !errors.Is(err, credit.ErrInsufficient) {
		return err
	}
	standing, readErr := s.Books.Standing(ctx, caller(ctx).Account, s.config.Now())
	if readErr != nil {
		return err
	}
	return credit.ErrInsufficient.With("balance", strconv.FormatInt(standing.Balance, 10)).With("need", strconv.FormatInt(need, 10))
}
