package eligibility_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

var now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// facts is one combination of the decision's inputs.
type facts struct {
	entitled, enabled     bool
	assistant             string // none, inactive, active
	mode                  eligibility.Mode
	allowed, key, waiting bool
	spent                 string // little, day, month, run
	credits               bool   // the provider costs some
	session               string // none, roomy, small, over, refunded
	balance               int64
	fallback              string // none, any, other (for another reason only), keyless (has no key itself)
}

// every calls f with each combination of facts.
func every(f func(facts)) int {
	n := 0
	both := []bool{false, true}
	for _, entitled := range both {
		for _, enabled := range both {
			for _, assistant := range []string{"none", "inactive", "active"} {
				for _, mode := range []eligibility.Mode{"", eligibility.Automatic, eligibility.Manual, eligibility.Off} {
					for _, allowed := range both {
						for _, key := range both {
							for _, waiting := range both {
								for _, spent := range []string{"little", "day", "month", "run"} {
									for _, credits := range both {
										for _, session := range []string{"none", "roomy", "small", "over", "refunded"} {
											for _, balance := range []int64{0, 4, 5} {
												for _, fallback := range []string{"none", "any", "other", "keyless"} {
													f(facts{entitled, enabled, assistant, mode, allowed, key, waiting, spent, credits, session, balance, fallback})
													n++
												}
											}
										}
									}
								}
							}
						}
					}
				}
			}
		}
	}
	return n
}

const need = 1_500 // tokens: 1000 read, 500 written

func (f facts) snapshot() eligibility.Snapshot {
	s := eligibility.Snapshot{
		At: now, Mode: f.mode, Need: eligibility.Need{Input: 1000},
		Entitlement: eligibility.Entitlement{Entitled: f.entitled, Enabled: f.enabled, Providers: []string{"openai", "groq"}},
		Providers: []eligibility.Provider{
			{Name: "openai", HasKey: f.key, CostsCredits: f.credits, Prices: map[string]credit.Price{"m": {Input: 1_000_000, Output: 2_000_000}}},
			{Name: "groq", HasKey: f.fallback != "keyless", Prices: map[string]credit.Price{"g": {}}},
		},
		Policy:   credit.Policy{SessionCost: 5, SessionTokens: 10_000, SessionMinutes: 60},
		Limits:   credit.Limits{Day: 10_000, Month: 20_000, Run: 3_000},
		Standing: credit.Standing{Balance: f.balance},
	}
	if !f.allowed {
		s.Entitlement.Providers = []string{"groq"}
	}
	if f.waiting {
		s.Providers[0].Health.Waiting = now.Add(time.Second)
	}
	switch f.spent {
	case "day":
		s.Standing.Day = 8_001 // and the worst case is 2000
	case "month":
		s.Standing.Month = 20_000
	case "run":
		s.Limits.Run = 1_999
	default:
		s.Standing.Day, s.Standing.Month = 8_000, 18_000
	}
	session := credit.Session{ID: "s", Free: need, ExpiresAt: now.Add(time.Hour)}
	switch f.session {
	case "roomy":
	case "small":
		session.Free--
	case "over":
		session.ExpiresAt = now
	case "refunded":
		session.Closed = true
	}
	if f.session != "none" {
		s.Standing.Sessions = []credit.Session{session}
	}
	if f.assistant != "none" {
		s.Assistant = &eligibility.Assistant{Active: f.assistant == "active", Provider: "openai", Model: "m", MaxTokens: 500}
		switch f.fallback {
		case "any", "keyless":
			s.Assistant.Fallback = []eligibility.Choice{{Provider: "groq", Model: "g"}}
		case "other":
			s.Assistant.Fallback = []eligibility.Choice{{Provider: "groq", Model: "g", On: []eligibility.Reason{eligibility.ProviderUnreachable}}}
		}
	}
	return s
}

// preferred returns the reason why the preferred provider may not be used; "" when it may.
func (f facts) preferred() eligibility.Reason {
	covered := !f.credits || f.session == "roomy" || f.balance >= 5
	for _, rule := range []struct {
		holds bool
		why   eligibility.Reason
	}{
		{!f.allowed, eligibility.NotEntitled},
		{!f.key, eligibility.NoAPIKey},
		{f.waiting, eligibility.RateLimited},
		{f.spent != "little", eligibility.BudgetExceeded},
		{!covered, eligibility.InsufficientCredits},
	} {
		if rule.holds {
			return rule.why
		}
	}
	return ""
}

