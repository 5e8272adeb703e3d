package httpapi

import (
	"context"
	"net/http"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

func (a *api) terms(s adviser) {
	register(a, operation{
		method: http.MethodGet, path: "/ai/terms", id: "readTerms", access: withChat,
		summary: "Read what AI costs the account, and what it may spend",
	}, s.readTerms)
	register(a, operation{
		method: http.MethodPut, path: "/ai/terms", id: "setTerms", access: withEither,
		summary: "Set what the account may spend, and, with the scope billing, what AI costs it", failures: []int{413, 415, 422},
	}, s.setTerms)
}

// Terms is what AI costs an account, and what it may spend.
type Terms struct {
	Policy credit.Policy `json:"policy"`
	Limits credit.Limits `json:"limits"`
}

// TermsRequest is the body that sets them: a part that is absent stays as it is.
type TermsRequest struct {
	Policy *PolicyRequest `json:"policy,omitempty" doc:"changing it needs the scope billing"`
	Limits *LimitsRequest `json:"limits,omitempty"`
}

// PolicyRequest is what a session costs and holds.
type PolicyRequest struct {
	SessionCost    int64 `json:"session_cost" minimum:"1" maximum:"1000000000" doc:"credits"`
	SessionTokens  int   `json:"session_tokens" minimum:"1" maximum:"100000000"`
	SessionMinutes int   `json:"session_minutes" minimum:"1" maximum:"527040"`
}

// LimitsRequest is what may be spent, in micro-USD; 0 means no limit.
type LimitsRequest struct {
	Day   int64 `json:"day_micros" minimum:"0" maximum:"1000000000000"`
	Month int64 `json:"month_micros" minimum:"0" maximum:"1000000000000"`
	Run   int64 `json:"run_micros" minimum:"0" maximum:"1000000000000"`
}

func (s adviser) readTerms(ctx context.Context, _ *nothing) (*reply[Terms], error) {
	got, err := s.Settings.Terms(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return answer(Terms{got.Policy, got.Limits}), nil
}

func (s adviser) setTerms(ctx context.Context, in *struct{ Body TermsRequest }) (*reply[Terms], error) {
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
	wrong := append(inside("policy", next.Policy.Valid()), inside("limits", next.Limits.Valid())...)
	if len(wrong) > 0 {
		return nil, eligibility.ErrSetting.At(wrong...)
	}
	got, err := s.Settings.PutTerms(ctx, who.Account, next)
	if err != nil {
		return nil, err
	}
	return answer(Terms{got.Policy, got.Limits}), nil
}

// inside says of fields that they stand in a member of the body.
func inside(member string, fields []fault.Field) []fault.Field {
	for i, f := range fields {
		fields[i].Loc = append([]any{f.Loc[0], member}, f.Loc[1:]...)
	}
	return fields
}

// needsBilling refuses whoever may not say what things cost.
func needsBilling(who auth.Principal) error {
	if who.Allows(auth.ScopeBilling) {
		return nil
	}
	return auth.ErrScope.With("scope", string(auth.ScopeBilling))
}
