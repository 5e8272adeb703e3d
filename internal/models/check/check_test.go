package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/check"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/openai"
)

// asked is the part of a request that the provider of the tests looks at.
type asked struct {
	Model       string
	Stream      bool
	Temperature *float64
	Messages    []message
	Tools       []struct{ Function struct{ Name string } }
	Format      json.RawMessage `json:"response_format"`
	Choice      any             `json:"tool_choice"`
}

type message struct {
	Role  string
	Calls []json.RawMessage `json:"tool_calls"`
}

// kind says which call of a check a request is.
func (a asked) kind() string {
	switch {
	case a.Stream:
		return "stream"
	case len(a.Format) > 0, a.Choice != nil:
		return "structured"
	case len(a.Tools) > 0 && slices.ContainsFunc(a.Messages, func(m message) bool { return m.Role == "tool" }):
		return "two_tools"
	case len(a.Tools) > 0:
		return "tool"
	case len(a.Messages) == 2: // in words
		return "structured"
	}
	return "text"
}

// provider answers as its function says, and keeps what it was asked.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	asked []asked
	list  string // of models; "" is none
	each  func() // is called before each answer

	patience time.Duration // of its client
}

func newProvider(t *testing.T, answer func(asked) (status int, body string)) *provider {
	p := &provider{patience: 5 * time.Second}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			if p.list == "" {
				http.NotFound(w, r)
				return
			}
			_, _ = fmt.Fprint(w, p.list)
			return
		}
		var a asked
		_ = json.NewDecoder(r.Body).Decode(&a) // of a client of our own
		p.mu.Lock()
		p.asked = append(p.asked, a)
		p.mu.Unlock()
		if p.each != nil {
			p.each()
		}
		status, body := answer(a)
		if status == 0 {
			<-r.Context().Done()
			return
		}
		switch {
		case strings.HasPrefix(body, "<"):
			w.Header().Set("Content-Type", "text/html")
		case a.Stream && status == 200:
			w.Header().Set("Content-Type", "text/event-stream")
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(p.Close)
	return p
}

// count returns how many requests came: a handler whose client went away may still be at work.
func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// Fresh implements check.Clients.
func (p *provider) Fresh(_ context.Context, _ ids.Account, c eligibility.Candidate) (llm.Learner, error) {
	return openai.New(openai.Endpoint{Provider: c.Provider, BaseURL: p.URL, Key: "k"}, &http.Client{Timeout: p.patience}, time.Now), nil
}

const usage = `"usage":{"prompt_tokens":20,"completion_tokens":5}`

func said(text string) string {
	raw, _ := json.Marshal(text) // of a string
	return `{"model":"m","choices":[{"message":{"role":"assistant","content":` + string(raw) + `},"finish_reason":"stop"}],` + usage + `}`
}

func calling(message string) string {
	return `{"model":"m","choices":[{"message":{"role":"assistant","content":null,` + message + `},"finish_reason":"tool_calls"}],` + usage + `}`
}

