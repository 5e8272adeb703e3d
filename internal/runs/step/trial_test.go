package step_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// sentWrites counts the requests that were sent and do not only read.
func sentWrites(w *fixture.World) (n int) {
	for _, q := range w.Requests() {
		if q.Method != "GET" {
			n++
		}
	}
	return n
}

// TestWhatCanNeverBeSentIsKnownBeforeAnEffect: as soon as a result is there with which a later call cannot be made, nothing
// that writes begins any more.
func TestWhatCanNeverBeSentIsKnownBeforeAnEffect(t *testing.T) {
	read := newStep("s1", "GET", "/rooms", "")
	write := newStep("s2", "POST", "/bookings", `{"room":"first"}`, "s1")
	each := func(s plan.ProposedStep, list string) plan.ProposedStep { s.ForEach = list; return s }
	when := func(s plan.ProposedStep, value, to string) plan.ProposedStep {
		s.When = &ref.Condition{Value: value, Is: ref.Equal, To: json.RawMessage(to)}
		return s
	}
	undoing := func(s plan.ProposedStep, path string) plan.ProposedStep {
		s.Undo = &plan.Call{Method: "DELETE", Path: path}
		return s
	}
	const list = "${s1.body.rooms}"
	booked := func(body string, needs ...string) plan.ProposedStep {
		return each(newStep("s3", "POST", "/bookings", body, needs...), list)
	}
	put := each(newStep("s3", "PUT", "/bookings/${item.name}", `{}`, "s2"), list)
	plain := func(id, method, path, body string, needs ...string) []plan.ProposedStep {
		return []plan.ProposedStep{read, write, newStep(id, method, path, body, needs...)}
	}
	named := booked(`{"room":"${item.name}"}`, "s2")
	all := []plan.ProposedStep{read, write, named}
	const notAList, element = "s3 error step.not_a_list", "s3 error step.element"
	for name, c := range map[string]struct {
		rooms string // the list of s1
		steps []plan.ProposedStep
		is    string
		sent  int // requests that write
	}{
		"null":                      {`null`, all, notAList, 0},
		"an object":                 {`{"a":1}`, all, notAList, 0},
		"a text":                    {`"abc"`, all, notAList, 0},
		"a number":                  {`3`, all, notAList, 0},
		"an element that is null":   {`[{"name":"a"},null]`, all, element, 0},
		"an element without it":     {`[{"name":"a"},{}]`, all, element, 0},
		"an element that is a text": {`["a"]`, all, element, 0},
		"another type":              {`[{"name":"a"},{"name":5}]`, all, element, 0},
		"no path":                   {`[{"name":"a"},{"name":"a/b"}]`, []plan.ProposedStep{read, write, put}, element, 0},
		"beside what is not known":  {`[{"name":5}]`, []plan.ProposedStep{read, write, booked(`{"room":"${item.name}","of":"${s2.body.id}"}`, "s2")}, element, 0},
		"nothing of it is known":    {`[{"name":5}]`, []plan.ProposedStep{read, write, booked(`{"room":"${s2.body.id}"}`, "s2")}, "s3 done", 2},
		"the undo of an element":    {`[{"name":"a"}]`, []plan.ProposedStep{read, write, undoing(named, "/bookings/${item.ref}")}, element, 0},
		"an undo of both":           {`[{"name":"a/b"}]`, []plan.ProposedStep{read, write, undoing(named, "/bookings/${item.name}-${s3.body.id}")}, element, 0},
		"a wave of two":             {`null`, []plan.ProposedStep{read, write, booked(`{"room":"${item.name}"}`, "s1")}, notAList, 0},
		"a wave of two, elements":   {`[{}]`, []plan.ProposedStep{read, write, booked(`{"room":"${item.name}"}`, "s1")}, element, 0},
		"no list of results": {`[{"name":"a"}]`, []plan.ProposedStep{
			read, each(newStep("s4", "GET", "/bookings/${item.name}", "", "s1"), list), newStep("s2", "POST", "/bookings", `{"room":"first"}`, "s4"),
			each(newStep("s3", "PUT", "/bookings/${item.name}", `{}`, "s2"), "${s4.body}"),
		}, element, 0},
		"no list in a list":        {`[{"name":"a","sub":{}}]`, []plan.ProposedStep{read, write, each(newStep("s3", "PUT", "/bookings/${item}", `{}`, "s2"), "${s1.body.rooms[0].sub}")}, notAList, 0},
		"a list in a list":         {`[{"name":"a","sub":["b","c"]}]`, []plan.ProposedStep{read, write, each(newStep("s3", "PUT", "/bookings/${item}", `{}`, "s2"), "${s1.body.rooms[0].sub}")}, "s3 done", 3},
		"a step without a list":    {`[{}]`, plain("s3", "PUT", "/bookings/${s1.body.rooms[0].name}", `{}`, "s2"), "s3 error step.reference", 0},
		"its type":                 {`[{"name":5}]`, plain("s3", "POST", "/bookings", `{"room":"${s1.body.rooms[0].name}"}`, "s2"), "s3 error step.arguments", 0},
		"its undo":                 {`[{}]`, []plan.ProposedStep{read, write, undoing(newStep("s3", "POST", "/bookings", `{"room":"a"}`, "s2"), "/bookings/${s1.body.rooms[0].name}")}, "s3 error step.no_undo", 0},
		"the undo of the next":     {`[{}]`, []plan.ProposedStep{read, undoing(write, "/bookings/${s1.body.rooms[0].name}")}, "s2 error step.no_undo", 0},
		"what is skipped":          {`null`, []plan.ProposedStep{read, write, when(named, "${s1.status}", "404")}, "s3 skipped", 1},
		"skipped with another":     {`null`, []plan.ProposedStep{read, write, when(newStep("s4", "GET", "/rooms", "", "s2"), "${s1.status}", "404"), booked(`{"room":"${s4.body.id}"}`, "s4")}, "s3 skipped", 1},
		"what may be skipped":      {`null`, []plan.ProposedStep{read, write, when(named, "${s2.status}", "404")}, "s3 skipped", 1},
		"known with the condition": {`null`, []plan.ProposedStep{read, write, when(named, "${s2.status}", "200")}, notAList, 1},
		"an empty list":            {`[]`, all, "s3 done", 1},
		"a good list":              {`[{"name":"a"},{"name":"b"}]`, all, "s3 done", 3},
	} {
		for _, share := range []int{1, 50} {
			t.Run(fmt.Sprint(name, ", ", share, " an invocation"), func(t *testing.T) {
				w, r := newRun(t, nil, slices.Clone(c.steps)...)
				w.Steps.Steps = share
				upstream(w, map[string]string{"GET /rooms": `{"rooms":` + c.rooms + `}`})
				w.Execute(r.ID)
				id, want, _ := strings.Cut(c.is, " ")
				if got := status(w, r, id); got != want {
					t.Errorf("%s is %s: %+v", id, got, w.Read(r.ID).State(plan.ParseEffect(id)).Error)
				}
				if n := sentWrites(w); n != c.sent {
					t.Errorf("%d were sent: %v", n, sentRequests(w))
				}
			})
		}
	}
}

