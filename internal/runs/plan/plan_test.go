package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLifecycleAllowsOnlyTheAgreedEdges(t *testing.T) {
	legal := map[string]bool{}
	for _, e := range []string{
		"draft>queued", "draft>cancelled", "draft>expired", "draft>superseded",
		"queued>running", "queued>cancelled", "queued>error",
		"running>waiting", "running>done", "running>error", "running>cancelled", "running>in_doubt",
		"waiting>running", "waiting>error", "waiting>cancelled", "waiting>in_doubt",
	} {
		legal[e] = true
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			edge := string(from) + ">" + string(to)
			if from.CanBecome(to) != legal[edge] {
				t.Errorf("%s: CanBecome = %v", edge, !legal[edge])
			}
		}
		if from.Terminal() && from.Active() {
			t.Errorf("%s is terminal and active", from)
		}
	}
}

func sample() Plan {
	return Plan{
		ID: "01P", Revision: 1, Goal: "Reservar", ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Steps: []Step{{
			ID: EffectOf("s1"), Title: "t", MCPID: "m", Method: "POST", Path: "/r", Needs: []string{},
			Query: json.RawMessage(`{"a":1}`), Body: json.RawMessage(`{"n":9007199254740993}`), Risk: Write,
		}},
		Bindings: []Binding{{StepID: EffectOf("s1"), MCPID: "m", ServerName: "S", BaseURL: "http://x", Template: "/r", Fingerprint: "f"}},
	}
}

func TestDigestCoversEveryField(t *testing.T) {
	base, err := sample().Digest()
	if err != nil {
		t.Fatal(err)
	}
	if !base.Valid() {
		t.Fatalf("%q is not a digest", base)
	}
	changes := map[string]func(*Plan){
		"id":          func(p *Plan) { p.ID = "01Q" },
		"revision":    func(p *Plan) { p.Revision++ },
		"goal":        func(p *Plan) { p.Goal += "." },
		"expiry":      func(p *Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Second) },
		"step id":     func(p *Plan) { p.Steps[0].ID = EffectOf("s2") },
		"title":       func(p *Plan) { p.Steps[0].Title = "u" },
		"server":      func(p *Plan) { p.Steps[0].MCPID = "n" },
		"method":      func(p *Plan) { p.Steps[0].Method = "PUT" },
		"path":        func(p *Plan) { p.Steps[0].Path = "/s" },
		"query":       func(p *Plan) { p.Steps[0].Query = json.RawMessage(`{"a":2}`) },
		"body digits": func(p *Plan) { p.Steps[0].Body = json.RawMessage(`{"n":9007199254740992}`) },
		"needs":       func(p *Plan) { p.Steps[0].Needs = []string{"s0"} },
		"risk":        func(p *Plan) { p.Steps[0].Risk = Read },
		"base url":    func(p *Plan) { p.Bindings[0].BaseURL = "http://y" },
		"template":    func(p *Plan) { p.Bindings[0].Template = "/{x}" },
		"fingerprint": func(p *Plan) { p.Bindings[0].Fingerprint = "g" },
		"server name": func(p *Plan) { p.Bindings[0].ServerName = "T" },
		"a step more": func(p *Plan) { p.Steps = append(p.Steps, Step{ID: EffectOf("s9"), Needs: []string{}}) },
	}
	for name, change := range changes {
		p := sample()
		change(&p)
		if got, err := p.Digest(); err != nil || got == base {
			t.Errorf("%s changed, and the digest did not (%v)", name, err)
		}
	}
}

func TestDigestIgnoresHowJSONIsWritten(t *testing.T) {
	a, b := sample(), sample()
	a.Steps[0].Query = json.RawMessage(`{"a":1.0,"b":[1e2]}`)
	b.Steps[0].Query = json.RawMessage("{ \"b\":[100],\n\"a\":1 }")
	da, _ := a.Digest()
	db, _ := b.Digest()
	if da != db {
		t.Errorf("the same plan has two digests")
	}
}

func TestDigestSeparatesDifferentNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.StringMatching(`-?[1-9][0-9]{0,24}`)
		x, y := n.Draw(t, "x"), n.Draw(t, "y")
		a, b := sample(), sample()
		a.Steps[0].Body, b.Steps[0].Body = json.RawMessage(x), json.RawMessage(y)
		da, errA := a.Digest()
		db, errB := b.Digest()
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (da == db) != (x == y) {
			t.Fatalf("%s and %s: equal digests %v", x, y, da == db)
		}
	})
}

