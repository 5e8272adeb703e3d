package step_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// A redirect is reported with its host alone, because a path and a query may hold secrets.
func TestRedirectIsReportedWithItsHost(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		location string
		code     string
		says     []string
	}{
		"see there":            {303, "https://done.example/x/secreto?key=secreto#secreto", "step.in_doubt", []string{"(303)", "https://done.example,", "no se repetirá", "Compruébalo en https://rooms.example"}},
		"found there":          {302, "/bookings/7?key=secreto", "step.in_doubt", []string{"(302)", "https://rooms.example,"}},
		"with a name and key":  {303, "https://secreto:secreto@done.example", "step.in_doubt", []string{"https://done.example,"}},
		"nowhere":              {303, "", "step.in_doubt", []string{"respondió 303", "Compruébalo en https://rooms.example"}},
		"not a place":          {303, "javascript:secreto", "step.in_doubt", []string{"respondió 303"}},
		"a name that is a lie": {303, "https://se\u202ecreto.example/", "step.in_doubt", []string{"respondió 303"}},
		"not modified":         {304, "", "step.in_doubt", []string{"respondió 304"}},
		"moved":                {301, "https://new.example:8443/v2/secreto?key=secreto", "step.moved", []string{"(301)", "https://new.example:8443.", "no se ha hecho nada", "Registra"}},
		"moved, to no place":   {308, "", "step.moved", []string{"otra dirección"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRunOf(t, book)
			w.Answer(answers(c.status, "Location", c.location))
			execute(t, w, r, "s1")
			got := w.Read(r.ID).State(plan.EffectOf("s1")).Error
			if got == nil || got.Code != c.code {
				t.Fatalf("%+v, want %s", got, c.code)
			}
			said := w.Messages()[len(w.Messages())-1].Content
			for _, text := range append(c.says, got.Message) {
				if !strings.Contains(got.Message, text) || !strings.Contains(said, text) {
					t.Errorf("%q and %q do not say %q", got.Message, said, text)
				}
			}
			if strings.Contains(got.Message+said, "secreto") {
				t.Errorf("%q tells more than a host", got.Message)
			}
		})
	}
}

// A step with a check is also checked after a redirect. If the check cannot decide, the report
// names the response.
func TestCheckDecidesStepAfterRedirect(t *testing.T) {
	for name, c := range map[string]struct{ check, is string }{
		"it was made":     {`{"made":true}`, "done"},
		"it was not":      {`{"made":false}`, "error step.not_done"},
		"nobody can tell": {"#500 {}", "in_doubt step.in_doubt"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStep("s1", "POST", "/bookings", `{"room":"norte"}`)
			s.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/rooms"}, Expect: ref.Condition{Value: "${check.body.made}", Is: ref.Equal, To: json.RawMessage("true")}}
			w, r := newRun(t, nil, s)
			made := 0
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				if q.Method == "POST" {
					made++
					return tool.Answer{Status: 303, Headers: map[string]string{"Location": "/bookings/7"}}, nil
				}
				if body, broken := strings.CutPrefix(c.check, "#500 "); broken {
					return tool.Answer{Status: 500, Body: []byte(body)}, nil
				}
				return tool.Answer{Status: 200, Body: []byte(c.check), Bytes: len(c.check)}, nil
			})
			ends := drive(t, w, r, "s1")
			if got := status(w, r, "s1"); got != c.is || made != 1 || (ends == step.InDoubt) != strings.HasPrefix(c.is, "in_doubt") {
				t.Errorf("ended %s: %s, after %d requests", ends, got, made)
			}
			if why := w.Read(r.ID).State(plan.EffectOf("s1")).Error; ends == step.InDoubt && !strings.Contains(why.Message, "una redirección (303) hacia https://rooms.example,") {
				t.Errorf("told %q", why.Message)
			}
		})
	}
}
