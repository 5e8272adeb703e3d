package step_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// addSiblings gives the world's server operations whose paths are siblings of those of bookings.
func addSiblings(t *testing.T, w *fixture.World) {
	t.Helper()
	server, err := w.Store.Registry.Server(t.Context(), fixture.Account, w.Server.ID)
	must(t, err)
	ops := append(fixture.Operations(server.BaseURL), extra(server.BaseURL)...)
	for _, e := range []tool.Entry{{Method: "POST", Path: "/bookings/{id}:purge"}, {Method: "GET", Path: "/bookings/mine"}, {Method: "DELETE", Path: "/bookings/{id}.bak"}} {
		ops = append(ops, tool.Operation{Entry: e})
	}
	must(t, w.Store.Registry.ReplaceCatalogue(t.Context(), fixture.Account, server, server.Catalogue, tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: ops}))
}

// siblings are values that turn a booking's path into the path of another operation.
var siblings = []string{"5:purge", "mine", "MINE", "mine;v=1", "m\u200bine", "5.bak"}

// TestResultSelectsNoOtherOperation executes every kind of call whose path a result may fill: a
// step, its elements, its undo and its check.
func TestResultSelectsNoOtherOperation(t *testing.T) {
	each := newStep("s2", "PUT", "/bookings/${item.id}", `{}`)
	each.ForEach = "${s1.body.rooms}"
	check := newStep("s2", "POST", "/bookings", `{"room":"norte"}`, "s1")
	check.Verify = &plan.Check{
		Call:   plan.Call{Method: "GET", Path: "/bookings/${s1.body.id}"},
		Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage(`200`)},
	}
	for name, c := range map[string]struct {
		steps  []plan.ProposedStep
		effect string
		is     string
	}{
		"a step":   {[]plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), newStep("s2", "PUT", "/bookings/${s1.body.id}", `{}`)}, "s2", "error step.arguments"},
		"a read":   {[]plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), newStep("s2", "GET", "/bookings/${s1.body.id}", "")}, "s2", "error step.arguments"},
		"elements": {[]plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), each}, "s2", "error step.element"},
		"an undo":  {[]plan.ProposedStep{booking(), newStep("s2", "GET", "/rooms", "")}, "undo:s1", "error step.arguments"},
		"a check":  {[]plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), check}, "s2", "in_doubt step.in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, value := range append(slices.Clone(siblings), "7") {
				w, r := newRun(t, nil, slices.Clone(c.steps)...)
				addSiblings(t, w)
				id, _ := json.Marshal(value)
				w.Answer(func(q tool.Request) (tool.Answer, error) {
					body := `{"id":` + string(id) + `,"rooms":[{"id":"1"},{"id":` + string(id) + `}]}`
					if c.effect == "undo:s1" && q.Method == "GET" {
						return tool.Answer{Status: 400, Body: []byte(body)}, nil
					}
					if name == "a check" && q.Method == "POST" {
						return tool.Answer{}, tool.ErrLost
					}
					return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
				})
				drive(t, w, r, "s1")
				drive(t, w, r, "s2")
				if c.effect == "undo:s1" {
					undos(t, w, r)
					drive(t, w, r, c.effect)
				}
				escaped := slices.ContainsFunc(sentRequests(w), func(call string) bool { return strings.Contains(call, " /bookings/") })
				if refused := value != "7"; refused == escaped || refused && status(w, r, c.effect) != c.is {
					t.Errorf("%q: %s after %q", value, status(w, r, c.effect), sentRequests(w))
				}
			}
		})
	}
}

func TestPreviewSelectsNoOtherOperation(t *testing.T) {
	for _, value := range append(slices.Clone(siblings), "7") {
		w := newPreviewWorld(t)
		addSiblings(t, w)
		id, _ := json.Marshal(value)
		w.Answer(func(tool.Request) (tool.Answer, error) {
			return tool.Answer{Status: 200, Body: []byte(`{"id":` + string(id) + `}`)}, nil
		})
		r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("GET", "/bookings/${s1.body.id}", ""), fixture.To("POST", "/bookings", `{"room":"${s2.body.id}"}`))
		previewer(w).Known(t.Context(), r, nil, time.Minute)
		if want := map[bool]int{true: 2, false: 1}[value == "7"]; len(w.Requests()) != want {
			t.Errorf("%q: %q", value, sentRequests(w))
		}
	}
}

// TestResultStaysInItsPartOfTheSegment checks that two values in one segment are sent only if the
// template splits them in the same way.
func TestResultStaysInItsPartOfTheSegment(t *testing.T) {
	for value, want := range map[string]string{"a": "GET /bookings/a-b", "a-x": "GET /bookings/a-x-b", "..": "", "a/b": "", "": "GET /bookings/-b"} {
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "GET", "/bookings/${s1.body.x}-${s1.body.y}", ""))
		body, _ := json.Marshal(map[string]string{"x": value, "y": "b"})
		upstream(w, map[string]string{"GET /rooms": string(body)})
		drive(t, w, r, "s1")
		drive(t, w, r, "s2")
		if got := sentRequests(w)[1:]; len(got) > 1 || strings.Join(got, "") != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
