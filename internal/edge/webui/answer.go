package webui

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// responder is the account's setting of who answers a conversation, and when. It does not decide whether a turn may
// run: the script asks GET /ai/eligibility.
type responder struct {
	Facts   Facts            // with the provider and model of the assistant
	Mode    eligibility.Mode // mode of the assistant
	Enabled bool             // the account's AI is switched on
}

// responders reads who answers. Without settings it is the model of the deployment.
type responders struct {
	facts    Facts
	settings eligibility.SettingsReader
}

// of reads the setting for a project, or for the account when projectID is "".
func (r responders) of(ctx context.Context, v visit, projectID string) (responder, error) {
	who := responder{Facts: r.facts, Mode: eligibility.Automatic, Enabled: true}
	if r.settings == nil {
		return who, nil
	}
	var a eligibility.Assistant
	var ok bool
	var e eligibility.Entitlement
	err := runAll(
		func() (err error) { a, ok, err = r.settings.AssistantOf(ctx, v.who.Account, projectID); return },
		func() (err error) { e, err = r.settings.Entitlement(ctx, v.who.Account); return },
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
		who.Facts.Demo = r.facts.Demo && a.Provider == r.facts.Provider
		who.Facts.Provider, who.Facts.Model = a.Provider, a.Model
	}
	return who, nil
}

// author returns the provider and model of an answer; "" when no model wrote it.
func author(by conversation.By, tag locale.Tag) string {
	if by.Model == "" {
		return ""
	}
	return locale.Text(tag, "page.by", "provider", plain(eligibility.Label(by.Provider)), "model", plain(by.Model))
}

// swapNote explains why another provider than the preferred one answered; "" when the preferred one did.
func swapNote(by conversation.By, tag locale.Tag) string {
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

// remedy returns the next step for a block of a provider; "" when the catalogue has none.
func remedy(code, provider string, tag locale.Tag) string {
	key := "blocked." + code + ".do"
	if _, ok := locale.Lookup(tag, key); !ok {
		return ""
	}
	return locale.Text(tag, key, "provider", plain(eligibility.Label(provider)))
}

// runAll runs all of the functions, at most eight at a time, and returns the first error.
func runAll(functions ...func() error) error {
	var group errgroup.Group
	group.SetLimit(plan.MaxParallel)
	for _, f := range functions {
		group.Go(f)
	}
	return group.Wait()
}
