package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

// fakeReply is one reaction of an agent: an answer or an error, after a time. A reaction that
// takes longer than its caller waits is lost.
type fakeReply struct {
	after  time.Duration
	answer tool.Answer
	err    error
}

// fakeAgent is an agent that reacts as set, in order, the last reaction repeatedly. It also
// stores keys and frozen tools.
type fakeAgent struct {
	mu     sync.Mutex
	will   []fakeReply
	calls  []tool.Call
	at     []time.Time
	frozen []string
	keyErr error
}

func (d *fakeAgent) CallTool(ctx context.Context, c tool.Call) (tool.Answer, error) {
	d.mu.Lock()
	next := d.will[0]
	if len(d.will) > 1 {
		d.will = d.will[1:]
	}
	d.calls, d.at = append(d.calls, c), append(d.at, time.Now())
	d.mu.Unlock()
	select {
	case <-time.After(next.after):
		return next.answer, next.err
	case <-ctx.Done():
		return tool.Answer{}, tool.ErrLost.With("reason", "timeout").Because(ctx.Err())
	}
}

func (d *fakeAgent) Keys(context.Context, ids.Account, tool.Server) (tool.Keys, error) {
	return tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: "s3cret-s3cret"}}, d.keyErr
}

func (d *fakeAgent) FreezeTool(_ context.Context, account ids.Account, id, seen, name string, _ time.Time) error {
	d.frozen = append(d.frozen, string(account)+"/"+id+"/"+seen+"/"+name)
	return nil
}

func textAnswer(text string) tool.Answer {
	body, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
	if err != nil {
		panic(err)
	}
	return tool.Answer{Status: 200, Body: body, Bytes: len(body)}
}

const chatSchema = `{"type":"object","properties":{"message":{"type":"string"},"session_id":{"type":"string"},"context":{"type":"object"}},"required":["message"]}`

func reservaAgent(schema string) agent.Agent {
	return agent.Agent{
		Name:   "reserva",
		Server: tool.Server{ID: "a", Catalogue: "rev", Kind: tool.KindMCP, Role: tool.RoleAgent},
		Chat: tool.Operation{
			Entry: tool.Entry{Name: tool.ChatTool, Fingerprint: "f"},
			Body:  &tool.Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(schema)},
		},
	}
}

var hello = agent.Message{
	Text: "una mesa para 2", Session: "51999", Context: map[string]any{"id_empresa": 7, "nombre_bot": "Ana <3"}, Idempotency: "m-1", TraceID: "t-1",
}

// newDelegator returns a delegator whose random pauses have their maximum.
func newDelegator(d *fakeAgent, store agent.Breakers) *agent.Delegator {
	return &agent.Delegator{
		Caller: d, Schemas: schema.Compiler{}, Keys: d, Freeze: d, Gate: gateOver(store, time.Now), Attempts: 3, Base: time.Second, Timeout: 30 * time.Second,
		Trust: time.Minute, Now: time.Now, Rand: func(most time.Duration) time.Duration { return most }, Log: slog.New(slog.DiscardHandler),
	}
}

