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

// TestEveryCauseOfARefusalHasItsOwnSentences.
func TestEveryCauseOfARefusalHasItsOwnSentences(t *testing.T) {
	for _, tag := range locale.Tags() {
		seen := map[string]llm.Cause{}
		for _, cause := range []llm.Cause{"", llm.Unpaid, llm.NoModel, llm.Filtered, llm.CutShort, llm.TooLong} {
			b := eligibility.RefusedBy(eligibility.ProviderRefused, "openai").For(llm.Refused(cause))
			for _, text := range []string{b.Message().In(tag), b.Action().In(tag)} {
				if other, has := seen[text]; has || strings.HasPrefix(text, "blocked.") || b.Reason != eligibility.ProviderRefused {
					t.Errorf("%q in %s: %q, as %q", cause, tag, text, other)
				}
				seen[text] = cause
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
	for _, provider := range []string{"openai", "groq", "google", "anthropic"} {
		p := eligibility.Provider{Name: provider}
		if len(eligibility.TablePrices(p)) == 0 {
			t.Errorf("%s has no prices", provider)
		}
		for model, price := range eligibility.TablePrices(p) {
			if window := eligibility.WindowOf(p, model); window < 16_000 {
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
		if got := eligibility.WindowOf(openai, model); got != want {
			t.Errorf("the window of %q is %d", model, got)
		}
	}
	mini, _ := eligibility.PriceOf(openai, "gpt-4o-mini-2024-07-18")
	if mini != (credit.Price{Input: 150_000, Cached: 75_000, Output: 600_000}) {
		t.Errorf("%+v", mini)
	}
	if price, how := eligibility.PriceOf(eligibility.Provider{Name: "mine", Keyless: true}, "gpt-4o"); how != eligibility.PricedFree || price != (credit.Price{}) {
		t.Errorf("a provider without a key costs %+v (%s)", price, how)
	}
}

// TestAnotherAddressHasTheListPrice: a gateway has the price and the window of the model that it offers, however it writes
// the name, and they are marked. A name that only looks like one has the highest known price.
func TestAnotherAddressHasTheListPrice(t *testing.T) {
	gateway := eligibility.Provider{Name: "llm.example.org", BaseURL: "https://llm.example.org/v1", HasKey: true}
	usd := func(input, cached, output int64) credit.Price {
		return credit.Price{Input: input * 1000, Cached: cached * 1000, Output: output * 1000}
	}
	mini, sonnet, flash := usd(400, 100, 1600), usd(3000, 300, 15000), usd(300, 30, 2500)
	for model, want := range map[string]credit.Price{
		"gpt-4.1-mini": mini, "openai/gpt-4.1-mini": mini, "openrouter/openai/gpt-4.1-mini": mini, "GPT-4.1-Mini": mini, "gpt-4.1-mini-2025-04-14": mini,
		"openai/gpt-4.1-mini:nitro": mini, "azure/gpt-4-1-mini": mini, "gpt-4.1-mini-latest": mini,
		"claude-sonnet-4-5": sonnet, "anthropic/claude-sonnet-4.5": sonnet, "anthropic/claude-sonnet-4-5-20250929": sonnet, "claude-sonnet-4-5@20250929": sonnet,
		"bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0": sonnet, "anthropic.claude-3-5-sonnet-20241022-v2:0": sonnet, "claude-sonnet-4-20250514": sonnet,
		"gemini-2.5-flash": flash, "models/gemini-2.5-flash": flash, "google/gemini-2.5-flash": flash, "publishers/google/models/gemini-2.5-flash": flash,
		"gemini-2.5-flash-preview-09-2025": flash, "gemini-2.5-flash-001": flash, "vertex_ai/gemini-2.5-flash-exp": flash,
		"gpt-oss-120b": usd(150, 75, 600), "groq/openai/gpt-oss-120b": usd(150, 75, 600), "qwen3-32b": usd(290, 0, 590),
	} {
		price, how := eligibility.PriceOf(gateway, model)
		if how != eligibility.PricedByList || price != want {
			t.Errorf("%s: %+v by %s, not %+v", model, price, how, want)
		}
		if window := eligibility.WindowOf(gateway, model); window == eligibility.DefaultWindow {
			t.Errorf("%s has no window", model)
		}
	}
	for _, model := range []string{
		"", "m", "gpt", "mini", "1-mini", "gpt-4", "gpt-4.1-micro", "ft:gpt-4.1-mini:mine", "openai/", "gpt-4.1-mini/", "gemini-2.5-flash-image", "gemini-2.5-flash-preview-tts",
		"gpt-4o-audio-preview", "claude-sonnet", "claude-4", "my-gpt-4.1-mini", "gpt-4.1-mini-", "..", "-v1", "/", ":", "@",
	} {
		if _, how := eligibility.PriceOf(gateway, model); how != eligibility.PricedByRule {
			t.Errorf("%q is priced by %s", model, how)
		}
		if window := eligibility.WindowOf(gateway, model); window != eligibility.DefaultWindow {
			t.Errorf("%q has a window of %d", model, window)
		}
	}
}

// TestTheAddressSaysWhoseTableItIs: the provider's own under any name, the list under its name at another address.
func TestTheAddressSaysWhoseTableItIs(t *testing.T) {
	for name, c := range map[string]struct {
		provider eligibility.Provider
		model    string
		want     eligibility.Priced
	}{
		"by its name":                 {eligibility.Provider{Name: "openai"}, "gpt-4o", eligibility.PricedByTable},
		"by its address":              {eligibility.Provider{Name: "mine", BaseURL: "https://api.openai.com/v1", Moved: true}, "gpt-4o", eligibility.PricedByTable},
		"as Google writes its models": {eligibility.Provider{Name: "g", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Moved: true}, "models/gemini-2.5-pro", eligibility.PricedByTable},
		"at another address":          {eligibility.Provider{Name: "openai", BaseURL: "https://llm.example.org/v1", Moved: true}, "gpt-4o", eligibility.PricedByList},
		"a model of another":          {eligibility.Provider{Name: "openai"}, "claude-sonnet-4-5", eligibility.PricedByList},
		"an address in another":       {eligibility.Provider{Name: "x", BaseURL: "https://api.openai.com.example.org/v1"}, "gpt-4o", eligibility.PricedByList},
		"the account's own price":     {eligibility.Provider{Name: "x", Prices: map[string]credit.Price{"gpt-4o": {Input: 1}}}, "gpt-4o", eligibility.PricedByOverride},
		"a machine of one's own":      {eligibility.Provider{Name: "ollama", Keyless: true}, "gpt-oss-120b", eligibility.PricedFree},
	} {
		if _, how := eligibility.PriceOf(c.provider, c.model); how != c.want {
			t.Errorf("%s: priced by %s, not %s", name, how, c.want)
		}
	}
}