// TestNobodyIsAskedForWhatIsInVain: no approval is asked for, or kept open, beside a step that cannot be done.
func TestNobodyIsAskedForWhatIsInVain(t *testing.T) {
	for name, needs := range map[string][]string{"after the list": {"s1"}, "beside it": {}} {
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"first"}`, needs...), eachOf("s3", "${s1.body.rooms}", "s2"))
		setRules(t, w, rule.Rule{ID: "r1", Effect: rule.Ask, Path: "/bookings", Reason: "Se mira antes."})
		upstream(w, map[string]string{"GET /rooms": `{"rooms":null}`})
		w.Execute(r.ID)
		if got := w.Read(r.ID); got.Status != plan.Failed || status(w, r, "s3") != "error step.not_a_list" || sentWrites(w) != 0 {
			t.Errorf("%s: the run is %s, s2 %s, s3 %s; sent %v", name, got.Status, status(w, r, "s2"), status(w, r, "s3"), sentRequests(w))
		}
	}
}

// TestATargetThatMovedIsKnownBeforeAnEffect: what the plan showed of a later step is compared as soon as it is read.
func TestATargetThatMovedIsKnownBeforeAnEffect(t *testing.T) {
	w, r := newRun(t, func(p *plan.Plan) {
		p.Steps[2].Targets = []plan.Target{{Ref: "s1.body.id", Value: json.RawMessage(`"n1"`)}}
	}, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"first"}`, "s1"), newStep("s3", "PUT", "/bookings/${s1.body.id}", `{}`, "s2"))
	upstream(w, map[string]string{"GET /rooms": `{"id":"n2"}`})
	w.Execute(r.ID)
	if got := status(w, r, "s3"); got != "error step.target_changed" || sentWrites(w) != 0 {
		t.Errorf("s3 is %s; sent %v", got, sentRequests(w))
	}
}

// Steps that refer to many steps before them are judged once each, also while it is not known whether they run.
func TestManyReferencesAreJudgedOnce(t *testing.T) {
	read := newStep("s1", "GET", "/rooms", "")
	list := []plan.ProposedStep{read}
	for i := 2; i <= 50; i++ {
		s := newStep(fmt.Sprint("s", i), "POST", "/bookings", fmt.Sprintf(`{"room":"${s%d.body.id} ${s%d.body.id}"}`, i-1, max(1, i-2)))
		list = append(list, s)
	}
	list[1].When = &ref.Condition{Value: "${s1.status}", Is: ref.Equal, To: json.RawMessage("200")}
	w, r := newRun(t, nil, list...)
	upstream(w, map[string]string{"GET /rooms": `{"id":"r"}`, "POST /bookings": `{"id":"b"}`})
	done := make(chan struct{})
	go func() { defer close(done); w.Execute(r.ID) }()
	select {
	case <-done:
	case <-time.After(time.Minute): // it would take years
		t.Fatal("the run is still being tried")
	}
	if got := status(w, r, "s50"); got != "done" {
		t.Error(got)
	}
}
