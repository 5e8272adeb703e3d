package turn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/tools/tool"
)

// newConditionalWorld returns a world with a service whose PUT requires If-Match and a version, sends its key in two headers, and has
// an operation that cannot be called.
func newConditionalWorld(t *testing.T) (*world, tool.Server) {
	w := newWorld(t)
	header := func(name, schema string) tool.Parameter {
		return tool.Parameter{Name: name, In: "header", Required: true, Schema: json.RawMessage(schema)}
	}
	apiKey, appKey := tool.KeyPlace{In: "header", Name: "X-Api-Key"}, tool.KeyPlace{In: "header", Name: "X-App-Key"}
	put := tool.Operation{
		Entry:      tool.Entry{Method: "PUT", Path: "/o", Fingerprint: "f"},
		Parameters: []tool.Parameter{header("If-Match", `{"type":"string"}`), header("X-Version", `{"enum":["2"]}`)},
		Body:       &tool.Body{MediaType: "application/json", Schema: json.RawMessage(`{"type":"object"}`)},
		Security:   [][]tool.KeyPlace{{apiKey, appKey}}, Base: "https://things.example/v2",
	}
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{
		put,
		{Entry: tool.Entry{Method: "GET", Path: "/o", Fingerprint: "g"}},
		{Entry: tool.Entry{Method: "POST", Path: "/upload", Fingerprint: "u", Refused: &tool.Refusal{Reason: tool.RefusedServer, What: "https://upload.example"}}},
	}}
	for i := range c.Operations {
		c.Operations[i].Signature = tool.Signature(c.Operations[i])
	}
	s := tool.Server{
		ID: w.IDs.New(w.Clock()), Name: "Cosas", Kind: tool.KindOpenAPI, BaseURL: "https://things.example", Active: true, Catalogue: c.Revision, Operations: 3,
		Wants: []tool.KeyPlace{apiKey, appKey},
	}
	if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, s, c, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Wants {
		if _, err := w.Store.Registry.ChangeKeys(t.Context(), fixture.Account, s, func(k tool.Keys) (tool.Keys, error) {
			return k.With(tool.Credential{Place: p, Secret: "secret of " + p.Name}), nil
		}, w.Clock()); err != nil {
			t.Fatal(err)
		}
	}
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Headers: map[string]string{"ETag": `"v7"`}, Body: []byte(`{}`), Bytes: 2}, nil
	})
	return w, s
}