func call(id, name, city string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{\"city\":\"%s\"}"}}`, id, name, city)
}

const (
	weather  = "look_up_weather"
	streamed = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"one two\"}}]}\n\n" +
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n"
)

func refuse(status int, message string) (int, string) {
	return status, `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`
}

// good is a provider that takes everything.
func good(a asked) (int, string) {
	switch a.kind() {
	case "tool":
		return 200, calling(`"tool_calls":[` + call("c1", weather, "Lima") + `]`)
	case "two_tools":
		return 200, calling(`"tool_calls":[` + call("c2", weather, "Cusco") + `,` + call("c3", weather, "Tacna") + `]`)
	case "structured":
		return 200, said(`{"city":"Lima","degrees":21}`)
	case "stream":
		return 200, streamed
	}
	return 200, said("Yes.")
}

type world struct {
	*fixture.World
	checks   *check.Service
	provider *provider
}

// newWorld returns a world in which «mine» is checked, whose assistant uses the model m there.
func newWorld(t *testing.T, p *provider) *world {
	t.Helper()
	w := fixture.NewWorld(t)
	d := eligibility.Deployment{
		Providers: []eligibility.Platform{{Name: "mine", BaseURL: p.URL}},
		Assistant: fixture.Assistant("mine", "m"),
	}
	return &world{w, &check.Service{
		Eligibility: w.Eligibility(d, "mine"), Credit: w.Credit(), Clients: p, IDs: w.IDs, Now: w.Clock, Log: slog.New(slog.DiscardHandler),
	}, p}
}

func (w *world) begin(t *testing.T, model string) (eligibility.Check, bool) {
	t.Helper()
	c, isNew, err := w.checks.Begin(t.Context(), check.Asked{
		Account: fixture.Account, User: "ana", Provider: eligibility.Provider{Name: "mine", BaseURL: w.provider.URL}, Model: model,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, isNew
}

// run checks the provider, and returns the check.
func (w *world) run(t *testing.T, model string) eligibility.Check {
	t.Helper()
	c, _ := w.begin(t, model)
	if err := w.checks.Run(t.Context(), fixture.Account, check.Begun{Provider: "mine", ID: c.ID}); err != nil {
		t.Fatal(err)
	}
	return w.stored(t)
}

func (w *world) stored(t *testing.T) eligibility.Check {
	t.Helper()
	got, err := w.Store.Settings.Settings(t.Context(), fixture.Account)
	if err != nil {
		t.Fatal(err)
	}
	return got.Checks["mine"]
}

func codes(c eligibility.Check) (list []string) {
	for _, f := range c.Findings {
		list = append(list, f.Code)
	}
	slices.Sort(list)
	return list
}

func (w *world) records(t *testing.T) (turns []credit.Turn) {
	t.Helper()
	err := w.Store.Wallet.Turns(t.Context(), fixture.Account, w.Clock().Add(-time.Hour), w.Clock().Add(time.Hour), func(r credit.Turn) bool {
		turns = append(turns, r)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// TestWhatACheckFinds of providers of several kinds.
func TestWhatACheckFinds(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(asked) (int, string)
		list   string
		found  string
		calls  int
	}{
		"takes everything": {good, `{"data":[{"id":"m","context_length":8192},{"id":"n","context_length":1}]}`, "schema stream tools two_calls window", 5},
		"signs, and renames": {func(a asked) (int, string) {
			if k := a.kind(); k == "tool" || k == "two_tools" {
				status, body := good(a)
				body = strings.ReplaceAll(body, `"name":"`, `"name":"default_api:`)
				return status, strings.ReplaceAll(body, `"type":"function"`, `"type":"function","extra_content":{"google":{"thought_signature":"c2ln"}}`)
			}
			return good(a)
		}, `{"data":[{"id":"models/m"}]}`, "renames_tools schema stream thought_signature tools two_calls", 5},
		"thinks in its text, system messages in front, no schema, no ids": {func(a asked) (int, string) {
			for i, m := range a.Messages {
				if i > 0 && m.Role == "system" {
					return refuse(400, "System message must be at the beginning.")
				}
			}
			status, body := good(a)
			switch a.kind() {
			case "structured":
				if len(a.Format) > 0 {
					return refuse(400, "response_format is not supported")
				}
				return 200, calling(`"tool_calls":[{"id":"","type":"function","function":{"name":"report","arguments":"{\"city\":\"Lima\",\"degrees\":21}"}}]`)
			case "stream":
				return 200, strings.ReplaceAll(body, "one two", "<think>count</think>one two")
			case "text":
				return 200, said("<think>They want yes.</think>Yes.")
			}
			return status, strings.NewReplacer(`"c1"`, `""`, `"c2"`, `""`, `"c3"`, `""`).Replace(body)
		}, `{"object":"list","data":[{"id":"m","max_model_len":40960}]}`, "no_ids schema_by_tool stream system_front thinks_in_text tools two_calls window", 7},
		"thinks apart, one call, no usage": {func(a asked) (int, string) {
			status, body := good(a)
			switch a.kind() {
			case "two_tools":
				body = calling(`"tool_calls":[` + call("c2", weather, "Cusco") + `]`)
			case "stream":
				body = strings.Replace(body, usage, `"usage":null`, 1)
			case "text", "tool":
				body = strings.Replace(body, `"role"`, `"reasoning_content":"They want it.","role"`, 1)
			}
			return status, body
		}, "", "one_call schema stream stream_no_usage thoughts thoughts_back tools", 5},
		"no tools, no temperature": {func(a asked) (int, string) {
			switch {
			case a.Temperature != nil:
				return refuse(400, "Unsupported value: temperature does not support 0.2; only the default (1) value is supported.")
			case a.kind() == "tool", a.Choice != nil:
				return refuse(400, "m does not support tools")
			}
			return good(a)
		}, "", "no_temperature no_tools schema stream", 4},
		"refuses what follows a call": {func(a asked) (int, string) {
			if a.kind() == "two_tools" {
				return refuse(400, "thoughts are missing")
			}
			return good(a)
		}, "", "no_results schema stream tools", 5},
		"refuses streams": {func(a asked) (int, string) {
			if a.Stream {
				return refuse(400, "Your organization must be verified to stream this model.")
			}
			return good(a)
		}, "", "no_stream schema tools two_calls", 6},
		"refuses results": {func(a asked) (int, string) {
			if slices.ContainsFunc(a.Messages, func(m message) bool { return m.Role == "tool" }) {
				return refuse(400, "unsupported role: tool")
			}
			return good(a)
		}, "", "no_tools schema stream", 5},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, c.answer)
			p.list = c.list
			w := newWorld(t, p)
			got := w.run(t, "")
			if got.Status != eligibility.CheckDone || got.Model != "m" || strings.Join(codes(got), " ") != c.found || len(p.asked) != c.calls+strings.Count(c.found, "no_temperature")+strings.Count(c.found, "no_tools") { // each is refused once, and asked again
				t.Errorf("%s %s %s, %d requests: %v", got.Status, got.Reason, got.Model, len(p.asked), codes(got))
			}
			if len(got.Calls) != 5 || !got.Calls[0].OK || got.Calls[0].Tokens != 25 {
				t.Errorf("%+v", got.Calls)
			}
			for _, f := range got.Findings {
				for _, tag := range locale.Tags() {
					if text := f.Text().In(tag); strings.Contains(text, "check.finding") || strings.Contains(text, "{") {
						t.Errorf("%s says %q", f.Code, text)
					}
				}
			}
			if records := w.records(t); len(records) != 1 || records[0].Source != credit.SourceCheck || records[0].ID != got.ID || records[0].Micros != got.Micros || got.Micros == 0 {
				t.Errorf("%+v, and the check cost %d", records, got.Micros)
			}
		})
	}
}

// TestAProviderThatDoesNotAnswer ends the check after its first call, with a reason of its own.
func TestAProviderThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(asked) (int, string)
		reason eligibility.Reason
	}{
		"a page":         {func(asked) (int, string) { return 200, "<html><body>Welcome</body></html>" }, eligibility.CheckNoAPI},
		"a missing page": {func(asked) (int, string) { return 404, "<html>404</html>" }, eligibility.CheckNoAPI},
		"another API":    {func(asked) (int, string) { return 404, `{"error":"no such route"}` }, eligibility.CheckNoAPI},
		"words":          {func(asked) (int, string) { return 200, "ok" }, eligibility.CheckNoAPI},
		"a wrong key":    {func(asked) (int, string) { return refuse(401, "Incorrect API key provided") }, eligibility.NoAPIKey},
		"no balance":     {func(asked) (int, string) { return refuse(402, "Insufficient Balance") }, eligibility.CheckBalance},
		"no quota": {func(asked) (int, string) {
			return 429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`
		}, eligibility.CheckBalance},
		"an unknown model": {func(asked) (int, string) { return refuse(404, "The model m does not exist") }, eligibility.CheckModel},
		"no credit": {func(asked) (int, string) {
			return refuse(400, "Your credit balance is too low to access the Anthropic API.")
		}, eligibility.CheckBalance},
		"no credit, with 200": {func(asked) (int, string) { return 200, `{"error":{"message":"No credits","code":402}}` }, eligibility.CheckBalance},
		"another model":       {func(asked) (int, string) { return refuse(400, "m is not a valid model ID") }, eligibility.CheckModel},
		"a model of before": {func(asked) (int, string) {
			return refuse(400, "The model x has been decommissioned and is no longer supported.")
		}, eligibility.CheckModel},
		"no deployment": {func(asked) (int, string) {
			return 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`
		}, eligibility.CheckModel},
		"a filter": {func(asked) (int, string) { return 400, `{"error":{"code":"content_filter","message":"no"}}` }, eligibility.CheckFiltered},
		"thinks to the end": {func(asked) (int, string) {
			return 200, `{"choices":[{"message":{"content":""},"finish_reason":"length"}],` + usage + `}`
		}, eligibility.CheckCutShort},
		"a tiny window": {func(asked) (int, string) { return 400, `{"error":{"code":"context_length_exceeded"}}` }, eligibility.CheckTooLong},
		"too many":      {func(asked) (int, string) { return refuse(429, "slow down") }, eligibility.RateLimited},
		"broken":        {func(asked) (int, string) { return refuse(500, "oops") }, eligibility.ProviderUnreachable},
		"refuses":       {func(asked) (int, string) { return refuse(400, "no") }, eligibility.ProviderRefused},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, c.answer)
			w := newWorld(t, p)
			got := w.run(t, "")
			if got.Status != eligibility.CheckFailed || got.Reason != c.reason || len(got.Calls) != 1 || len(p.asked) != 1 || got.Models != nil {
				t.Errorf("%s %s, %d requests, %+v", got.Status, got.Reason, len(p.asked), got)
			}
			for _, tag := range locale.Tags() {
				if text := got.Message().In(tag) + got.Action().In(tag); strings.Contains(text, "check.") || strings.Contains(text, "blocked.") || strings.Contains(text, "{") {
					t.Errorf("it says %q", text)
				}
			}
		})
	}
}

// TestAProviderThatHangs is given up, and told as such.
func TestAProviderThatHangs(t *testing.T) {
	p := newProvider(t, func(asked) (int, string) { return 0, "" })
	p.patience = 500 * time.Millisecond
	if got := newWorld(t, p).run(t, ""); got.Status != eligibility.CheckFailed || got.Reason != eligibility.CheckTimeout || p.count() != 1 {
		t.Errorf("%s %s, %d requests", got.Status, got.Reason, p.count())
	}
	late := newProvider(t, func(a asked) (int, string) {
		if a.kind() == "structured" {
			return 0, ""
		}
		return good(a)
	})
	late.patience = 3 * time.Second
	if got := newWorld(t, late).run(t, ""); got.Status != eligibility.CheckDone || got.Calls[3].Error != string(eligibility.CheckTimeout) ||
		!slices.Contains(codes(got), "unanswered_structured") || !slices.Contains(codes(got), "stream") {
		t.Errorf("%+v", got)
	}
}

// TestOneCheckOfAProviderAtATime: asking again while one runs begins no other, of however many who ask at once.
func TestOneCheckOfAProviderAtATime(t *testing.T) {
	p := newProvider(t, good)
	w := newWorld(t, p)
	var all sync.WaitGroup
	var mu sync.Mutex
	began := map[string]int{}
	for range 6 {
		all.Go(func() {
			c, isNew := w.begin(t, "")
			mu.Lock()
			defer mu.Unlock()
			if began[c.ID] += 0; isNew {
				began[c.ID]++
			}
		})
	}
	all.Wait()
	first := w.stored(t)
	if len(began) != 1 || began[first.ID] != 1 {
		t.Fatalf("%v, stored is %s", began, first.ID)
	}
	for range 2 { // its execution may be repeated
		if err := w.checks.Run(t.Context(), fixture.Account, check.Begun{Provider: "mine", ID: first.ID}); err != nil {
			t.Fatal(err)
		}
	}
	if again, isNew := w.begin(t, "n"); !isNew || again.Model != "n" || len(p.asked) != 5 {
		t.Errorf("after its end: %+v, %d requests", again, len(p.asked))
	}
}

// TestACheckWhoseProcessDiedIsNotRunning: its calls are not made again, and another one may begin.
func TestACheckWhoseProcessDiedIsNotRunning(t *testing.T) {
	p := newProvider(t, good)
	w := newWorld(t, p)
	c, _ := w.begin(t, "")
	begun := c
	begun.Begun, begun.Until = true, w.Clock().Add(check.Life)
	if err := w.Store.Settings.PutCheck(t.Context(), fixture.Account, &c, begun); err != nil {
		t.Fatal(err)
	}
	if early, late := begun.Seen(w.Clock()), begun.Seen(w.Clock().Add(check.QueueTime)); early.Status != eligibility.CheckRunning || late.Status != eligibility.CheckFailed || late.Reason != eligibility.CheckInterrupted {
		t.Errorf("%s, later %s %s", early.Status, late.Status, late.Reason)
	}
	if err := w.checks.Run(t.Context(), fixture.Account, check.Begun{Provider: "mine", ID: c.ID}); err != nil {
		t.Fatal(err)
	}
	if got := w.stored(t); got.Status != eligibility.CheckFailed || got.Reason != eligibility.CheckInterrupted || len(p.asked) != 0 {
		t.Errorf("%+v, %d requests", got, len(p.asked))
	}
	if again := w.run(t, ""); again.Status != eligibility.CheckDone {
		t.Errorf("%+v", again)
	}
}

// TestACheckThatIsGoneChangesNothing: its provider was deleted, or checked anew, while its calls were made. What they cost is
// recorded.
func TestACheckThatIsGoneChangesNothing(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world) error{
		"deleted": func(w *world) error {
			return w.Store.Settings.DeleteProvider(context.Background(), fixture.Account, "mine")
		},
		"replaced": func(w *world) error {
			was, err := w.Store.Settings.Settings(context.Background(), fixture.Account)
			if err != nil {
				return err
			}
			seen := was.Checks["mine"]
			next := seen
			next.ID = "another"
			return w.Store.Settings.PutCheck(context.Background(), fixture.Account, &seen, next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, good)
			w := newWorld(t, p)
			var once sync.Once
			var before eligibility.Settings
			p.each = func() {
				once.Do(func() {
					err := meanwhile(w)
					if err == nil {
						before, err = w.Store.Settings.Settings(context.Background(), fixture.Account)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			w.run(t, "")
			after, err := w.Store.Settings.Settings(t.Context(), fixture.Account)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, after); d != "" || len(p.asked) != 1 {
				t.Errorf("%d requests, %s", len(p.asked), d)
			}
			if records := w.records(t); len(records) != 1 || records[0].Input != 20 {
				t.Errorf("%+v", records)
			}
		})
	}
}

// TestNothingIsCalledThatCannotBePaid: the budget, or the credits, are not enough for all calls.
func TestNothingIsCalledThatCannotBePaid(t *testing.T) {
	p := newProvider(t, good)
	for name, c := range map[string]struct {
		set    func(w *world) error
		reason eligibility.Reason
		said   []string
	}{
		"budget": {func(w *world) error {
			return w.Store.Settings.PutTerms(t.Context(), fixture.Account, eligibility.Terms{Policy: credit.DefaultPolicy(), Limits: credit.Limits{Run: 100}})
		}, eligibility.BudgetExceeded, []string{"0.24 USD"}},
		"off": {func(w *world) error {
			return w.Store.Settings.PutEntitlement(t.Context(), fixture.Account, eligibility.Entitlement{Entitled: true})
		}, eligibility.AIDisabled, nil},
		"not allowed": {func(w *world) error {
			return w.Store.Settings.PutEntitlement(t.Context(), fixture.Account, eligibility.Entitlement{Entitled: true, Enabled: true, Providers: []string{"other"}})
		}, eligibility.NotEntitled, nil},
		"credits": {func(w *world) error {
			costs := true
			return w.Store.Settings.PutProvider(t.Context(), fixture.Account, nil, eligibility.Config{Name: "mine", CostsCredits: &costs})
		}, eligibility.InsufficientCredits, []string{"credit"}},
	} {
		w := newWorld(t, p)
		if err := c.set(w); err != nil {
			t.Fatal(err)
		}
		got := w.run(t, "")
		if got.Status != eligibility.CheckFailed || got.Reason != c.reason || len(p.asked) != 0 || len(got.Calls) != 0 {
			t.Errorf("%s: %s %s, %d requests", name, got.Status, got.Reason, len(p.asked))
		}
		said := got.Message().In(locale.English) + " " + got.Action().In(locale.English)
		for _, needed := range c.said {
			if !strings.Contains(said, needed) {
				t.Errorf("%s: it says %q", name, said)
			}
		}
		if records := w.records(t); len(records) != 1 || records[0].Outcome != credit.OutcomeBlocked || records[0].Source != credit.SourceCheck {
			t.Errorf("%s: %+v", name, records)
		}
	}
}

// TestABudgetThatEndsInACheckIsToldAsOne, with what the next call needed.
func TestABudgetThatEndsInACheckIsToldAsOne(t *testing.T) {
	p := newProvider(t, func(a asked) (int, string) {
		status, body := good(a)
		return status, strings.ReplaceAll(body, `"prompt_tokens":20`, `"prompt_tokens":10000000`)
	})
	w := newWorld(t, p)
	if err := w.Store.Settings.PutTerms(t.Context(), fixture.Account, eligibility.Terms{Policy: credit.DefaultPolicy(), Limits: credit.Limits{Day: 1_000_000}}); err != nil {
		t.Fatal(err)
	}
	got := w.run(t, "")
	if got.Status != eligibility.CheckFailed || got.Reason != eligibility.BudgetExceeded || got.Short == nil || got.Short.Passed.Needed == 0 {
		t.Errorf("%+v", got)
	}
	if n := len(got.Calls); n == 0 || got.Calls[n-1].Error != string(eligibility.BudgetExceeded) {
		t.Errorf("%+v", got.Calls)
	}
}

// TestWhichModelIsChecked: the one that was asked for, the one of an assistant, or the only one that there is.
func TestWhichModelIsChecked(t *testing.T) {
	only := `{"data":[{"id":"models/only","max_model_len":"4096"}]}`
	for name, c := range map[string]struct{ asked, used, list, want string }{
		"asked":   {"n", "m", only, "n"},
		"used":    {"", "m", only, "m"},
		"only":    {"", "", only, "only"},
		"none":    {"", "", `[]`, ""},
		"several": {"", "", `[{"id":"a"},{"id":"b"}]`, ""},
		"long":    {"", "", `[{"id":"` + strings.Repeat("x", 201) + `"}]`, ""},
		"hidden":  {"", "", `[{"id":"a\u001b\u202eb"}]`, ""},
	} {
		p := newProvider(t, good)
		p.list = c.list
		w := newWorld(t, p)
		if c.used == "" {
			w.checks.Eligibility.Deployment.Assistant = nil
		}
		got := w.run(t, c.asked)
		switch {
		case got.Model != c.want:
			t.Errorf("%s: %q", name, got.Model)
		case c.want == "" && (got.Reason != eligibility.CheckNoModel || len(p.asked) != 0), c.want != "" && (got.Status != eligibility.CheckDone || p.asked[0].Model != c.want):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWhatWasFoundIsUsed by later calls of the model at that address, and is kept when another model is checked.
func TestWhatWasFoundIsUsed(t *testing.T) {
	p := newProvider(t, good)
	p.list = `[{"id":"m","context_window":5000},{"id":"n"}]`
	w := newWorld(t, p)
	w.run(t, "")
	second := w.run(t, "n")
	if second.Models["m"].Window != 5000 || second.Models["n"].At.IsZero() {
		t.Errorf("%+v", second.Models)
	}
	used := func() eligibility.Candidate {
		plan, block := w.checks.Eligibility.Decide(t.Context(), eligibility.Question{Account: fixture.Account, Need: eligibility.NominalNeed()})
		if block != nil {
			t.Fatalf("%+v", block)
		}
		return plan.Candidate
	}
	if c := used(); c.Window != 5000 || c.Known.At.IsZero() {
		t.Errorf("%+v", c)
	}
	w.checks.Eligibility.Deployment.Providers[0].BaseURL = "https://elsewhere.example"
	if c := used(); c.Window != eligibility.DefaultWindow || !c.Known.At.IsZero() {
		t.Errorf("at another address: %+v", c)
	}
}
