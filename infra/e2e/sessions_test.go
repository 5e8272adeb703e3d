package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestSessionsAreIsolated: messages arrive at once in a hundred sessions, of two companies that use the same names.
// Each agent call and each memory holds only the words of its own session.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	decider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, reply{text: `{"action":"delegate","agent_name":"eco","response":""}`}.completion())
	}))
	t.Cleanup(decider.Close)
	echo := newToolServer(freeAddress(t))
	if err := echo.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(echo.stop)
	d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+decider.URL+"/v1", "OPENAI_MODEL=fake-1")
	d.mustStart(t)
	c := newClient(d.url(), testToken)
	c.must(t, 201, "POST", "/api/mcps", object("url", echo.url(), "role", "agent", "name", "eco"))

	const sessions, turns = 50, 3 // of each of two companies
	const together = 16           // with more, the machine would be slower than the timeout of a turn
	places := make(chan struct{}, together)
	var wg sync.WaitGroup
	for company := 1; company <= 2; company++ {
		for s := range sessions {
			wg.Go(func() {
				for n := range turns {
					mark := fmt.Sprintf("<%d:%d>", company, s)
					places <- struct{}{}
					a, err := c.do("POST", "/api/agent/chat", object("session_id", fmt.Sprintf("s-%d", s),
						"message", fmt.Sprintf("%s mensaje %d", mark, n), "config", map[string]any{"id_empresa": company}))
					<-places
					if err != nil || a.status != 200 || a.text("agent_used") != "eco" || !strings.Contains(a.text("reply"), mark) {
						t.Errorf("%s: %v %s", mark, err, a)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := echo.got(); len(got) != 2*sessions*turns {
		t.Errorf("%d calls of the agent", len(got))
	}
	for _, call := range echo.got() {
		var in struct {
			Message string
			Context struct {
				Historial []struct{ User, Response string }
			}
		}
		if err := json.Unmarshal(call.Body, &in); err != nil {
			t.Fatal(err)
		}
		mark, _, _ := strings.Cut(in.Message, " ")
		for _, before := range in.Context.Historial {
			if !strings.HasPrefix(before.User, mark+" ") || !strings.Contains(before.Response, mark) {
				t.Errorf("%s was told what %q was answered", mark, before.User)
			}
		}
	}
	for company := 1; company <= 2; company++ {
		for s := range sessions {
			mark := fmt.Sprintf("<%d:%d>", company, s)
			a := c.must(t, 200, "GET", fmt.Sprintf("/memory/s-%d?id_empresa=%d", s, company), "")
			var memory struct {
				Turns []struct{ User, Response string }
			}
			if err := json.Unmarshal(a.body, &memory); err != nil {
				t.Fatal(err)
			}
			for _, turn := range memory.Turns {
				if !strings.HasPrefix(turn.User, mark+" ") || !strings.Contains(turn.Response, mark) {
					t.Errorf("the memory of %s holds %+v", mark, turn)
				}
			}
			if len(memory.Turns) != turns {
				t.Errorf("%s remembers %d of %d", mark, len(memory.Turns), turns)
			}
		}
	}
}
