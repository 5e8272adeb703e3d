package step

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

func planOf(body string) plan.Plan {
	return plan.Plan{
		ID: "p1", Revision: 1, Goal: "Reservar", ExpiresAt: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC),
		Steps:    []plan.Step{{ID: plan.EffectOf("s1"), Title: "Reservar", MCPID: "m1", Method: "POST", Path: "/bookings", Body: json.RawMessage(body)}},
		Bindings: []plan.Binding{{StepID: plan.EffectOf("s1"), MCPID: "m1", BaseURL: "https://rooms.example", Template: "/bookings", Fingerprint: "f"}},
	}
}

func TestDigestCacheRefusesPlanChangedLater(t *testing.T) {
	was := planOf(`{"room":"norte","n":9007199254740993}`)
	digest, err := was.Digest()
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]func(*plan.Plan){
		"goal":        func(p *plan.Plan) { p.Goal += "." },
		"revision":    func(p *plan.Plan) { p.Revision++ },
		"expiry":      func(p *plan.Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Second) },
		"method":      func(p *plan.Plan) { p.Steps[0].Method = "PUT" },
		"path":        func(p *plan.Plan) { p.Steps[0].Path = "/bookings/1" },
		"body":        func(p *plan.Plan) { p.Steps[0].Body = json.RawMessage(`{"room":"sur","n":9007199254740993}`) },
		"last digit":  func(p *plan.Plan) { p.Steps[0].Body = json.RawMessage(`{"room":"norte","n":9007199254740992}`) },
		"base URL":    func(p *plan.Plan) { p.Bindings[0].BaseURL = "https://rooms.evil.example" },
		"template":    func(p *plan.Plan) { p.Bindings[0].Template = "/{any}" },
		"fingerprint": func(p *plan.Plan) { p.Bindings[0].Fingerprint = "g" },
	}
	for name, change := range changes {
		var n digestCache
		for range 2 { // computed, then cached
			if !n.check(planOf(`{"room":"norte","n":9007199254740993}`), digest) {
				t.Fatal("the plan itself is not intact")
			}
		}
		changed := planOf(`{"room":"norte","n":9007199254740993}`)
		change(&changed)
		if n.check(changed, digest) {
			t.Errorf("another %s went unnoticed", name)
		}
		if !n.check(was, digest) {
			t.Errorf("after another %s the plan itself is refused", name)
		}
	}
}

func TestDigestCacheIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of plans")
	}
	var n digestCache
	for i := range 12 {
		p := planOf(`{"room":"` + strings.Repeat("x", maxCachedPlans/8) + `"}`)
		p.Revision = i
		digest, err := p.Digest()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // computed, then cached
			if !n.check(p, digest) {
				t.Fatal("the plan is not intact")
			}
		}
		if n.size > maxCachedPlans {
			t.Fatalf("%d bytes are remembered", n.size)
		}
	}
}
