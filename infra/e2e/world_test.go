package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// startOrders starts the service of testdata/service/orders.yaml.
func startOrders(t testing.TB) *service { return startOrdersAt(t, freeAddress(t)) }

func startOrdersAt(t testing.TB, addr string) *service {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", "service", "orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := newService(addr, "/openapi.yaml", string(document))
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// startScripted starts a deployment whose model is a scripted provider.
func startScripted(t testing.TB, env ...string) (*deployment, *client, *provider) {
	t.Helper()
	d, model := newScripted(t, env...)
	d.mustStart(t)
	return d, newClient(d.url(), testToken), model
}

func newScripted(t testing.TB, env ...string) (*deployment, *provider) {
	t.Helper()
	model := newProvider()
	t.Cleanup(model.Close)
	return newDeployment(t, append(env, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1")...), model
}

// startScriptedWithTable does the same as scripted, and gives the test access to the table.
func startScriptedWithTable(t testing.TB) (*deployment, *client, *provider) {
	t.Helper()
	d, model := newScripted(t)
	d.aws = freeAddress(t)
	d.mustStart(t)
	return d, newClient(d.url(), testToken), model
}

const neighbour = "token-of-another-account"

// newNeighbour gives a person of another account a token with scopes, and returns a client with it.
func newNeighbour(t testing.TB, d *deployment, scopes ...auth.Scope) *client {
	t.Helper()
	addToken(t, d, auth.Token{
		Hash: ids.Hash(neighbour), Kind: auth.KindToken, Account: "neighbour", User: "eve", Scopes: scopes, CreatedAt: time.Now(),
	})
	return newClient(d.url(), neighbour)
}

// startDemonstration starts a deployment without configuration.
func startDemonstration(t testing.TB) (*deployment, *client) {
	t.Helper()
	d := newDeployment(t)
	d.mustStart(t)
	return d, newClient(d.url(), testToken)
}

// askToRead makes the demonstration service read only after a confirmation, so that its plans begin with reads.
func askToRead(t testing.TB, c *client) {
	t.Helper()
	list := c.must(t, 200, "GET", "/api/mcps", "")
	if list.text("mcps.0.name") != "Reservas" || list.text("mcps.0.reads.mode") != "on" {
		t.Fatalf("the demonstration is not read by default: %s", list)
	}
	c.must(t, 200, "PUT", "/api/mcps/"+list.text("mcps.0.mcp_id")+"/reads", object("mode", "off"))
}

func (d *deployment) mustStart(t testing.TB) {
	t.Helper()
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
}

// work has an agent that only looks end a job of a client.
func work(t testing.TB, c *client, model *provider) string {
	t.Helper()
	model.will(reply{text: "Hecho."})
	id := c.must(t, 202, "POST", "/api/agents/plan/jobs", object("prompt", "Mira qué hay")).text("job_id")
	err := eventually(patience, func() error {
		if a := c.must(t, 200, "GET", "/api/jobs/"+id, ""); a.text("status") != "success" {
			return fmt.Errorf("the job has not ended: %s", a)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// propose makes the model propose one request, and returns the answer with its run.
func propose(t testing.TB, c *client, model *provider, chat string, steps ...map[string]any) answer {
	t.Helper()
	name, arguments := "propose_plan", object("goal", "Prueba", "steps", steps)
	if len(steps) == 1 {
		delete(steps[0], "id")
		delete(steps[0], "title")
		raw := []any{}
		for k, v := range steps[0] {
			raw = append(raw, k, v)
		}
		name, arguments = "mcp_request", object(raw...)
	}
	model.will(reply{calls: []call{{name, arguments}}})
	a := c.say(t, chat, "Prepara lo que hace falta")
	if a.text("kind") != "plan" {
		t.Fatalf("no plan: %s", a)
	}
	return a
}
