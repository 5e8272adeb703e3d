package step_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
)

// eachOf returns a step that writes once for each element of a list.
func eachOf(id, list string, needs ...string) plan.ProposedStep {
	s := newStep(id, "POST", "/bookings", `{"room":"`+id+`"}`, needs...)
	s.ForEach = list
	return s
}

// TestLongListIsKnownBeforeAnEffect: as soon as the results that name the lists are there, nothing that writes begins any
// more, although the step of the list comes later.
func TestLongListIsKnownBeforeAnEffect(t *testing.T) {
	read := newStep("s1", "GET", "/rooms", "")
	write := newStep("s2", "POST", "/bookings", `{"room":"first"}`, "s1")
	free := newStep("s2", "POST", "/bookings", `{"room":"first"}`)
	several := func(n int, list string) (steps []plan.ProposedStep) {
		for i := range n {
			steps = append(steps, eachOf(fmt.Sprintf("e%d", i), list))
		}
		return steps
	}
	in := step.MostElements / plan.MaxEach
	nested := eachOf("s4", "${s3.body}", "s3")
	reads := newStep("s3", "GET", "/bookings/${item.name}", "", "s2")
	reads.ForEach = "${s1.body.rooms}"
	unless := eachOf("s3", "${s1.body.rooms}", "s2")
	unless.When = &ref.Condition{Value: "${s1.status}", Is: ref.Equal, To: []byte(`404`)}
	for name, c := range map[string]struct {
		rooms int
		steps []plan.ProposedStep
		is    string
		sent  int // requests that write
	}{
		"too many in all":                                     {plan.MaxEach, append([]plan.ProposedStep{read, write}, several(in+1, "${s1.body.rooms}")...), fmt.Sprintf("e%d error step.too_many_in_all", in), 0},
		"too many of one":                                     {plan.MaxEach + 1, []plan.ProposedStep{read, write, eachOf("s3", "${s1.body.rooms}", "s2")}, "s3 error step.too_many", 0},
		"too many beside another step":                        {plan.MaxEach + 1, []plan.ProposedStep{read, write, eachOf("s3", "${s1.body.rooms}", "s1")}, "s3 error step.too_many", 0},
		"too many, and a change before it that needs nothing": {plan.MaxEach + 1, []plan.ProposedStep{free, read, eachOf("s3", "${s1.body.rooms}", "s1")}, "s3 error step.too_many", 0},
		"too many, and a change that needs nothing":           {plan.MaxEach + 1, []plan.ProposedStep{read, free, eachOf("s3", "${s1.body.rooms}", "s1")}, "s3 error step.too_many", 0},
		"too many results of a list": {
			plan.MaxEach, append(append([]plan.ProposedStep{read, write, reads, nested}, several(in-2, "${s1.body.rooms}")...), eachOf("last", "${s4.body}", "s4")), "last error step.too_many_in_all", 0,
		},
		"a condition that does not hold": {plan.MaxEach + 1, []plan.ProposedStep{read, write, unless}, "s3 skipped", 1},
		"as many as fit":                 {2, []plan.ProposedStep{read, write, eachOf("s3", "${s1.body.rooms}", "s2")}, "s3 done", 3},
	} {
		for _, share := range []int{1, 50} {
			t.Run(fmt.Sprint(name, ", ", share, " an invocation"), func(t *testing.T) {
				w, r := newRun(t, nil, slices.Clone(c.steps)...)
				w.Steps.Steps = share
				upstream(w, map[string]string{"GET /rooms": roomsOf(c.rooms), "POST /bookings": `{"id":"b"}`, "GET /bookings": `{"id":"b"}`})
				w.Execute(r.ID)
				id, want, _ := strings.Cut(c.is, " ")
				if got := status(w, r, id); got != want {
					t.Errorf("%s is %s", id, got)
				}
				sent := 0
				for _, q := range w.Requests() {
					if q.Method != "GET" {
						sent++
					}
				}
				if sent != c.sent {
					t.Errorf("%d were sent: %v", sent, sentRequests(w))
				}
			})
		}
	}
}

// TestNoReasonSaysThatNothingWasSent: the reason of one step stands above what others have sent.
func TestNoReasonSaysThatNothingWasSent(t *testing.T) {
	for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
		for _, key := range append(locale.Keys("step."), locale.Keys("run.")...) {
			text := strings.ToLower(locale.Text(tag, key))
			for _, no := range []string{"se ha enviado nada", "se envió nada", "nothing was sent", "nothing has been sent"} {
				if strings.Contains(text, no) {
					t.Errorf("%s: %s", key, text)
				}
			}
		}
	}
}
