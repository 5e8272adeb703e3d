package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// TestYesConfirmsOnlyTheCardItsSenderSaw: two people share a chat. One of them has not read the card that the other
// changed. Of five yeses that are sent together, none confirms the card in the refusal of another, and neither does
// a yes that is repeated with its key.
func TestYesConfirmsOnlyTheCardItsSenderSaw(t *testing.T) {
	t.Parallel()
	model := newProvider()
	t.Cleanup(model.Close)
	d := newDeployment(t, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1")
	d.aws = freeAddress(t)
	d.mustStart(t)
	people := map[string]*client{}
	for _, user := range []string{"ana", "bea"} {
		addToken(t, d, auth.Token{
			Hash: ids.Hash("token-of-" + user), Kind: auth.KindToken, Account: "shared", User: user, Scopes: []auth.Scope{auth.ScopeAdmin}, CreatedAt: time.Now(),
		})
		people[user] = newClient(d.url(), "token-of-"+user)
	}
	ana, bea := people["ana"], people["bea"]
	upstream := startOrders(t)
	server := ana.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	edited := func(chat string) (run string) {
		t.Helper()
		step := map[string]any{"mcp_id": server, "method": "POST", "path": "/orders", "body": map[string]any{"item": "tinta", "quantity": 1}}
		card := propose(t, ana, model, chat, step)
		step["id"], step["body"] = "s1", map[string]any{"item": "tinta", "quantity": 99}
		run = card.text("run.run_id")
		bea.must(t, 200, "PATCH", "/api/runs/"+run+"/plan", object("digest", card.text("run.digest"), "steps", []any{step}))
		return run
	}

	t.Run("sent again", func(t *testing.T) {
		for i, word := range []string{"confirmo", "sí"} {
			chat := ana.chat(t)
			run, key := edited(chat), fmt.Sprint("again-", i)
			body := object("chat_id", chat, "message", word)
			if err := problemOf(ana.must(t, 409, "POST", "/api/send", body, "Idempotency-Key", key), 409, "plan.stale"); err != nil {
				t.Error(err)
			}
			for range 2 { // as n8n retries by itself
				a, err := ana.do("POST", "/api/send", body, "Idempotency-Key", key)
				if err != nil || a.text("kind") == "queued" {
					t.Fatalf("the request that was refused, sent again: %v %s", err, a)
				}
			}
			if status := ana.must(t, 200, "GET", "/api/runs/"+run, "").text("status"); status != "draft" {
				t.Fatalf("the run is %s", status)
			}
			if a := ana.say(t, chat, "confirmo"); a.text("kind") != "queued" {
				t.Errorf("a yes to the card that was shown: %s", a)
			}
		}
	})
	t.Run("together", func(t *testing.T) {
		for range 8 {
			chat := ana.chat(t)
			edited(chat)
			const many = 5
			var answers [many]answer
			var sent, told [many]time.Time
			var wg sync.WaitGroup
			barrier := make(chan struct{})
			for i := range many {
				wg.Go(func() {
					<-barrier
					sent[i] = time.Now()
					answers[i], _ = ana.do("POST", "/api/send", object("chat_id", chat, "message", "confirmo"))
					told[i] = time.Now()
				})
			}
			close(barrier)
			wg.Wait()
			first := told[0]
			for _, at := range told {
				if at.Before(first) {
					first = at
				}
			}
			for i, a := range answers {
				if a.text("kind") == "queued" && sent[i].Before(first) {
					t.Errorf("it was sent before anybody was answered: %s", a)
				}
			}
		}
	})
}
