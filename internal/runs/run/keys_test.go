package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// keyWorld is a world whose service answers as it is told, and that counts the keys of requests.
type keyWorld struct {
	manualWorld
	t *testing.T
}

// answers sets what requests are answered that have a word in their bodies or addresses, one after the other: "lost", or a status and a body. The
// last one is repeated; all other requests are answered 200.
func (w keyWorld) answers(word string, list ...string) {
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		answer := "200 {}"
		if strings.Contains(string(q.Body)+q.URL, word) {
			if answer = list[0]; len(list) > 1 {
				list = list[1:]
			}
		}
		if answer == "lost" {
			return tool.Answer{}, tool.ErrLost
		}
		status, body, _ := strings.Cut(answer, " ")
		code := 0
		for _, digit := range status {
			code = code*10 + int(digit-'0')
		}
		return tool.Answer{Status: code, Body: []byte(body), Bytes: len(body)}, nil
	})
}

// keys names the keys of the requests that have a word in their bodies, in order: one letter for each key.
func (w keyWorld) keys(word string) string {
	var known []string
	letters := ""
	for _, q := range w.Requests() {
		key := q.Header["Idempotency-Key"]
		if !strings.Contains(string(q.Body)+q.URL, word) || key == "" {
			continue
		}
		at := 0
		for at < len(known) && known[at] != key {
			at++
		}
		if at == len(known) {
			known = append(known, key)
		}
		letters += string(rune('a' + at))
	}
	return letters
}

// do confirms and executes a draft.
func (w keyWorld) do(r plan.Run) plan.Run {
	w.t.Helper()
	must(w.t, w.Confirm(w.Read(r.ID)))
	w.Execute(r.ID)
	return w.Read(r.ID)
}

// settle gives each effect in doubt of a run an outcome, as a person does.
func (w keyWorld) settle(r plan.Run, outcome plan.Outcome) {
	w.t.Helper()
	for _, st := range r.Steps {
		if st.Status == plan.StepInDoubt && !st.Expanded {
			_, err := w.Runs.Resolve(context.Background(), run.Resolution{Account: fixture.Account, User: "ana", RunID: r.ID, StepID: st.StepID, Outcome: outcome})
			must(w.t, err)
		}
	}
}

func (w keyWorld) repeat(r plan.Run) plan.Run {
	w.t.Helper()
	d, err := w.Runs.Repeat(context.Background(), run.Again{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish})
	must(w.t, err)
	return d.Run
}

func (w keyWorld) retried(r plan.Run) plan.Run {
	w.t.Helper()
	d, err := w.retry(r.ID)
	must(w.t, err)
	return d.Run
}

func (w keyWorld) reversed(r plan.Run) plan.Run {
	w.t.Helper()
	next, err := w.reverse(r.ID)
	must(w.t, err)
	return next
}

// plans returns a draft of steps, which says what of it may have been done: an id, and a body of POST /bookings.
func (w keyWorld) plans(steps ...[2]string) plan.Run {
	var all []plan.ProposedStep
	for _, s := range steps {
		all = append(all, plan.ProposedStep{ID: s[0], Title: s[0], Method: "POST", Path: "/bookings", Body: json.RawMessage(s[1])})
	}
	return w.tried(all...)
}

// paid returns a draft of a booking that is undone by a call that may not be repeated.
func (w keyWorld) paid() plan.Run {
	return w.Draft(plan.Proposal{Goal: "Pagar", Steps: []plan.ProposedStep{{
		ID: "s1", Title: "paga", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"pay"}`),
		Undo: &plan.Call{Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"refund"}`)},
	}, {ID: "s2", Title: "avisa", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"last"}`)}}})
}

const pay = `{"room":"pay","n":1}`

// A request that may have been done keeps its key in its chat, whoever sends it again and under whatever name, until the
// operation itself answers.
func TestARequestKeepsItsKeyUntilItIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(keyWorld)
		word string
		keys string
	}{
		"an undo that was lost is asked for again": {func(w keyWorld) {
			w.answers("refund", "lost", "200 {}")
			r := w.do(w.paid())
			w.settle(w.do(w.reversed(r)), plan.OutcomeNotDone)
			w.do(w.reversed(r))
		}, "refund", "aa"},
		"an undo is lost, retried and refused by a gateway, and asked for again": {func(w keyWorld) {
			w.answers("refund", "lost", "404 <html>", "200 {}")
			r := w.do(w.paid())
			u := w.do(w.reversed(r))
			w.settle(u, plan.OutcomeNotDone)
			w.do(w.retried(u))
			w.do(w.reversed(r))
		}, "refund", "aaa"},
		"an undo of its own was lost": {func(w keyWorld) {
			w.answers(`"room":"`, "200 {}", `422 {"detail":"no"}`, "lost", "200 {}")
			r := w.do(w.paid())
			w.settle(r, plan.OutcomeNotDone)
			w.do(w.reversed(r))
		}, "refund", "aa"},
		"each undo undoes its own run": {func(w keyWorld) {
			w.answers("refund", "lost", "200 {}")
			r := w.do(w.paid())
			w.settle(w.do(w.reversed(r)), plan.OutcomeNotDone)
			w.do(w.reversed(w.do(w.repeat(r))))
			w.do(w.reversed(r))
		}, "refund", "aba"},
		"an undo that was settled as done is no other's": {func(w keyWorld) {
			w.answers("refund", "lost", "200 {}")
			r := w.do(w.paid())
			w.settle(w.do(w.reversed(r)), plan.OutcomeDone)
			w.do(w.reversed(w.do(w.repeat(r))))
		}, "refund", "ab"},
		"repeated while it is in doubt": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			w.do(w.repeat(w.do(w.plans([2]string{"s1", pay}))))
		}, "pay", "aa"},
		"repeated after it was settled as not done, and once more": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			r := w.do(w.plans([2]string{"s1", pay}))
			w.settle(r, plan.OutcomeNotDone)
			w.do(w.repeat(r))
			w.do(w.repeat(r))
		}, "pay", "aab"},
		"repeated after it was settled as done": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			r := w.do(w.plans([2]string{"s1", pay}))
			w.settle(r, plan.OutcomeDone)
			w.do(w.repeat(r))
		}, "pay", "ab"},
		"planned anew, under another name and in another order": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			w.do(w.plans([2]string{"s1", pay}))
			w.do(w.plans([2]string{"other", `{"room":"first"}`}, [2]string{"s2", `{"n":1,"room":"pay"}`}))
		}, "pay", "aa"},
		"another request beside it has a key of its own": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			w.do(w.plans([2]string{"s1", pay}))
			w.do(w.plans([2]string{"s1", `{"room":"pay","n":2}`}, [2]string{"s2", pay}))
		}, "pay", "aba"},
		"the same request twice in a plan is done twice": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			w.settle(w.do(w.plans([2]string{"s1", pay})), plan.OutcomeNotDone)
			w.do(w.plans([2]string{"a", pay}, [2]string{"b", pay}))
		}, "pay", "aab"},
		"changed, and back": {func(w keyWorld) {
			w.answers("pay", "lost", "lost", "200 {}")
			w.do(w.plans([2]string{"s1", pay}))
			w.do(w.plans([2]string{"s1", `{"room":"pay","n":2}`}))
			w.do(w.plans([2]string{"s1", pay}))
			w.do(w.plans([2]string{"s1", `{"room":"pay","n":2}`}))
		}, "pay", "abab"},
		"done by a plan that it was made again by": {func(w keyWorld) {
			w.answers("pay", "lost", "200 {}")
			w.do(w.plans([2]string{"s1", pay}))
			w.do(w.plans([2]string{"a", pay}))
			w.do(w.plans([2]string{"a", pay}))
		}, "pay", "aab"},
	} {
		t.Run(name, func(t *testing.T) {
			w := keyWorld{newManualWorld(t), t}
			c.do(w)
			if got := w.keys(c.word); got != c.keys {
				t.Errorf("the keys are %s, want %s", got, c.keys)
			}
		})
	}
}