// TestARequiredHeaderIsAnArgument: without it nothing is proposed, what has one value is filled in, and the request carries what the
// plan shows, with the value of a reference.
func TestARequiredHeaderIsAnArgument(t *testing.T) {
	w, s := newConditionalWorld(t)
	steps := func(headers string) string {
		return fmt.Sprintf(`{"goal":"cambia","steps":[{"id":"s1","title":"lee","mcp_id":%q,"method":"GET","path":"/o"},{"id":"s2","title":"cambia","mcp_id":%[1]q,"method":"PUT","path":"/o","body":{"t":"x"}%s}]}`, s.ID, headers)
	}
	w.model.answers = []any{calls("propose_plan", steps("")), calls("propose_plan", steps(`,"headers":{"if-match":"${s1.headers.ETag}"}`))}
	reply := w.send(t, "cambia la cosa")
	if reply.Kind != turn.KindPlan || !strings.Contains(w.model.lastTool(), "If-Match") || len(w.Requests()) != 0 {
		t.Fatalf("%+v; the model was told %s", reply.Message, w.model.lastTool())
	}
	if !strings.Contains(prompted(w.model.asked[0]), "- asks PUT /o headers{If-Match:string*} body") {
		t.Errorf("the catalogue does not name the header: %s", prompted(w.model.asked[0]))
	}
	r := *reply.Run
	if got := string(r.Plan.Steps[1].Headers); got != `{"If-Match":"${s1.headers.ETag}","X-Version":"2"}` {
		t.Errorf("the plan has the headers %s", got)
	}
	for _, line := range []string{"If-Match: ${s1.headers.ETag}", "X-Version: 2"} {
		if !strings.Contains(reply.Message.Content, line) {
			t.Errorf("%q is not in the text of the plan: %s", line, reply.Message.Content)
		}
	}
	other := r.Plan
	other.Steps = append([]plan.Step{}, r.Plan.Steps...)
	other.Steps[1].Headers = json.RawMessage(`{"If-Match":"*","X-Version":"2"}`)
	if digest, err := other.Digest(); err != nil || digest == r.Digest {
		t.Errorf("another header has the same digest (%v)", err)
	}
	if reply = w.send(t, "confirmo"); reply.Kind != turn.KindQueued {
		t.Fatalf("%+v", reply.Message)
	}
	w.Execute(r.ID)
	done, sent := w.Read(r.ID), w.Requests()
	if done.Status != plan.Done || len(sent) != 2 || sent[1].Header["If-Match"] != `"v7"` || sent[1].Header["X-Version"] != "2" {
		t.Fatalf("%s: %+v", done.Status, sent)
	}
	if sent[1].URL != "https://things.example/v2/o" || sent[0].URL != "https://things.example/o" {
		t.Errorf("sent to %s and %s", sent[0].URL, sent[1].URL)
	}
	if got := string(done.State(plan.EffectOf("s2")).Last.Headers); got != `{"If-Match":"\"v7\"","X-Version":"2"}` {
		t.Errorf("stored as sent: %s", got)
	}
	if b, _ := done.Plan.Binding(plan.EffectOf("s2")); b.Auth != "header X-Api-Key; header X-App-Key" {
		t.Errorf("bound to the keys %q", b.Auth)
	}
	revisions, err := w.Store.Runs.Revisions(t.Context(), done)
	if err != nil {
		t.Fatal(err)
	}
	events, err := w.Store.Runs.Events(t.Context(), fixture.Account, r.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := receipt.Verify(receipt.New(done, revisions, events)); len(wrong) > 0 {
		t.Errorf("the receipt: %v", wrong)
	}
	for i, e := range events { // a receipt whose request has another header than the plan
		if e.Type == plan.EventStepStart && e.StepID == plan.EffectOf("s2") {
			events[i].Data = json.RawMessage(strings.Replace(string(e.Data), `"X-Version":"2"`, `"X-Version":"3"`, 1))
		}
	}
	if wrong := receipt.Verify(receipt.New(done, revisions, events)); !strings.Contains(fmt.Sprint(wrong), "other headers") {
		t.Errorf("changed headers are not found: %v", wrong)
	}
}

// TestARefusedOperationIsNeverCalled: the model is told why, and so can tell the person.
func TestARefusedOperationIsNeverCalled(t *testing.T) {
	w, s := newConditionalWorld(t)
	w.model.answers = []any{calls("mcp_request", fmt.Sprintf(`{"mcp_id":%q,"method":"POST","path":"/upload"}`, s.ID)), text("No se puede: va a otro servidor.")}
	reply := w.send(t, "sube el fichero")
	if got := w.model.lastTool(); reply.Kind != turn.KindMessage || len(w.Requests()) != 0 || !strings.Contains(got, "cannot be called") || !strings.Contains(got, "https://upload.example") {
		t.Errorf("%+v; the model was told %s", reply.Message, got)
	}
	if !strings.Contains(prompted(w.model.asked[0]), "- asks POST /upload (cannot be called)") {
		t.Error("the catalogue does not mark it")
	}
}

// TestARequiredHeaderThatIsAKeyMustBeStored: no call is proposed without it, and none names it.
func TestARequiredHeaderThatIsAKeyMustBeStored(t *testing.T) {
	w := newWorld(t)
	token := tool.KeyPlace{In: "header", Name: "X-Auth-Token"}
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{
		{Entry: tool.Entry{Method: "DELETE", Path: "/o", Fingerprint: "f"}, Needs: []tool.KeyPlace{token}, Security: [][]tool.KeyPlace{{}}},
	}}
	s := tool.Server{ID: w.IDs.New(w.Clock()), Name: "Cosas", Kind: tool.KindOpenAPI, BaseURL: "https://things.example", Active: true, Catalogue: c.Revision, Wants: []tool.KeyPlace{token}}
	if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, s, c, nil); err != nil {
		t.Fatal(err)
	}
	remove := calls("mcp_request", fmt.Sprintf(`{"mcp_id":%q,"method":"DELETE","path":"/o"}`, s.ID))
	w.model.answers = []any{remove, text("Falta la clave."), remove}
	if reply := w.send(t, "bórrala"); reply.Kind != turn.KindMessage || !strings.Contains(w.model.lastTool(), "X-Auth-Token") {
		t.Errorf("%+v; the model was told %s", reply.Message, w.model.lastTool())
	}
	set := func(k tool.Keys) (tool.Keys, error) {
		return k.With(tool.Credential{Place: token, Secret: "s3cret"}), nil
	}
	if _, err := w.Store.Registry.ChangeKeys(t.Context(), fixture.Account, s, set, w.Clock()); err != nil {
		t.Fatal(err)
	}
	if reply := w.send(t, "bórrala"); reply.Kind != turn.KindPlan || reply.Run.Plan.Bindings[0].Auth != "header X-Auth-Token" {
		t.Errorf("%+v", reply.Message)
	}
}

// TestAKeyThatMovedIsNotSent: a plan names the places of its keys, all of them.
func TestAKeyThatMovedIsNotSent(t *testing.T) {
	w, s := newConditionalWorld(t)
	w.model.answers = []any{calls("mcp_request", fmt.Sprintf(`{"mcp_id":%q,"method":"PUT","path":"/o","headers":{"If-Match":"*"}}`, s.ID))}
	reply := w.send(t, "cambia la cosa")
	if _, err := w.Store.Registry.ChangeKeys(t.Context(), fixture.Account, s, func(k tool.Keys) (tool.Keys, error) { return k[:1], nil }, w.Clock()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try("confirmo"); !errors.Is(err, plan.ErrStale) || len(w.Requests()) != 0 || reply.Run == nil {
		t.Errorf("%v, want a stale plan", err)
	}
}
