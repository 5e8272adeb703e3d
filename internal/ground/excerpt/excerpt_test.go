package excerpt

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture/cost"
)

// list returns a list of n elements, each written by a format.
func list(n int, format string) string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func TestAValueIsCutByWholeElements(t *testing.T) {
	long := strings.Repeat("ñ", 5000)
	members := strings.NewReplacer("[", "{", "]", "}").Replace(list(300, `"k%d":{"id":%d}`))
	for _, c := range []struct {
		name, text string
		most       int
		cuts       []Cut
		begins     string
	}{
		{"what fits is whole", `{"a": [1, 2],  "b": null}`, 100, nil, `{"a":[1,2],"b":null}`},
		{"the longest list", `{"page":1,"items":` + list(300, `{"id":%d,"name":"Sala"}`) + `,"tags":["a","b"]}`, 300, []Cut{{At: "items", Shown: 11, Of: 300}}, `{"page":1,"items":[{"id":0,`},
		{"a map of things is a list", `{"page":1,"by_id":` + members + `}`, 300, []Cut{{At: "by_id", Shown: 18, Of: 300}}, `{"page":1,"by_id":{"k0":{"id":0},`},
		{"a record keeps its members", `{"id":1,"a":1,"b":2,"c":3,"d":4,"rows":` + list(3, `"row %d is a text of some length"`) + `}`, 100, []Cut{{At: "rows", Shown: 1, Of: 3}}, `{"id":1,"a":1,"b":2,"c":3,"d":4,"rows":["row 0`},
		{"a list in an element", `[{"lines":` + list(500, "%d") + `},{"lines":[]}]`, 100, []Cut{{At: "[0].lines", Shown: 28, Of: 500}}, `[{"lines":[0,1,2,`},
		{"one long text", `{"id":7,"notes":"` + long + `"}`, 1000, []Cut{{At: "notes", Shown: 250, Of: 5000}}, `{"id":7,"notes":"ñññ`},
		{"the top list", list(1000, "%d"), 50, []Cut{{Shown: 19, Of: 1000}}, "[0,1,2,"},
		{"the end is missing", `{"n":2,"items":[{"id":1},{"id":2,"name":"Sa`, 100, []Cut{{Shown: 2, Of: 2, More: true}, {At: "items", Shown: 2, Of: 2, More: true}, {At: "items[1]", Shown: 1, Of: 1, More: true}}, `{"n":2,"items":[{"id":1},{"id":2}]}`},
		{"the end of a text is missing", `{"items":[{"id":0,"text":"` + long[:4001], 1000, []Cut{{Shown: 1, Of: 1, More: true}, {At: "items", Shown: 1, Of: 1, More: true}, {At: "items[0]", Shown: 2, Of: 2, More: true}, {At: "items[0].text", Shown: 250, Of: 2000, More: true}}, `{"items":[{"id":0,"text":"ñññ`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, ok := Read(c.text)
			if !ok {
				t.Fatal("it is not read")
			}
			text, cuts := v.Short(c.most)
			if !strings.HasPrefix(text, c.begins) || !json.Valid([]byte(text)) || !reflect.DeepEqual(cuts, c.cuts) {
				t.Errorf("%s\ncuts %+v, want %+v", text, cuts, c.cuts)
			}
			if n := utf8.RuneCountInString(text); n > c.most {
				t.Errorf("%d characters, most %d", n, c.most)
			}
			if again, _ := v.Short(c.most); again != text {
				t.Errorf("it is not as before: %s", again)
			}
		})
	}
}

// TestATextWithoutItsEndIsReadInParts: wherever it breaks off, also inside of an escape or of a character.
func TestATextWithoutItsEndIsReadInParts(t *testing.T) {
	whole := `{"text":"` + strings.Repeat(`a\n\u00f1\ud83d\ude00ñ😀\\`, 60) + `"}`
	for end := 400; end < 440; end++ {
		v, ok := Read(whole[:end])
		if !ok {
			t.Fatalf("%d: it is not read", end)
		}
		p, ok := v.Part("text", Span{From: 1, Most: 1 << 20})
		var text string
		if err := json.Unmarshal([]byte(p.JSON), &text); !ok || err != nil || len(text) < 80 || strings.ContainsAny(text, "…\ufffd") {
			t.Errorf("%d: %q, %v", end, text, err)
		}
	}
}

func TestWhatIsNoValueIsNotRead(t *testing.T) {
	for _, text := range []string{"", "plain text", `{"a":1} and more`, `{"a":1}{"b":2}`, "]", "<html>"} {
		if _, ok := Read(text); ok {
			t.Errorf("%q is read", text)
		}
	}
}

