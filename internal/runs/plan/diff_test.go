package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/internal/ground/ref"
)

// rich returns a plan in which every field has a value.
func rich() Plan {
	condition := func(text string) (c ref.Condition) {
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		return c
	}
	when := condition(`{"all":[{"value":"${s1.status}","is":"equal","to":200},{"not":{"value":"${s1.body.x}","is":"absent"}}]}`)
	return Plan{
		ID: "01P", Revision: 2, Goal: "Reservar", ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ceiling: 4000,
		Replaces: Digest(strings.Repeat("a", 64)), Reuse: &Reuse{RunID: "01R", Steps: []EffectID{EffectOf("s1")}},
		Steps: []Step{
			{ID: EffectOf("s1"), Title: "Salas", MCPID: "m", Method: "GET", Path: "/rooms", Query: json.RawMessage(`{"seats":6}`), Needs: []string{}, Risk: Read},
			{
				ID: EffectOf("s2"), Title: "Reservar", MCPID: "m", Method: "POST", Path: "/bookings", Needs: []string{"s1"}, Risk: Write,
				Body: json.RawMessage(`{"date":"2026-03-06","who":["ana","luis"],"n":9007199254740993,"a/b":{"deep":true}}`),
				When: &when, ForEach: "${s1.body.items}",
				Undo:    &Undo{Call: Call{MCPID: "m", Method: "DELETE", Path: "/bookings/${s2.body.id}"}, Suggested: true},
				Verify:  &Check{Call: Call{MCPID: "m", Method: "GET", Path: "/bookings", Query: json.RawMessage(`{"q":"x"}`)}, Expect: condition(`{"value":"${check.status}","is":"equal","to":200}`)},
				Ask:     &Ask{Reason: "caro", Rule: "r1", Another: true, Minutes: 60},
				Targets: []Target{{Ref: "s1.body.items[0].id", Value: json.RawMessage(`7`), Label: "Sala Norte"}},

				Unanswered: &Doubt{RunID: "01Q", StepID: EffectOf("s2"), Elements: 2},
			},
			{ID: EffectOf("s3"), Title: "Avisar", MCPID: "n", Tool: "notify", Body: json.RawMessage(`{"text":"ya"}`), Needs: []string{"s2"}, Risk: Destructive},
		},
		Bindings: []Binding{
			{StepID: EffectOf("s1"), MCPID: "m", ServerName: "S", BaseURL: "http://x", Template: "/rooms", Fingerprint: "f"},
			{StepID: EffectOf("s2"), MCPID: "m", ServerName: "S", BaseURL: "http://x", Template: "/bookings", Fingerprint: "g"},
			{StepID: ParseEffect("undo:s2"), MCPID: "m", ServerName: "S", BaseURL: "http://x", Template: "/bookings/{id}", Fingerprint: "h"},
			{StepID: ParseEffect("check:s2"), MCPID: "m", ServerName: "S", BaseURL: "http://x", Template: "/bookings", Fingerprint: "i"},
			{StepID: EffectOf("s3"), MCPID: "n", ServerName: "N", BaseURL: "http://n", Fingerprint: "j"},
		},
	}
}

