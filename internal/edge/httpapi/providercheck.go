package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/check"
	"piloto/internal/models/eligibility"
)

// errCheckNotBegun means that the check of a provider could not be started, and is failed.
var errCheckNotBegun = fault.New(fault.Unavailable, "ai.check_not_begun")

func (a *api) providerChecks(s aiHandler) {
	register(a, operation{
		method: http.MethodPost, path: "/ai/providers/{name}/check", id: "checkProvider", access: withAdmin, status: http.StatusAccepted, optionalBody: true,
		summary: "Find out what a provider's model takes, with five small calls that are paid; the result is in the provider. " +
			"While a check of the provider runs, that one goes on, and no other begins",
		failures: []int{404, 413, 415, 422, 503},
	}, s.check)
}

// ProviderCheck is the last check of a provider.
type ProviderCheck struct {
	Status   eligibility.CheckStatus `json:"status" enum:"running,done,failed" doc:"done: the provider answers, and findings say how; failed: it does not, or nothing was called"`
	At       time.Time               `json:"at" doc:"when it was asked for"`
	Model    string                  `json:"model" doc:"that was called; empty while the provider's list is asked for its only model"`
	Reason   eligibility.Reason      `json:"reason,omitempty" doc:"why it failed: a reason of a block, or interrupted, timeout, not_an_api, no_model, model_unknown, no_balance, filtered, cut_short, too_long"`
	Message  string                  `json:"message,omitempty" doc:"the reason, for a person"`
	Action   string                  `json:"action,omitempty" doc:"what to do next"`
	Calls    []eligibility.CheckCall `json:"calls" nullable:"false"`
	Findings []ProviderFinding       `json:"findings" nullable:"false"`
	Quirks   json.RawMessage         `json:"quirks,omitempty" doc:"what later calls of the model heed"`
	Window   int                     `json:"window,omitempty" doc:"tokens of a prompt and its answer, as the provider's list says it"`
	Micros   int64                   `json:"cost_micros" doc:"what all its calls cost"`
}

// ProviderLesson is what calls at work, and no check, showed of a model.
type ProviderLesson struct {
	Model    string            `json:"model"`
	At       time.Time         `json:"at" doc:"when something was learned last"`
	Findings []ProviderFinding `json:"findings" nullable:"false"`
	Quirks   json.RawMessage   `json:"quirks" doc:"what later calls of the model heed"`
}

func showLessons(p eligibility.Provider, lang locale.Tag) []ProviderLesson {
	var out []ProviderLesson
	for _, l := range p.Learned() {
		out = append(out, ProviderLesson{Model: l.Model, At: l.At.UTC(), Findings: showFindings(l.Findings(), lang), Quirks: l.Quirks})
	}
	return out
}

func showFindings(found []eligibility.Finding, lang locale.Tag) []ProviderFinding {
	out := make([]ProviderFinding, 0, len(found))
	for _, f := range found {
		out = append(out, ProviderFinding{Code: f.Code, Text: f.Text().In(lang)})
	}
	return out
}

// ProviderFinding is one thing that a check found, or calls at work showed.
type ProviderFinding struct {
	Code string `json:"code"`
	Text string `json:"text" doc:"for a person"`
}

// ProviderCheckRequest is the optional body that asks for a check.
type ProviderCheckRequest struct {
	Model string `json:"model,omitempty" maxLength:"200" doc:"absent: the one that an assistant of the account uses there, else the last one that was checked, else the only one that the provider has"`
}

func showCheck(c *eligibility.Check, now time.Time, lang locale.Tag) *ProviderCheck {
	if c == nil {
		return nil
	}
	seen := c.Seen(now)
	out := &ProviderCheck{
		Status: seen.Status, At: seen.At.UTC(), Model: seen.Model, Reason: seen.Reason, Micros: seen.Micros,
		Calls: list(seen.Calls), Findings: showFindings(seen.Findings, lang),
	}
	if seen.Reason != "" {
		out.Message, out.Action = seen.Message().In(lang), seen.Action().In(lang)
	}
	if seen.Status == eligibility.CheckDone {
		known := seen.Models[seen.Model]
		out.Quirks, out.Window = known.Quirks, known.Window
	}
	return out
}

// checkAnswer is the answer to a request for a check.
type checkAnswer struct {
	Location string `header:"Location"`
	After    string `header:"Retry-After"`
	Body     Provider
}

// check begins a check. Where requests are served later, it makes the calls of one that was begun.
func (s aiHandler) check(ctx context.Context, in *struct {
	Name string `path:"name"`
	Body ProviderCheckRequest
},
) (*checkAnswer, error) {
	var err error
	if t, serving := ticketOf(ctx); serving {
		err = s.Checks.Run(ctx, caller(ctx).Account, check.Begun{Provider: in.Name, ID: t.ID})
	} else if err = isCheckable(in.Body.Model, "model"); err == nil {
		err = s.beginCheck(ctx, in.Name, in.Body.Model)
	}
	if err != nil {
		return nil, err
	}
	got, err := s.Settings.View(ctx, caller(ctx).Account, in.Name)
	if err != nil {
		return nil, err
	}
	return &checkAnswer{Location: checkedPath(in.Name), After: strconv.Itoa(askAgain), Body: s.show(ctx, got)}, nil
}

func checkedPath(name string) string { return "/ai/providers/" + url.PathEscape(name) }

// isCheckable returns an error about a member of the body when it is not the name of a model. An empty one is the usual model.
func isCheckable(model, member string) error {
	if model != "" && !eligibility.IsModelName(model) {
		return eligibility.ErrSetting.At(field("string_pattern_mismatch", "body", member))
	}
	return nil
}

// beginCheck begins a check of a provider, unless one runs, and has it served.
func (s aiHandler) beginCheck(ctx context.Context, name, model string) error {
	who := caller(ctx)
	v, err := s.Settings.View(ctx, who.Account, name)
	if err != nil {
		return err
	}
	begun, isNew, err := s.Checks.Begin(ctx, check.Asked{Account: who.Account, User: who.User, Provider: v.Provider, Model: model})
	if err != nil || !isNew {
		return err
	}
	err = s.config.serveLater(ctx, storedRequest{
		Principal: who, Method: http.MethodPost, URL: checkedPath(name) + "/check", Header: http.Header{},
	}, ticket{ID: begun.ID, At: begun.At})
	if err != nil {
		s.Checks.Abandon(ctx, who.Account, begun)
		return errCheckNotBegun.Because(err)
	}
	return nil
}

// show returns a provider as a client sees it.
func (s aiHandler) show(ctx context.Context, v eligibility.ProviderView) Provider {
	out := showProvider(v, s.config.Now())
	lang := requestInfoFrom(ctx).lang
	out.Check, out.Learned = showCheck(v.Check, s.config.Now(), lang), showLessons(v.Provider, lang)
	return out
}
