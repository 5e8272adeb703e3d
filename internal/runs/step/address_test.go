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

// values are those of an earlier step with the segment that is sent, or "" for one that no path can have.
var values = map[string]string{
	"W123": "W123", "#W123": "%23W123", ";": "%3B", "?": "%3F", "a b": "a%20b", "100%": "100%25", "ñ": "%C3%B1", "a:b@c": "a%3Ab%40c", "": "", "a/b": "", "..": "", `a\b`: "", "\u200b": "",
}

// TestAddressArrivesAsShown executes every kind of call whose path has a value of an earlier step, between signs that are final.
func TestAddressArrivesAsShown(t *testing.T) {
	const path, before = "/bookings/${s1.body.id}", "/bookings/"
	each := newStep("s2", "PUT", "/bookings/${item.id}", `{}`)
	each.ForEach = "${s1.body.rooms}"
	around := newStep("s2", "PUT", "/bookings/%c3%b1;@~${s1.body.id}+%2D", `{}`)
	undo := newStep("s2", "POST", "/bookings", `{"room":"norte"}`, "s1")
	undo.Undo = &plan.Call{Method: "DELETE", Path: path}
	check := newStep("s2", "POST", "/bookings", `{"room":"norte"}`, "s1")
	check.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: path}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage(`200`)}}
	for name, c := range map[string]struct {
		step    plan.ProposedStep
		effect  string
		to      string // with ID in the place of the value
		refused string
	}{
		"a step":   {newStep("s2", "PUT", path, `{}`), "s2", "PUT " + before + "ID", "error step.path_value"},
		"a read":   {newStep("s2", "GET", path, ""), "s2", "GET " + before + "ID", "error step.path_value"},
		"around":   {around, "s2", "PUT " + before + "%c3%b1;@~ID+%2D", "error step.path_value"},
		"elements": {each, "s2", "PUT " + before + "ID", "error step.element"},
		"an undo":  {undo, "undo:s2", "DELETE " + before + "ID", "error step.path_value"},
		"a check":  {check, "s2", "GET " + before + "ID", "in_doubt step.in_doubt"},
	} {
		for value, segment := range values {
			if name == "around" && (value == "" || value == "..") {
				continue // they are a part of a segment there
			}
			w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), c.step, newStep("s3", "GET", "/people", "", "s2"))
			id, _ := json.Marshal(value)
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				if name == "a check" && q.Method == "POST" {
					return tool.Answer{}, tool.ErrLost
				}
				if strings.HasSuffix(q.URL, "/people") {
					return tool.Answer{Status: 400}, nil
				}
				body := `{"id":` + string(id) + `,"rooms":[{"id":"1"},{"id":` + string(id) + `}]}`
				return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
			})
			drive(t, w, r, "s1")
			for _, id := range []string{"s2", "s2[0]", "s2[1]"}[:1+2*strings.Count(name, "elements")] {
				drive(t, w, r, id)
			}
			if c.effect == "undo:s2" {
				drive(t, w, r, "s3")
				undos(t, w, r)
				drive(t, w, r, c.effect)
			}
			want := strings.ReplaceAll(c.to, "ID", segment)
			arrived := slices.ContainsFunc(sentRequests(w), func(call string) bool { return strings.TrimSuffix(call, " {}") == want })
			if arrived == (segment == "") || segment == "" && status(w, r, c.effect) != c.refused {
				t.Errorf("%s with %+q: %s after %q, want %s", name, value, status(w, r, c.effect), sentRequests(w), want)
			}
			if f := w.Read(r.ID).State(plan.ParseEffect(c.effect)).Error; segment == "" && name == "a step" && (f == nil || !strings.Contains(f.Message, "${s1.body.id}") || strings.Contains(f.Message, "must")) {
				t.Errorf("%+q: %+v", value, f)
			}
		}
	}
}

// TestOnlyTextsFillAPath: null, a list and an object are told as values that cannot stand there.
func TestOnlyTextsFillAPath(t *testing.T) {
	for _, value := range []string{"null", "[]", `["a"]`, "{}"} {
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "PUT", "/bookings/${s1.body.id}", `{}`))
		upstream(w, map[string]string{"GET /rooms": `{"id":` + value + `}`})
		drive(t, w, r, "s1")
		drive(t, w, r, "s2")
		if len(sentRequests(w)) != 1 || status(w, r, "s2") != "error step.path_value" {
			t.Errorf("%s: %q and %s", value, sentRequests(w), status(w, r, "s2"))
		}
	}
}