// blocked returns the reason why the turn may not run at all; "" when it may.
func (f facts) blocked() eligibility.Reason {
	switch {
	case !f.entitled:
		return eligibility.NotEntitled
	case !f.enabled:
		return eligibility.AIDisabled
	case f.assistant != "active":
		return eligibility.NoAssistant
	case f.mode == eligibility.Off:
		return eligibility.AIDisabled
	}
	why := f.preferred()
	swappable := why == eligibility.NoAPIKey || why == eligibility.RateLimited || why == eligibility.InsufficientCredits
	if swappable && f.fallback == "any" { // the free one costs nothing, and budgets are not the reason
		return ""
	}
	return why
}

func TestResolveFollowsItsRulesForEveryCombination(t *testing.T) {
	n := every(func(f facts) {
		p, block := eligibility.Resolve(f.snapshot())
		if (p == nil) == (block == nil) {
			t.Fatalf("%+v: plan %v, block %v", f, p, block)
		}
		want := f.blocked()
		if block != nil {
			if block.Reason != want {
				t.Errorf("%+v: blocked for %s, want %q", f, block.Reason, want)
			}
			if (block.CreditBalance != nil) != (want == eligibility.InsufficientCredits) {
				t.Errorf("%+v: the balance is told: %v", f, block.CreditBalance)
			}
			return
		}
		why := f.preferred()
		switch {
		case want != "":
			t.Errorf("%+v: not blocked, want %s", f, want)
		case why == "" && (p.Provider != "openai" || p.Swap != nil):
			t.Errorf("%+v: %s instead of the preferred one", f, p.Provider)
		case why == "" && p.RequiresCredits != f.credits,
			why == "" && (p.SessionID != "") != (f.credits && f.session == "roomy"):
			t.Errorf("%+v: credits %v, session %q", f, p.RequiresCredits, p.SessionID)
		case why != "" && (p.Provider != "groq" || p.Swap == nil || p.Swap.Reason != why || p.Swap.Preferred != "openai" || p.Swap.Message().In(locale.Spanish) == ""):
			t.Errorf("%+v: swapped without saying so: %+v", f, p.Swap)
		case why == "" && (p.Estimate.Micros != 2_000 || p.Estimate.Priced != eligibility.PricedByOverride):
			t.Errorf("%+v: %+v", f, p.Estimate)
		}
		if rest := len(p.Rest); (rest == 1) != (why == "" && (f.fallback == "any" || f.fallback == "other")) {
			t.Errorf("%+v: %d stand by", f, rest)
		}
	})
	if n < 100_000 {
		t.Errorf("only %d combinations", n)
	}
}

func TestNextUsesOnlyFallbacksForTheReason(t *testing.T) {
	s := facts{entitled: true, enabled: true, assistant: "active", allowed: true, key: true, spent: "little", fallback: "none"}.snapshot()
	s.Providers[1].Prices = map[string]credit.Price{"a": {}, "b": {}}
	s.Assistant.Fallback = []eligibility.Choice{
		{Provider: "groq", Model: "a", On: []eligibility.Reason{eligibility.RateLimited}},
		{Provider: "groq", Model: "b"},
	}
	for why, want := range map[eligibility.Reason]string{
		eligibility.RateLimited: "a", eligibility.ProviderUnreachable: "b", eligibility.NoAPIKey: "b",
		eligibility.InsufficientCredits: "b", eligibility.ProviderRefused: "", eligibility.BudgetExceeded: "", eligibility.InternalError: "",
	} {
		p, _ := eligibility.Resolve(s)
		next, ok := p.Next(why)
		switch {
		case !ok && want != "", ok && next.Model != want:
			t.Errorf("%s: %+v", why, next)
		case ok && (next.Swap.Preferred != "openai" || next.Swap.Reason != why):
			t.Errorf("%s: %+v", why, next.Swap)
		}
		if ok {
			if _, again := next.Next(eligibility.ProviderRefused); again {
				t.Errorf("%s: it goes on for a reason that is nobody's", why)
			}
		}
	}
}

func TestEveryReasonHasAMessageARemedyAndAnActionInEveryLanguage(t *testing.T) {
	for _, reason := range eligibility.Reasons() {
		for _, tag := range locale.Tags() {
			for _, provider := range []string{"openai", ""} {
				b := eligibility.Refuse(reason, provider)
				message, action := b.Message().In(tag), b.Action().In(tag)
				if b.Reason != reason || message == "" || action == "" || message == action || b.Remedy == "" {
					t.Errorf("%+v", b)
				}
				if strings.ContainsAny(message+action, "{}") || strings.HasPrefix(message, "blocked.") || strings.HasPrefix(action, "blocked.") {
					t.Errorf("%s in %s: %q, %q", reason, tag, message, action)
				}
			}
		}
	}
}

