//go:build linux || darwin

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"piloto/cmd/piloto/cli/ending"
)

// TestARefusalSaysWhatMayHaveBeenDone: of each command that changes something, beside the refusal of Piloto itself, and after
// a signal while its answer is on its way.
func TestARefusalSaysWhatMayHaveBeenDone(t *testing.T) {
	problem := func(status int, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"code":"x.y","detail":"Refused with %d.","status":%d}`, status, status)
		}
	}
	lose := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	interrupt := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client left
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-r.Context().Done()
	}
	digest := strings.Repeat("ab", 32)
	run := `{"run_id":"01A","status":"%s","digest":"` + digest + `","steps":[{"id":"s1","title":"t","approval":{"request_digest":"` + digest + `"}}]}`
	for _, c := range []struct {
		status string // of the run
		says   string
		keyed  bool // a lost request is sent again
		args   []string
	}{
		{"draft", "It may be confirmed, and the plan 01A may be running. Before you repeat it, look how it is: piloto runs show 01A", true, []string{"runs", "confirm", "01A", "--digest", digest}},
		{"draft", "piloto runs show 01A", false, []string{"runs", "reject", "01A"}},
		{"running", "piloto runs show 01A", false, []string{"runs", "cancel", "01A"}},
		{"waiting", "the plan 01A may go on. Before you repeat it, look how it is: piloto runs show 01A", false, []string{"runs", "approve", "01A", "--digest", digest}},
		{"waiting", "piloto runs show 01A", false, []string{"runs", "approve", "01A", "--refuse", "--digest", digest}},
		{"in_doubt", "piloto runs show 01A", false, []string{"runs", "settle", "01A", "s1", "--outcome", "done"}},
		{"error", "The plan may be proposed already", false, []string{"runs", "retry", "01A"}},
		{"done", "The plan may be proposed already", false, []string{"runs", "undo", "01A"}},
		{"done", "The plan may be proposed already", false, []string{"runs", "repeat", "01A"}},
		{"draft", "what it asked for may be running", false, []string{"decide", "confirm", "01A=" + digest}},
		{"draft", "It may have arrived", true, []string{"send", "--chat", "01C", "hi"}},
		{"draft", "The job may have started", true, []string{"run", "hi", "--chat", "01C"}},
	} {
		for name, a := range map[string]struct {
			code    ending.Code
			says    string
			answers []http.HandlerFunc
			keyed   bool
			sure    bool
		}{
			"its own error":       {ending.Failed, "Refused with 500.", []http.HandlerFunc{problem(500, "99")}, false, false},
			"of a gateway":        {ending.Unreachable, "Refused with 502.", []http.HandlerFunc{problem(502, "99")}, false, false},
			"lost, then too many": {ending.Unreachable, "Refused with 429.", []http.HandlerFunc{lose, problem(429, "99")}, true, false},
			"lost, then stopping": {ending.Unreachable, "Refused with 503.", []http.HandlerFunc{lose, problem(503, "99")}, true, false},
			"lost, then no right": {ending.Unauthenticated, "Refused with 401.", []http.HandlerFunc{lose, problem(401, "")}, true, false},
			"a signal":            {ending.Interrupted, "nobody waited any longer", []http.HandlerFunc{interrupt}, false, false},
			"refused":             {ending.Failed, "Refused with 409.", []http.HandlerFunc{problem(409, "")}, false, true},
			"too many":            {ending.Unreachable, "Refused with 429.", []http.HandlerFunc{problem(429, "99")}, false, true},
		} {
			if a.keyed && !c.keyed {
				continue
			}
			var n atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = fmt.Fprintf(w, run, c.status)
					return
				}
				a.answers[n.Add(1)-1](w, r)
			}))
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			p, _, errOut := newApp(map[string]string{"PILOTO_TOKEN": "token-of-ana"}, "")
			code := p.run(append([]string{"--at", s.URL, "--lang", "en"}, c.args...))
			s.Close()
			said := strings.ReplaceAll(errOut.String(), "piloto --at "+s.URL, "piloto")
			if code != a.code || !strings.Contains(said, a.says) || strings.Contains(said, c.says) == a.sure || strings.Count(said, "piloto: ") != 1 {
				t.Errorf("%v, %s: %d, %q", c.args, name, code, said)
			}
		}
	}
}
