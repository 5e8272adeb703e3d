package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

func previewer(w *fixture.World) step.Preview {
	return step.Preview{Reader: step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}}
}

func newPreviewWorld(t *testing.T) *fixture.World {
	t.Helper()
	w := fixture.NewWorld(t)
	if _, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsPreview}); err != nil {
		t.Fatal(err)
	}
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		body := `{"items":[{"id":"n1","name":"Sala Norte","seats":6}]}`
		if strings.HasSuffix(r.URL, "/n1") {
			body = `{"id":"n1","owner":"Ana"}`
		}
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
	})
	return w
}

const fromRooms = `{"room":"${s1.body.items[0].id}"}`

func TestPreviewReadsTargetsOfChanges(t *testing.T) {
	w := newPreviewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("GET", "/bookings/${s1.body.items[0].id}", ""),
		fixture.To("POST", "/bookings", `{"room":"${s2.body.owner}, ${s1.body.items[0].id}"}`))
	found, _ := previewer(w).Known(t.Context(), r, nil, time.Second)
	if len(found) != 3 || found[0].Targets != nil || found[1].Targets != nil || len(found[2].Targets) != 2 {
		t.Fatalf("%+v", found)
	}
	if got := found[2].Targets[1]; got.Ref != "s1.body.items[0].id" || string(got.Value) != `"n1"` || got.Label != "Sala Norte, 6" {
		t.Errorf("%+v", got)
	}
	if got := found[2].Targets[0]; got.Ref != "s2.body.owner" || string(got.Value) != `"Ana"` {
		t.Errorf("%+v", got)
	}
	if sent := w.Requests(); len(sent) != 2 || sent[0].Method != "GET" || sent[1].URL != "https://rooms.example/bookings/n1" {
		t.Errorf("%+v", sent)
	}
	if now := w.Read(r.ID); now.EventSeq != r.EventSeq || now.State(plan.EffectOf("s1")).Result != nil {
		t.Error("what was looked at was stored")
	}
}

func TestPreviewOmitsSecretTargets(t *testing.T) {
	w := newPreviewWorld(t)
	w.Answer(func(tool.Request) (tool.Answer, error) {
		body := `{"id":"n1","access_token":"s3cret","name":"Caja"}`
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
	})
	r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("POST", "/bookings", `{"room":"${s1.body.access_token} ${s1.body.id}"}`))
	found, _ := previewer(w).Known(t.Context(), r, nil, time.Second)
	if len(found) != 2 || len(found[1].Targets) != 1 || found[1].Targets[0].Label != "Caja" || string(found[1].Targets[0].Value) != `"n1"` {
		t.Errorf("%+v", found)
	}
}

