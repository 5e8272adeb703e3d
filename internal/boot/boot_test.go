package boot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"piloto/internal/llm"
)

func TestAConfigurationSaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		build func(World, Environment) (http.Handler, error)
		env   Environment
		want  string
	}{
		"no table":        {Records, Environment{}, "TABLE_NAME"},
		"an empty table":  {Records, Environment{"TABLE_NAME": ""}, "TABLE_NAME"},
		"a level of none": {Records, Environment{"TABLE_NAME": "t", "LOG_LEVEL": "loud"}, "loud"},
		"no machine":      {Confirm, Environment{"TABLE_NAME": "t"}, "STATE_MACHINE_ARN"},
		"no model":        {Chat, Environment{"TABLE_NAME": "t", "STATE_MACHINE_ARN": "a", "OPENAI_BASE_URL": "u"}, "OPENAI_MODEL"},
		"hours of none":   {Chat, Environment{"TABLE_NAME": "t", "STATE_MACHINE_ARN": "a", "OPENAI_BASE_URL": "u", "OPENAI_MODEL": "m", "DRAFT_HOURS": "x"}, "DraftHours"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.build(lambdaWorld(c.env), c.env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not name %s", err, c.want)
			}
		})
	}
}

func TestProvidersHaveTheNamesPeopleUse(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.openai.com/v1": "openai", "https://api.groq.com/openai/v1": "groq", "http://localhost:11434/v1": "localhost:11434",
	} {
		if got := (Provider{BaseURL: base}).Name(); got != want {
			t.Errorf("%s is called %s", base, got)
		}
	}
}

// TestTheModelKeyComesFromItsSecret drives the chat function's model against a
// Secrets Manager and a provider that count and rotate keys.
func TestTheModelKeyComesFromItsSecret(t *testing.T) {
	key, reads := "sk-one", 0
	vault := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads++
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
	model, ready := w.model(ChatConfig{Provider: Provider{BaseURL: provider.URL, Model: "m"}, SecretARN: "arn:aws:secretsmanager:us-east-1:1:secret:x"})
	if !ready {
		t.Fatal("a secret is no key")
	}
	ask := func() error {
		_, err := model.Complete(context.Background(), llm.Request{Model: "m"})
		return err
	}
	for range 3 {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if reads != 1 {
		t.Errorf("the secret was read %d times", reads)
	}
	key, accepted = "sk-two", "sk-two" // rotated: the old key is refused once, and then read again
	if err := ask(); !errors.Is(err, llm.ErrNoKey) {
		t.Errorf("the old key: %v", err)
	}
	if err := ask(); err != nil || reads != 2 {
		t.Errorf("the new key: %v after %d reads", err, reads)
	}
	now = now.Add(keyLife)
	if err := ask(); err != nil || reads != 3 {
		t.Errorf("after its life: %v after %d reads", err, reads)
	}
	key = ""
	now = now.Add(keyLife)
	if err := ask(); !errors.Is(err, llm.ErrNoKey) || strings.Contains(err.Error(), "sk-") {
		t.Errorf("an empty secret: %v", err)
	}
}

func TestWithoutAKeyNothingIsReady(t *testing.T) {
	for _, c := range []struct {
		world World
		want  bool
	}{{World{}, false}, {World{ModelKey: "k"}, true}, {World{Keyless: true}, true}} {
		if _, ready := c.world.model(ChatConfig{}); ready != c.want {
			t.Errorf("%+v is ready: %v", c.world, ready)
		}
	}
}
