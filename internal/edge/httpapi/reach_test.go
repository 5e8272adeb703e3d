package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/view"
)

// TestEveryMemberOfAStepIsAnswered: a client is shown all that is confirmed.
func TestEveryMemberOfAStepIsAnswered(t *testing.T) {
	planned.Step().Check(t, reach.Reader[plan.Step]{
		Name: "the API's answer (PlannedStep and showPlanned in internal/edge/httpapi/run.go)",
		Read: func(s plan.Step) any {
			raw, err := json.Marshal(showRun(planned.Run(s)).Steps[1])
			if err != nil {
				t.Error(err)
			}
			return string(raw)
		},
	})
}

// TestEveryMemberOfAProposalCanBeEdited: a person writes the members that a model writes, by the same names.
func TestEveryMemberOfAProposalCanBeEdited(t *testing.T) {
	planned.Proposed().Check(t, reach.Reader[plan.ProposedStep]{
		Name: "an edit of a plan (StepRequest and toPlan in internal/edge/httpapi/edit.go)",
		Read: func(s plan.ProposedStep) any {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var asked StepRequest
			if err := json.Unmarshal(raw, &asked); err != nil {
				t.Error(err)
			}
			return asked.toPlan()
		},
	})
}

// TestAClientCountsEveryMemberAsTheDomainDoes: whichever member makes the view another one, it is in the answer, and is read from it.
func TestAClientCountsEveryMemberAsTheDomainDoes(t *testing.T) {
	steps := planned.Step()
	for _, member := range steps.Members() {
		for name, s := range map[string]plan.Step{"another": steps.But(member), "no": without(steps.Full(), member)} {
			r := planned.Run(s)
			if got, want := showRun(r).View(), view.Of(r, time.Time{}); !reflect.DeepEqual(got, want) {
				t.Errorf("with %s %s of a step, a client counts otherwise: add the member to Run.View in internal/edge/httpapi/runview.go\n%+v, not\n%+v", name, member, got, want)
			}
		}
	}
}

// without returns a step without a member, or without the one of which it is a part.
func without(s plan.Step, member string) plan.Step {
	v := reflect.ValueOf(&s).Elem()
	name, _, _ := strings.Cut(member, ".")
	if name != "ID" {
		v.FieldByName(name).SetZero()
	}
	return s
}

// TestEveryMemberOfARunIsAnswered: those of the run, of its plan and of the state of a step.
func TestEveryMemberOfARunIsAnswered(t *testing.T) {
	s1, s2 := plan.EffectOf("s1"), plan.EffectOf("s2")
	answered := func(r plan.Run) any {
		raw, err := json.Marshal(showRun(r))
		if err != nil {
			t.Error(err)
		}
		return string(raw)
	}
	own := "only Piloto works with it"
	where := "the API's answer (Run and showRun in internal/edge/httpapi/run.go)"
	one := func(title string) []plan.Step {
		return []plan.Step{{ID: s1, Title: title, Body: json.RawMessage("{}")}}
	}
	reach.Of[plan.Run](reach.Values{
		"Plan":   {plan.Plan{Steps: one("a")}, plan.Plan{Steps: one("b")}},
		"Steps":  {[]plan.StepState{{StepID: s1, Status: plan.StepDone}}, []plan.StepState{{StepID: s1, Status: plan.StepFailed}}},
		"Status": {plan.Running, plan.Waiting}, "Conclude": {plan.ConcludeDue, plan.Conclude("")},
		"CancelAt": {&noon, (*time.Time)(nil)}, "UndoAt": {&noon, (*time.Time)(nil)},
		"Taken": {[]plan.Taken{{StepID: s1}}, []plan.Taken{{StepID: s2}}}, "Unanswered": {[]plan.Unanswered{{}}, []plan.Unanswered{}}, "Events": {[]plan.Event{{}}, []plan.Event{}},
	}).Check(t, reach.Reader[plan.Run]{Name: where, Read: answered, Without: map[string]string{
		"Account": own, "User": own, "TraceID": own, "EventSeq": own, "Chain": own, "Link": own, "Handouts": own, "DueAt": own, "ReadFrom": own, "Besides": own,
		"ConfirmBy": "its key is the client's secret; confirmed_by has the person", "Unanswered": "each step has its own", "Events": "they have an address of their own",
		"JobID": "the answer about the job names its runs", "Question": "the message names the run", "Next": "the run that goes on names this one in retries",
	}})
	reach.Of[plan.Plan](reach.Values{
		"Steps": {one("a"), one("b")}, "Bindings.StepID": {s1, s2}, "Reuse.Steps": {[]plan.EffectID{s1}, []plan.EffectID{s2}},
	}).Check(t, reach.Reader[plan.Plan]{Name: where, Read: func(p plan.Plan) any { return answered(plan.Run{Plan: p}) }, Without: map[string]string{
		"Reuse": "a step names the run whose result it has", "Undoes": "its goal says it, and the other run has an event of it",
		"Bindings.MCPID": "the step has it", "Bindings.Fingerprint": own, "Bindings.Template": "the path is concrete",
		"Bindings.Summary": "the step has a title", "Bindings.Names": "the members have their own names", "Bindings.AnswerNames": "the members have their own names",
	}})
	reach.Of[plan.StepState](reach.Values{
		"StepID": {s1, s2}, "Status": {plan.StepInDoubt, plan.StepWaiting}, "Items": {1, 2},
		"Loose": {[]plan.LooseEvent{{}}, []plan.LooseEvent{}},
	}).Check(t, reach.Reader[plan.StepState]{Name: "the API's answer (Step, Effect and step in internal/edge/httpapi/run.go)", Read: func(st plan.StepState) any {
		s := one("a")
		s[0].ForEach = "${s0.body}"
		return answered(plan.Run{Plan: plan.Plan{Steps: s}, Steps: []plan.StepState{st}})
	}, Without: map[string]string{
		"Last.Number": "attempts has it", "Last.Key": own, "Last.Open": "it is told by the status and the body", "Last.Lasts": own, "Lost": own, "NotBefore": own, "UpdatedAt": "the run has it",
		"Approval.Minutes": "expires_at says until when", "Approval.Maybe": "it is asked for now", "Approval.Token": "it resumes an execution, and is secret",
		"Checks": own, "Handed": own, "Loose": "they have an address of their own, with their numbers",
	}})
}