// TestPreviewSendsOnlyAllowedReads lists the requests that are not sent before a plan is confirmed.
func TestPreviewSendsOnlyAllowedReads(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*testing.T, *fixture.World)
		steps   []plan.ProposedStep
	}{
		"a server that may not be": {func(t *testing.T, w *fixture.World) {
			_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsOff})
			must(t, err)
		}, nil},
		"a server that is off": {func(t *testing.T, w *fixture.World) {
			_, err := w.Store.Registry.SetServerActive(t.Context(), fixture.Account, w.Server.ID, false, w.Clock())
			must(t, err)
		}, nil},
		"what a rule denies": {func(t *testing.T, w *fixture.World) { rules(t, w, rule.Deny) }, nil},
		"what a rule asks":   {func(t *testing.T, w *fixture.World) { rules(t, w, rule.Ask) }, nil},
		"what nothing refers to": {nil, []plan.ProposedStep{
			{Method: "GET", Path: "/rooms"}, {Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"a"}`)},
		}},
		"what only reads refer to": {nil, []plan.ProposedStep{
			{Method: "GET", Path: "/rooms"}, {Method: "GET", Path: "/bookings/${s1.body.items[0].id}"},
		}},
		"what comes after a change": {nil, []plan.ProposedStep{
			{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"a"}`)},
			{Method: "GET", Path: "/rooms"},
			{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s2.body.items[0].id}"}`)},
		}},
		"what changes": {nil, []plan.ProposedStep{
			{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"a"}`)}, {Method: "DELETE", Path: "/bookings/${s1.body.id}"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPreviewWorld(t)
			steps := c.steps
			if steps == nil {
				steps = []plan.ProposedStep{{Method: "GET", Path: "/rooms"}, {Method: "POST", Path: "/bookings", Body: json.RawMessage(fromRooms)}}
			}
			r := w.Draft(plan.Proposal{Goal: "g", Steps: steps})
			if c.prepare != nil {
				c.prepare(t, w)
			}
			found, _ := previewer(w).Known(t.Context(), r, nil, time.Second)
			for _, known := range found {
				if known.Targets != nil {
					t.Errorf("%+v", known.Targets)
				}
			}
			if sent := w.Requests(); len(sent) != 0 {
				t.Errorf("it was sent: %+v", sent)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rules(t *testing.T, w *fixture.World, effect rule.Effect) {
	t.Helper()
	must(t, w.Store.Runs.SetRules(t.Context(), fixture.Account, 0, rule.Set{Rules: []rule.Rule{{ID: "r", Effect: effect, Path: "/rooms", Reason: "No"}}}))
}

// TestPreviewIgnoresUnusableResponse answers with each kind of bad response.
func TestPreviewIgnoresUnusableResponse(t *testing.T) {
	long := `{"items":[{"id":"` + strings.Repeat("x", 2000) + `"}]}`
	for name, answer := range map[string]func() (tool.Answer, error){
		"an error":      func() (tool.Answer, error) { return tool.Answer{}, tool.ErrLost },
		"not found":     func() (tool.Answer, error) { return tool.Answer{Status: 404, Body: []byte(`{}`)}, nil },
		"a redirection": func() (tool.Answer, error) { return tool.Answer{Status: 302}, nil },
		"cut": func() (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte(`{"items":`), Truncated: true}, nil
		},
		"not JSON":        func() (tool.Answer, error) { return tool.Answer{Status: 200, Body: []byte("<html>")}, nil },
		"another shape":   func() (tool.Answer, error) { return tool.Answer{Status: 200, Body: []byte(`{"items":[]}`)}, nil },
		"too long a name": func() (tool.Answer, error) { return tool.Answer{Status: 200, Body: []byte(long)}, nil },
		"not sent":        func() (tool.Answer, error) { return tool.Answer{}, errors.Join(tool.ErrNotSent) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newPreviewWorld(t)
			r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("POST", "/bookings", fromRooms))
			w.Answer(func(tool.Request) (tool.Answer, error) { return answer() })
			if found, _ := previewer(w).Known(t.Context(), r, nil, time.Second); found[1].Targets != nil {
				t.Errorf("%+v", found[1].Targets)
			}
			if len(w.Requests()) != 1 {
				t.Errorf("it was tried %d times", len(w.Requests()))
			}
		})
	}
}

// slow responds when its caller gives up.
type slow struct{}

// Send implements step.Sender.
func (slow) Send(ctx context.Context, _ tool.Request, _ tool.Keys, _ int64) (tool.Answer, error) {
	<-ctx.Done()
	return tool.Answer{}, tool.ErrLost.Because(ctx.Err())
}

func TestPreviewStopsAtTimeLimit(t *testing.T) {
	w := newPreviewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("POST", "/bookings", fromRooms))
	p := previewer(w)
	p.Reader.Sender = slow{}
	if found, _ := p.Known(t.Context(), r, nil, 30*time.Millisecond); found[1].Targets != nil { // the server never responds
		t.Errorf("%+v", found)
	}
}

// A read before the confirmation takes no data of a service to a service of another circle: neither what the model had
// read, nor what another read of the plan was answered.
func TestPreviewStaysInItsCircle(t *testing.T) {
	for name, c := range map[string]struct {
		circles [2]string                        // of the two services
		read    func(own, other string) []string // the services whose data the plan may have
		sent    int
	}{
		"nothing was read":                   {sent: 1},
		"the model read the same service":    {read: func(own, _ string) []string { return []string{own} }, sent: 1},
		"the model read another service":     {read: func(_, other string) []string { return []string{other} }},
		"the model read a removed service":   {read: func(string, string) []string { return []string{fixture.Account} }},
		"the model read files":               {read: func(string, string) []string { return []string{tool.FilesID} }},
		"two services in one circle":         {circles: [2]string{"x", "x"}, read: func(own, other string) []string { return []string{own, other} }, sent: 2},
		"the first service of the two in it": {circles: [2]string{"x", "y"}, read: func(own, _ string) []string { return []string{own} }, sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPreviewWorld(t)
			catalogue := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: fixture.Operations("https://other.example")}
			other := tool.Server{
				ID: w.IDs.New(w.Clock()), Name: "Otra", Kind: tool.KindOpenAPI, BaseURL: "https://other.example", Active: true,
				Catalogue: catalogue.Revision, Operations: len(catalogue.Operations),
			}
			must(t, w.Store.Registry.CreateServer(t.Context(), fixture.Account, other, catalogue, nil))
			for i, id := range []string{w.Server.ID, other.ID} {
				_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, id, tool.Reads{Mode: tool.ReadsPreview, Zone: c.circles[i]})
				must(t, err)
			}
			r := w.Draft(plan.Proposal{Goal: "g", Steps: []plan.ProposedStep{
				{Method: "GET", Path: "/rooms"},
				{Method: "GET", Path: "/bookings/${s1.body.items[0].id}", MCPID: other.ID},
				{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"${s2.body.owner}"}`)},
			}})
			for i := range r.Plan.Bindings {
				if b := &r.Plan.Bindings[i]; b.MCPID == other.ID {
					b.BaseURL, b.ServerName, b.Fingerprint = other.BaseURL, other.Name, catalogue.Operations[2].Fingerprint
				}
			}
			if c.read != nil {
				r.ReadFrom = c.read(w.Server.ID, other.ID)
			}
			previewer(w).Known(t.Context(), r, nil, time.Second)
			if sent := w.Requests(); len(sent) != c.sent {
				t.Errorf("%+v", sent)
			}
		})
	}
}
