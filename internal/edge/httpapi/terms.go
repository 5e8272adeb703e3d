package httpapi

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

func (a *api) terms(s aiHandler) {
	register(a, operation{
		method: http.MethodGet, path: "/ai/terms", id: "readTerms", access: withChat,
		summary: "Read what AI costs the account, and what it may spend",
	}, s.readTerms)
	register(a, operation{
		method: http.MethodPut, path: "/ai/terms", id: "setTerms", access: withEither,
		summary: "Set what the account may spend, and, with the scope billing, what AI costs it", failures: []int{413, 415, 422},
	}, s.setTerms)
}

// Terms are the price of AI for an account, and its spending limits.
type Terms struct {
	Policy credit.Policy `json:"policy"`
	Limits credit.Limits `json:"limits"`
	Block  *Block        `json:"block,omitempty" doc:"why an answer of the account's assistant cannot be paid under these terms now; absent: it can"`
}

// TermsRequest is the body that sets the terms. An absent part is not changed.
type TermsRequest struct {
	Policy *PolicyRequest `json:"policy,omitempty" doc:"changing it needs the scope billing"`
	Limits *LimitsRequest `json:"limits,omitempty"`
}

// PolicyRequest is the price, size and life of a session.
type PolicyRequest struct {
	SessionCost    int64 `json:"session_cost" minimum:"1" maximum:"1000000000" doc:"credits"`
	SessionTokens  int   `json:"session_tokens" minimum:"1" maximum:"100000000"`
	SessionMinutes int   `json:"session_minutes" minimum:"1" maximum:"527040"`
}

// LimitsRequest is the spending limits, in micro-USD; 0 means no limit.
type LimitsRequest struct {
	Day   int64 `json:"day_micros" minimum:"0" maximum:"1000000000000"`
	Month int64 `json:"month_micros" minimum:"0" maximum:"1000000000000"`
	Run   int64 `json:"run_micros" minimum:"0" maximum:"1000000000000"`
}

func (s aiHandler) readTerms(ctx context.Context, _ *nothing) (*reply[Terms], error) {
	got, err := s.Settings.Terms(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return s.showTerms(ctx, got)
}

// showTerms returns terms with the block of a turn that they do not let be paid.
func (s aiHandler) showTerms(ctx context.Context, terms eligibility.Terms) (*reply[Terms], error) {
	now, err := s.Decisions.Read(ctx, eligibility.Question{Account: caller(ctx).Account, Need: eligibility.NominalNeed()})
	if err != nil {
		return nil, err
	}
	return answer(Terms{terms.Policy, terms.Limits, showBlock(now.Unpaid(), requestInfoFrom(ctx).lang)}), nil
}

func (s aiHandler) setTerms(ctx context.Context, in *struct{ Body TermsRequest }) (*reply[Terms], error) {
	who := caller(ctx)
	before, err := s.Settings.Terms(ctx, who.Account)
	if err != nil {
		return nil, err
	}
	next := eligibility.Terms{Policy: before.Policy, Limits: before.Limits}
	if in.Body.Policy != nil {
		next.Policy = credit.Policy(*in.Body.Policy)
	}
	if in.Body.Limits != nil {
		next.Limits = credit.Limits(*in.Body.Limits)
	}
	if next.Policy != before.Policy {
		if err := needsBilling(who); err != nil {
			return nil, err
		}
	}
	wrong := append(prefixFields("policy", next.Policy.Valid()), prefixFields("limits", next.Limits.Valid())...)
	if len(wrong) > 0 {
		return nil, eligibility.ErrSetting.At(wrong...)
	}
	got, err := s.Settings.PutTerms(ctx, who.Account, next)
	if err != nil {
		return nil, err
	}
	return s.showTerms(ctx, got)
}

// prefixFields moves the places of fields into a member of the body.
func prefixFields(member string, fields []fault.Field) []fault.Field {
	for i, f := range fields {
		fields[i].Loc = append([]any{f.Loc[0], member}, f.Loc[1:]...)
	}
	return fields
}

// needsBilling returns the error of a caller who may not set prices.
func needsBilling(who auth.Principal) error {
	if who.Allows(auth.ScopeBilling) {
		return nil
	}
	return auth.ErrScope.With("scope", string(auth.ScopeBilling))
}
