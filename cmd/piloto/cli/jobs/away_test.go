package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
)

// absent is a deployment whose job edits a file, and that is away for some requests.
type absent struct {
	*httptest.Server

	mu      sync.Mutex
	away    func(method, path string, told bool) bool
	serves  bool        // the deployment acts on a request whose answer is lost
	status  int         // of the answer of a proxy while it is away; 0: the connection ends
	refuses bool        // the answer is its own
	stopped bool        // the job ended before the answer to the call came
	back    func() bool // it is there again
	waits   func()      // is called while the client waits; nil: nothing is
	told    bool        // the answer to the call came
	here    []bool      // the client said that it is there: whether the deployment was
}

func (s *absent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.back() && s.away(r.Method, strings.TrimPrefix(r.URL.Path, "/api/"), s.told) {
		if s.serves {
			s.answer(httptest.NewRecorder(), r, body)
		}
		if code := refusals[s.status]; s.refuses {
			w.WriteHeader(s.status)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "title": code})
			return
		}
		if s.status != 0 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "<html>gone", s.status)
			return
		}
		panic(http.ErrAbortHandler)
	}
	s.answer(w, r, body)
}

func (s *absent) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	j := httpapi.Job{JobID: "01J", ChatID: "01C", Status: job.Waiting, Events: 1, Calls: []job.OpenCall{
		{ID: "1.0", Name: "edit_file", Arguments: `{"path":"a","old_str":"one","new_str":"two"}`},
	}}
	if s.told {
		j.Status, j.Calls, j.Output = job.Success, nil, "Done."
	}
	if s.stopped {
		j.Status, j.StopReason, j.Unknown = job.Partial, conversation.StopPerson, []string{"edit_file a", "run_command x"}
	}
	var answer any = j
	switch {
	case strings.HasSuffix(r.URL.Path, "/stop"):
		s.stopped = true
	case strings.HasSuffix(r.URL.Path, "/results"):
		var sent httpapi.ResultsRequest
		_ = json.Unmarshal(body, &sent)
		switch {
		case len(sent.Results) == 0:
			s.here = append(s.here, s.back())
		case s.told:
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"code": job.ErrNoCalls.Code, "title": "it waits for no call"}
		default:
			s.told = true
		}
	case strings.HasSuffix(r.URL.Path, "/events"):
		answer = httpapi.JobEventList{Events: []httpapi.JobEvent{}}
	case strings.HasSuffix(r.URL.Path, "/messages"):
		answer = httpapi.MessageList{}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// refusals are codes of a deployment's own answers.
var refusals = map[int]string{http.StatusNotFound: job.ErrNotFound.Code, http.StatusInternalServerError: "server.failed", http.StatusTooManyRequests: "request.too_many"}

