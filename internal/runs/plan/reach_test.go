package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/infra/local/fixture/reach/planned"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

// TestEveryMemberOfAStepReachesItsCopies: the arranged step, its calls, and the difference of two plans.
func TestEveryMemberOfAStepReachesItsCopies(t *testing.T) {
	proposed, steps := planned.Proposed(), planned.Step()
	arranged := func(s plan.ProposedStep) (all [2]plan.Plan) {
		undone := s
		s.Undo = nil // only without an undo, the wish for none says something
		for i, one := range []plan.ProposedStep{s, undone} {
			all[i].Steps, _ = plan.Arrange(plan.Proposal{Goal: "g", Steps: []plan.ProposedStep{{ID: "s1", MCPID: "m", Method: "GET", Path: "/list"}, one}})
		}
		return all
	}
	proposed.Check(t, reach.Reader[plan.ProposedStep]{
		Name: "the step that is made of it (completeStep in internal/runs/plan/propose.go)",
		Read: func(s plan.ProposedStep) any { return arranged(s) },
	})
	proposed.Check(t, reach.Reader[plan.ProposedStep]{
		Name: "the changes that an author made (authoredFields in internal/runs/plan/diff.go)",
		Read: func(s plan.ProposedStep) any {
			before, after := arranged(proposed.Full()), arranged(s)
			return len(plan.Edits(before[0], after[0])) + len(plan.Edits(before[1], after[1]))
		},
	})
	steps.Check(t, reach.Reader[plan.Step]{Name: "the differences of two plans (stepFields in internal/runs/plan/diff.go)", Read: func(s plan.Step) any {
		before, after := planned.Of(steps.Full()), planned.Of(s)
		after.Bindings = before.Bindings
		return len(slices.DeleteFunc(plan.Diff(before, after), func(c plan.Change) bool { return c.Field == "plan" }))
	}})
	steps.Check(t, reach.Reader[plan.Step]{Name: "the digest of its plan (digestForm in internal/runs/plan/diff.go)", Read: func(s plan.Step) any {
		p := planned.Of(s)
		p.Bindings = nil
		digest, err := p.Digest()
		if err != nil {
			t.Error(err)
		}
		return digest
	}})
	steps.Check(t, reach.Reader[plan.Step]{
		Name: "what makes it another step in a plan that replaces its plan (sentOf in internal/runs/plan/dropped.go)",
		Read: func(s plan.Step) any {
			old := planned.Run(steps.Full())
			return len(plan.DroppedFor(&old, planned.Of(s)).Steps)
		},
		Without: map[string]string{
			"ID": "a name inside of the plan", "Title": "words about the same call", "Needs": "the order, not the call",
			"Risk": "follows from the call", "NoUndo": "the undo itself is compared",
			"Ask": "of the rules, when the plan was made", "Targets": "of the reads, when the plan was made", "Unanswered": "of the chat, when the plan was made",
		},
	})
	calls := reach.Of[plan.Call](planned.Call(""))
	calls.Check(t, reach.Reader[plan.Call]{Name: "the call of a proposed step (Call and SetCall in internal/runs/plan/propose.go)", Read: func(c plan.Call) any {
		var s plan.ProposedStep
		s.SetCall(c)
		return s.Call()
	}})
	undo := func(c plan.Call) plan.Step {
		s := steps.Full()
		s.Undo = &plan.Undo{Call: c}
		undo, _ := planned.Of(s).Step(plan.UndoOf(s.ID))
		return undo
	}
	calls.Check(t, reach.Reader[plan.Call]{
		Name: "an undo as a step (Plan.Step in internal/runs/plan/effect.go), or its call (Step.Call in plan.go)",
		Read: func(c plan.Call) any { return undo(c).Call() },
	})
	calls.Check(t, reach.Reader[plan.Call]{
		Name:    "the arguments of a step (Step.Arguments in internal/runs/plan/plan.go)",
		Read:    func(c plan.Call) any { return undo(c).Arguments() },
		Without: map[string]string{"MCPID": "the server is looked up with it before", "Tool": "the operation is looked up with it before"},
	})
	calls.Check(t, reach.Reader[plan.Call]{Name: "a check as a step (Plan.CheckOf in internal/runs/plan/effect.go)", Read: func(c plan.Call) any {
		s := steps.Full()
		s.Verify = &plan.Check{Call: c}
		check, _ := planned.Of(s).CheckOf(s.ID)
		return check.Call()
	}})
}

// TestEveryMemberOfAPlanIsInItsDigestAndItsDifferences.
func TestEveryMemberOfAPlanIsInItsDigestAndItsDifferences(t *testing.T) {
	special := reach.Values{"Steps": {[]plan.Step{{Title: "1"}}, []plan.Step{{Title: "2"}}}, "Reuse.Steps": {[]plan.EffectID{plan.EffectOf("s1")}, []plan.EffectID{plan.EffectOf("s2")}}}
	special["Bindings.StepID"] = [2]any{plan.EffectOf("s1"), plan.EffectOf("s2")}
	plans := reach.Of[plan.Plan](special)
	plans.Check(t, reach.Reader[plan.Plan]{Name: "the digest of a plan (digestForm in internal/runs/plan/diff.go)", Read: func(p plan.Plan) any {
		digest, err := p.Digest()
		if err != nil {
			t.Error(err)
		}
		return digest
	}})
	plans.Check(t, reach.Reader[plan.Plan]{
		Name: "the differences of two plans by name (planFields and bindingFields in internal/runs/plan/diff.go)",
		Read: func(p plan.Plan) any {
			return len(slices.DeleteFunc(plan.Diff(plans.Full(), p), func(c plan.Change) bool { return c.Field == "plan" }))
		},
		Without: map[string]string{
			"Bindings.Names": "they follow from the tool and the call", "Bindings.AnswerNames": "they follow from the tool",
		},
	})
}

// TestEveryReferenceOfAStepIsFound, in whichever member it stands: in the steps that it needs, and in those that a plan lacks.
func TestEveryReferenceOfAStepIsFound(t *testing.T) {
	steps, without := planned.Referring()
	without["Undo"], without["Verify"] = "it is sent after the step", "it is sent after the step"
	steps.Check(t, reach.Reader[plan.Step]{
		Name: "the steps to which a step refers (ReferencedSteps in internal/runs/plan/reference.go)", Without: without,
		Read: func(s plan.Step) any {
			names, err := s.ReferencedSteps()
			if err != nil {
				t.Error(err)
			}
			return slices.Contains(names, "s9")
		},
	})
	steps, without = planned.Referring()
	steps.Check(t, reach.Reader[plan.Step]{
		Name: "the references to steps that a plan lacks (checkCall in internal/runs/plan/reference.go, or a check in propose.go)", Without: without,
		Read: func(s plan.Step) any {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var one plan.ProposedStep
			if err := json.Unmarshal(raw, &one); err != nil {
				t.Fatal(err)
			}
			_, wrong := plan.Arrange(plan.Proposal{Goal: "g", Steps: []plan.ProposedStep{{ID: "s1", MCPID: "m", Method: "GET", Path: "/list"}, one}})
			return slices.ContainsFunc(wrong, func(f fault.Field) bool { return strings.Contains(f.Msg, "names a step that is not in the plan") })
		},
	})
}