func TestAskRetriesTransientErrorsAndCountsFailures(t *testing.T) {
	down := fakeReply{err: tool.ErrNotSent}
	ok := fakeReply{answer: textAnswer("hola")}
	busy := func(status int, after string) fakeReply {
		seconds, err := strconv.Atoi(after)
		return fakeReply{answer: tool.Answer{Status: status, Failed: true, Waits: err == nil, Wait: time.Duration(seconds) * time.Second}}
	}
	failed := textAnswer("no puedo")
	failed.Failed = true
	tooMuch := textAnswer(strings.Repeat("a", 40<<10))
	tooMuch.Truncated = true
	cutBlobs := textAnswer("hola")
	cutBlobs.Truncated = true
	for name, c := range map[string]struct {
		will    []fakeReply
		err     error
		calls   int
		took    time.Duration
		counted int
	}{
		"at once":                  {[]fakeReply{ok}, nil, 1, 0, 0},
		"down, then up":            {[]fakeReply{down, ok}, nil, 2, time.Second, 0},
		"twice, with longer waits": {[]fakeReply{down, down, ok}, nil, 3, 3 * time.Second, 0},
		"down":                     {[]fakeReply{down}, agent.ErrSilent, 3, 3 * time.Second, 3},
		"down, then lost":          {[]fakeReply{down, {err: tool.ErrLost}, ok}, agent.ErrLate, 2, time.Second, 2},
		"lost":                     {[]fakeReply{{err: tool.ErrLost.With("reason", "reset")}, ok}, agent.ErrLate, 1, 0, 1},
		"breaks":                   {[]fakeReply{busy(500, ""), ok}, agent.ErrDoubt, 1, 0, 1},
		"says it failed":           {[]fakeReply{{answer: failed}, ok}, agent.ErrFailed, 1, 0, 1},
		"garbage":                  {[]fakeReply{{answer: tool.Answer{Status: 200, Body: []byte("<html>")}}, ok}, agent.ErrGarbage, 1, 0, 1},
		"no answer to a request":   {[]fakeReply{{err: tool.ErrLost.With("reason", "protocol")}, ok}, agent.ErrLate, 1, 0, 1},
		"n8n says that it broke":   {[]fakeReply{{answer: textAnswer(`There was an error: "the sheet is not shared with x"`)}, ok}, agent.ErrDoubt, 1, 0, 1},
		"nothing to read":          {[]fakeReply{{answer: textAnswer("\u0000 \u200b\n")}, ok}, agent.ErrGarbage, 1, 0, 1},
		"busy until":               {[]fakeReply{busy(429, "4"), ok}, nil, 2, 5 * time.Second, 0},
		"busy":                     {[]fakeReply{busy(429, ""), ok}, nil, 2, time.Second, 0},
		"unavailable until":        {[]fakeReply{busy(503, "4"), ok}, nil, 2, 5 * time.Second, 0},
		"unavailable":              {[]fakeReply{busy(503, ""), ok}, agent.ErrDoubt, 1, 0, 1},
		"busy for too long":        {[]fakeReply{busy(429, "3600"), ok}, agent.ErrFailed, 1, 0, 1},
		"no such tool, then is":    {[]fakeReply{{answer: tool.Answer{Status: 200, Failed: true, Code: "-32602"}}, ok}, nil, 2, time.Second, 0},
		"refused":                  {[]fakeReply{{answer: tool.Answer{Status: 400, Failed: true}}, ok}, agent.ErrFailed, 1, 0, 1},
		"10 MB":                    {[]fakeReply{{err: tool.ErrLost.With("reason", "size")}, ok}, agent.ErrGarbage, 1, 0, 1},
		"a text that was cut":      {[]fakeReply{{answer: tooMuch}, ok}, agent.ErrGarbage, 1, 0, 1},
		"images that were cut":     {[]fakeReply{{answer: cutBlobs}}, nil, 1, 0, 0},
		"does not take our key":    {[]fakeReply{{err: tool.ErrUnauthorized}, ok}, agent.ErrForbidden, 1, 0, 0},
		"a request that is none":   {[]fakeReply{{err: tool.ErrRequest.With("reason", "key")}, ok}, agent.ErrMisfit, 1, 0, 0},
		"another tool":             {[]fakeReply{{err: tool.ErrToolChanged}, ok}, agent.ErrFrozen, 1, 0, 0},
		"slow":                     {[]fakeReply{{after: 29 * time.Second, answer: textAnswer("hola")}}, nil, 1, 29 * time.Second, 0},
		"never":                    {[]fakeReply{{after: time.Hour}, ok}, agent.ErrLate, 1, 30 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, store := &fakeAgent{will: c.will}, &breakerStore{}
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
				defer cancel()
				x := newDelegator(d, store)
				x.Gate.Policy.Failures = 10
				began := time.Now()
				answer, err := x.Ask(ctx, "acme", reservaAgent(chatSchema), hello)
				took := time.Since(began)
				if !errors.Is(err, c.err) || err == nil && answer.Text != "hola" {
					t.Errorf("%q, %v", answer.Text, err)
				}
				if err != nil && (fault.Of(err).Args["agent"] != "reserva" || fault.Of(err).Kind == fault.Internal) {
					t.Errorf("an error without a name: %v", err)
				}
				if len(d.calls) != c.calls || answer.Attempts != c.calls || took != c.took {
					t.Errorf("%d calls, %d attempts in %v", len(d.calls), answer.Attempts, took)
				}
				if b, _ := store.Breaker(context.Background(), "acme", "a"); len(b.Failed) != c.counted {
					t.Errorf("%d failures were counted", len(b.Failed))
				}
				for n, call := range d.calls {
					if call.Idempotency != "m-1" || call.TraceID != "t-1" || call.Fingerprint != "f" || call.Tool != "chat" {
						t.Errorf("%+v", call)
					}
					if trusted := call.Trust > 0; trusted != (n == 0) { // the tool may have changed since the failure
						t.Errorf("attempt %d trusts for %v", n+1, call.Trust)
					}
				}
				if froze := len(d.frozen) > 0; froze != (c.err == agent.ErrFrozen) {
					t.Errorf("frozen: %v", d.frozen)
				}
			})
		})
	}
}