// TestNoCallLosesAPartOfItsAddress: without a value a query would ask for more than was shown.
func TestNoCallLosesAPartOfItsAddress(t *testing.T) {
	for value, want := range map[string]string{
		`"ana"`: "PUT /people?who=ana&all=no", `7`: "PUT /people?who=7&all=no", `""`: "PUT /people?who=&all=no", `["a","b c"]`: "PUT /people?who=a&who=b%20c&all=no", `"a&all=yes"`: "PUT /people?who=a%26all%3Dyes&all=no",
		`null`: "", `[]`: "", `{}`: "", `{"x":1}`: "",
	} {
		change := newStep("s2", "PUT", "/people", "")
		change.Query = json.RawMessage(`{"all":"no","who":"${s1.body.id}"}`)
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), change)
		upstream(w, map[string]string{"GET /rooms": `{"id":` + value + `}`})
		drive(t, w, r, "s1")
		drive(t, w, r, "s2")
		sent := sentRequests(w)[1:]
		if want == "" && (len(sent) > 0 || status(w, r, "s2") != "error step.not_as_shown") || want != "" && !slices.Equal(sent, []string{want}) {
			t.Errorf("%s: %q and %s, want %q", value, sent, status(w, r, "s2"), want)
		}
	}
}

// TestKnownValuesAreTriedBeforeTheyAreShown: a value that was read and cannot be sent is told when the plan is proposed, and not
// what it is.
func TestKnownValuesAreTriedBeforeTheyAreShown(t *testing.T) {
	for value, segment := range values {
		id, _ := json.Marshal(value)
		for name, change := range map[string]func(*plan.Step){
			"path": func(s *plan.Step) { s.Method, s.Path, s.Body = "DELETE", "/bookings/${s1.body.id}", nil },
			"items": func(s *plan.Step) {
				s.Method, s.Path, s.ForEach, s.Body = "DELETE", "/bookings/${item}", "${s1.body.all}", nil
			},
			"undo": func(s *plan.Step) {
				s.Undo = &plan.Undo{Call: plan.Call{MCPID: s.MCPID, Method: "DELETE", Path: "/bookings/${s1.body.id}"}}
			},
			"verify": func(s *plan.Step) {
				s.Verify = &plan.Check{Call: plan.Call{MCPID: s.MCPID, Method: "GET", Path: "/bookings/${s1.body.id}"}}
			},
		} {
			w := newPreviewWorld(t)
			w.Answer(func(tool.Request) (tool.Answer, error) {
				return tool.Answer{Status: 200, Body: []byte(`{"id":` + string(id) + `,"all":["1",` + string(id) + `]}`)}, nil
			})
			p := w.Plan(plan.Proposal{Goal: "x", Steps: []plan.ProposedStep{newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"${s1.body.id}"}`)}})
			change(&p.Steps[1])
			p.Bindings = p.Bindings[:1]
			for _, op := range fixture.Operations(w.Server.BaseURL) {
				for _, id := range []string{"s2", "undo:s2", "check:s2"} {
					call, _ := p.Step(plan.ParseEffect(id))
					if id == "check:s2" {
						call, _ = p.CheckOf(plan.EffectOf("s2"))
					}
					if _, _, err := tool.Match([]tool.Entry{op.Entry}, call.Method, call.Path); err == nil {
						p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.ParseEffect(id), MCPID: w.Server.ID, BaseURL: w.Server.BaseURL, Template: op.Path, Fingerprint: op.Fingerprint})
					}
				}
			}
			_, wrong := previewer(w).Known(t.Context(), plan.Run{ID: "r", Account: fixture.Account, Plan: p}, nil, time.Minute)
			if (len(wrong) > 0) != (segment == "") {
				t.Errorf("%s with %+q: %+v", name, value, wrong)
			}
			for _, f := range wrong {
				if f.Type != "path.value" || strings.HasPrefix(value, "a") && strings.Contains(f.Msg, value) || f.Loc[1] != 1 {
					t.Errorf("%s with %+q: %+v", name, value, f)
				}
			}
		}
	}
}