func TestDigestAcceptsTinyAndHugeNumbers(t *testing.T) {
	for _, n := range []string{"1e-400", "0e999999999", "1e-99999999", "0.1", "-0", "5e-324", "123456789012345678901234567890"} {
		p := sample()
		p.Steps[0].Body = json.RawMessage(n)
		if _, err := p.Digest(); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func steps(needs ...string) Proposal {
	p := Proposal{Goal: "g"}
	for i, n := range needs {
		s := ProposedStep{ID: fmt.Sprintf("s%d", i+1), MCPID: "m", Method: "get", Path: "/x"}
		if n != "-" {
			list := []string{}
			if n != "" {
				list = []string{n}
			}
			s.Needs = &list
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func TestArrange(t *testing.T) {
	withRef := steps("", "")
	withRef.Steps[1].Path = "/x/${s1.body.id}"
	selfRef := steps("")
	selfRef.Steps[0].Body = json.RawMessage(`{"a":["${s1.status}"]}`)
	foreign := steps("")
	foreign.Steps[0].Query = json.RawMessage(`{"a":"${s7.body}"}`)
	broken := steps("")
	broken.Steps[0].Path = "/${s1"
	badID := steps("")
	badID.Steps[0].ID = "1 x"
	twice := steps("", "")
	twice.Steps[1].ID = "s1"
	for name, c := range map[string]struct {
		in    Proposal
		waves [][]string
		wrong string
	}{
		"steps are in order unless they say otherwise": {steps("-", "-", "-"), [][]string{{"s1"}, {"s2"}, {"s3"}}, ""},
		"independent steps share a wave":               {steps("", "", "s1"), [][]string{{"s1", "s2"}, {"s3"}}, ""},
		"a reference is a need":                        {withRef, [][]string{{"s1"}, {"s2"}}, ""},
		"nothing":                                      {Proposal{}, nil, "missing"},
		"too many":                                     {steps(slices.Repeat([]string{""}, 51)...), nil, "too_long"},
		"a circle":                                     {steps("s2", "s1"), nil, "cycle"},
		"itself":                                       {steps("s1"), nil, "cycle"},
		"an unknown need":                              {steps("s9"), nil, "unknown"},
		"a reference to itself":                        {selfRef, nil, "reference"},
		"a reference to nothing":                       {foreign, nil, "reference"},
		"a broken reference":                           {broken, nil, "reference"},
		"an id that cannot be named":                   {badID, nil, "invalid"},
		"an id twice":                                  {twice, nil, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			got, wrong := Arrange(c.in)
			if c.wrong != "" {
				if len(wrong) == 0 || wrong[0].Type != c.wrong {
					t.Fatalf("problems %v, want %s", wrong, c.wrong)
				}
				return
			}
			if len(wrong) > 0 {
				t.Fatal(wrong)
			}
			waves, err := Waves(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.waves, texts(waves)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWavesNeverExceedTheParallelLimitAndKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxSteps).Draw(t, "n")
		list := make([]Step, n)
		for i := range list {
			list[i].ID = EffectOf(fmt.Sprintf("s%d", i))
			list[i].Risk = rapid.SampledFrom([]Risk{Read, Write, Destructive}).Draw(t, "risk")
			for j := range i {
				if rapid.IntRange(0, 9).Draw(t, "edge") == 0 {
					list[i].Needs = append(list[i].Needs, list[j].ID.String())
				}
			}
			if n := len(list[i].Needs); n > 0 && rapid.Bool().Draw(t, "list") {
				list[i].ForEach = "${" + list[i].Needs[n-1] + ".body}"
			}
		}
		waves, err := Waves(list)
		if err != nil {
			t.Fatal(err)
		}
		place := map[string]int{}
		for w, wave := range waves {
			if len(wave) > MaxParallel {
				t.Fatalf("a wave of %d", len(wave))
			}
			for _, id := range wave {
				if _, twice := place[id.String()]; twice {
					t.Fatalf("%s runs twice", id)
				}
				place[id.String()] = w
			}
		}
		for _, s := range list {
			for _, need := range s.Needs {
				if place[need] >= place[s.ID.String()] {
					t.Fatalf("%s runs no later than %s, which needs it", need, s.ID)
				}
			}
		}
		for read := range readsOfLists(list) {
			for _, s := range list {
				if s.Risk != Read && place[s.ID.String()] <= place[read] {
					t.Fatalf("%s changes something before the list of %s is known", s.ID, read)
				}
			}
		}
	})
}