func TestDiffListsChangesAsAPersonReadsThem(t *testing.T) {
	body := func(text string) func(*Plan) { return func(p *Plan) { p.Steps[1].Body = json.RawMessage(text) } }
	for name, c := range map[string]struct {
		change func(*Plan)
		want   string // "step field kind before → after", one line for each change
	}{
		"nothing":              {func(*Plan) {}, ""},
		"the same, rewritten":  {body(`{"n":9007199254740993, "a/b":{"deep":true},"who":["ana","luis"],"date":"2026-03-06"}`), ""},
		"a date":               {body(`{"date":"2026-03-10","who":["ana","luis"],"n":9007199254740993,"a/b":{"deep":true}}`), `s2 body/date changed "2026-03-06" → "2026-03-10"`},
		"the last digit":       {body(`{"date":"2026-03-06","who":["ana","luis"],"n":9007199254740992,"a/b":{"deep":true}}`), `s2 body/n changed 9007199254740993 → 9007199254740992`},
		"one of a list":        {body(`{"date":"2026-03-06","who":["ana","eva","luis"],"n":9007199254740993,"a/b":{"deep":true}}`), "s2 body/who/1 changed \"luis\" → \"eva\"\ns2 body/who/2 added  → \"luis\""},
		"a member more, less":  {body(`{"who":["ana","luis"],"n":9007199254740993,"a/b":{"deep":true,"more":null}}`), "s2 body/a~1b/more added  → null\ns2 body/date removed \"2026-03-06\" → "},
		"another type":         {body(`[1]`), `s2 body changed {"date":"2026-03-06","who":["ana","luis"],"n":9007199254740993,"a/b":{"deep":true}} → [1]`},
		"no body":              {body(``), `s2 body removed {"date":"2026-03-06","who":["ana","luis"],"n":9007199254740993,"a/b":{"deep":true}} → `},
		"the goal":             {func(p *Plan) { p.Goal = "Otra" }, ` goal changed "Reservar" → "Otra"`},
		"the expiry":           {func(p *Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Hour) }, ` expires_at changed "2026-01-02T03:04:05Z" → "2026-01-02T04:04:05Z"`},
		"less than a second":   {func(p *Plan) { p.ExpiresAt = p.ExpiresAt.Add(time.Millisecond).In(time.FixedZone("x", 3600)) }, ``},
		"no ceiling":           {func(p *Plan) { p.Ceiling = 0 }, ` ceiling removed 4000 → `},
		"the revision":         {func(p *Plan) { p.Revision, p.Replaces = 3, "b" }, " revision changed 2 → 3\n replaces changed \"" + strings.Repeat("a", 64) + `" → "b"`},
		"a title":              {func(p *Plan) { p.Steps[0].Title = "Ver" }, `s1 title changed "Salas" → "Ver"`},
		"the call":             {func(p *Plan) { p.Steps[0].Method, p.Steps[0].Path = "HEAD", "/r" }, "s1 method changed \"GET\" → \"HEAD\"\ns1 path changed \"/rooms\" → \"/r\""},
		"the server":           {func(p *Plan) { p.Steps[2].MCPID = "z" }, `s3 server changed "n" → "z"`},
		"needs":                {func(p *Plan) { p.Steps[2].Needs = []string{} }, `s3 needs changed ["s2"] → []`},
		"no condition":         {func(p *Plan) { p.Steps[1].When = nil }, `s2 when removed {"all":[{"value":"${s1.status}","is":"equal","to":200},{"not":{"value":"${s1.body.x}","is":"absent"}}]} → `},
		"the list":             {func(p *Plan) { p.Steps[1].ForEach = "${s1.body}" }, `s2 for_each changed "${s1.body.items}" → "${s1.body}"`},
		"an undo's path":       {func(p *Plan) { u := *p.Steps[1].Undo; u.Path, u.MCPID = "/b", "z"; p.Steps[1].Undo = &u }, "s2 undo/server changed \"m\" → \"z\"\ns2 undo/path changed \"/bookings/${s2.body.id}\" → \"/b\""},
		"what a check expects": {func(p *Plan) { v := *p.Steps[1].Verify; v.Expect.To = json.RawMessage("404"); p.Steps[1].Verify = &v }, `s2 verify/expect changed {"value":"${check.status}","is":"equal","to":200} → {"value":"${check.status}","is":"equal","to":404}`},
		"a step more": {func(p *Plan) {
			p.Steps = append(p.Steps, Step{ID: EffectOf("s4"), Method: "POST", Path: "/x", Needs: []string{}})
		}, `s4 step added  → "POST /x"`},
		"a step less":         {func(p *Plan) { p.Steps = p.Steps[:2] }, `s3 step removed "notify" → `},
		"the last step first": {func(p *Plan) { p.Steps = []Step{p.Steps[2], p.Steps[0], p.Steps[1]} }, `s3 step moved 3 → 1`},
		"a base URL":          {func(p *Plan) { p.Bindings[2].BaseURL = "http://evil" }, `undo:s2 binding changed {"base_url":"http://x"} → {"base_url":"http://evil"}`},
		"a tool's meaning":    {func(p *Plan) { p.Bindings[4].Fingerprint = "k" }, `s3 binding changed {"fingerprint":"j"} → {"fingerprint":"k"}`},
		"a binding less":      {func(p *Plan) { p.Bindings = p.Bindings[:4] }, `s3 binding removed {"step_id":"s3","mcp_id":"n","server_name":"N","base_url":"http://n","template":"","fingerprint":"j"} → `},
	} {
		t.Run(name, func(t *testing.T) {
			after := rich()
			c.change(&after)
			var lines []string
			for _, d := range Diff(rich(), after) {
				lines = append(lines, fmt.Sprintf("%s %s %s %s → %s", d.StepID, d.Field, d.Kind, d.Before, d.After))
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// leaves returns the paths to all leaves of a JSON tree.
func leaves(v any, way []any) [][]any {
	var all [][]any
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			all = append(all, leaves(e, append(way[:len(way):len(way)], k))...)
		}
	case []any:
		for i, e := range v {
			all = append(all, leaves(e, append(way[:len(way):len(way)], i))...)
		}
	default:
		all = append(all, way)
	}
	return all
}

// withLeaf returns a JSON tree in which f changed the leaf at one path.
func withLeaf(v any, way []any, f func(any) any) any {
	if len(way) == 0 {
		return f(v)
	}
	switch v := v.(type) {
	case map[string]any:
		v[way[0].(string)] = withLeaf(v[way[0].(string)], way[1:], f)
	case []any:
		v[way[0].(int)] = withLeaf(v[way[0].(int)], way[1:], f)
	}
	return v
}

func treeOf(t interface{ Fatal(...any) }, v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every leaf of a plan's JSON is covered by its digest, and each change of a leaf is in the diff.
// So a stored plan cannot be changed without a trace.
func TestEveryFieldIsInDigestAndDiff(t *testing.T) {
	before, err := rich().Digest()
	if err != nil {
		t.Fatal(err)
	}
	ways := leaves(treeOf(t, rich()), nil)
	if len(ways) < 80 {
		t.Fatalf("the plan says %d things only", len(ways))
	}
	for _, way := range ways {
		raw, err := json.Marshal(withLeaf(treeOf(t, rich()), way, func(v any) any {
			switch v := v.(type) {
			case string:
				if at, err := time.Parse(time.RFC3339, v); err == nil {
					return at.Add(time.Second).Format(time.RFC3339)
				}
				return v + "x"
			case json.Number:
				return json.Number(v.String() + "7")
			case bool:
				return !v
			}
			return "x"
		}))
		if err != nil {
			t.Fatal(err)
		}
		var changed Plan
		if err := json.Unmarshal(raw, &changed); err != nil {
			t.Fatalf("%v: %v", way, err)
		}
		if after, err := changed.Digest(); err != nil || after == before {
			t.Errorf("%v changed and the digest did not (%v)", way, err)
		}
		if len(Diff(rich(), changed)) == 0 {
			t.Errorf("%v changed and is not in the difference", way)
		}
	}
}

func TestDiffIsEmptyExactlyWhenDigestsAreEqual(t *testing.T) {
	arguments := rapid.SampledFrom([]string{``, `null`, `{}`, `[]`, `{"a":1}`, `{"a":1.0}`, `{"a":2,"b":[1,2]}`, `{"b":[1,2],"a":2e0}`, `{"b":[2,1],"a":2}`, `"x"`, `{"$number":"1"}`, `9007199254740993`})
	step := rapid.Custom(func(t *rapid.T) Step {
		return Step{
			ID: EffectOf(rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(t, "id")), Title: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "title"),
			Method: "POST", Path: "/x", Needs: rapid.SampledFrom([][]string{nil, {}, {"s1"}}).Draw(t, "needs"),
			Body: json.RawMessage(arguments.Draw(t, "body")), Query: json.RawMessage(arguments.Draw(t, "query")),
		}
	})
	binding := rapid.Custom(func(t *rapid.T) Binding {
		return Binding{StepID: ParseEffect(rapid.SampledFrom([]string{"s1", "undo:s1"}).Draw(t, "step")), BaseURL: rapid.SampledFrom([]string{"http://x", "http://y"}).Draw(t, "url")}
	})
	random := rapid.Custom(func(t *rapid.T) Plan {
		return Plan{
			Revision: rapid.IntRange(1, 2).Draw(t, "revision"), Ceiling: rapid.IntRange(0, 1).Draw(t, "ceiling"),
			Steps: rapid.SliceOfN(step, 0, 3).Draw(t, "steps"), Bindings: rapid.SliceOfN(binding, 0, 3).Draw(t, "bindings"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := random.Draw(t, "a"), random.Draw(t, "b")
		da, errA := a.Digest()
		db, errB := b.Digest()
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if changes := Diff(a, b); (len(changes) == 0) != (da == db) {
			t.Fatalf("the same digest: %v, and they differ in %v", da == db, changes)
		}
		if changes := Diff(a, a); len(changes) > 0 {
			t.Fatalf("a plan differs from itself in %v", changes)
		}
	})
}

func TestDigestIgnoresOrderAndSpelling(t *testing.T) {
	spelling := map[string][]string{"1": {"1", "1.0", "1e0", "10e-1"}, "0.5": {"0.5", "5e-1", "0.50"}, "-20": {"-20", "-2e1", "-20.000"}}
	rapid.Check(t, func(t *rapid.T) {
		write := func(name string) string {
			members := []string{`"x":[true]`}
			for i, number := range []string{"1", "0.5", "-20"} {
				members = append(members, fmt.Sprintf(`"m%d":%s`, i, rapid.SampledFrom(spelling[number]).Draw(t, name)))
			}
			members = rapid.Permutation(members).Draw(t, name+" order")
			return "{" + strings.Join(members, rapid.SampledFrom([]string{",", " ,\n\t"}).Draw(t, name+" space")) + "}"
		}
		a, b := rich(), rich()
		a.Steps[1].Body, b.Steps[1].Body = json.RawMessage(write("a")), json.RawMessage(write("b"))
		da, errA := a.Digest()
		db, errB := b.Digest()
		if errA != nil || errB != nil || da != db {
			t.Fatalf("%s and %s: %v, %v", a.Steps[1].Body, b.Steps[1].Body, errA, errB)
		}
	})
}

func TestDigestRefusesDuplicateMember(t *testing.T) {
	p := rich()
	p.Steps[1].Body = json.RawMessage(`{"amount":1,"amount":100}`)
	if d, err := p.Digest(); err == nil {
		t.Errorf("it has %s", d)
	}
}

func TestDiffStopsAtMaxDepth(t *testing.T) {
	deep := func(leaf string) Plan {
		p := rich()
		p.Steps[1].Body = json.RawMessage(strings.Repeat(`[`, 5000) + leaf + strings.Repeat(`]`, 5000))
		return p
	}
	if got := Diff(deep("1"), deep("2")); len(got) != 1 || strings.Count(got[0].Field, "/") != maxDepth {
		t.Errorf("%d changes, the first at %s", len(got), got[0].Field)
	}
}
