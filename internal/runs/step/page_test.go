package step_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A page with a status of success is the answer of a sign-in or a gateway, where the document describes JSON only. It says
// as little of a change as a lost answer does, whatever the service's errors mean. A check does not believe it either.
func TestAPageIsNoAnswerOfAnOperationThatAnswersJSON(t *testing.T) {
	const html = "text/html; charset=utf-8"
	payment := func(method string) plan.ProposedStep {
		path := map[bool]string{true: "/payments", false: "/payments/7"}[method == "POST"]
		return newStep("s1", method, path, map[bool]string{true: `{}`}[method == "POST" || method == "PUT"])
	}
	checked := payment("POST")
	checked.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/bookings/7"}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}}
	for name, c := range map[string]struct {
		step        plan.ProposedStep
		media, body string
		errors      tool.Errors
		want        string
		says        string
		sent        int
	}{
		"a sign-in":                   {payment("POST"), html, "<html>Sign in", "", "in_doubt step.in_doubt", "una página web", 1},
		"one without a type":          {payment("POST"), "", "\n<!DOCTYPE html><p>Sign in", "", "in_doubt step.in_doubt", "una página web", 1},
		"its errors mean nothing":     {payment("POST"), html, "<html>Sign in", tool.ErrorsRejected, "in_doubt step.in_doubt", "una página web", 1},
		"it may be repeated":          {payment("PUT"), html, "<html>Sign in", "", "in_doubt step.in_doubt", "una página web", 4},
		"it may be repeated, refused": {payment("PUT"), html, "<html>Sign in", tool.ErrorsRejected, "in_doubt step.in_doubt", "una página web", 4},
		"a read":                      {payment("GET"), html, "<html>Sign in", "", "error step.page", "una página web", 4},
		"a check decides":             {checked, html, "<html>Sign in", "", "done", "", 2},
		"JSON":                        {payment("POST"), "application/json", `{"id":"p-1"}`, "", "done", "", 1},
		"JSON that is called a page":  {payment("POST"), html, ` {"id":"p-1"}`, "", "done", "", 1},
		"an empty page":               {payment("POST"), html, "\n", "", "done", "", 1},
		"a text":                      {payment("POST"), "text/plain", "OK", "", "done", "", 1},
		"the document says nothing":   {newStep("s1", "POST", "/bookings", `{"room":"norte"}`), html, "<html>Reservado", "", "done", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := newRun(t, nil, c.step)
			if c.errors != "" {
				_, err := w.Store.Registry.SetServerErrors(context.Background(), fixture.Account, w.Server.ID, c.errors)
				must(t, err)
			}
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				if strings.HasSuffix(q.URL, "/bookings/7") {
					return tool.Answer{Status: 200, Body: []byte(`{"id":"7"}`)}, nil
				}
				return tool.Answer{Status: 200, Body: []byte(c.body), Bytes: len(c.body), Headers: map[string]string{"Content-Type": c.media}}, nil
			})
			drive(t, w, r, "s1")
			st := w.Read(r.ID).State(plan.EffectOf("s1"))
			if got := status(w, r, "s1"); got != c.want || len(w.Requests()) != c.sent {
				t.Errorf("it is %s after %d requests, want %s after %d", got, len(w.Requests()), c.want, c.sent)
			}
			if c.says != "" && (st.Error == nil || !strings.Contains(st.Error.Message, c.says) || st.Result == nil) {
				t.Errorf("%+v, %+v", st.Error, st.Result)
			}
		})
	}
}
