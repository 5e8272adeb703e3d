package proposal

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

func TestRequestsAreNormalizedAndReportEveryError(t *testing.T) {
	request := func(raw string) (plan.ProposedStep, []fault.Field) {
		p, wrong := Request(json.RawMessage(raw))
		return p.Steps[0], wrong
	}
	step, wrong := request(`{"mcp_id":"m","method":"post","path":" /x ","query":"{\"a\":1}","body":"{\"b\": 2}"}`)
	if len(wrong) > 0 || step.Method != "POST" || step.Path != "/x" || string(step.Query) != `{"a":1}` || string(step.Body) != `{"b":2}` {
		t.Errorf("%+v %v", step, wrong)
	}
	step, wrong = request(`{"mcp_id":"m","method":"GET","path":"/x","query":{},"body":null}`)
	if len(wrong) > 0 || step.Query != nil || step.Body != nil {
		t.Errorf("%+v %v", step, wrong)
	}
	if step, _ = request(`{"mcp_id":"m","method":"GET","path":"/x","body":"just text"}`); string(step.Body) != `"just text"` {
		t.Errorf("body %s", step.Body)
	}
	_, wrong = Request(json.RawMessage(`{"method":"FETCH","url":"http://x","cookies":{},"query":[1],"headers":[1]}`))
	var said []string
	for _, f := range wrong {
		said = append(said, toolcall.Location(f.Loc)+":"+f.Type)
	}
	for _, c := range []struct{ more, goal, title string }{
		{`,"title":"Reserva la sala","why":" Ana la necesita\n"`, "Reserva la sala — Ana la necesita", "Reserva la sala"},
		{`,"title":"Reserva la sala","why":"reserva la sala."`, "reserva la sala.", "Reserva la sala"},
		{`,"why":"Ana la necesita"`, "Ana la necesita", ""},
		{`,"why":""`, "", ""},
		{``, "", ""},
	} {
		p, wrong := Request(json.RawMessage(`{"mcp_id":"m","method":"POST","path":"/x"` + c.more + `}`))
		if len(wrong) > 0 || p.Goal != c.goal || p.Steps[0].Title != c.title {
			t.Errorf("%s: %+v %v", c.more, p, wrong)
		}
	}
	if _, wrong := Request(json.RawMessage(`{"mcp_id":"m","method":"POST","path":"/x","why":{"a":1}}`)); len(wrong) != 1 || wrong[0].Loc[0] != "why" {
		t.Errorf("%v", wrong)
	}
	if got, want := strings.Join(said, " "), "cookies:extra_forbidden url:extra_forbidden mcp_id:missing path:missing method:enum query:type_error headers:type_error"; got != want {
		t.Errorf("said %s\nwant %s", got, want)
	}
}

func TestPlanErrorsNameTheirStep(t *testing.T) {
	p, wrong := Plan(json.RawMessage(`{"goal":"g","steps":[
		{"id":"s1","title":"a","mcp_id":"m","method":"GET","path":"/x"},
		{"id":"s2","title":"b","mcp_id":7,"method":"GET","path":"/y","why":1}]}`))
	var said []string
	for _, f := range wrong {
		said = append(said, toolcall.Location(f.Loc)+":"+f.Type)
	}
	if got, want := strings.Join(said, " "), "steps.1.mcp_id:type_error steps.1.why:type_error steps.1.mcp_id:missing"; got != want || len(p.Steps) != 2 {
		t.Errorf("%d steps; said %s\nwant %s", len(p.Steps), got, want)
	}
}

// TestAMemberOfATextThatStandsTwiceIsRefused: nobody knows which the model means.
func TestAMemberOfATextThatStandsTwiceIsRefused(t *testing.T) {
	for name, step := range map[string]string{
		"body": `{"body":"{\"sku\":1,\"sku\":2}"}`, "query": `{"query":"{\"a\":1,\"a\":2}"}`, "headers": `{"headers":"{\"a\":\"1\",\"a\":\"2\"}"}`,
		"undo.body": `{"undo":{"method":"DELETE","path":"/x","body":"{\"a\":1,\"a\":2}"}}`, "verify.query": `{"verify":{"path":"/x","query":"{\"a\":1,\"a\":2}"}}`,
	} {
		_, wrong := readStep(json.RawMessage(`{"mcp_id":"m","method":"POST","path":"/x",` + step[1:]))
		if len(wrong) != 1 || toolcall.Location(wrong[0].Loc) != name || !strings.Contains(wrong[0].Msg, "stands twice") {
			t.Errorf("%s: %+v", name, wrong)
		}
	}
}

// TestWhatStandsInAStringIsRead: a provider that refuses objects without members is offered texts in their place.
func TestWhatStandsInAStringIsRead(t *testing.T) {
	const one = `{"id":"s1","title":"a","mcp_id":"m","method":"POST","path":"/x","query":{"a":1},"body":{"b":[2]},"undo":{"method":"DELETE","path":"/x"}}`
	quoted, list := encodeText(one), encodeText("["+one+"]")
	for _, steps := range []string{"[" + one + "]", "[" + quoted + "]", list} {
		p, wrong := Plan(json.RawMessage(`{"goal":"g","steps":` + steps + `}`))
		if len(wrong) > 0 || len(p.Steps) != 1 || string(p.Steps[0].Body) != `{"b":[2]}` || string(p.Steps[0].Query) != `{"a":1}` || p.Steps[0].Undo == nil {
			t.Errorf("%s: %+v, %v", steps, p, wrong)
		}
	}
	if _, wrong := Plan(json.RawMessage(`{"goal":"g","steps":"ninguno"}`)); len(wrong) == 0 {
		t.Error("a text is read as steps")
	}
}

func encodeText(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}
