package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/internal/chats/turn"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// records builds functions/records without a writer of documents.
func records(w World, e Environment) (http.Handler, error) { return Records(w, e, nil) }

func TestAConfigurationNamesItsMissingVariables(t *testing.T) {
	chat := func(w World, e Environment) (http.Handler, error) { return Chat(w, e, Tools{}) }
	for name, c := range map[string]struct {
		build func(World, Environment) (http.Handler, error)
		env   Environment
		want  string
	}{
		"no table":        {records, Environment{}, "TABLE_NAME"},
		"an empty table":  {records, Environment{"TABLE_NAME": ""}, "TABLE_NAME"},
		"a level of none": {records, Environment{"TABLE_NAME": "t", "LOG_LEVEL": "loud"}, "loud"},
		"no machine":      {Confirm, Environment{"TABLE_NAME": "t"}, "STATE_MACHINE_ARN"},
		"no provider":     {chat, Environment{"TABLE_NAME": "t", "STATE_MACHINE_ARN": "a", "OPENAI_MODEL": "m"}, "OPENAI_BASE_URL"},
		"hours of none":   {chat, Environment{"TABLE_NAME": "t", "STATE_MACHINE_ARN": "a", "OPENAI_BASE_URL": "u", "OPENAI_MODEL": "m", "DRAFT_HOURS": "x"}, "DraftHours"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.build(lambdaWorld(c.env), c.env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not name %s", err, c.want)
			}
		})
	}
}

func TestNameReturnsTheUsualNameOfAProvider(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.openai.com/v1": "openai", "https://api.groq.com/openai/v1": "groq", "http://localhost:11434/v1": "localhost:11434",
	} {
		if got := (Provider{BaseURL: base}).Name(); got != want {
			t.Errorf("%s is called %s", base, got)
		}
	}
}

// TestTheModelKeyIsReadFromItsSecret runs the chat function's model with a Secrets Manager and a provider that
// count the reads and rotate the key.
func TestTheModelKeyIsReadFromItsSecret(t *testing.T) {
	key := "sk-one"
	var reads atomic.Int64 // the deployment's keys are read concurrently
	vault := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		secret, _ := json.Marshal(map[string]string{"OPENAI_API_KEY": key})
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": string(secret)})
	}))
	defer vault.Close()
	accepted := "sk-one"
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)
	}))
	defer provider.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := lambdaWorld(Environment{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_ENDPOINT_URL_SECRETS_MANAGER": vault.URL,
	})
	w.Now = func() time.Time { return now }
	c := AI{Platform: Platform{Provider: Provider{BaseURL: provider.URL, Model: "m"}, GroqURL: "https://groq.test"}, SecretARN: "arn:aws:secretsmanager:us-east-1:1:secret:x"}
	minds := w.newClientCache(c, w.platform(c.Platform))
	candidate := eligibility.Candidate{Provider: c.Name(), Model: "m", BaseURL: provider.URL}
	if has, err := minds.Platform(context.Background()); err != nil || !has[c.Name()] || has["openai"] {
		t.Fatalf("%v, %v", has, err)
	}
	ask := func() error {
		model, err := minds.Model(context.Background(), "acme", candidate)
		if err != nil {
			return err
		}
		_, err = model.Complete(context.Background(), llm.Request{Model: "m"})
		return err
	}
	for range 3 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if reads.Load() != 2 { // for this provider, and for Groq
		t.Errorf("the secret was read %d times", reads.Load())
	}
	key, accepted = "sk-two", "sk-two" // rotated: the old key is refused once, and then read again
	if err := ask(); !errors.Is(err, llm.ErrNoKey) {
		t.Errorf("the old key: %v", err)
	}
	if err := ask(); err != nil || reads.Load() != 3 {
		t.Errorf("the new key: %v after %d reads", err, reads.Load())
	}
	now = now.Add(keyLife)
	if err := ask(); err != nil || reads.Load() != 4 {
		t.Errorf("after its life: %v after %d reads", err, reads.Load())
	}
	key = ""
	now = now.Add(keyLife)
	if err := ask(); !errors.Is(err, llm.ErrNoKey) || strings.Contains(err.Error(), "sk-") {
		t.Errorf("an empty secret: %v", err)
	}
}

