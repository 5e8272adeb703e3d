package webui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
)

// answers is who answers a conversation, and when, as the account has set it.
// Whether a turn may run is decided elsewhere: the script asks GET /ai/eligibility.
type answers struct {
	Facts   Facts            // with the assistant's provider and model
	Mode    eligibility.Mode // the assistant's
	Enabled bool             // the account's AI is switched on
}

// answers reads it for a project, or for the account when projectID is "".
func (s *site) answers(ctx context.Context, v visit, projectID string) (answers, error) {
	who := answers{Facts: s.Facts, Mode: eligibility.Automatic, Enabled: true}
	if s.Assistants == nil {
		return who, nil
	}
	var a eligibility.Assistant
	var ok bool
	var e eligibility.Entitlement
	err := together(
		func() (err error) { a, ok, err = s.Assistants.AssistantOf(ctx, v.who.Account, projectID); return },
		func() (err error) { e, err = s.Assistants.Entitlement(ctx, v.who.Account); return },
	)
	if err != nil {
		return who, err
	}
	who.Enabled = e.Enabled
	if !ok {
		who.Facts.Provider, who.Facts.Model, who.Facts.Demo = "", "", false
		return who, nil
	}
	who.Mode = cmp.Or(a.Automation.Mode, eligibility.Automatic)
	if a.Scope != eligibility.ScopeDeployment {
		who.Facts.Demo = s.Facts.Demo && a.Provider == s.Facts.Provider
		who.Facts.Provider, who.Facts.Model = a.Provider, a.Model
	}
	return who, nil
}

// author names a model and whose it is.
func author(by conversation.By, tag locale.Tag) string {
	if by.Model == "" {
		return ""
	}
	return locale.Text(tag, "page.by", "provider", plain(eligibility.Label(by.Provider)), "model", plain(by.Model))
}

// instead says who wrote an answer when it was not the one that is preferred; ""
// when it was.
func instead(by conversation.By, tag locale.Tag) string {
	if by.Preferred == "" {
		return ""
	}
	why := "page.by.other"
	if slices.Contains(eligibility.Swappable(), eligibility.Reason(by.Reason)) {
		why = "page.by." + by.Reason
	}
	return locale.Text(tag, "page.by.instead", "provider", plain(eligibility.Label(by.Provider)),
		"why", locale.Text(tag, why, "preferred", plain(eligibility.Label(by.Preferred))))
}

// remedy is what to do about a block of a provider; "" when nobody wrote that down.
func remedy(code, provider string, tag locale.Tag) string {
	key := "blocked." + code + ".do"
	if _, ok := locale.Lookup(tag, key); !ok {
		return ""
	}
	return locale.Text(tag, key, "provider", plain(eligibility.Label(provider)))
}

// together runs the functions at once and returns their errors, joined.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var wait sync.WaitGroup
	for i, f := range functions {
		wait.Go(func() { errs[i] = f() })
	}
	wait.Wait()
	return errors.Join(errs...)
}
