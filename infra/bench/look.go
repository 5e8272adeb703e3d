package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// shelf is a service that is read: an item for each number, at once, or after some milliseconds.
type shelf struct{}

const shelfDocument = `{"openapi":"3.0.3","info":{"title":"Shelf","version":"1"},"paths":{"/items":{"get":{
"operationId":"listItems","summary":"List the items","parameters":[{"name":"n","in":"query","schema":{"type":"integer"}},
{"name":"ms","in":"query","schema":{"type":"integer"}}],"responses":{"200":{"description":"the items"}}}}}}`

func (shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/openapi.json":
		_, _ = io.WriteString(w, shelfDocument)
	case "/items":
		if wait, err := strconv.Atoi(r.URL.Query().Get("ms")); err == nil {
			time.Sleep(time.Duration(wait) * time.Millisecond)
		}
		_, _ = fmt.Fprintf(w, `{"items":[{"id":"i-%s","name":"cinta de embalar","left":12,"price":3}]}`, r.URL.Query().Get("n"))
	default:
		http.NotFound(w, r)
	}
}

// registerShelf registers the service that is read, and returns its id.
func (s *system) registerShelf() (string, error) {
	var server struct {
		ID string `json:"mcp_id"`
	}
	err := s.caller.post(s.origin+"/api/mcps", map[string]any{"url": s.shelfURL, "name": "Shelf", "reads": map[string]any{"mode": "on"}}, &server)
	return server.ID, err
}

// itemsPath is the path that a read-only call reads.
func itemsPath(n, ms int) string { return fmt.Sprintf("/items?ms=%d&n=%d", ms, n) }

// lookCall returns an answer of the model that asks for the n-th look of a scenario.
func lookCall(s scenario, mcpID string, n int) (map[string]any, error) {
	in := map[string]any{"mcp_id": mcpID, "path": "/items", "query": map[string]any{"n": n, "ms": s.ms}}
	if s.refused {
		in["path"] = "/nothing"
	}
	raw, err := json.Marshal(in)
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
		"id": "call_" + strconv.Itoa(n), "type": "function", "function": map[string]any{"name": "look", "arguments": string(raw)},
	}}}, err
}

// jobs runs jobs of the system, one at a time.
type jobs struct {
	sys   *system
	of    scenario
	chats chan string
}

func newJobs(sys *system, of scenario) *jobs { return &jobs{sys, of, make(chan string, 1<<16)} }

func (j *jobs) prepare(n int) error {
	return runParallel(mostClients, n, func() error {
		id, err := j.sys.newChat()
		j.chats <- id
		return err
	})
}

func (j *jobs) operate() error {
	_, err := j.sys.work(<-j.chats, j.of)
	return err
}

// work starts a job in a chat, and returns its id when it is done. It reads the job only after the model gave the last
// answer, again and again after 0.4 ms or 1/25 of the time so far.
func (s *system) work(chat string, sc scenario) (string, error) {
	began := time.Now()
	var is struct {
		ID     string `json:"job_id"`
		Status string
		Rounds int
		Looks  int
	}
	over := s.model.watch()
	err := s.caller.post(s.origin+"/api/agents/build/jobs", map[string]any{"prompt": promptFor(sc.kind), "chat_id": chat}, &is)
	if err != nil {
		return "", err
	}
	select {
	case <-over:
	case <-time.After(runLimit):
		return "", fmt.Errorf("job %s: no last answer after %v", is.ID, runLimit)
	}
	for is.Status == "running" {
		if time.Since(began) > runLimit {
			return "", fmt.Errorf("job %s has not ended after %v", is.ID, runLimit)
		}
		time.Sleep(max(400*time.Microsecond, time.Since(began)/25))
		if err := s.caller.get(s.origin+"/api/jobs/"+is.ID, &is); err != nil {
			return "", err
		}
	}
	if is.Status != "success" || is.Rounds != sc.looks+1 || is.Looks != sc.looks {
		return "", fmt.Errorf("job %s ended %q after %d rounds and %d looks", is.ID, is.Status, is.Rounds, is.Looks)
	}
	return is.ID, nil
}

// bareGet makes the request of a read, and nothing else.
type bareGet struct {
	sys *system
	of  scenario
}

func (bareGet) prepare(int) error { return nil }

func (g bareGet) operate() error {
	return g.sys.caller.get(g.sys.shelfURL+itemsPath(0, g.of.ms), nil)
}

// looked compares the time that a read adds to a turn with the same request alone. A turn that looks is compared with the same
// turn whose look is refused before it is sent: both call the model twice.
type looked struct {
	Name       string  `json:"name"`
	Operations int     `json:"operations"`
	Turn       float64 `json:"turn_p50_us"`
	Refused    float64 `json:"refused_p50_us"`
	Added      float64 `json:"added_us"` // the median of the differences
	Get        float64 `json:"get_p50_us"`
	Ratio      float64 `json:"ratio"`
	Aim        float64 `json:"aim"` // at most
}

// mostLook is the aim for a read: the added time, as a multiple of the request.
const mostLook = 1.5

var lookScenarios = []scenario{
	{name: "a look", kind: "look", looks: 1},
	{name: "a look at a service that takes 20 ms", kind: "slowlook", looks: 1, ms: 20},
}

// look measures one scenario of looks.
func (b *bench) look(s scenario, shelfID string) error {
	without := s
	without.kind, without.refused = s.kind+"-refused", true
	for _, of := range []scenario{s, without} {
		if err := b.sys.model.script(of, shelfID); err != nil {
			return err
		}
	}
	subjects := []subject{newTurns(b.sys, s), newTurns(b.sys, without), bareGet{b.sys, s}}
	for _, of := range subjects { // warmed up
		for range b.counted {
			if err := of.prepare(1); err != nil {
				return err
			}
			if err := of.operate(); err != nil {
				return err
			}
		}
	}
	took, err := latencies(subjects, 2*b.latency)
	if err != nil {
		return err
	}
	added := make([]time.Duration, len(took[0]))
	for i := range added {
		added[i] = took[0][i] - took[1][i]
	}
	l := looked{
		Name: s.name, Operations: len(added), Turn: micros(quantile(took[0], 0.5)), Refused: micros(quantile(took[1], 0.5)),
		Added: micros(quantile(added, 0.5)), Get: micros(quantile(took[2], 0.5)), Aim: mostLook,
	}
	l.Ratio = ratio(l.Added, l.Get)
	b.out.Looks = append(b.out.Looks, l)
	return nil
}

// looks measures the scenarios of looks, and of jobs that look.
func (b *bench) looks() error {
	wanted := func(s scenario) bool { return b.only.MatchString(s.name) }
	if !slices.ContainsFunc(slices.Concat(lookScenarios, jobScenarios), wanted) {
		return nil
	}
	shelfID, err := b.sys.registerShelf()
	if err != nil {
		return err
	}
	for _, s := range lookScenarios {
		if wanted(s) {
			if err := b.look(s, shelfID); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	for _, s := range jobScenarios {
		if wanted(s) {
			if err := b.sys.model.script(s, shelfID); err != nil {
				return err
			}
			if err := b.scenario(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

func (r report) lookTable(out io.Writer) error {
	if len(r.Looks) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nlooks, ms\tn\tturn\trefused\tadded\tGET\tadded / GET\taim\t")
	for _, l := range r.Looks {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%.2f\t≤ %g×: %s\t\n", l.Name, l.Operations, ms(l.Turn), ms(l.Refused), ms(l.Added), ms(l.Get), l.Ratio, l.Aim, aimText(l.Ratio <= l.Aim))
	}
	return w.Flush()
}