// TestTheDeploymentsKeyIsSentOnlyToItsAddress (guarantee I16): an account that sets another address for a provider
// must set a key of its own.
func TestTheDeploymentsKeyIsSentOnlyToItsAddress(t *testing.T) {
	vault := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, _ = fmt.Fprint(w, `{"SecretString":"{\"OPENAI_API_KEY\":\"sk-platform\",\"GROQ_API_KEY\":\"gsk\",\"API_KEY\":\"sk-own\"}"}`)
	}))
	defer vault.Close()
	var mu sync.Mutex
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)
	}))
	defer elsewhere.Close()
	w := lambdaWorld(Environment{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_ENDPOINT_URL_SECRETS_MANAGER": vault.URL,
	})
	w.AllowLoopback = true
	c := AI{Platform: Platform{Provider: Provider{BaseURL: openaiURL, Model: "m"}, GroqURL: "https://groq.test"}, SecretARN: "arn:x", KeyPrefix: "p"}
	minds := w.newClientCache(c, w.platform(c.Platform))
	for _, x := range []struct {
		candidate eligibility.Candidate
		sent      string // "none": it is not called
	}{
		{eligibility.Candidate{Provider: "openai", BaseURL: elsewhere.URL}, "none"},
		{eligibility.Candidate{Provider: "groq", BaseURL: elsewhere.URL}, "none"},
		{eligibility.Candidate{Provider: "openai", BaseURL: elsewhere.URL, OwnKey: true}, "Bearer sk-own"},
		{eligibility.Candidate{Provider: "mine", BaseURL: elsewhere.URL, Keyless: true}, ""},
	} {
		seen = nil
		model, err := minds.Model(context.Background(), "acme", x.candidate)
		if x.sent == "none" {
			if !errors.Is(err, llm.ErrNoKey) {
				t.Errorf("%+v: %v", x.candidate, err)
			}
			continue
		}
		if err == nil {
			_, err = model.Complete(context.Background(), llm.Request{Model: "m"})
		}
		if err != nil || len(seen) != 1 || seen[0] != x.sent {
			t.Errorf("%+v: sent %q, %v", x.candidate, seen, err)
		}
	}
}

// TestCallsHeedWhatACheckFound, also of a provider without a key, and a check itself begins with nothing known.
func TestCallsHeedWhatACheckFound(t *testing.T) {
	var sent []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		_, _ = fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)
	}))
	defer provider.Close()
	w := lambdaWorld(Environment{})
	w.AllowLoopback, w.Now = true, time.Now
	c := AI{Platform: Platform{Provider: Provider{BaseURL: openaiURL}, GroqURL: "https://groq.test"}, KeyPrefix: "p"}
	clients := w.newClientCache(c, w.platform(c.Platform))
	candidate := eligibility.Candidate{
		Provider: "mine", Model: "m", BaseURL: provider.URL, Keyless: true,
		Known: eligibility.Known{Quirks: json.RawMessage(`{"no_temperature":true}`), At: time.Unix(1, 0)},
	}
	model, err := clients.Model(t.Context(), "acme", candidate)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := clients.Fresh(t.Context(), "acme", candidate)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []llm.Model{model, fresh} {
		if _, err := m.Complete(t.Context(), llm.Request{Model: "m", Temperature: 0.5}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(sent[i], "temperature"); has != (i == 1) {
			t.Errorf("client %d sent %s", i, sent[i])
		}
	}
}

// TestATurnMayTakeItsConfiguredTimeWithoutAGateway: an HTTP API times out after 30 s.
func TestATurnMayTakeItsConfiguredTimeWithoutAGateway(t *testing.T) {
	e := Environment{"OPENAI_TIMEOUT": "60", "MCP_TIMEOUT": "120", "CONTEXTO_NEGOCIO_TIMEOUT": "20"}
	if whole, err := TurnTime(e); err != nil || whole < 200*time.Second {
		t.Errorf("%v, %v", whole, err)
	}
	if got, want := (World{Patient: true}).limits(Waits{60}), (turn.Limits{Model: time.Minute}); got != want {
		t.Errorf("%+v", got)
	}
	for _, set := range []int{10, 60} {
		if got := (World{Local: true}).limits(Waits{set}); got.Route >= 29*time.Second || got.Model > got.Route || got.Model > seconds(set) {
			t.Errorf("%d: %+v", set, got)
		}
	}
	if got := (World{within: lambdaTime}).limits(Waits{600}); got.Model != 10*time.Minute || got.Route >= 15*time.Minute-turnMargin {
		t.Errorf("apart from its request: %+v", got)
	}
	if life := holdLife((World{within: lambdaTime}).limits(Waits{600}), 140*time.Second); life < 740*time.Second {
		t.Errorf("a hold ends after %v, before its turn", life)
	}
	if life := holdLife(turn.Limits{Model: 20 * time.Second}, 0); life != credit.HoldLife {
		t.Errorf("the hold of a short turn ends after %v", life)
	}
	if p := (Delegation{Failures: 5, Reset: 60, Timeout: 120}).policy(); p.Probe <= 2*time.Minute {
		t.Errorf("a probe is given up after %v", p.Probe)
	}
}
