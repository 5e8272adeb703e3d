package eligibility

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"piloto/internal/ground/locale"
)

// CheckStatus says whether a check of a provider goes on.
type CheckStatus string

// The statuses of a check.
const (
	CheckRunning CheckStatus = "running"
	CheckDone    CheckStatus = "done"   // the provider answered; what it does not take is among the findings
	CheckFailed  CheckStatus = "failed" // it did not answer, or nothing was called; Reason says why
)

// Reasons of a failed check that no turn has.
const (
	CheckInterrupted Reason = "interrupted" // its process died
	CheckTimeout     Reason = "timeout"     // no answer in time
	CheckNoAPI       Reason = "not_an_api"  // it answered with a page, or with something else that is no answer
	CheckNoModel     Reason = "no_model"    // nobody said which model, and the provider has not exactly one
	CheckModel       Reason = "model_unknown"
	CheckBalance     Reason = "no_balance" // the provider wants money
	CheckFiltered    Reason = "filtered"   // its filter lets even these calls not pass
	CheckCutShort    Reason = "cut_short"  // the model thought up to the limit of the answer
	CheckTooLong     Reason = "too_long"   // even these calls are longer than its window
)

// CheckReasons lists them.
func CheckReasons() []Reason {
	return []Reason{CheckInterrupted, CheckTimeout, CheckNoAPI, CheckNoModel, CheckModel, CheckBalance, CheckFiltered, CheckCutShort, CheckTooLong}
}

// Check is the last check of a provider, which a person asked for, and what is known of the models that were checked there.
type Check struct {
	ID       string           `json:"id"`
	Provider string           `json:"provider"`
	BaseURL  string           `json:"base_url"` // that is called; a check of another address counts as none
	Status   CheckStatus      `json:"status"`
	At       time.Time        `json:"at"`
	User     string           `json:"user"`
	Until    time.Time        `json:"until"`           // when it is over, or its process died
	Begun    bool             `json:"begun,omitempty"` // its calls are made, or were
	Model    string           `json:"model"`
	Reason   Reason           `json:"reason,omitempty"`
	Short    *Short           `json:"short,omitempty"` // of money or credits, where that is the reason
	Calls    []CheckCall      `json:"calls,omitempty"`
	Findings []Finding        `json:"findings,omitempty"`
	Micros   int64            `json:"cost_micros"`
	Models   map[string]Known `json:"models,omitempty"`
}

// Short is what was missing for the calls of a check: the limit that they would pass, or credits.
type Short struct {
	Passed  Passed `json:"passed,omitzero"`
	Balance *int64 `json:"balance,omitempty"`
	Missing int64  `json:"missing,omitempty"`
}

// CheckCall is one call of a check. Error is a reason, or "skipped".
type CheckCall struct {
	Name   string `json:"name" enum:"text,tool,two_tools,structured,stream"`
	OK     bool   `json:"ok"`
	Millis int64  `json:"ms" doc:"how long it took"`
	Tokens int    `json:"tokens" doc:"read and written"`
	Error  string `json:"error,omitempty" doc:"why it failed; skipped: it was not made, because it would have shown nothing"`
}

// Known is what is known of a model. Quirks are its client's, as JSON; Window is the most tokens of a prompt and its answer, 0
// when the provider does not say it. What calls at work showed is the Lesson of this number, and rests on the check that ended
// at On; 0: it is a check's.
type Known struct {
	Quirks json.RawMessage `json:"quirks,omitempty"`
	Window int             `json:"window,omitempty"`
	At     time.Time       `json:"at"`
	On     time.Time       `json:"on,omitzero"`
	Lesson int             `json:"lesson,omitempty"`
}

// Finding is one thing that a check found. Value is a number, or a name that the provider wrote.
type Finding struct {
	Code  string `json:"code"`
	Value string `json:"value,omitempty"`
}

// Text returns the sentence of the finding.
func (f Finding) Text() locale.Phrase {
	return locale.Say("check.finding."+f.Code, "value", locale.Verbatim(f.Value))
}

// mostKnown is the largest number of models of one provider that are remembered.
const mostKnown = 20

// Keep returns what is known of a provider's models with that of one more; the oldest is forgotten.
func Keep(models map[string]Known, model string, k Known) map[string]Known {
	kept := map[string]Known{}
	maps.Copy(kept, models)
	kept[model] = k
	for len(kept) > mostKnown {
		oldest := slices.MinFunc(slices.Sorted(maps.Keys(kept)), func(a, b string) int { return kept[a].At.Compare(kept[b].At) })
		delete(kept, oldest)
	}
	return kept
}

// Running reports whether the check goes on at a time.
func (c Check) Running(at time.Time) bool { return c.Status == CheckRunning && !at.After(c.Until) }

// Seen returns the check as it is at a time: one whose process died is failed.
func (c Check) Seen(at time.Time) Check {
	if c.Status == CheckRunning && !c.Running(at) {
		c.Status, c.Reason = CheckFailed, CheckInterrupted
	}
	return c
}

// Message returns the sentence that says why the check failed; nil when it did not.
func (c Check) Message() locale.Phrase {
	switch {
	case c.Reason == "":
		return nil
	case slices.Contains(CheckReasons(), c.Reason):
		return locale.Say("check.failed."+string(c.Reason), "provider", Label(c.Provider), "model", c.Model)
	}
	return c.block().Message()
}

// Action returns the sentence that says how the cause of the failure is removed; nil when it did not fail.
func (c Check) Action() locale.Phrase {
	switch {
	case c.Reason == "":
		return nil
	case slices.Contains(CheckReasons(), c.Reason):
		return locale.Say("check.failed."+string(c.Reason)+".do", "provider", Label(c.Provider), "model", c.Model)
	}
	return c.block().Action()
}

// block returns the block of a check that failed for the reason of a turn. The provider refused what it was asked.
func (c Check) block() *Block {
	b := Refuse(c.Reason, c.Provider)
	if b.byProvider = len(c.Calls) > 0; c.Short != nil {
		b.Passed, b.CreditBalance, b.Missing = c.Short.Passed, c.Short.Balance, c.Short.Missing
	}
	return b
}

// checkOf returns the check of a provider at an address; nil when there was none there.
func (s Settings) checkOf(name, base string) *Check {
	if c, ok := s.Checks[name]; ok && c.BaseURL == base {
		return &c
	}
	return nil
}

// ModelAt returns the model that an account uses at a provider: that of an assistant, or of one who stands in; else the only
// one with a price of the account's own. "" for none.
func (s *Service) ModelAt(settings Settings, provider string) string {
	assistants := []*Assistant{s.Deployment.assistant(settings, ""), s.Deployment.Assistant}
	for _, project := range slices.Sorted(maps.Keys(settings.Assistants)) {
		assistants = append(assistants, s.Deployment.assistant(settings, project))
	}
	model := ""
	for _, a := range assistants {
		if a == nil {
			continue
		}
		for _, c := range append([]Choice{{Provider: a.Provider, Model: a.Model}}, a.Fallback...) {
			if c.Provider == provider {
				model = cmp.Or(model, c.Model)
			}
		}
	}
	for _, c := range settings.Providers {
		if c.Name == provider && model == "" && len(c.Prices) == 1 {
			for only := range c.Prices {
				model = only
			}
		}
	}
	return model
}