// An answer of what stands before the operation says nothing of an earlier call.
func TestOnlyTheOperationEndsAKey(t *testing.T) {
	for answer, keys := range map[string]string{
		`400 <html>Bad Request</html>`:                            "aaa",
		`404 {"message":"no Route matched with those values"}`:    "aaa",
		`404 {"detail":"Not Found"}`:                              "aaa",
		`404 `:                                                    "aaa",
		`405 {"message":"Method not allowed"}`:                    "aaa",
		`407 {"detail":"sign in to the proxy"}`:                   "aaa",
		`413 {"message":"Request size limit exceeded"}`:           "aaa",
		`415 {"message":"Unsupported media type"}`:                "aaa",
		`421 {"detail":"wrong host"}`:                             "aaa",
		`422 {`:                                                   "aaa",
		`422 {}`:                                                  "aaa",
		`400 {"message":"Bad Request"}`:                           "aaa",
		`400 {"error":"idempotency key in use"}`:                  "aaa",
		`451 <html>`:                                              "aaa",
		`401 {"detail":"who are you?"}`:                           "aaa",
		`301 `:                                                    "aaa",
		`422 {"detail":"There is no room pay."}`:                  "aab",
		`402 {"error":{"code":"card_declined"}}`:                  "aab",
		`404 {"error":"Not Found","message":"There is no room."}`: "aab",
		`400 {"errors":[{"title":"n must be greater than 1"}]}`:   "aab",
	} {
		t.Run(answer, func(t *testing.T) {
			w := keyWorld{newManualWorld(t), t}
			w.answers("pay", "lost", answer, "200 {}")
			r := w.do(w.plans([2]string{"s1", pay}))
			w.settle(r, plan.OutcomeNotDone)
			r = w.do(w.retried(r))
			w.settle(r, plan.OutcomeNotDone)
			w.do(w.retried(r))
			if got := w.keys("pay"); got != keys {
				t.Errorf("the keys are %s, want %s", got, keys)
			}
		})
	}
}

// The elements of a list keep their keys wherever they stand in it the next time.
func TestAnElementThatMovedKeepsItsKey(t *testing.T) {
	w := keyWorld{newManualWorld(t), t}
	_, err := w.Store.Registry.SetServerReads(t.Context(), fixture.Account, w.Server.ID, tool.Reads{Mode: tool.ReadsPreview})
	must(t, err)
	list, lost := `{"rooms":[{"name":"p"},{"name":"q"}]}`, true
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		if q.Method == "GET" {
			return tool.Answer{Status: 200, Body: []byte(list), Bytes: len(list)}, nil
		}
		if strings.Contains(string(q.Body), `"q"`) && lost {
			return tool.Answer{}, tool.ErrLost
		}
		return tool.Answer{Status: 201, Body: []byte(`{}`), Bytes: 2}, nil
	})
	read := readingStep("Mirar")
	read.ID = "s1"
	r := w.do(w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{read, {
		ID: "s2", Title: "cada una", Method: "POST", Path: "/bookings", ForEach: "${s1.body.rooms}", Body: json.RawMessage(`{"room":"${item.name}"}`),
	}}}))
	list, lost = `{"rooms":[{"name":"q"},{"name":"r"},{"name":"p"}]}`, false
	w.do(w.repeat(r))
	if p, q := w.keys(`"p"`), w.keys(`"q"`); p != "ab" || q != "aa" {
		t.Errorf("the keys of p are %s, those of q %s", p, q)
	}
}