// TestAnyValueIsShortened: what is left is JSON, and no larger than it may be unless one element is.
func TestAnyValueIsShortened(t *testing.T) {
	scalar := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Int(), func(n int) any { return n }), rapid.Map(rapid.StringN(0, 40, -1), func(s string) any { return s }))
	var value func(deep int) *rapid.Generator[any]
	value = func(deep int) *rapid.Generator[any] {
		if deep == 0 {
			return scalar
		}
		kid := value(deep - 1)
		return rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(kid, 0, 30), func(l []any) any { return l }), rapid.Map(rapid.MapOfN(rapid.StringN(0, 8, -1), kid, 0, 8), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(value(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if rapid.Bool().Draw(t, "cut") {
			text = text[:rapid.IntRange(0, len(text)).Draw(t, "at")]
		}
		v, ok := Read(text)
		if !ok {
			return // its beginning is no value
		}
		most := rapid.IntRange(2, 3000).Draw(t, "most")
		short, cuts := v.Short(most)
		if !json.Valid([]byte(short)) {
			t.Fatalf("%q of %q is no JSON", short, text)
		}
		if n := utf8.RuneCountInString(short); n > most && n > 100 && most > 2000 {
			t.Fatalf("%d characters, most %d: %s", n, most, short)
		}
		if whole := v.top.size <= most; whole && len(text) == len(raw) && (len(cuts) > 0 || !sameValue(short, string(raw))) {
			t.Fatalf("%s became %s, %+v", raw, short, cuts)
		}
	})
}

func sameValue(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// TestTheRestIsReadInParts: the parts of a list are all of it, each element once.
func TestTheRestIsReadInParts(t *testing.T) {
	items := list(500, `{"id":%d,"name":"Sala"}`)
	v, _ := Read(`{"items":` + items + `,"text":"` + strings.Repeat("añ", 300) + `","by":{"a":1,"b":2}}`)
	var ids []string
	for from := 1; from <= 500; {
		p, ok := v.Part("items", Span{From: from, Most: 400})
		if !ok || p.From != from || p.Of != 500 || utf8.RuneCountInString(p.JSON) > 420 {
			t.Fatalf("from %d: %+v, %v", from, p, ok)
		}
		ids = append(ids, strings.Trim(p.JSON, "[]"))
		from = p.To + 1
	}
	if got := "[" + strings.Join(ids, ",") + "]"; got != items {
		t.Errorf("the parts are not the list: %.200s", got)
	}
	for _, c := range []struct {
		at         string
		from, most int
		want       Part
		ok         bool
	}{
		{"text", 599, 10, Part{`"añ"`, 599, 600, 600}, true},
		{"text", 601, 10, Part{Of: 600}, false},
		{"by", 2, 1, Part{`{"b":2}`, 2, 2, 2}, true},
		{"items[3].name", 1, 100, Part{`"Sala"`, 1, 4, 4}, true},
		{"items", 501, 100, Part{Of: 500}, false},
		{"items", 0, 100, Part{}, false},
		{"nothing", 1, 100, Part{}, false},
		{"items[3].id", 1, 100, Part{}, false},
	} {
		if got, ok := v.Part(c.at, Span{c.from, 0, c.most}); got != c.want || ok != c.ok {
			t.Errorf("%s from %d: %+v, %v; want %+v, %v", c.at, c.from, got, ok, c.want, c.ok)
		}
	}
	if p, ok := v.Part("items", Span{10, 2, 8000}); !ok || p.From != 10 || p.To != 11 {
		t.Errorf("%+v, %v", p, ok)
	}
}

func TestALargeValueIsShortenedInLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large values")
	}
	const size = 1 << 18
	short := func(s string) {
		if v, ok := Read(s); ok {
			v.Short(8000)
			v.Part("", Span{From: 2, Most: 8000})
		}
	}
	cost.Alike(t, "Short", short, list(size/30, `{"name":"Sala %d","of":6.5}`), map[string]string{
		"one text":           `["` + strings.Repeat("a", size) + `"]`,
		"levels":             strings.Repeat("[", size),
		"levels of members":  strings.Repeat(`{"a":`, size/5),
		"lists of lists":     list(size/20, list(5, "%d")),
		"many equal lists":   list(size/400, list(100, "%d")),
		"members":            strings.NewReplacer("[", "{", "]", "}").Replace(list(size/10, `"k%d":1`)),
		"controls":           `["` + strings.Repeat(`\u0001`, size/6) + `"]`,
		"records of records": list(size/60, `{"a":1,"b":{"c":1,"d":{"e":1,"f":[1,2,3]}}}`),
	})
}
