package runs

import (
	"fmt"
	"testing"

	"piloto/internal/runs/plan"
)

// A chat may have more unanswered requests than a row can hold. Its next run carries the keys of the newest.
func TestARunCarriesAsManyKeysAsItsRowHolds(t *testing.T) {
	var list []plan.Unanswered
	for i := range 4 * mostCarried {
		list = append(list, plan.Unanswered{
			Request: fmt.Sprintf("%064d", i), Key: fmt.Sprintf("01M8KP0M2KG90WN4KGGV5F79N0:a-long-name-of-a-step-of-32-signs[%d]", i%50),
			RunID: fmt.Sprintf("%026d", i*7919%(4*mostCarried)), StepID: plan.ParseEffect("a-long-name-of-a-step-of-32-signs"), Undoes: "01M8KP0M2KG90WN4KGGV5F79N1",
		})
	}
	tr := of(plan.Run{ID: "r", Account: "a", ChatID: "c"})
	tr.carry(list)
	if len(tr.next.Unanswered) != mostCarried {
		t.Fatal(len(tr.next.Unanswered))
	}
	size := 0 // of an item: the bytes of names and values, and three for each map
	for _, u := range tr.next.Unanswered {
		size += len("step_id"+"request"+"key"+"undoes"+u.StepID.String()+u.Request+u.Key+u.Undoes) + 4 + 3
		if u.RunID < fmt.Sprintf("%026d", 3*mostCarried) {
			t.Fatalf("it carries the key of %s", u.RunID)
		}
	}
	if size > 300_000 {
		t.Errorf("%d bytes of the 400 KB of a row", size)
	}
}
