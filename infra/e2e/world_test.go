package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// startOrders starts the service of testdata/service/orders.yaml.
func startOrders(t testing.TB) *service {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", "service", "orders.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := newService(freeAddress(t), "/openapi.yaml", string(document))
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// scripted starts a deployment whose model is a scripted provider.
func scripted(t testing.TB, env ...string) (*deployment, *client, *provider) {
	t.Helper()
	model := newProvider()
	t.Cleanup(model.Close)
	d := newDeployment(t, append(env, "PILOTO_DEMO=off", "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_MODEL=fake-1")...)
	d.mustStart(t)
	return d, newClient(d.url(), testToken), model
}

// demonstration starts a deployment with nothing configured.
func demonstration(t testing.TB) (*deployment, *client) {
	t.Helper()
	d := newDeployment(t)
	d.mustStart(t)
	return d, newClient(d.url(), testToken)
}

func (d *deployment) mustStart(t testing.TB) {
	t.Helper()
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
}

// proposed has the model propose one request, and returns the answer with its run.
func proposed(t testing.TB, c *client, model *provider, chat string, steps ...map[string]any) answer {
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