// TestBlocksUseTheSentencesOfDocument002 checks the two sentences that document 002 prescribes.
func TestBlocksUseTheSentencesOfDocument002(t *testing.T) {
	for reason, want := range map[eligibility.Reason]string{
		eligibility.InsufficientCredits: "Tu asistente usa OpenAI. Necesitás créditos para continuar.",
		eligibility.NoAPIKey:            "No hay API key configurada para OpenAI. Contactá al administrador.",
	} {
		if got := eligibility.Refuse(reason, "openai").Message().In(locale.Spanish); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
	if got := eligibility.RefusedBy(eligibility.NoAPIKey, "groq").Message().In(locale.Spanish); got != "Groq rechaza la API key configurada. Contactá al administrador." {
		t.Errorf("a refused key: %s", got)
	}
}

// TestTheDocsListTheSentencesOfTheBlocks compares the table of reasons in docs/credits.md with the catalogue.
func TestTheDocsListTheSentencesOfTheBlocks(t *testing.T) {
	text, err := os.ReadFile(fixture.Root(t, "docs/credits.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range eligibility.Reasons() {
		row := fmt.Sprintf("| `%s` | %s |", reason, eligibility.Refuse(reason, "openai").Message().In(locale.Spanish))
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/credits.md has no row %s", row)
		}
	}
}

func TestReasonOfKnowsOnlyProviderFailures(t *testing.T) {
	for err, want := range map[error]eligibility.Reason{
		llm.ErrNoKey: eligibility.NoAPIKey, llm.ErrLimited: eligibility.RateLimited,
		llm.ErrUnreachable: eligibility.ProviderUnreachable, llm.ErrRefused: eligibility.ProviderRefused,
	} {
		if got, ok := eligibility.ReasonOf(fmt.Errorf("turn: %w", err)); !ok || got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
	if got, ok := eligibility.ReasonOf(errors.New("table throttled")); ok {
		t.Errorf("a failure of the store became %s", got)
	}
}

func TestAModelWithoutAPriceHasTheHighestKnownPrice(t *testing.T) {
	openai := eligibility.Provider{Name: "openai"}
	dearest, how := eligibility.PriceOf(openai, "a-model-of-tomorrow")
	if how != eligibility.PricedByRule {
		t.Errorf("priced by %s", how)
	}
	for _, provider := range []string{"openai", "groq"} {
		if len(eligibility.TablePrices(provider)) == 0 {
			t.Errorf("%s has no prices", provider)
		}
		for model, price := range eligibility.TablePrices(provider) {
			if window := eligibility.WindowOf(provider, model); window < 16_000 {
				t.Errorf("%s has a window of %d", model, window)
			}
			if price.Cached < 0 || price.Cached >= price.Input {
				t.Errorf("%s: %+v: the cache saves nothing", model, price)
			}
			if price.Input <= 0 || price.Output <= 0 || price.Input > dearest.Input || price.Output > dearest.Output {
				t.Errorf("%s: %+v, and the dearest is %+v", model, price, dearest)
			}
		}
	}
	for model, want := range map[string]eligibility.Priced{
		"gpt-4o-mini": eligibility.PricedByTable, "gpt-4o-mini-2024-07-18": eligibility.PricedByTable, "gpt-4o-latest": eligibility.PricedByTable,
		"gpt-4o-mini-tts": eligibility.PricedByRule, "gpt-4o-": eligibility.PricedByRule, "": eligibility.PricedByRule, "-2024": eligibility.PricedByRule,
	} {
		if _, how := eligibility.PriceOf(openai, model); how != want {
			t.Errorf("%q is priced by %s", model, how)
		}
	}
	for model, want := range map[string]int{"gpt-4o-mini": 128_000, "gpt-4o-mini-2024-07-18": 128_000, "gpt-4o-mini-tts": 80_000, "": 80_000} {
		if got := eligibility.WindowOf("openai", model); got != want {
			t.Errorf("the window of %q is %d", model, got)
		}
	}
	mini, _ := eligibility.PriceOf(openai, "gpt-4o-mini-2024-07-18")
	if mini != (credit.Price{Input: 150_000, Cached: 75_000, Output: 600_000}) {
		t.Errorf("%+v", mini)
	}
	if price, how := eligibility.PriceOf(eligibility.Provider{Name: "mine", Keyless: true}, "x"); how != eligibility.PricedFree || price != (credit.Price{}) {
		t.Errorf("a provider without a key costs %+v (%s)", price, how)
	}
}