// An answer that does not say whether the agent acted is told as such, and the message is not sent again, unless a person
// set that its errors are refusals. What an answer means is decided as for a step.
func TestAnAnswerThatDoesNotSayWhetherAnAgentActedIsADoubt(t *testing.T) {
	type answer struct {
		status int
		code   string
	}
	for _, c := range []struct {
		answers  []answer
		rejected bool
		want     *fault.Error
		may      bool
	}{
		{[]answer{{500, ""}, {502, ""}, {503, ""}, {504, ""}, {511, ""}, {520, ""}, {529, ""}, {408, ""}, {499, ""}}, false, agent.ErrDoubt, true},
		{[]answer{{300, ""}, {302, ""}, {303, ""}, {304, ""}, {305, ""}}, false, agent.ErrDoubt, true},
		{[]answer{{200, "-32603"}, {200, "-32000"}, {200, "-32001"}, {200, "7"}, {500, "-32602"}, {400, "-32000"}}, false, agent.ErrDoubt, true},
		{[]answer{{400, ""}, {404, ""}, {409, ""}, {410, ""}, {422, ""}, {501, ""}, {505, ""}, {301, ""}, {307, ""}, {308, ""}}, false, agent.ErrFailed, false},
		{[]answer{{200, "-32602"}, {200, "-32601"}, {200, "-32600"}, {400, "-32020"}, {200, ""}}, false, agent.ErrFailed, false},
		{[]answer{{500, ""}, {502, ""}, {408, ""}, {200, "-32603"}, {500, "-32000"}}, true, agent.ErrFailed, false},
		{[]answer{{302, ""}, {303, "-32603"}}, true, agent.ErrDoubt, true},
	} {
		for _, a := range c.answers {
			d := &fakeAgent{will: []fakeReply{{answer: tool.Answer{Status: a.status, Code: a.code, Failed: true}}}}
			x := newDelegator(d, &breakerStore{})
			x.Base = 0
			asked := reservaAgent(chatSchema)
			if c.rejected {
				asked.Server.Errors = tool.ErrorsRejected
			}
			_, err := x.Ask(context.Background(), "acme", asked, hello)
			if !errors.Is(err, c.want) || agent.MayHaveActed(err) != c.may || c.may && len(d.calls) != 1 {
				t.Errorf("%+v: %v after %d calls, want %v", a, err, len(d.calls), c.want)
			}
		}
	}
	for _, err := range []error{agent.ErrLate, agent.ErrGarbage} {
		if !agent.MayHaveActed(err) {
			t.Errorf("%v: it has the message", err)
		}
	}
	for _, err := range []error{nil, agent.ErrOpen, agent.ErrSilent, agent.ErrFrozen, agent.ErrForbidden, agent.ErrMisfit} {
		if agent.MayHaveActed(err) {
			t.Errorf("%v: it has no message", err)
		}
	}
}

func TestAskWaitsUpToItsTimeout(t *testing.T) {
	for _, c := range []struct{ timeout, deadline, takes, waited time.Duration }{
		{60 * time.Second, 0, 50 * time.Second, 50 * time.Second},
		{60 * time.Second, 0, 70 * time.Second, 60 * time.Second},
		{60 * time.Second, 25 * time.Second, 20 * time.Second, 20 * time.Second},
		{60 * time.Second, 25 * time.Second, 30 * time.Second, 25 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			if c.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
			}
			defer cancel()
			d := &fakeAgent{will: []fakeReply{{after: c.takes, answer: textAnswer("hola")}}}
			x := newDelegator(d, &breakerStore{})
			x.Timeout = c.timeout
			began := time.Now()
			_, err := x.Ask(ctx, "acme", reservaAgent(chatSchema), hello)
			took := time.Since(began)
			if heard := c.takes == c.waited; heard != (err == nil) || !heard && !errors.Is(err, agent.ErrLate) {
				t.Errorf("%v: %v", c, err)
			}
			if took != c.waited || len(d.calls) != 1 {
				t.Errorf("%v: %d calls in %v", c, len(d.calls), took)
			}
		})
	}
}

func TestAskEndsWhenBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fakeAgent{will: []fakeReply{{err: tool.ErrNotSent}}}
		x := newDelegator(d, &breakerStore{})
		x.Gate.Policy.Failures = 2
		began := time.Now()
		answer, err := x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
		if took := time.Since(began); !errors.Is(err, agent.ErrSilent) || answer.Attempts != 2 || took != time.Second {
			t.Errorf("%v after %d in %v", err, answer.Attempts, took)
		}
		answer, err = x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
		if !errors.Is(err, agent.ErrOpen) || answer.Attempts != 0 || fault.Of(err).Args["agent"] != "reserva" {
			t.Errorf("%v after %d", err, answer.Attempts)
		}
		sentence := locale.Text(locale.Spanish, "fault.agent.open.do", "retry_after", fault.Of(err).Args["retry_after"])
		if sentence != "Inténtalo de nuevo dentro de 10 segundos." {
			t.Error(sentence)
		}
		time.Sleep(three.Open)
		if answer, err = x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello); !errors.Is(err, agent.ErrSilent) || answer.Attempts != 1 {
			t.Errorf("a probe that fails: %v after %d", err, answer.Attempts)
		}
		d.will = []fakeReply{{answer: textAnswer("ya estoy")}}
		time.Sleep(three.Open)
		if answer, err = x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello); err != nil || answer.Text != "ya estoy" {
			t.Errorf("%q, %v", answer.Text, err)
		}
	})
}

func TestCancelledCallIsNotCountedAsFailure(t *testing.T) {
	hangs, down := fakeReply{after: time.Hour}, fakeReply{after: 10 * time.Second, err: tool.ErrNotSent}
	for name, c := range map[string]struct {
		will    []fakeReply
		after   time.Duration
		counted int
	}{
		"soon":                 {[]fakeReply{hangs}, time.Second, 0},
		"after a long call":    {[]fakeReply{hangs}, 20 * time.Second, 0},
		"during a wait":        {[]fakeReply{down, hangs}, 11 * time.Second, 1},
		"during a second call": {[]fakeReply{down, hangs}, 28 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &breakerStore{}
				x := newDelegator(&fakeAgent{will: c.will}, store)
				x.Base = 10 * time.Second
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(c.after, cancel)
				began := time.Now()
				_, err := x.Ask(ctx, "acme", reservaAgent(chatSchema), hello)
				if took := time.Since(began); err != context.Canceled || took != c.after {
					t.Errorf("%v after %v", err, took)
				}
				if b, _ := store.Breaker(context.Background(), "acme", "a"); len(b.Failed) != c.counted {
					t.Errorf("%d failures were counted", len(b.Failed))
				}
			})
		})
	}
}

func TestTooShortDeadlineIsNotCountedAsFailure(t *testing.T) {
	for deadline, counted := range map[time.Duration]int{time.Second: 0, 6 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			store := &breakerStore{}
			x := newDelegator(&fakeAgent{will: []fakeReply{{after: time.Hour}}}, store)
			x.Attempts = 1
			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			if _, err := x.Ask(ctx, "acme", reservaAgent(chatSchema), hello); !errors.Is(err, agent.ErrLate) {
				t.Error(err)
			}
			if b, _ := store.Breaker(context.Background(), "acme", "a"); len(b.Failed) != counted {
				t.Errorf("%v: %d failures were counted", deadline, len(b.Failed))
			}
		})
	}
}

func TestFrozenAgentIsNotCalled(t *testing.T) {
	d, store := &fakeAgent{}, &breakerStore{}
	a := reservaAgent(chatSchema)
	a.Server.Frozen = []string{"other", tool.ChatTool}
	if _, err := newDelegator(d, store).Ask(context.Background(), "acme", a, hello); !errors.Is(err, agent.ErrFrozen) || len(d.calls) != 0 {
		t.Errorf("%v, %d calls", err, len(d.calls))
	}
}