// shared is a stderr that the deployment reads while the command writes.
type shared struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// follows runs the end of `piloto run` against a deployment that is away for some time.
func (s *absent) follows(ctx context.Context, t *testing.T, comesBack bool, patience time.Duration, flags func(*console.Console)) (out, said string, err error) {
	t.Helper()
	s.Server = httptest.NewServer(s)
	s.Config.ErrorLog = nil
	defer s.Close()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := machine.Open(machine.Options{Root: root, History: t.TempDir(), Mode: agent.Yolo, Tag: locale.English, Now: time.Now, Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	con, o, _ := consoletest.New(nil, "")
	e := &shared{}
	con.ErrOut = e
	con.Tag = locale.English
	flags(con)
	c := client.New(client.Target{Origin: s.URL, Token: "token"}, "en")
	j := &jobTale{con: con, machine: m, id: "01J", seen: httpapi.Job{JobID: "01J", ChatID: "01C", Status: job.Running}, patience: patience}
	j.stop = func() error { return stopJob(context.WithoutCancel(ctx), c, j.id) }
	s.back = func() bool {
		waits := strings.Contains(e.String(), "does not answer") || strings.Contains(e.String(), "asks for a pause")
		if waits && s.waits != nil {
			s.waits()
		}
		return waits && comesBack
	}
	err = newJobs(con).finish(ctx, c, j, time.Now(), false)
	con.Tell(ctx, err)
	if is, err := os.ReadFile(filepath.Join(root, "a")); string(is) != "two\n" {
		t.Errorf("the file is %q, %v", is, err)
	}
	return o.String(), e.String(), err
}

func reads(method, _ string, told bool) bool { return told && method == http.MethodGet }

// TestACommandWaitsForADeploymentThatIsAway, says so once, and goes on with the job. No call is made twice.
func TestACommandWaitsForADeploymentThatIsAway(t *testing.T) {
	results := func(_, path string, _ bool) bool { return strings.HasSuffix(path, "results") }
	for name, s := range map[string]*absent{
		"while the model is asked":         {away: reads},
		"behind a proxy":                   {away: reads, status: http.StatusBadGateway},
		"behind one that fails":            {away: reads, status: http.StatusInternalServerError},
		"one that fails when it is told":   {away: results, status: http.StatusInternalServerError, serves: true},
		"behind one that gave up":          {away: reads, status: 522},
		"its own, while it starts":         {away: reads, status: http.StatusServiceUnavailable, refuses: true},
		"a limit of a gateway":             {away: reads, status: http.StatusTooManyRequests},
		"a limit when it is told":          {away: results, status: http.StatusTooManyRequests},
		"its own limit":                    {away: reads, status: http.StatusTooManyRequests, refuses: true},
		"its own limit when it is told":    {away: results, status: http.StatusTooManyRequests, refuses: true},
		"when it is told":                  {away: func(_, path string, _ bool) bool { return strings.HasSuffix(path, "results") }},
		"the answer to what was told":      {away: func(_, path string, _ bool) bool { return strings.HasSuffix(path, "results") }, serves: true},
		"before the first call":            {away: func(_, _ string, told bool) bool { return !told }},
		"when the events are read":         {away: func(_, path string, told bool) bool { return told && strings.HasSuffix(path, "events") }},
		"when the job has ended":           {away: func(_, path string, _ bool) bool { return strings.HasSuffix(path, "messages") }},
		"for everything, after it is told": {away: func(_, _ string, told bool) bool { return told }, serves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, said, err := s.follows(t.Context(), t, true, time.Minute, func(*console.Console) {})
			line := "does not answer. It is tried again for 60 seconds"
			if s.status == http.StatusTooManyRequests {
				line = "asks for a pause: it gets too many requests. It is tried again for 60 seconds"
			}
			if err != nil || !strings.HasPrefix(out, "Done.\n") || strings.Count(said, line) != 1 || strings.Count(said, "again for") != 1 || strings.Contains(said, "No answer") {
				t.Errorf("%v\n%s\n%s", err, out, said)
			}
			if len(s.here) == 0 || !s.here[0] {
				t.Errorf("it said that it is there: %v", s.here)
			}
		})
	}
}

// TestADeploymentThatStaysAway: the command prints the record of its own calls, the commands that undo them, and the one
// that shows the job.
func TestADeploymentThatStaysAway(t *testing.T) {
	for name, away := range map[string]func(method, path string, told bool) bool{
		"while the model is asked": func(_, _ string, told bool) bool { return told },
		"when it is told":          func(method, path string, _ bool) bool { return method == http.MethodPost },
		"when the job has ended":   func(_, path string, _ bool) bool { return strings.HasSuffix(path, "messages") },
	} {
		ended := name == "when the job has ended"
		out, said, err := (&absent{away: away}).follows(t.Context(), t, false, time.Millisecond, func(*console.Console) {})
		if ending.CodeOf(err) != ending.Unreachable || strings.Count(said, "No answer came") != 1 || ended != strings.Contains(out, "Done.") ||
			!ended && (!strings.Contains(out, "Edited: a +1 −1") || !strings.Contains(out, "piloto workspace restore -w ") || !strings.Contains(said, "piloto jobs watch 01J")) ||
			strings.Contains(said, "Stopping") {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, said)
		}
		out, said, err = (&absent{away: away}).follows(t.Context(), t, false, time.Millisecond, func(con *console.Console) { con.JSON = true })
		var o outcome
		if wrong := json.Unmarshal([]byte(out), &o); wrong != nil || ending.CodeOf(err) != ending.Unreachable || o.JobID != "01J" ||
			!ended && (len(o.Changes) != 1 || o.Changes[0].Undo == "") || o.Commands == nil || o.Refused == nil {
			t.Errorf("%s: %v %v\n%s\n%s", name, wrong, err, out, said)
		}
	}
}

