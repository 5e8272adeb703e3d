package plan_test

import (
	"encoding/json"
	"slices"
	"testing"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// TestAPlanWithAllRequestsOfARefusedOneIsFound: whatever stands around them; and one that has only some of them is another.
func TestAPlanWithAllRequestsOfARefusedOneIsFound(t *testing.T) {
	post := func(id, body string) plan.Step {
		return plan.Step{ID: plan.EffectOf(id), MCPID: "m", Method: "POST", Path: "/o", Body: json.RawMessage(body), Risk: plan.Write}
	}
	get := func(id string) plan.Step {
		return plan.Step{ID: plan.EffectOf(id), MCPID: "m", Method: "GET", Path: "/o", Risk: plan.Read}
	}
	with := func(s plan.Step, change func(*plan.Step)) plan.Step { change(&s); return s }
	when := func(to string) func(*plan.Step) {
		return func(s *plan.Step) {
			s.When = &ref.Condition{Value: "${g.status}", Is: ref.Equal, To: json.RawMessage(to)}
		}
	}
	of := func(steps ...plan.Step) plan.Plan { return plan.Plan{Steps: steps} }
	tea, bread := post("a", `{"sku":"te","qty":2}`), post("b", `{"sku":"pan","qty":1}`)
	target := func(name, value string) func(*plan.Step) {
		return func(s *plan.Step) {
			s.Targets = append(s.Targets, plan.Target{Ref: name, Value: json.RawMessage(value)})
		}
	}
	each := with(post("e", `{"sku":"te","qty":"${item.n}"}`), func(s *plan.Step) { s.ForEach = "${g.body.all}" })
	byRef := post("r", `{"sku":"te","qty":"${g.body.n}"}`)
	path := plan.Step{ID: plan.EffectOf("d"), MCPID: "m", Method: "DELETE", Path: "/o/${g.body.id}", Risk: plan.Destructive}
	looked := map[string]ref.Result{"g": {Status: 200, Body: json.RawMessage(`{"n":2,"all":[{"n":2},{"n":3}],"id":"a/b c"}`)}}
	for name, c := range map[string]struct {
		refused, proposed plan.Plan
		looked            bool
		found             bool
	}{
		"another condition":               {of(get("g"), with(tea, when("200"))), of(get("g"), with(tea, when("201"))), false, true},
		"a condition around":              {of(tea), of(get("g"), with(tea, when("200"))), false, true},
		"another write beside":            {of(tea), of(bread, tea), false, true},
		"twice":                           {of(tea), of(tea, with(tea, func(s *plan.Step) { s.ID = plan.EffectOf("z") })), false, true},
		"once instead of twice":           {of(tea, with(tea, func(s *plan.Step) { s.ID = plan.EffectOf("z") })), of(tea), false, true},
		"a list around":                   {of(tea), of(get("g"), with(tea, func(s *plan.Step) { s.ForEach = "${g.body.all}" })), false, true},
		"in another order":                {of(tea, bread), of(bread, tea), false, true},
		"one of two":                      {of(tea, bread), of(tea), false, false},
		"one of two and another":          {of(tea, bread), of(tea, post("c", `{"sku":"sal"}`)), false, false},
		"a read beside":                   {of(get("g"), tea), of(tea), false, true},
		"a refused read":                  {of(get("g")), of(get("g")), false, true},
		"a refused read beside a write":   {of(get("g")), of(get("g"), tea), false, false},
		"another value":                   {of(tea), of(post("a", `{"sku":"te","qty":3}`)), false, false},
		"the value in a reference":        {of(tea), of(get("g"), byRef), true, true},
		"a reference that nobody read":    {of(tea), of(get("g"), byRef), false, false},
		"a reference to another value":    {of(bread), of(get("g"), byRef), true, false},
		"a reference with its target":     {of(tea), of(get("g"), with(byRef, target("g.body.n", "2"))), false, true},
		"a refused reference, its value":  {of(get("g"), with(byRef, target("g.body.n", "2"))), of(tea), false, true},
		"a refused reference, another":    {of(get("g"), with(byRef, target("g.body.n", "3"))), of(tea), false, false},
		"a refused reference, again":      {of(get("g"), byRef), of(get("x"), with(post("y", `{"sku":"te","qty":"${x.body.n}"}`), when("1"))), false, true},
		"an element of a list":            {of(tea), of(get("g"), each), true, true},
		"an element of a list, by target": {of(tea), of(get("g"), with(each, target("g.body.all", `[{"n":2}]`))), false, true},
		"no element of a list":            {of(bread), of(get("g"), each), true, false},
		"a refused list, its elements":    {of(get("g"), with(each, target("g.body.all", `[{"n":2},{"n":1}]`))), of(post("x", `{"sku":"te","qty":1}`), tea), false, true},
		"a refused list, one element":     {of(get("g"), with(each, target("g.body.all", `[{"n":2},{"n":1}]`))), of(tea), false, false},
		"a value in a path":               {of(plan.Step{ID: plan.EffectOf("q"), MCPID: "m", Method: "DELETE", Path: "/o/a%2Fb%20c", Risk: plan.Destructive}), of(get("g"), path), true, true},
	} {
		sets, err := c.refused.Requests()
		if err != nil {
			t.Fatal(err)
		}
		var look ref.Lookup
		if c.looked {
			look = func(step string) (ref.Result, bool) { res, ok := looked[step]; return res, ok }
		}
		has, err := c.proposed.EachRequest(look)
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(sets, func(set []string) bool {
			return !slices.ContainsFunc(set, func(sum string) bool { return !slices.Contains(has, sum) })
		})
		if found != c.found {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestARunIsRefusedIfItChangedNothing: its draft, or a step at its approval.
func TestARunIsRefusedIfItChangedNothing(t *testing.T) {
	of := plan.Plan{Steps: []plan.Step{
		{ID: plan.EffectOf("r"), Risk: plan.Read}, {ID: plan.EffectOf("w"), Risk: plan.Write, ForEach: "${r.body.all}"}, {ID: plan.EffectOf("a"), Risk: plan.Destructive},
	}}
	done := func(id plan.EffectID) plan.StepState { return plan.StepState{StepID: id, Status: plan.StepDone} }
	asked := func(d plan.Decision) plan.StepState {
		return plan.StepState{StepID: plan.EffectOf("a"), Status: plan.StepFailed, Approval: &plan.Approval{Decision: d}}
	}
	read, write := done(plan.EffectOf("r")), done(plan.EffectOf("w"))
	doubt := plan.StepState{StepID: plan.EffectOf("w"), Status: plan.StepInDoubt}
	for name, c := range map[string]struct {
		run     plan.Run
		refused bool
	}{
		"a draft":                      {plan.Run{Status: plan.Cancelled}, true},
		"a draft that was taken back":  {plan.Run{Status: plan.Cancelled, Withdrawn: &plan.Withdrawal{}}, false},
		"a draft that expired":         {plan.Run{Status: plan.Expired}, false},
		"a draft that was replaced":    {plan.Run{Status: plan.Superseded}, false},
		"a run that was stopped":       {plan.Run{Status: plan.Cancelled, Confirmer: "ana"}, false},
		"a run that failed":            {plan.Run{Status: plan.Failed, Confirmer: "ana"}, false},
		"a step":                       {plan.Run{Status: plan.Failed, Confirmer: "ana", Steps: []plan.StepState{asked(plan.Refused)}}, true},
		"a step after a read":          {plan.Run{Status: plan.Failed, Confirmer: "ana", Steps: []plan.StepState{read, asked(plan.Refused)}}, true},
		"a step that was approved":     {plan.Run{Status: plan.Failed, Confirmer: "ana", Steps: []plan.StepState{asked(plan.Approved)}}, false},
		"a step after a write":         {plan.Run{Status: plan.Failed, Confirmer: "ana", Steps: []plan.StepState{read, write, asked(plan.Refused)}}, false},
		"a step after an element":      {plan.Run{Status: plan.Failed, Confirmer: "ana", Steps: []plan.StepState{done(plan.ItemOf(plan.EffectOf("w"), 0)), asked(plan.Refused)}}, false},
		"a step after what is unknown": {plan.Run{Status: plan.InDoubt, Confirmer: "ana", Steps: []plan.StepState{doubt, asked(plan.Refused)}}, false},
	} {
		c.run.Plan = of
		if got := c.run.Refused(); got != c.refused {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !plan.MayHaveChanged(plan.Run{Plan: of, Steps: []plan.StepState{doubt}}) || plan.MayHaveChanged(plan.Run{Plan: of, Steps: []plan.StepState{read}}) {
		t.Error("a change is a step in doubt, and no read")
	}
}