func TestUnreadableKeyIsInternalError(t *testing.T) {
	d, a := &fakeAgent{will: []fakeReply{{answer: textAnswer("hola")}}}, reservaAgent(chatSchema)
	a.Server.Keys = []tool.KeyPlace{{In: "bearer"}}
	if _, err := newDelegator(d, &breakerStore{}).Ask(context.Background(), "acme", a, hello); err != nil || d.calls[0].Keys[0].Secret != "s3cret-s3cret" {
		t.Error(err)
	}
	d.keyErr = errors.New("the store is down")
	if _, err := newDelegator(d, &breakerStore{}).Ask(context.Background(), "acme", a, hello); fault.KindOf(err) != fault.Internal || len(d.calls) != 1 {
		t.Error(err)
	}
}

func TestArgumentsFitAgentSchema(t *testing.T) {
	const object = `{"id_empresa":7,"nombre_bot":"Ana <3"}`
	const written = `"{\"id_empresa\":7,\"nombre_bot\":\"Ana <3\"}"`
	message, session := `"message":"una mesa para 2"`, `"session_id":"51999"`
	for name, c := range map[string]struct{ schema, want, misfit string }{
		"all three":          {chatSchema, `{` + message + `,` + session + `,"context":` + object + `}`, ""},
		"context is a text":  {`{"type":"object","properties":{"message":{"type":"string"},"context":{"type":"string"}}}`, `{` + message + `,"context":` + written + `}`, ""},
		"context or nothing": {`{"type":"object","properties":{"message":{},"context":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{` + message + `,"context":` + written + `}`, ""},
		"context elsewhere": {
			`{"type":"object","properties":{"message":{"type":"string"},"context":{"$ref":"#/$defs/C"}},"$defs":{"C":{"type":"object"}}}`,
			`{` + message + `,"context":` + object + `}`, "",
		},
		"a context we do not have": {
			`{"type":"object","properties":{"message":{"type":"string"},"context":{"type":"object","required":["mesa"]}}}`, `{` + message + `}`, "",
		},
		"only a message":       {`{"type":"object","properties":{"message":{"type":"string"}},"additionalProperties":false}`, `{` + message + `}`, ""},
		"more, not asked for":  {`{"type":"object","properties":{"message":{},"lang":{"type":"string"}},"required":["message"]}`, `{` + message + `}`, ""},
		"anything":             {`{"type":"object"}`, `{` + message + `,` + session + `,"context":` + object + `}`, ""},
		"a session of numbers": {`{"type":"object","properties":{"message":{},"session_id":{"type":"integer"}}}`, `{` + message + `}`, ""},
		"another's name":       {`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`, "", "message"},
		"one more":             {`{"type":"object","properties":{"message":{},"customer":{"type":"string"}},"required":["message","customer"]}`, "", "customer"},
		"a short message":      {`{"type":"object","properties":{"message":{"type":"string","maxLength":3}}}`, "", "message"},
	} {
		d, store := &fakeAgent{will: []fakeReply{{answer: textAnswer("hola")}}}, &breakerStore{}
		_, err := newDelegator(d, store).Ask(context.Background(), "acme", reservaAgent(c.schema), hello)
		if c.misfit != "" {
			if f := fault.Of(err); !errors.Is(err, agent.ErrMisfit) || f.Args["detail"] != c.misfit || len(d.calls) != 0 {
				t.Errorf("%s: %v, %d calls", name, err, len(d.calls))
			}
			continue
		}
		if err != nil || len(d.calls) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want, got any
		if err := errors.Join(json.Unmarshal([]byte(c.want), &want), json.Unmarshal(d.calls[0].Arguments, &got)); err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestResultTextIsForPerson(t *testing.T) {
	text := func(s string) string { return string(textAnswer(s).Body) }
	for name, c := range map[string]struct{ body, want string }{
		"a text":              {text("Hay mesa a las 9.\n\n- terraza\n\t- dentro"), "Hay mesa a las 9.\n\n- terraza\n\t- dentro"},
		"several":             {`{"content":[{"type":"text","text":"uno"},{"type":"image","data":"AAAA"},{"type":"text","text":"dos"}]}`, "uno\ndos"},
		"text beside data":    {`{"content":[{"type":"text","text":"uno"}],"structuredContent":{"reply":"otro"}}`, "uno"},
		"data alone":          {`{"content":[],"structuredContent":{"status":"ok","reply":"uno"}}`, "uno"},
		"a result":            {`{"structuredContent":{"result":"uno"}}`, "uno"},
		"the likeliest first": {`{"structuredContent":{"content":"dos","response":"uno","message":""}}`, "uno"},
		"JSON as a text":      {text(`{"response": "uno", "ok": true}`), "uno"},
		"a JSON string":       {text(`"uno"`), "uno"},
		"almost JSON":         {text(`{uno}`), "{uno}"},
		"a list in words":     {text("[1] uno\n[2] dos"), "[1] uno\n[2] dos"},
		"unwrapped twice":     {text(`{"reply":"{\"reply\":\"uno\"}"}`), `{"reply":"uno"}`},
		"n8n's AI Agent":      {text(`[{"output":"uno"}]`), "uno"},
		"its items":           {text(`[{"json":{"output":"uno"},"pairedItem":{"item":0}}]`), "uno"},
		"its chain":           {text(`{"text":"uno"}`), "uno"},
		"an older chain":      {text(`{"response":{"text":"uno"}}`), "uno"},
		"its model":           {text(`[{"index":0,"message":{"role":"assistant","content":"uno"},"finish_reason":"stop"}]`), "uno"},
		"its newer model":     {text(`[{"output":[{"type":"message","content":[{"type":"output_text","text":"uno"}]}]}]`), "uno"},
		"its parser":          {text(`{"output":{"reply":"uno","mesas":2}}`), "uno"},
		"data of n8n":         {`{"content":[],"structuredContent":[{"output":"uno"}]}`, "uno"},
		"a list of texts":     {text(`["uno","dos"]`), "uno\ndos"},
		"several items":       {text(`[{"reply":"uno"},{"reply":"dos"}]`), "uno\ndos"},
		"half a list":         {text(`[{"reply":"uno"},{"rooms":2}]`), ""},
		"nested for ever":     {text(strings.Repeat(`[`, 500) + `"uno"` + strings.Repeat(`]`, 500)), ""},
		"controls":            {text("u\u0000n\u001bo\r\n\u202edos\u2066 \u200dñ\ufeff"), "uno\ndos \u200dñ"},
		"invalid bytes":       {"{\"content\":[{\"type\":\"text\",\"text\":\"u\xffno\"}]}", "uno"},
		"a thought":           {text("<think>\nsecreto\n</think>\n\nuno"), "uno"},
		"a thought and JSON":  {text(`<thinking>secreto</thinking>{"output":"uno"}`), "uno"},
		"a thought in JSON":   {`{"structuredContent":{"reply":"secreto</think>uno"}}`, "uno"},
		"a veiled thought":    {text("<thi\u0000nk>secreto</think>uno"), "uno"},
		"only a thought":      {text("<think>secreto"), ""},
		"data for a machine":  {text(`{"rooms":[1,2]}`), ""},
		"data and then words": {`{"content":[{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"uno"}]}`, "uno"},
		"no content":          {`{"content":[]}`, ""},
		"what nobody sees":    {text("\u200b \u3164"), ""},
		"seen beside unseen":  {`{"structuredContent":{"response":"\u200b","reply":"uno"}}`, "uno"},
		"another shape":       {`{"content":"uno"}`, ""},
		"a list":              {`[]`, ""},
		"null":                {`null`, ""},
		"not JSON":            {`uno`, ""},
		"a number to say":     {`{"structuredContent":{"reply":7}}`, ""},
	} {
		d := &fakeAgent{will: []fakeReply{{answer: tool.Answer{Status: 200, Body: []byte(c.body)}}}}
		x := newDelegator(d, &breakerStore{})
		x.Attempts = 1
		answer, err := x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
		if answer.Text != c.want || (c.want == "") != errors.Is(err, agent.ErrGarbage) {
			t.Errorf("%s: %q, %v", name, answer.Text, err)
		}
	}
	d := &fakeAgent{will: []fakeReply{{answer: textAnswer(strings.Repeat("ñ", 20<<10))}}}
	answer, err := newDelegator(d, &breakerStore{}).Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
	if err != nil || len(answer.Text) > 32<<10 || len(answer.Text) < 32<<10-4 || !strings.HasSuffix(answer.Text, "ñ…") {
		t.Errorf("%d bytes, %v", len(answer.Text), err)
	}
}

func FuzzResultTextIsReadable(f *testing.F) {
	for _, body := range []string{`{"content":[{"type":"text","text":"hola"}]}`, `{"structuredContent":{"reply":"\u202e"}}`, "\xff", `{"content":[{"type":"text","text":"\"\\u0000a\""}]}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x := newDelegator(&fakeAgent{will: []fakeReply{{answer: tool.Answer{Status: 200, Body: body}}}}, &breakerStore{})
		x.Attempts = 1
		answer, err := x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
		if (err == nil) != (answer.Text != "") || err != nil && !errors.Is(err, agent.ErrGarbage) {
			t.Errorf("%q, %v", answer.Text, err)
		}
		if len(answer.Text) > 32<<10 || strings.ContainsAny(answer.Text, "\x00\x1b\r\u202e\u2066") || strings.ToValidUTF8(answer.Text, "") != answer.Text {
			t.Errorf("%q", answer.Text)
		}
	})
}

func TestRecursiveSchemaIsReadWithinBounds(t *testing.T) {
	repeat := func(part string) string { return `[` + strings.TrimSuffix(strings.Repeat(part+",", 8), ",") + `]` }
	combined := func(parts string) string { return `"allOf":` + parts + `,"anyOf":` + parts + `,"oneOf":` + parts }
	inner := repeat(`{` + combined(repeat(`{"$ref":"#/$defs/a"}`)) + `}`)
	schema := `{"type":"object","properties":{"message":{"type":"string"}},` + combined(inner) + `,"$defs":{"a":{` + combined(inner) + `}}}`
	// Reading all references would take hours. An agent whose schema cannot be read within the bounds is not called.
	d := &fakeAgent{will: []fakeReply{{answer: textAnswer("hola")}}}
	_, err := newDelegator(d, &breakerStore{}).Ask(context.Background(), "acme", reservaAgent(schema), hello)
	if !errors.Is(err, agent.ErrMisfit) || len(d.calls) != 0 {
		t.Errorf("%v after %d calls", err, len(d.calls))
	}
}

// TestAnAgentThatAsksForAPauseIsLeftAlone until then, by every message and process, and at most for MostRest. Each sender is told
// when it is called again.
func TestAnAgentThatAsksForAPauseIsLeftAlone(t *testing.T) {
	busy := func(status int, after string) fakeReply {
		pause, asks := meaning.Wait(func(name string) string { return map[string]string{"Retry-After": after}[name] }, time.Now())
		return fakeReply{answer: tool.Answer{Status: status, Failed: true, Wait: pause, Waits: asks}}
	}
	unsent := fakeReply{err: tool.WithWait(tool.ErrNotSent, 5*time.Minute)}
	for name, c := range map[string]struct {
		first fakeReply
		rests time.Duration
	}{
		"429":        {busy(429, "3600"), time.Hour},
		"503":        {busy(503, "3600"), time.Hour},
		"425":        {busy(425, "7200"), 2 * time.Hour},
		"for ever":   {busy(429, "99999999999999999999"), agent.MostRest},
		"before it":  {unsent, 5 * time.Minute},
		"no pause":   {busy(429, ""), 0},
		"in doubt":   {busy(500, "3600"), 0},
		"refused":    {busy(403, "3600"), 0},
		"it is over": {busy(429, "Wed, 21 Oct 1998 07:28:00 GMT"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &breakerStore{}
				d := &fakeAgent{will: []fakeReply{c.first}}
				x, other := newDelegator(d, store), newDelegator(d, store)
				x.Attempts, other.Attempts = 1, 1
				_, err := x.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
				began := time.Now()
				d.will = []fakeReply{{answer: textAnswer("hola")}}
				if f := fault.Of(err); (f.Args["minutes"] != "") != (c.rests > 0) || c.rests > 0 && f.Args["retry_at"] != began.Add(c.rests).UTC().Format(time.RFC3339) {
					t.Errorf("%v", f.Args)
				}
				if c.rests > 0 {
					for _, ahead := range []time.Duration{0, 2 * time.Second, c.rests - time.Minute} {
						time.Sleep(time.Until(began.Add(ahead)))
						for _, by := range []*agent.Delegator{x, other} {
							_, err := by.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello)
							if !errors.Is(err, agent.ErrOpen) || fault.Of(err).Args["minutes"] == "" || len(d.calls) != 1 {
								t.Errorf("after %v: %v, %d calls", ahead, err, len(d.calls))
							}
						}
						if _, err := other.Ask(context.Background(), "other", reservaAgent(chatSchema), hello); err != nil {
							t.Errorf("another account: %v", err)
						}
						d.calls = d.calls[:1]
					}
				}
				time.Sleep(time.Until(began.Add(c.rests + time.Second)))
				if a, err := other.Ask(context.Background(), "acme", reservaAgent(chatSchema), hello); err != nil || a.Text != "hola" {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}
