package eligibility_test

import (
	"errors"
	"fmt"
	"testing"

	"piloto/internal/eligibility"
	"piloto/internal/llm"
	"piloto/internal/locale"
)

func TestATurnRunsWithAKeyOrTheDemonstration(t *testing.T) {
	for _, key := range []bool{false, true} {
		for _, demo := range []bool{false, true} {
			p, block := eligibility.Resolve(eligibility.Provider{Name: "openai", Model: "m", HasKey: key, Demo: demo}, locale.Spanish)
			if (p == nil) == (block == nil) {
				t.Fatalf("key %v, demo %v: plan %v, block %v", key, demo, p, block)
			}
			if may := key || demo; may != (p != nil) {
				t.Errorf("key %v, demo %v: %+v", key, demo, block)
			}
			if p != nil && (p.Provider != "openai" || p.Model != "m" || p.Demo != demo) {
				t.Errorf("%+v", p)
			}
		}
	}
}

func TestEveryReasonHasASentenceAndARemedyInEveryLanguage(t *testing.T) {
	for _, reason := range []eligibility.Reason{
		eligibility.NoAPIKey, eligibility.ProviderUnreachable, eligibility.ProviderRefused, eligibility.RateLimited, eligibility.InternalError,
	} {
		for _, tag := range locale.Tags() {
			b := eligibility.Refuse(reason, tag)
			for _, key := range []string{"blocked." + string(reason), "blocked." + string(reason) + ".do"} {
				if _, ok := locale.Lookup(tag, key); !ok {
					t.Errorf("%s: no %s", tag, key)
				}
			}
			if b.Reason != reason || b.Message == b.Action {
				t.Errorf("%+v", b)
			}
		}
	}
}

func TestOnlyAProvidersFailureIsABlock(t *testing.T) {
	for err, want := range map[error]eligibility.Reason{
		llm.ErrNoKey: eligibility.NoAPIKey, llm.ErrLimited: eligibility.RateLimited,
		llm.ErrUnreachable: eligibility.ProviderUnreachable, llm.ErrRefused: eligibility.ProviderRefused,
	} {
		b, ok := eligibility.Because(fmt.Errorf("turn: %w", err), locale.English)
		if !ok || b.Reason != want {
			t.Errorf("%v: %+v", err, b)
		}
	}
	if b, ok := eligibility.Because(errors.New("table throttled"), locale.English); ok {
		t.Errorf("a failure of the store became %+v", b)
	}
}
