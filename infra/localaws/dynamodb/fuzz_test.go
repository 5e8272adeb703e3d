package dynamodb

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// These tests check the package from inside: the parsers must take any text, and an accepted text
// must keep its meaning.

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1", "+5", "1.50", ".5", "5.", "1e125", "1E-130", "9.99e+7", "-12.5", "abc", "", "1e", "1e999999999999", "٣"} {
		f.Add(s, "7")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := parseNumber(a)
		if err != nil {
			return
		}
		again, err := parseNumber(x.String())
		if err != nil || again != x {
			t.Fatalf("%q reads as %+v, its canonical form %s as %+v (%v)", a, x, x, again, err)
		}
		want, ok := new(big.Rat).SetString(strings.TrimPrefix(a, "+"))
		if got, _ := new(big.Rat).SetString(x.String()); ok && got.Cmp(want) != 0 {
			t.Fatalf("%q became %s", a, x)
		}
		y, err := parseNumber(b)
		if err != nil {
			return
		}
		p, _ := new(big.Rat).SetString(x.String())
		q, _ := new(big.Rat).SetString(y.String())
		order := p.Cmp(q)
		if c := x.compare(y); sign(c) != order {
			t.Fatalf("%s compares %d with %s, want %d", x, c, y, order)
		}
		if c := bytes.Compare(x.appendKey(nil), y.appendKey(nil)); c != order {
			t.Fatalf("keys of %s and %s order %d, want %d", x, y, c, order)
		}
		if sum, err := x.add(y); err == nil {
			got, _ := new(big.Rat).SetString(sum.String())
			if got.Cmp(new(big.Rat).Add(p, q)) != 0 {
				t.Fatalf("%s + %s = %s", x, y, sum)
			}
		}
	})
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	default:
		return 0
	}
}

func fuzzScope() *scope {
	return &scope{
		names:       map[string]string{"#a": "a", "#b": "b"},
		values:      item{":v": {kind: kindN, s: "1"}, ":s": {kind: kindS, s: "x"}, ":l": {kind: kindL}, ":ss": {kind: kindSS, list: []value{{kind: kindS, s: "x"}}}},
		unusedNames: map[string]bool{}, unusedValues: map[string]bool{},
	}
}

var fuzzItem = item{
	"a": {kind: kindN, s: "5"}, "b": {kind: kindL, list: []value{{kind: kindS, s: "x"}, {kind: kindM, m: item{"c": {kind: kindNull}}}}},
	"s": {kind: kindSS, list: []value{{kind: kindS, s: "x"}}}, "m": {kind: kindM, m: item{"n": {kind: kindN, s: "1"}}},
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		"a = :v", "NOT (a < :v) AND begins_with(b[0], :s) OR #a IN (:v, :s)", "size(b) BETWEEN :v AND :v", "attribute_type(a, :s)",
		"((a = :v))", "a = ", "contains(s, :s)", "a.b[3].c <> #b", "(", "_", "é = :v", "a=:v and", "a IN ()", "x(y(z(:v)))",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		c, err := parseCondition("ConditionExpression", src, fuzzScope())
		if err != nil {
			return
		}
		if c.holds(fuzzItem) == (&condition{root: &expr{op: opNot, args: []*expr{c.root}}}).holds(fuzzItem) {
			t.Fatalf("%q and its negation agree", src)
		}
		c.holds(nil)
		if tests, err := keyTests(c); err == nil {
			_, _ = keyRangeOf(schema{Hash: "a", HashKind: kindN, Sort: "b", SortKind: kindS}, tests)
		}
	})
}

func FuzzUpdate(f *testing.F) {
	for _, s := range []string{
		"SET a = :v", "SET a = a + :v, b[0] = list_append(b, :l) REMOVE m.n ADD x :v DELETE s :ss", "REMOVE b[0], b[1]", "SET b[9] = :v",
		"SET a = if_not_exists(z, (a - :v))", "SET SET = SET", "ADD a b", "SET a.b = :v, a[0] = :v", "DELETE", "set a=:v,", "SET a = a + ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		u, err := parseUpdate(src, fuzzScope())
		if err != nil {
			return
		}
		before := string(encodeItem(fuzzItem))
		next, err := u.apply(fuzzItem)
		if string(encodeItem(fuzzItem)) != before {
			t.Fatalf("%q changed the item it was given", src)
		}
		if err != nil {
			return
		}
		back, err := decodeItem(encodeItem(next))
		if err != nil || !(value{kind: kindM, m: back}).equal(value{kind: kindM, m: next}) {
			t.Fatalf("%q: %v does not survive storage: %v", src, next, err)
		}
		project(next, u.paths())
	})
}

