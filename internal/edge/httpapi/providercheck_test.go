package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
)

// newCheckSite returns a site whose checks are made when the test serves them.
func newCheckSite(t *testing.T) (s *asyncSite, serve func()) {
	t.Helper()
	s = newAsyncSite()
	var begun []func() error
	s.config.Async.Start = func(_ context.Context, account ids.Account, id string) error {
		begun = append(begun, func() error { return s.apart.Serve(context.Background(), account, id) })
		return s.failed
	}
	return s, func() {
		for _, f := range begun {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWhatCallsShowedIsInTheProvider in words, in the language of whoever reads it, and apart from its check.
func TestWhatCallsShowedIsInTheProvider(t *testing.T) {
	s, _ := newCheckSite(t)
	at := s.config.Now().Add(-time.Hour)
	err := s.settings.PutLessons(t.Context(), "a", nil, eligibility.Lessons{Provider: "openai", BaseURL: "https://api.openai.com/v1", Models: map[string]eligibility.Known{
		"m": {Quirks: json.RawMessage(`{"no_temperature":true,"window":8192}`), At: at, Lesson: 1}, "old": {Quirks: json.RawMessage(`{"signed":true}`), At: at, On: at, Lesson: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][]string{
		"es": {"No acepta una temperatura.", "Su ventana es de 8192 tokens."}, "en": {"It accepts no temperature.", "Its window is 8192 tokens."},
	} {
		got := decode(t, s.do(ask(talker, "GET", "/ai/providers/openai", "", "Accept-Language", lang)))
		learned := listOf(got["learned"])
		if len(learned) != 1 || got["check"] != nil {
			t.Fatalf("%v", got)
		}
		one := learned[0].(map[string]any)
		var said []string
		for _, f := range listOf(one["findings"]) {
			said = append(said, f.(map[string]any)["text"].(string))
		}
		if one["model"] != "m" || one["at"] == nil || one["quirks"] == nil || !slices.Equal(said, want) {
			t.Errorf("%s: %v", lang, one)
		}
	}
}

// TestACheckIsAnsweredAtOnceAndReadLater: it is 202 while it runs, however often it is asked for, and its result is in the
// provider, in the language of whoever reads it.
func TestACheckIsAnsweredAtOnceAndReadLater(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"asked for":          {"POST", "/ai/providers/openai/check", `{"model":"m"}`, 202},
		"with the setting":   {"PUT", "/ai/providers/openai", `{"check":true,"check_model":"m"}`, 200},
		"asked for no model": {"POST", "/ai/providers/openai/check", "", 202},
	} {
		t.Run(name, func(t *testing.T) {
			s, serve := newCheckSite(t)
			for range 2 {
				w := s.do(ask(boss, c.method, c.path, c.body))
				got, _ := decode(t, w)["check"].(map[string]any)
				if w.Code != c.status || got["status"] != "running" || c.status == 202 && (w.Header().Get("Location") != "/ai/providers/openai" || w.Header().Get("Retry-After") == "") {
					t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
				}
			}
			if len(s.turns) != 0 {
				t.Error("it is a turn")
			}
			serve()
			serve()
			for lang, want := range map[string]string{"es": "Su ventana es de 8192 tokens.", "en": "Its window is 8192 tokens."} {
				w := s.do(ask(talker, "GET", "/ai/providers/openai", "", "Accept-Language", lang))
				got, _ := decode(t, w)["check"].(map[string]any)
				calls, findings := listOf(got["calls"]), listOf(got["findings"])
				if name != "asked for no model" {
					if len(calls) != 5 || got["status"] != "done" || got["model"] != "m" || got["cost_micros"] == nil {
						t.Errorf("%s", w.Body)
					}
					continue
				}
				last, _ := findings[len(findings)-1].(map[string]any)
				if got["model"] != "gpt-4o-mini" || last["text"] != want || got["quirks"] == nil || got["window"] != 8192.0 {
					t.Errorf("%s", w.Body)
				}
			}
			if w := s.do(ask(other, "GET", "/ai/providers/openai", "")); decode(t, w)["check"] != nil {
				t.Errorf("another account sees %s", w.Body)
			}
		})
	}
}

// TestWhoMayHaveAProviderChecked: who sets it, of a provider that is there. Nothing else begins a check.
func TestWhoMayHaveAProviderChecked(t *testing.T) {
	s, _ := newCheckSite(t)
	for _, w := range []struct {
		code int
		got  int
	}{
		{403, s.do(ask(talker, "POST", "/ai/providers/openai/check", "")).Code},
		{404, s.do(ask(boss, "POST", "/ai/providers/nobody/check", "")).Code},
		{422, s.do(ask(boss, "POST", "/ai/providers/openai/check", `{"model":"a\nb"}`)).Code},
		{422, s.do(ask(boss, "POST", "/ai/providers/openai/check", `{"models":"a"}`)).Code},
		{200, s.do(ask(boss, "PUT", "/ai/providers/openai", `{}`)).Code},
		{204, s.do(ask(boss, "DELETE", "/ai/providers/openai", "")).Code},
	} {
		if w.got != w.code {
			t.Errorf("%d, want %d", w.got, w.code)
		}
	}
	if len(s.settings.accounts["a"].settings.Checks) != 0 {
		t.Error("a check began")
	}
}

// TestASettingThatIsRefusedChangesNothing: the model of the check is looked at before the rest is stored.
func TestASettingThatIsRefusedChangesNothing(t *testing.T) {
	s, _ := newCheckSite(t)
	got := s.do(ask(boss, "PUT", "/ai/providers/openai", `{"windows":{"m":9000},"check":true,"check_model":"a\u0007b"}`))
	if now := s.settings.accounts["a"]; got.Code != 422 || !strings.Contains(got.Body.String(), `"check_model"`) || now != nil && len(now.settings.Providers)+len(now.settings.Checks) != 0 {
		t.Errorf("%d %s, stored %+v", got.Code, got.Body, now)
	}
}

// TestACheckThatCannotBeStartedIsNotRunning.
func TestACheckThatCannotBeStartedIsNotRunning(t *testing.T) {
	s, _ := newCheckSite(t)
	s.failed = errors.New("no machine")
	w := s.do(ask(boss, "POST", "/ai/providers/openai/check", ""))
	if w.Code != http.StatusServiceUnavailable || decode(t, w)["code"] != "ai.check_not_begun" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	got, _ := decode(t, s.do(ask(boss, "GET", "/ai/providers/openai", "")))["check"].(map[string]any)
	if got["status"] != "failed" || got["message"] == "" {
		t.Errorf("%v", got)
	}
}
