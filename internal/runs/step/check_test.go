package step_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// checkedStep returns a booking with a check.
func checkedStep(method, path string) plan.ProposedStep {
	s := newStep("s1", method, path, `{"room":"norte"}`)
	if method == "DELETE" {
		s.Body = nil
	}
	s.Verify = &plan.Check{
		Call:   plan.Call{Method: "GET", Path: "/bookings/norte"},
		Expect: ref.Condition{Value: "${check.body.state}", Is: ref.Equal, To: json.RawMessage(`"booked"`)},
	}
	return s
}

// TestCheckDecidesStepWhoseResponseWasLost answers the checks with each response in turn, and with
// the last one from then on.
func TestCheckDecidesStepWhoseResponseWasLost(t *testing.T) {
	const yes, no, lost = `{"state":"booked"}`, `{"state":"free"}`, "!"
	for name, c := range map[string]struct {
		checks []string
		ends   string
		is     string
		asked  int
	}{
		"it is there":               {[]string{yes}, "done", "done", 1},
		"it is there by now":        {[]string{no, no, yes}, "done", "done", 3},
		"it is not":                 {[]string{no}, step.Rejected, "error step.not_done", 3},
		"nobody is there":           {[]string{`#404 {"detail":"no booking norte"}`}, step.Rejected, "error step.not_done", 3},
		"nobody answers":            {[]string{lost}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it fails to answer":        {[]string{"#500 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it is not, but not thrice": {[]string{no, lost, no}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it answers at last":        {[]string{lost, lost, yes}, "done", "done", 3},
		"it wants another key":      {[]string{"#401 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it forbids it":             {[]string{"#403 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it gives up":               {[]string{"#408 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it asks to sign in":        {[]string{"#302 "}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it has moved":              {[]string{"#308 "}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it shows a sign-in":        {[]string{"<!DOCTYPE html><p>booked"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it refuses the read":       {[]string{"#400 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it comes too early":        {[]string{"#425 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it is too much":            {[]string{"#429 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"a gateway knows no path":   {[]string{"#404 <html>nothing here"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"a router knows no path":    {[]string{"#404 404 page not found"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it was there, and is not":  {[]string{`#410 {"detail":"the booking was deleted"}`}, step.Rejected, "error step.not_done", 3},
		"it names nothing":          {[]string{"#404 {}"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"a gateway has no route":    {[]string{`#404 {"message":"no Route matched with those values"}`}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"a framework has no path":   {[]string{`#404 {"detail":"Not Found"}`}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"an error of success":       {[]string{`{"error":"timeout","state":"free"}`}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"an answer of another form": {[]string{`{"message":"please sign in"}`}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"a text":                    {[]string{"OK"}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"nothing":                   {[]string{""}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it is refused, and not":    {[]string{"#403 {}", no, no}, step.InDoubt, "in_doubt step.in_doubt", 3},
		"it is refused, then there": {[]string{"#403 {}", "#503 {}", yes}, "done", "done", 3},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newRun(t, nil, checkedStep("POST", "/bookings"), newStep("s2", "GET", "/bookings/${s1.body.id}", ""))
			gets := 0
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				if q.Method == "POST" {
					return tool.Answer{}, tool.ErrLost
				}
				body, status := c.checks[min(gets, len(c.checks)-1)], 200
				gets++
				switch {
				case body == lost:
					return tool.Answer{}, tool.ErrLost
				case strings.HasPrefix(body, "#"):
					status, body = int(body[1]-'0')*100+int(body[2]-'0')*10+int(body[3]-'0'), body[5:]
				}
				return tool.Answer{Status: status, Body: []byte(body), Bytes: len(body)}, nil
			})
			if got := drive(t, w, r, "s1"); got != c.ends || status(w, r, "s1") != c.is || gets != c.asked || len(w.Requests()) != c.asked+1 {
				t.Fatalf("ended %s: %s, asked %d times of %d requests", got, status(w, r, "s1"), gets, len(w.Requests()))
			}
			st := w.Read(r.ID).State(plan.EffectOf("s1"))
			if st.Last.Open || st.Result != nil {
				t.Errorf("%+v", st)
			}
			if _, keyed := w.Requests()[1].Header["Idempotency-Key"]; keyed {
				t.Error("a check reads")
			}
			if c.ends == "done" { // the response is unknown
				if got := drive(t, w, r, "s2"); got != step.Rejected || status(w, r, "s2") != "error step.reference" {
					t.Errorf("what names it ended %s: %s", got, status(w, r, "s2"))
				}
				list := events(t, w, r, "s1")
				if last := list[len(list)-1]; last.Type != plan.EventStepChecked || !strings.Contains(string(last.Data), `"held":true`) {
					t.Errorf("%s %s", last.Type, last.Data)
				}
			}
		})
	}
}

func TestCheckPausesBetweenAttempts(t *testing.T) {
	w, r := newRun(t, nil, checkedStep("POST", "/bookings"))
	upstream(w, map[string]string{"POST /bookings": "!", "GET /bookings/norte": `{"state":"free"}`})
	for i, pause := range []time.Duration{0, 0, 2 * time.Second, 5 * time.Second} {
		if pause > 0 {
			w.Pass(pause - time.Millisecond)
			if got := execute(t, w, r, "s1"); got != step.Throttled || len(w.Requests()) != i {
				t.Fatalf("%d: too early, and ended %s after %d requests", i, got, len(w.Requests()))
			}
			w.Pass(time.Millisecond)
		}
		execute(t, w, r, "s1")
		if len(w.Requests()) != i+1 {
			t.Fatalf("%d: %d requests", i, len(w.Requests()))
		}
	}
	if status(w, r, "s1") != "error step.not_done" {
		t.Error(status(w, r, "s1"))
	}
}

// A process that dies in its call leaves an open attempt. It is checked once no process can be in
// the call any more.
func TestCheckDecidesInterruptedAttempt(t *testing.T) {
	w, r := newRun(t, nil, checkedStep("POST", "/bookings"))
	open(t, w, r)
	if got := execute(t, w, r, "s1"); got != step.Throttled || len(w.Requests()) != 0 {
		t.Fatalf("ended %s", got)
	}
	w.Pass(2 * time.Minute)
	upstream(w, map[string]string{"GET /bookings/norte": `{"state":"booked"}`})
	if got := drive(t, w, r, "s1"); got != "done" {
		t.Errorf("ended %s: %s", got, status(w, r, "s1"))
	}
	checkEqual(t, "sent", sentRequests(w), []string{"GET /bookings/norte"})
}

func TestStopChecksOpenAttempt(t *testing.T) {
	for _, method := range []string{"POST", "DELETE"} {
		path := map[string]string{"POST": "/bookings", "DELETE": "/bookings/7"}[method]
		w, r := newRun(t, nil, checkedStep(method, path))
		open(t, w, r)
		stop(t, w, r)
		w.Pass(2 * time.Minute)
		upstream(w, map[string]string{"GET /bookings/norte": `{"state":"free"}`})
		if got := drive(t, w, r, "s1"); got != step.Rejected || status(w, r, "s1") != "error step.not_done" {
			t.Errorf("%s ended %s: %s", method, got, status(w, r, "s1"))
		}
		if n := len(w.Requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
	}
}

// A change whose method may be repeated is repeated with the same key. When no attempt got a
// response, the outcome is unknown, and a check decides.
func TestChangeWithoutResponseIsInDoubt(t *testing.T) {
	change := newStep("s1", "PUT", "/bookings/7", `{"room":"sur"}`)
	w, r := newRun(t, nil, change)
	upstream(w, map[string]string{"PUT /bookings/7": "!"})
	if got := drive(t, w, r, "s1"); got != step.InDoubt || status(w, r, "s1") != "in_doubt step.in_doubt" || len(w.Requests()) != 4 {
		t.Errorf("ended %s: %s after %d requests", got, status(w, r, "s1"), len(w.Requests()))
	}
	for _, q := range w.Requests() {
		if q.Header["Idempotency-Key"] != r.ID+":s1" {
			t.Errorf("key %s", q.Header["Idempotency-Key"])
		}
	}
	w, r = newRun(t, nil, checkedStep("PUT", "/bookings/7"))
	upstream(w, map[string]string{"PUT /bookings/7": "!", "GET /bookings/norte": `{"state":"booked"}`})
	if got := drive(t, w, r, "s1"); got != "done" || len(w.Requests()) != 5 {
		t.Errorf("ended %s: %s after %d requests", got, status(w, r, "s1"), len(w.Requests()))
	}
}

// The path of a list names no thing: who answers that there is nothing at it is not the operation.
func TestCheckOfAListIsNotDecidedByAMissingPath(t *testing.T) {
	s := newStep("s1", "POST", "/bookings", `{"room":"norte"}`)
	s.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/rooms"}, Expect: ref.Condition{Value: "${check.body[0].id}", Is: ref.Present}}
	w, r := newRun(t, nil, s)
	upstream(w, map[string]string{"POST /bookings": "!", "GET /rooms": `#404 {"detail":"Not Found"}`})
	if got := drive(t, w, r, "s1"); got != step.InDoubt {
		t.Errorf("ended %s: %s", got, status(w, r, "s1"))
	}
}

// A condition on the status is not fulfilled by a page that stands in the place of the answer, nor is one that is not
// held by a part of an answer.
func TestCheckIsNotHeldByWhatIsNoAnswer(t *testing.T) {
	for name, answer := range map[string]tool.Answer{
		"a text":    {Status: 200, Headers: map[string]string{"Content-Type": "text/plain"}, Body: []byte("Please sign in")},
		"a page":    {Status: 200, Headers: map[string]string{"content-type": "text/html"}, Body: []byte("Sign in")},
		"an error":  {Status: 200, Body: []byte(`{"error":"no such session"}`)},
		"kept":      {Status: 200, Age: 10 * time.Minute, Body: []byte(`{"state":"booked"}`)},
		"another's": {Status: 200, Body: []byte(`{"message":"Please sign in"}`)},
		"a word":    {Status: 200, Body: []byte(`"Please sign in"`)},
		"nothing":   {Status: 200, Body: []byte(`{}`)},
		"a range":   {Status: 206, Body: []byte(`{"state":"booked"}`)},
		"a proxy's": {Status: 203, Body: []byte(`{"state":"booked"}`)},
		"a part":    {Status: 200, Body: []byte(`{"state":"bo`), Truncated: true},
		"a tool's":  {Status: 200, Body: []byte(`{"state":"booked"}`), Failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStep("POST", "/bookings")
			s.Verify.Call.Path = "/payments/norte" // its document describes JSON only
			s.Verify.Expect = ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage(strconv.Itoa(answer.Status))}
			w, r := newRun(t, nil, s)
			w.Answer(func(q tool.Request) (tool.Answer, error) {
				if q.Method == "POST" {
					return tool.Answer{}, tool.ErrLost
				}
				return answer, nil
			})
			if got := drive(t, w, r, "s1"); got != step.InDoubt {
				t.Errorf("ended %s: %s", got, status(w, r, "s1"))
			}
		})
	}
}

// A document that does not say how the operation answers where there is nothing leaves the 404 to whoever sent it. A status
// that the plan expects is no exception.
func TestMissingDecidesOnlyWhereTheDocumentSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		ends       string
	}{
		"told":               {"/bookings/norte", `{"detail":"no booking norte"}`, "done"},
		"not told":           {"/places/norte", `{"detail":"no place norte"}`, step.InDoubt},
		"told, and a router": {"/bookings/norte", `{"message":"no Route matched with those values"}`, step.InDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			s := checkedStep("POST", "/bookings")
			s.Verify.Path, s.Verify.Expect = c.path, ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("404")}
			w, r := newRun(t, func(p *plan.Plan) {
				if op := extra("https://rooms.example")[4]; c.path == "/places/norte" {
					p.Bindings = append(p.Bindings, plan.Binding{
						StepID: plan.CheckOf(plan.EffectOf("s1")), MCPID: p.Steps[0].MCPID, ServerName: "Salas", BaseURL: "https://rooms.example", Template: op.Path, Fingerprint: op.Fingerprint,
					})
				}
			}, s)
			upstream(w, map[string]string{"POST /bookings": "!", "GET " + c.path: "#404 " + c.body})
			if got := drive(t, w, r, "s1"); got != c.ends || len(w.Requests()) < 2 {
				t.Errorf("ended %s: %s, %d requests", got, status(w, r, "s1"), len(w.Requests()))
			}
		})
	}
}

func TestCheckWaitsAsLongAsItsServerAsks(t *testing.T) {
	w, r := newRun(t, nil, checkedStep("POST", "/bookings"))
	w.Answer(func(q tool.Request) (tool.Answer, error) {
		if q.Method == "POST" {
			return tool.Answer{}, tool.ErrLost
		}
		return answers(429, "Retry-After", "60")(q)
	})
	execute(t, w, r, "s1")
	execute(t, w, r, "s1")
	w.Pass(59 * time.Second)
	if execute(t, w, r, "s1"); len(w.Requests()) != 2 {
		t.Errorf("%d requests", len(w.Requests()))
	}
	w.Pass(time.Second)
	if execute(t, w, r, "s1"); len(w.Requests()) != 3 {
		t.Errorf("%d requests", len(w.Requests()))
	}
}
