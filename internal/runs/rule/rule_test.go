package rule

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/runs/plan"
)

func TestGlobsMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/orders", "/orders", true},
		{"/orders", "/orders/1", false},
		{"/orders/*", "/orders/1", true},
		{"/orders/*", "/orders", false},
		{"/orders/*", "/orders/1/lines", false},
		{"/orders/**", "/orders", true},
		{"/orders/**", "/orders/1/lines", true},
		{"/orders/**", "/ordersx", false},
		{"/**", "/", true},
		{"**", "/a/b", true},
		{"*", "/a", true},
		{"*", "/a/b", false},
		{"/o?ders", "/orders", true},
		{"/a?b", "/a/b", false},
		{"/**/lines", "/orders/1/lines", true},
		{"/**/lines", "/orders/1/linesx", false},
		{"/a***b", "/a/x/b", true},
		{"/*.json", "/a.json", true},
		{"/ord*", "/orders", true},
		{"/Orders", "/orders", false},
	} {
		if got := oneMatches(pathGlob(c.pattern).machines(), readPath(c.path, true).plain[0], false); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
}

// TestGlobsMatchAsRegularExpressions compares the matcher with the same pattern as a regular
// expression.
func TestGlobsMatchAsRegularExpressions(t *testing.T) {
	translate := strings.NewReplacer("**", `[\s\S]*`, "*", `[^/]*`, "?", `[^/]`, ".", `\.`)
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[a/.?*]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab/.]{0,8}`).Draw(t, "text")
		pattern = regexp.MustCompile(`\*{3,}`).ReplaceAllString(pattern, "**")
		want := regexp.MustCompile(`\A` + translate.Replace(pattern) + `\z`).MatchString(text)
		if got := newMachine(readGlob(pattern, false)).matches([]rune(text), false); got != want {
			t.Fatalf("%q on %q: %v", pattern, text, got)
		}
	})
}

// TestUnknownMatchesPossiblyWhateverItMayBe fills in a reference: if the whole text matches, the
// unknown text matches possibly; and a certain match holds for every value.
func TestUnknownMatchesPossiblyWhateverItMayBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newMachine(readGlob(rapid.StringMatching(`/?[a/?*]{0,7}`).Draw(t, "pattern"), false))
		head, tail := rapid.StringMatching(`/[a/]{0,3}`).Draw(t, "head"), rapid.StringMatching(`[a/]{0,3}`).Draw(t, "tail")
		value := rapid.StringMatching(`[ab]{1,3}`).Draw(t, "value")
		open := append(append([]rune(head), unknown), []rune(tail)...)
		whole := g.matches([]rune(head+value+tail), false)
		if whole && !g.matches(open, true) {
			t.Fatalf("%q is matched and was not perhaps", head+value+tail)
		}
		if g.matches(open, false) && !whole {
			t.Fatalf("%q is not matched and was for sure", head+value+tail)
		}
	})
}

// around are spellings of /orders/12, and variants that some receiver treats as the same.
var around = []string{
	"/orders/12", "/orders/12/", "//orders//12", "/orders/./12", "/orders/x/../12", "/x/../orders/12",
	"/orders/%31%32", "/%6frders/12", "/orders/%2531%2532", "/orders/x/%2e%2e/12", "/orders/x/%2E%2E/12", "/orders/x/%252e%252e/12",
	"/orders%2f12", "/orders%2F12", "/orders%252f12", "/orders%5c12", "/orders/12;v=1", "/orders;a/12", "/orders/12%3bv=1",
	"/orders/12?x=1", "/orders/12%3fx", "/orders/12#x", "/orders/12%23x", "/orders/..;/orders/12", `/orders\12`, "/%2e/orders/12", "orders/12",
}

func TestJudgeMatchesEverySpellingOfPath(t *testing.T) {
	for _, effect := range []Effect{Ask, Deny} {
		for _, glob := range []string{"/orders/12", "/orders/*", "/orders/1?", "orders/12", "/orders/12/", "//orders/12", "/**/12"} {
			s := Set{Rules: []Rule{{Effect: effect, Method: "delete", Path: glob}, {Effect: Allow}}}
			for _, path := range around {
				for _, method := range []string{"DELETE", "delete", "Delete"} {
					if got := s.Judge(Call{Method: method, Path: path, Resolved: true}).Effect; got != effect {
						t.Errorf("%s %s walks around %s %s: %s", method, path, effect, glob, got)
					}
				}
			}
		}
	}
}

func TestAllowMatchesOnlyForCertain(t *testing.T) {
	s := Set{Rules: []Rule{{Effect: Allow, Path: "/public/**"}}}
	for path, want := range map[string]Effect{
		"/public/a": Allow, "/public/a%20b": Allow, "/public": Allow, "/public/${s1.body.id}": Allow,
		"/public/../orders": "", "/public/%2e%2e/orders": "", "/public/%252e%252e/orders": "", "/public/..%2forders": "",
		"/publi${s1.body.c}/a": "", "/${s1.body.a}/a": "",
	} {
		if got := s.Judge(Call{Method: "GET", Path: path}).Effect; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestJudgeMatchesServerMethodAndPath(t *testing.T) {
	call := Call{ServerID: "01K", ServerName: "Salas/Norte", Method: "POST", Path: "/orders", Resolved: true}
	named := Call{ServerID: "01K", ServerName: "Salas", Tool: "orders/delete", Resolved: true}
	for _, c := range []struct {
		rule Rule
		call Call
		want bool
	}{
		{Rule{}, call, true},
		{Rule{Server: "01K"}, call, true},
		{Rule{Server: "salas/norte"}, call, true},
		{Rule{Server: "sal*"}, call, true},
		{Rule{Server: "Salas"}, call, false},
		{Rule{Server: "Salas"}, named, true},
		{Rule{Method: "P*"}, call, true},
		{Rule{Method: "GET"}, call, false},
		{Rule{Method: "POST"}, named, false},
		{Rule{Path: "orders/*"}, named, true},
		{Rule{Path: "**delete"}, named, true},
		{Rule{Path: "/orders/delete"}, named, false},
		{Rule{Path: "/**"}, named, true},
		{Rule{Path: "/orders", Method: "POST", Server: "*norte"}, call, true},
		{Rule{Path: "/orders", Method: "POST", Server: "*sur"}, call, false},
	} {
		c.rule.Effect = Deny
		if got := (Set{Rules: []Rule{c.rule}}).Judge(c.call).Effect == Deny; got != c.want {
			t.Errorf("%+v on %+v: %v", c.rule, c.call, got)
		}
	}
}

func TestDenyWinsOverAskAndAskOverAllow(t *testing.T) {
	rules := []Rule{
		{ID: "allow", Effect: Allow},
		{ID: "ask", Effect: Ask, Minutes: 5},
		{ID: "short", Effect: Ask, Minutes: 1},
		{ID: "another", Effect: Ask, Another: true, Minutes: 60},
		{ID: "deny", Effect: Deny},
		{ID: "strange", Effect: "Deny"},
	}
	for n, want := range map[int]string{1: "allow", 2: "ask", 3: "short", 4: "another", 5: "deny", 6: "deny"} {
		some := slices.Clone(rules[:n])
		for range 2 {
			if got := (Set{Rules: some}).Judge(Call{Method: "GET", Path: "/"}).Rule.ID; got != want {
				t.Errorf("%d rules: %s, want %s", n, got, want)
			}
			slices.Reverse(some)
		}
	}
	if v := (Set{}).Judge(Call{Method: "DELETE", Path: "/"}); v.Effect != "" {
		t.Errorf("without rules: %+v", v)
	}
}

func TestOverComparesAmountWithLimit(t *testing.T) {
	for _, c := range []struct {
		at, most, args string
		want           comparison
	}{
		{"body.total", "500", `{"total":500}`, withinLimit},
		{"body.total", "500", `{"total":500.0000000000000000000001}`, overLimit},
		{"body.total", "500", `{"total":501}`, overLimit},
		{"body.total", "500", `{"total":"501"}`, overLimit},
		{"body.total", "500", `{"total":" 499.99 "}`, withinLimit},
		{"body.total", "500", `{"total":5.01e2}`, overLimit},
		{"body.total", "500", `{"total":1e999}`, overLimit},
		{"body.total", "500", `{"total":1e999999999}`, overLimit},
		{"body.total", "500", `{"total":-1e3}`, overLimit},
		{"body.total", "500", `{"total":-1000}`, overLimit},
		{"body.total", "500", `{"total":-500}`, withinLimit},
		{"body.total", "500", `{"total":"-501"}`, overLimit},
		{"body.total", "500", `{"total":"+501"}`, overLimit},
		{"body.total", "500", `{"total":"1e3"}`, overLimit},
		{"body.total", "500", `{"total":"900e-3"}`, overLimit},
		{"body.total", "500", `{"total":"1.234e-2"}`, overLimit},
		{"body.total", "500", `{"total":900e-3}`, withinLimit},
		{"body.total", "500", `{"total":"1.000,00"}`, overLimit},
		{"body.total", "500", `{"total":"1 000"}`, overLimit},
		{"body.total", "500", `{"total":"9,5"}`, overLimit},
		{"body.total", "500", `{"total":"９９９"}`, overLimit},
		{"body.total", "500", `{"total":"９"}`, overLimit},
		{"body.total", "500", `{"total":"−1000"}`, overLimit},
		{"body.total", "500", `{"total":"\u00a09"}`, overLimit},
		{"body.total", "500", `{"total":"9\u200b99"}`, overLimit},
		{"body.total", "500", `{"total":"0x1f5"}`, overLimit},
		{"body.total", "500", `{"total":"(501)"}`, overLimit},
		{"body.total", "500", `{"total":"501-"}`, overLimit},
		{"body.total", "500", `{"total":"501 EUR"}`, overLimit},
		{"body.total", "500", `{"total":"1_000"}`, overLimit},
		{"body.total", "500", `{"total":"Infinity"}`, overLimit},
		{"body.total", "500", `{"total":1e308}`, overLimit},
		{"body.total", "500", `{"total":-1e309}`, overLimit},
		{"body.total", "500", `{"total":18446744073709551617}`, overLimit},
		{"body.total", "500", `{"total":1e-400}`, overLimit},
		{"body.total", "500", `{"ｔotal":9000}`, overLimit},
		{"body.total", "500", `{"totál":9000}`, overLimit},
		{"body.total", "500", `{"total ":9000}`, overLimit},
		{"body.total", "500", `{"to\u200btal":9000}`, overLimit},
		{"body.total", "500", `{"total[]":9000}`, overLimit},
		{"body.total", "500", `{"Total[a]":1}`, overLimit},
		{"body.total", "500", `{"total_items":9000,"totals":1}`, withinLimit},
		{"body.order.total", "500", `{"order[total]":9000}`, overLimit},
		{"body.order.total", "500", `{"order.total":9000}`, overLimit},
		{"body.order_total", "500", `{"order total":9000}`, overLimit},
		{"body.items[].n", "500", `{"items":[{"n":400},{"n":-400}]}`, overLimit},
		{"body.items[].n", "500", `{"items":[{"n":10000},{"n":-9999}]}`, overLimit},
		{"body.total", "9007199254740992", `{"total":9007199254740993}`, overLimit},
		{"body.total", "500", `{"total":"1.000"}`, overLimit},
		{"body.total", "500", `{"total":1.000}`, withinLimit},
		{"body.total", "500", `{"total":"1.00"}`, withinLimit},
		{"body.total", "500", `{"total":"1,000"}`, overLimit},
		{"body.total", "500", `{"total":"mucho"}`, overLimit},
		{"body.total", "500", `{"total":""}`, overLimit},
		{"body.total", "500", `{"total":true}`, overLimit},
		{"body.total", "500", `{"total":null}`, overLimit},
		{"body.total", "500", `{"total":[1]}`, overLimit},
		{"body.total", "500", `{"total":{}}`, overLimit},
		{"body.total", "500", `{}`, withinLimit},
		{"body.total", "500", ``, withinLimit},
		{"body.total", "500", `null`, withinLimit},
		{"body.total", "500", `[]`, overLimit},
		{"body.total", "500", `{"total":1,"total":9000}`, overLimit},
		{"body.total", "500", `{"TOTAL":9000}`, overLimit},
		{"body.total", "500", `{"TOTAL":9}`, withinLimit},
		{"body.total", "500", `{"total":1,"Total":1}`, overLimit},
		{"body.total", "500", `{"total":`, overLimit},
		{"body.total", "500", `{"total":"${s1.body.t}"}`, undecided},
		{"body.total", "500", `{"total":"${s1.body.t}0"}`, undecided},
		{"body.total", "500", `"${s1.body}"`, undecided},
		{"body.a.b", "1", `{"a":"${s1.body}"}`, undecided},
		{"body.a.b", "1", `{"a":null}`, withinLimit},
		{"body.a.b", "1", `{"a":7}`, overLimit},
		{"body.items[].n", "5", `{"items":[{"n":3},{"n":2},{}]}`, withinLimit},
		{"body.items[].n", "5", `{"items":[{"n":3},{"n":"2.1"}]}`, overLimit},
		{"body.items[].n", "5", `{"items":[{"n":3},{"n":"x"}]}`, overLimit},
		{"body.items[].n", "5", `{"items":[{"n":3},{"n":"${s1.body.n}"}]}`, undecided},
		{"body.items[].n", "5", `{"items":{"n":9}}`, overLimit},
		{"body.items[].n", "5", `{"items":[]}`, withinLimit},
		{"body[1]", "5", `[9,5]`, withinLimit},
		{"body[1]", "5", `[0,6]`, overLimit},
		{"body[7]", "5", `[0,6]`, withinLimit},
		{"body[][]", "5", `[[1,2],[3]]`, overLimit},
		{"body", "5", `6`, overLimit},
		{"body", "5", `"5"`, withinLimit},
	} {
		if got := (Over{c.at, c.most}).judge(argumentsAt("body", c.args), false); got != c.want {
			t.Errorf("%s over %s in %s: %v, want %v", c.at, c.most, c.args, got, c.want)
		}
	}
	if (Over{"query.n", "1"}).judge(argumentsAt("query", `{"n":"2"}`), true) != overLimit {
		t.Error("the query is not looked at")
	}
	if (Over{"body.n", "1"}).judge(argumentsAt("body", `{"n":"${s1.body.n}"}`), true) != overLimit {
		t.Error("what is resolved has no references: a text is no number")
	}
}

// argumentsAt returns the arguments of a call that has some in one place.
func argumentsAt(in, raw string) map[string]*arguments {
	all := map[string]*arguments{"query": {}, "headers": {}, "body": {}}
	all[in].raw = []byte(raw)
	return all
}

// TestHeadersAreArguments: a limit is over what a header has, however its name is written.
func TestHeadersAreArguments(t *testing.T) {
	for headers, want := range map[string]Effect{
		`{"X-Amount":"500"}`:              "",
		`{"X-Amount":"501"}`:              Deny,
		`{"x-amount":"501"}`:              Deny,
		`{"X-Amount":"300,300"}`:          Deny,
		`{"X-Other":"501"}`:               "",
		`{"X-Amount":"${s1.body.total}"}`: "",
		``:                                "",
	} {
		set := Set{Rules: []Rule{{ID: "r", Effect: Deny, Over: &Over{At: "headers.X-Amount", Most: "500"}, Reason: "because"}}}
		if wrong := set.Check(); len(wrong) > 0 {
			t.Fatalf("%+v", wrong)
		}
		step := plan.Step{Method: "POST", Path: "/a", Headers: []byte(headers)}
		if got := set.Judge(CallOf(step, "x")).Effect; got != want {
			t.Errorf("%s: %q, want %q", headers, got, want)
		}
		set.Rules[0].Effect = Ask
		if got := set.Judge(CallOf(step, "x")).Effect; (got == Ask) != (want == Deny || strings.Contains(headers, "${")) {
			t.Errorf("%s: %q where the rule asks", headers, got)
		}
	}
	for _, at := range []string{"headers", "headers[0]", "header.X-Amount"} {
		if _, err := (Over{At: at, Most: "1"}).argPath(); err == nil {
			t.Errorf("%s is a place", at)
		}
	}
}

func TestUnresolvedReferenceAsksAndIsNotDenied(t *testing.T) {
	over := &Over{At: "body.total", Most: "500"}
	call := Call{Method: "POST", Path: "/orders/${s1.body.id}", Body: []byte(`{"total":"${s1.body.total}"}`)}
	for _, c := range []struct {
		rule Rule
		want Effect
	}{
		{Rule{Effect: Ask, Over: over}, Ask},
		{Rule{Effect: Deny, Over: over}, ""},
		{Rule{Effect: Ask, Path: "/orders/12"}, Ask},
		{Rule{Effect: Deny, Path: "/orders/12"}, ""},
		{Rule{Effect: Deny, Path: "/orders/*"}, Deny},
		{Rule{Effect: Ask, Path: "/users/12"}, ""},
	} {
		if got := (Set{Rules: []Rule{c.rule}}).Judge(call).Effect; got != c.want {
			t.Errorf("%+v: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestAskForDecidesApproval(t *testing.T) {
	destroys := plan.Step{ID: plan.EffectOf("s1"), Risk: plan.Destructive, Method: "DELETE", Path: "/a/1"}
	writes := plan.Step{ID: plan.EffectOf("s1"), Risk: plan.Write, Method: "POST", Path: "/a"}
	const one, two = "", "why" // of one step, of several
	rules := func(effects ...Effect) (s Set) {
		for _, e := range effects {
			s.Rules = append(s.Rules, Rule{ID: string(e), Effect: e, Reason: "because", Minutes: 7 * strength[e] * strength[e] % 5})
		}
		return s
	}
	as := func(s plan.Step, id string) plan.Step { s.ID = plan.ParseEffect(id); return s }
	for _, c := range []struct {
		name string
		set  Set
		step plan.Step
		why  string
		want string
	}{
		{"one step that destroys was confirmed", rules(), destroys, one, "none"},
		{"it asks inside a plan", rules(), destroys, two, "ask of  for 1440: why"},
		{"unless allowed", rules(Allow), destroys, two, "none"},
		{"a write does not ask", rules(), writes, two, "none"},
		{"unless a rule asks", rules(Allow, Ask), writes, one, "ask of ask for 3: because"},
		{"denied", rules(Allow, Ask, Deny), writes, one, "denied by deny"},
		{"an undo destroys", rules(), as(destroys, "undo:s1"), two, "none"},
		{"an undo cannot wait", rules(Ask), as(destroys, "undo:s1"), two, "denied by ask"},
		{"an element was asked for", rules(Ask), as(destroys, "s1[3]"), two, "none"},
		{"an element is denied", rules(Deny), as(destroys, "s1[3]"), two, "denied by deny"},
	} {
		ask, denied := c.set.AskFor(c.step, CallOf(c.step, "x"), c.why)
		got := "none"
		switch {
		case denied != nil:
			got = "denied by " + denied.ID
		case ask != nil:
			got = fmt.Sprintf("ask of %s for %d: %s", ask.Rule, ask.Minutes, ask.Reason)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCheckListsAllFaults(t *testing.T) {
	good := Rule{ID: "r", Effect: Ask, Server: "Salas", Method: "POST", Path: "/orders/*", Over: &Over{"body.items[0].n", "10.50"}, Another: true, Minutes: 5, Reason: "Es caro"}
	if wrong := (Set{Rules: []Rule{good}}).Check(); len(wrong) > 0 {
		t.Errorf("%+v", wrong)
	}
	for _, c := range []struct {
		change func(*Rule)
		want   string
	}{
		{func(r *Rule) { r.ID = "" }, "id missing"},
		{func(r *Rule) { r.ID = "a b" }, "id string_pattern_mismatch"},
		{func(r *Rule) { r.Effect = "Deny"; r.Another, r.Minutes = false, 0 }, "effect enum"},
		{func(r *Rule) { r.Server = strings.Repeat("a", 201) }, "server string_too_long"},
		{func(r *Rule) { r.Method = "{PUT,POST}" }, "method glob"},
		{func(r *Rule) { r.Path = "/orders/{id}" }, "path glob"},
		{func(r *Rule) { r.Path = "/orders/[0-9]" }, "path glob"},
		{func(r *Rule) { r.Path = `/orders\*` }, "path glob"},
		{func(r *Rule) { r.Path = "/a/../b" }, "path glob"},
		{func(r *Rule) { r.Path = " /a" }, "path glob"},
		{func(r *Rule) { r.Path = "/a\u202e" }, "path glob"},
		{func(r *Rule) { r.Path = "/\xff" }, "path glob"},
		{func(r *Rule) { r.Effect = Allow; r.Another, r.Minutes = false, 0 }, "over not_allow"},
		{func(r *Rule) { r.Over = &Over{"total", "1"} }, "over at place"},
		{func(r *Rule) { r.Over = &Over{"query", "1"} }, "over at place"},
		{func(r *Rule) { r.Over = &Over{"body.a[-1]", "1"} }, "over at place"},
		{func(r *Rule) { r.Over = &Over{"body.a", "1e9"} }, "over most decimal"},
		{func(r *Rule) { r.Over = &Over{"body.a", "-1"} }, "over most decimal"},
		{func(r *Rule) { r.Over = &Over{"body..a", ""} }, "over at place, over most decimal"},
		{func(r *Rule) { r.Effect = Deny; r.Minutes = 0 }, "another only_ask"},
		{func(r *Rule) { r.Effect = Deny; r.Another = false }, "minutes only_ask"},
		{func(r *Rule) { r.Minutes = -1 }, "minutes out_of_range"},
		{func(r *Rule) { r.Minutes = 24*60 + 1 }, "minutes out_of_range"},
		{func(r *Rule) { r.Reason = "" }, "reason missing"},
		{func(r *Rule) { r.Reason = "a\nb" }, "reason string_pattern_mismatch"},
		{func(r *Rule) { r.Reason = strings.Repeat("ñ", 201) }, "reason string_too_long"},
	} {
		r := good
		c.change(&r)
		var got []string
		for _, f := range (Set{Rules: []Rule{r}}).Check() {
			place := strings.Trim(fmt.Sprint(f.Loc[3:]), "[]")
			got = append(got, place+" "+f.Type)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: %q, want %q", r, got, c.want)
		}
	}
	if wrong := (Set{Rules: []Rule{good, good}}).Check(); len(wrong) != 1 || wrong[0].Type != "duplicate" {
		t.Errorf("twice: %+v", wrong)
	}
	if wrong := (Set{Rules: make([]Rule, MaxRules+1)}).Check(); len(wrong) != 1 || wrong[0].Type != "too_long" {
		t.Errorf("too many: %d", len(wrong))
	}
}

// FuzzJudge checks that nothing panics, that a further rule never allows a denied call, and that a
// call that is denied for certain is also denied after it is resolved.
func FuzzJudge(f *testing.F) {
	for _, path := range around {
		f.Add(path, `{"total":1}`, "/orders/*", "body.total", "5")
	}
	f.Add("/${s1.body[\"/\"]}/x%zz", `[{"a":"${s1.body}"}]`, "/**/x", "body[].a", "0")
	f.Fuzz(func(t *testing.T, path, body, glob, at, most string) {
		deny := Rule{ID: "d", Effect: Deny, Path: glob, Over: &Over{at, most}}
		call := Call{Method: "POST", Path: path, Body: []byte(body)}
		alone := (Set{Rules: []Rule{deny}}).Judge(call).Effect
		if among := (Set{Rules: []Rule{{Effect: Allow}, deny, {Effect: Ask}}}).Judge(call).Effect; alone == Deny && among != Deny {
			t.Fatal("another rule frees what is denied")
		}
		ask := deny
		ask.Effect = Ask
		if alone == Deny && (Set{Rules: []Rule{ask}}).Judge(call).Effect != Ask {
			t.Fatal("what is denied for sure does not even ask")
		}
	})
}

// TestSumsAreExact compares the totals with rational numbers.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`), 1, 6).Draw(t, "numbers")
		most := rapid.StringMatching(`[0-9]{1,20}(\.[0-9]{1,20})?`).Draw(t, "most")
		total := new(big.Rat)
		for _, text := range texts {
			n, _ := new(big.Rat).SetString(text)
			total.Add(total, n.Abs(n))
		}
		limit, _ := new(big.Rat).SetString(most)
		want := withinLimit
		if total.Cmp(limit) > 0 {
			want = overLimit
		}
		if got := (Over{"body[]", most}).judge(argumentsAt("body", "["+strings.Join(texts, ",")+"]"), true); got != want {
			t.Fatalf("%v over %s: %v, want %v", texts, most, got, want)
		}
	})
}
