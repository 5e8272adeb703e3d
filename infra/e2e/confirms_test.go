package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// confirms is the number of simultaneous confirms of one draft. A busy machine can answer this many within the
// timeout of a request; the test in package run uses five hundred.
const confirms = 150

// TestManyConfirmsExecuteOnce sends many confirms of one draft at the same time: by the button, in words, and
// repeated presses. One of them wins, and the plan is executed once.
func TestManyConfirmsExecuteOnce(t *testing.T) {
	t.Parallel()
	_, c, model := startScripted(t)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	for _, round := range []struct {
		name string
		held bool // the first step waits: the run cannot end before the last confirm
		ways []string
	}{
		{"while it runs", true, []string{words, press, button, button, fresh}},
		{"until it has ended", false, []string{words, press, button, fresh}},
		{"in words only", true, []string{words}},
		{"one press, repeated", false, []string{press}},
	} {
		t.Run(round.name, func(t *testing.T) {
			held, name := round.held, "/orders/"+strings.ReplaceAll(round.name, " ", "-")+"/pay"
			chat := c.chat(t)
			run := propose(t, c, model, chat,
				map[string]any{"id": "s1", "title": "uno", "mcp_id": server, "method": "POST", "path": name},
				map[string]any{"id": "s2", "title": "dos", "mcp_id": server, "method": "PUT", "path": "/orders/${s1.body.id}", "body": map[string]any{}},
				map[string]any{"id": "s3", "title": "tres", "mcp_id": server, "method": "POST", "path": "/orders/${s2.body.id}/pay"})
			if held {
				upstream.behave("POST "+name, behaviour{kind: behaveHold})
			}
			before := len(upstream.got(""))
			answers := confirmTogether(t, c, chat, run, round.ways, confirms)
			if held {
				upstream.release()
			}
			id := run.text("run.run_id")
			ended, err := c.waitEnded(id)
			if err != nil || ended.text("status") != "done" {
				t.Fatalf("%v %s", err, ended)
			}
			checkConfirms(t, answers, held)
			if n := len(upstream.got("")) - before; n != 3 {
				t.Errorf("three steps reached the service %d times", n)
			}
			events := c.must(t, 200, "GET", "/api/runs/"+id+"/events?limit=500", "")
			for _, typ := range []string{"run.confirmed", "run.started", "run.finished"} {
				if n := strings.Count(string(events.body), typ+`"`); n != 1 {
					t.Errorf("%d events say %s: %s", n, typ, events)
				}
			}
			messages := everyMessage(t, c, chat)
			if n := strings.Count(messages, `"kind":"final"`); n != 1 {
				t.Errorf("%d final messages", n)
			}
			if n := strings.Count(messages, "Confirmado. Ejecutando plan"); n != 1 {
				t.Errorf("%d messages say that it was confirmed", n)
			}
		})
	}
}

// The kinds of confirm.
const (
	words  = "words"  // a typed yes
	button = "button" // the digest
	fresh  = "fresh"  // the digest, with an Idempotency-Key of its own
	press  = "press"  // the digest, with one Idempotency-Key for all
)

// attempt is one confirm and its answer.
type attempt struct {
	way string
	answer
}

// everyMessage returns all pages of a chat's messages.
func everyMessage(t *testing.T, c *client, chat string) string {
	t.Helper()
	var all strings.Builder
	for cursor := ""; ; {
		a := c.must(t, 200, "GET", "/api/chats/"+chat+"/messages?limit=200&cursor="+cursor, "")
		all.Write(a.body)
		if cursor = a.text("cursor"); cursor == "" {
			return all.String()
		}
	}
}

func confirmTogether(t *testing.T, c *client, chat string, run answer, ways []string, n int) []attempt {
	t.Helper()
	path, digest := "/api/runs/"+run.text("run.run_id")+"/confirm", object("digest", run.text("run.digest"))
	attempts := make([]attempt, n)
	errs := make([]error, n)
	barrier := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-barrier
			a := &attempts[i]
			a.way = ways[i%len(ways)]
			switch a.way {
			case words:
				a.answer, errs[i] = c.do("POST", "/api/send", object("chat_id", chat, "message", "confirmo"))
			case press:
				a.answer, errs[i] = c.do("POST", path, digest, "Idempotency-Key", "the-one-press")
			case fresh:
				a.answer, errs[i] = c.do("POST", path, digest, "Idempotency-Key", fmt.Sprint("press-", i))
			default:
				a.answer, errs[i] = c.do("POST", path, digest)
			}
		})
	}
	close(barrier)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("confirm %d: %v", i, err)
		}
	}
	return attempts
}

// checkConfirms checks the answers: there is one winner, repeated presses get the same answer, and every other
// confirm gets a refusal with a reason. A yes in words that comes too late is answered like any yes without a plan.
func checkConfirms(t *testing.T, attempts []attempt, held bool) {
	t.Helper()
	won := map[string]int{}
	refusals := []string{"plan.already_running"}
	notices := []string{"Ya está ejecutándose."}
	if !held {
		refusals = append(refusals, "plan.not_pending")
		notices = append(notices, "No hay plan pendiente.")
	}
	for _, a := range attempts {
		switch {
		case a.way != words && a.status == 202, a.way == words && a.status == 200 && a.text("kind") == "queued":
			won[a.way]++
		case a.status == 409 && slices.Contains(refusals, a.text("code")):
		case a.way == words && a.text("kind") == "notice" && slices.ContainsFunc(notices, func(n string) bool { return strings.HasPrefix(a.text("message.content"), n) }):
		default:
			t.Errorf("%s: %s", a.way, a.answer)
		}
	}
	t.Logf("won: %v", won)
	if len(won) != 1 {
		t.Fatalf("not one way won: %v", won)
	}
	presses := 0
	for _, a := range attempts {
		if a.way == press {
			presses++
		}
	}
	if won[press] != 0 && won[press] != presses || won[press] == 0 && won[button]+won[fresh]+won[words] != 1 {
		t.Errorf("not one confirm won: %v", won)
	}
}