// TestASignalEndsTheWaitForADeployment at once, and the record is on stderr.
func TestASignalEndsTheWaitForADeployment(t *testing.T) {
	for name, away := range map[string]func(method, path string, told bool) bool{
		"while the model is asked": func(_, _ string, told bool) bool { return told },
		"when it is told":          func(method, path string, _ bool) bool { return method == http.MethodPost },
	} {
		ctx, stop := context.WithCancel(t.Context())
		out, said, err := (&absent{away: away, waits: stop}).follows(ctx, t, false, time.Minute, func(*console.Console) {})
		if !errors.Is(err, context.Canceled) || out != "" || !strings.Contains(said, "Edited: a +1 −1") ||
			strings.Count(said, "No answer came") != 1 || !strings.Contains(said, "piloto jobs watch 01J") {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, said)
		}
	}
}

// TestWhatWasNotTakenIsToldBehindTheStop: the deployment is back when the command is stopped, and gets the results.
func TestWhatWasNotTakenIsToldBehindTheStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := &absent{away: func(_, path string, _ bool) bool { return strings.HasSuffix(path, "results") && ctx.Err() == nil }}
	s.waits = func() { time.AfterFunc(100*time.Millisecond, stop) }
	if _, said, err := s.follows(ctx, t, false, time.Minute, func(*console.Console) {}); !errors.Is(err, context.Canceled) || !s.told {
		t.Errorf("%v, told: %v\n%s", err, s.told, said)
	}
}

// TestARecordIsWholeWhereTheDeploymentDoesNotHaveIt: what it does not take until the end is told as this command did it, also in --json.
func TestARecordIsWholeWhereTheDeploymentDoesNotHaveIt(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		for _, inJSON := range []bool{false, true} {
			t.Run(refusals[status], func(t *testing.T) {
				t.Parallel()
				s := &absent{away: func(_, path string, _ bool) bool { return strings.HasSuffix(path, "results") }, status: status, refuses: true}
				out, said, err := s.follows(t.Context(), t, false, time.Millisecond, func(a *console.Console) { a.JSON = inJSON })
				told := out + said
				if err == nil || strings.Contains(told, "edit_file a") || !strings.Contains(told, "run_command x") || inJSON != strings.Contains(out, `"changes"`) ||
					!inJSON && !strings.Contains(told, "Edited: a +1 −1") {
					t.Errorf("%v\n%s\n%s", err, out, said)
				}
			})
		}
	}
}

// TestTheRecordIsPrintedHoweverACommandEnds, once as JSON, with an exit code that says whether something was changed.
func TestTheRecordIsPrintedHoweverACommandEnds(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   ending.Code
	}{
		"a signal":        {},
		"a limit":         {http.StatusTooManyRequests, ending.Unreachable},
		"its own fault":   {http.StatusInternalServerError, ending.Partial},
		"it lost the job": {http.StatusNotFound, ending.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s, patience := &absent{away: func(_, _ string, told bool) bool { return told }, status: c.status, refuses: true}, time.Millisecond
			if c.status == 0 {
				s.refuses, s.waits, patience = false, stop, time.Minute
			}
			out, said, err := s.follows(ctx, t, false, patience, func(con *console.Console) { con.JSON = true })
			var o outcome
			if wrong := json.Unmarshal([]byte(out), &o); wrong != nil || o.JobID != "01J" || len(o.Changes) != 1 || o.Changes[0].Undo == "" {
				t.Errorf("%v\n%s", wrong, out)
			}
			if (c.status == 0) != errors.Is(err, context.Canceled) || c.status != 0 && (ending.CodeOf(err) != c.code || strings.Count(said, refusals[c.status]) != 1) ||
				strings.Contains(said, "jobs watch") != (c.status != http.StatusNotFound) {
				t.Errorf("%v, %d\n%s", err, ending.CodeOf(err), said)
			}
		})
	}
}
