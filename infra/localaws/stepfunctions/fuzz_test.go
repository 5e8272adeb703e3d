package stepfunctions

import (
	"bytes"
	"testing"
)

const fuzzData = `{"a":{"b":[1,2,{"c":"x","d":null}],"e f":true},"l":[{"n":1},{"n":2.5}],"n":null,"s":"text"}`

// FuzzPath checks that a path either fails to parse or selects without a panic, and that assign
// replaces the node that a reference path selects.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"$", "$$", "$.a.b[0]", "$['a']['e f']", "$..n", "$.l[*].n", "$.l[?(@.n > 1 || !(@.x))].n", "$.a.b[-1]", "$.a.b[0:2:1]",
		"$.a.b[0,2]", "$[?(@.s=='text' && $.n == null)]", "$.l[?(@.n)]", "$..", "$.a[", "$.a['", "$.a.b[99999999999]", "$.l[?(@['n']==1)]",
	} {
		f.Add(seed)
	}
	data, err := parseValue([]byte(fuzzData))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := parsePath(source)
		if err != nil {
			return
		}
		v, err := p.selectFrom(data)
		if err == nil {
			encodeValue(v)
		}
		if !p.isReference() || p.context {
			return
		}
		changed, failed := p.assign(data, "new")
		if err == nil && failed != nil {
			t.Fatalf("%s selects but does not assign: %v", source, failed)
		}
		if failed == nil {
			if got, err := p.selectFrom(changed); err != nil || got != "new" {
				t.Fatalf("%s assigned, then selects %v, %v", source, got, err)
			}
		}
		if string(encodeValue(data)) != fuzzData {
			t.Fatalf("%s changed its input", source)
		}
	})
}

// FuzzIntrinsic checks that an expression either fails to parse or evaluates to a value or an
// error, without a panic.
func FuzzIntrinsic(f *testing.F) {
	for _, c := range loadCases(f) {
		if bytes.HasPrefix([]byte(c.Name), []byte("intrinsic/")) {
			f.Add(c.Name[len("intrinsic/"):])
		}
	}
	f.Add(`States.Format('\{{}\}', States.Array(1, -2e3, $.l[?(@.n==1)]))`)
	f.Add(`States.ArrayRange(-9007199254740992, 9007199254740992, 1)`)
	f.Add(`States.MathRandom(1, 2, 3)`)
	data, err := parseValue([]byte(fuzzData))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		e, err := parseExpression(source)
		if err != nil {
			return
		}
		v, err := e.evaluate(data, object{})
		if err != nil {
			return
		}
		if _, err := parseValue(encodeValue(v)); err != nil {
			t.Fatalf("%s gives what is not JSON: %v", source, err)
		}
	})
}

// FuzzParse checks that a definition either has findings with locations, or compiles into scopes
// whose every transition has a target.
func FuzzParse(f *testing.F) {
	for _, c := range loadCases(f) {
		f.Add([]byte(c.DefinitionText("")))
	}
	f.Add([]byte(`{"StartAt":"A","States":{"A":{"Type":"Pass"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		def, err := Parse(text)
		if err != nil {
			_ = err.Error()
			return
		}
		var walk func(s *scope)
		walk = func(s *scope) {
			if s.states[s.startAt] == nil {
				t.Fatal("start leads nowhere")
			}
			for _, st := range s.states {
				for _, to := range st.targets("") {
					if s.states[to.name] == nil {
						t.Fatalf("%s leads nowhere", st.name)
					}
				}
				for _, b := range st.branches {
					walk(b)
				}
				if st.mapping != nil {
					walk(st.mapping.processor)
				}
			}
		}
		walk(def.root)
	})
}

// FuzzValue checks that a parsed value is written as text that parses to an equal value.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{fuzzData, `"\u0000\ud800\"\\"`, `1e999`, `-0.0`, `[[]]`, `{"a":1,"a":2}`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parseValue(text)
		if err != nil {
			return
		}
		again, err := parseValue(encodeValue(v))
		if err != nil || !equalValues(v, again) {
			t.Fatalf("%q became %q: %v", text, encodeValue(v), err)
		}
	})
}

// FuzzThread checks that a damaged journal entry is refused and a valid one reads back.
func FuzzThread(f *testing.F) {
	th := &thread{id: 3, parent: 1, index: 2, state: "A", phase: phaseTask, retries: []int{1, 0, 2}, payload: []byte("{}"), token: "t", item: []byte("1"), input: textDocument([]byte("null"))}
	f.Add(th.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		th, err := decodeThread(b)
		if err != nil {
			return
		}
		again, err := decodeThread(th.encode())
		if err != nil || !bytes.Equal(again.encode(), th.encode()) {
			t.Fatalf("%x reads back differently: %v", b, err)
		}
	})
}