func FuzzProjection(f *testing.F) {
	for _, s := range []string{"a", "a, b[1].c", "#a.#b", "b[0], b[1]", "m.n, m.n", "a,", "[0]", "a..b", "a[", "m[0].n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		paths, err := parseProjection(src, fuzzScope())
		if err != nil {
			return
		}
		for _, p := range paths {
			if v, ok := p.find(fuzzItem); ok && v.kind.isOrdered() && len(project(fuzzItem, []path{p})) != 1 {
				t.Fatalf("%q: %s is in the item, but not in its projection", src, p)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\n",true,null,{"b":{}}]}`, `{"a":"\ud800"}`, `{"a":01}`, `{"a":1}x`, `[`, `{"a"`, "{\"\x00\":1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		n, err := parseJSON(src)
		if err != nil {
			return
		}
		out := appendNode(nil, n)
		var want, got any
		if json.Unmarshal([]byte(src), &want) != nil {
			return // our scanner reads numbers like 01 too; they are checked later
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s came back as %s: %v", src, out, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s came back as %s", a, b)
		}
	})
}

func FuzzDecodeItem(f *testing.F) {
	f.Add(encodeItem(fuzzItem)[4:])
	f.Add([]byte{itemFormat, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(_ *testing.T, stored []byte) {
		d := decoder{s: string(stored)}
		d.attributes() // must end, without more memory than the bytes justify
	})
}

func drawValue(t *rapid.T, depth int) value {
	kinds := []kind{kindS, kindN, kindB, kindBool, kindNull, kindSS, kindNS}
	if depth > 0 {
		kinds = append(kinds, kindL, kindM)
	}
	k := rapid.SampledFrom(kinds).Draw(t, "kind")
	v := value{kind: k}
	switch k {
	case kindS:
		v.s = rapid.StringN(0, 8, 30).Draw(t, "s")
	case kindB:
		v.s = string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "b"))
	case kindN:
		v = numberValue(drawNumber(t))
	case kindBool:
		v.bool = rapid.Bool().Draw(t, "bool")
	case kindNull:
		v.bool = true
	case kindSS, kindNS:
		for i := range rapid.IntRange(1, 3).Draw(t, "members") {
			v.list = append(v.list, value{kind: k.element(), s: string(rune('1' + i))})
		}
	case kindL:
		v.list = []value{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			v.list = append(v.list, drawValue(t, depth-1))
		}
	case kindM:
		v.m = item{}
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			v.m[rapid.StringN(1, 4, 16).Draw(t, "name")] = drawValue(t, depth-1)
		}
	}
	return v
}

func drawNumber(t *rapid.T) number {
	digits := strings.Trim(rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits"), "0")
	if digits == "" {
		return number{}
	}
	return number{neg: rapid.Bool().Draw(t, "neg"), digits: digits, exp: rapid.IntRange(-129, 126).Draw(t, "exp")}
}

// TestItemsSurviveStorageAndWire: an item survives storage, and the way to a client and back.
func TestItemsSurviveStorageAndWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		it := item{"v": v}
		stored, err := decodeItem(encodeItem(it))
		if err != nil || !stored["v"].equal(v) {
			t.Fatalf("%+v came back from storage as %+v: %v", v, stored["v"], err)
		}
		wire := appendItem(nil, it)
		if !utf8.Valid(wire) {
			t.Fatalf("%q is not UTF-8", wire)
		}
		n, err := parseJSON(string(wire))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := itemOf(n)
		if err != nil || !sent["v"].equal(v) {
			t.Fatalf("%s came back from the wire as %+v: %v", wire, sent["v"], err)
		}
	})
}

// TestStoredKeysOrderAsValues: stored keys have the order of their values, and no key is a prefix
// of another.
func TestStoredKeysOrderAsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]kind{kindS, kindN, kindB}).Draw(t, "kind")
		draw := func(name string) value {
			if k == kindN {
				return numberValue(drawNumber(t))
			}
			return value{kind: k, s: string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 5).Draw(t, name))}
		}
		a, b := draw("a"), draw("b")
		x, y := appendOrdered(nil, a), appendOrdered(nil, b)
		if sign(bytes.Compare(x, y)) != sign(a.compare(b)) {
			t.Fatalf("%q and %q order as keys %x and %x", a.s, b.s, x, y)
		}
		if !bytes.Equal(x, y) && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			t.Fatalf("key %x begins key %x", x, y)
		}
	})
}
