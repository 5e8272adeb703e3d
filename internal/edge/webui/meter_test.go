package webui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	reading "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"piloto/infra/local/fixture/cost"
	"piloto/internal/ground/render"
)

// ordinary returns an answer of n bytes as models write them.
func ordinary(n int) string {
	const part = "## Pedido %d\n\nEsto es una **respuesta** con `código`, *énfasis* y [un enlace](https://example.org/a?b=%[1]d).\n" +
		"Otra línea, www.example.org y ana@example.org; «comillas», (paréntesis) y snake_case_name.\n\n" +
		"- uno\n- *dos*\n  - dos y medio\n    1. más\n- tres\n\n> cita de **alguien**\n\n" +
		"| a | b | c |\n|---|:-:|--:|\n| 1 | `2` | [3](https://example.org) |\n| 4 | 5 | 6 |\n\n" +
		"```go\nfunc main() { fmt.Println(a[1], *p, _x) }\n```\n\n"
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, part, i)
	}
	return b.String()[:n]
}

// costly returns texts of about n bytes for which the library reads or writes the same bytes repeatedly.
func costly(n int) map[string]string {
	many := func(unit string) string { return strings.Repeat(unit, n/len(unit)) }
	half := func(a, b string) string {
		return strings.Repeat(a, n/2/len(a)) + strings.Repeat(b, n/2/len(b))
	}
	var ladder strings.Builder
	for i := 1; ladder.Len() < n; i++ {
		ladder.WriteString(strings.Repeat("`", i) + " ")
	}
	wide := n / 200
	return map[string]string{
		"quotes":              many(">"),
		"quotes and lines":    half("> ", "\n"),
		"quotes, each line":   many(strings.Repeat("> ", 100) + "\n"),
		"links without end":   many("[a]("),
		"titles without end":  many(`[a](b "`),
		"pointed links":       many("[a](<b"),
		"open brackets":       many("["),
		"brackets":            half("[", "]"),
		"brackets and stars":  strings.Repeat("[", n/4) + strings.Repeat("*a* ", n/8) + strings.Repeat("]", n/4),
		"images in images":    half("![", "](b)"),
		"named links":         many("[a][b"),
		"emphasis":            many("*a_ "),
		"emphasis opened":     many("*a "),
		"emphasis in itself":  half("*a", "a*"),
		"stars":               half("*", "a*"),
		"tildes":              many("~"),
		"tildes and words":    many("~~~www.a"),
		"ticks":               ladder.String(),
		"code of comments":    "```go\n" + many("/* "),
		"code of texts":       "```python\n" + many(`"""'\\`),
		"code of words":       "```sql\n" + many("is "),
		"code of tags":        "```html\n" + many("<a<!--"),
		"tasks":               many("- [x] "),
		"tags":                many(`<a b="`),
		"tags in quotes":      many(`<a b="<a b='`),
		"comments":            many("<!-- a"),
		"instructions":        many("<?"),
		"declarations":        many("<!A "),
		"lists":               many("- "),
		"numbered lists":      half("1. ", "\n\n"),
		"lists in steps":      stairs(n),
		"addresses":           many(" http://a"),
		"addresses in tildes": many("~~~http://a.b_"),
		"mail":                many("*a@b"),
		"a wide table":        strings.Repeat("|a", wide) + "\n" + strings.Repeat("|-", wide) + "\n" + strings.Repeat("|\n", n-4*wide),
		"pipes in code":       "a|b\n-|-\n" + many("`\\|`|\n"),
		"definitions":         many("[a]:b\n"),
		"one long definition": "[a]: https://example.org/" + strings.Repeat("x", n/2) + "\n\n" + strings.Repeat("[a] ", n/8),
		"one hidden":          "[a]: javascript:" + strings.Repeat("x", n/2) + "\n\n" + strings.Repeat("[a] ", n/8),
		"underlines":          many("a\n-\n"),
		"fences":              many("```\n"),
		"escapes":             many(`\`),
		"entities":            many("&#x202e;"),
		"ampersands":          many("&"),
		"blank lines":         many("\n"),
		"rules":               many("***\n"),
		"headings":            many("# #\n"),
		"spaces":              many(" "),
		"tabs":                many("\t>"),
		"carriage returns":    many("\r"),
		"bytes":               many("\xff"),
	}
}

// stairs returns a list that is one level deeper on every line.
func stairs(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()[:n]
}

// TestNoTextCostsMuchMoreThanAnOrdinaryOne: without the meter the worst text takes some hundred times as long as an
// ordinary one. The ratio is measured within one run, so a slow machine does not matter.
func TestNoTextCostsMuchMoreThanAnOrdinaryOne(t *testing.T) {
	if !every {
		t.Skip("large texts: in the night")
	}
	const size, most = maxMarkdown, 60
	text := ordinary(size)
	normal := cost.Least(func() {
		if _, err := convert(text); err != nil {
			t.Fatal("an ordinary text costs too much:", err)
		}
	})
	for name, text := range costly(size) {
		text = text[:min(size, len(text))]
		if took := cost.Least(func() { _, _ = convert(text) }); took > most*normal {
			t.Errorf("%s: %d times an ordinary text of that size", name, took/normal)
		}
		if out := len(assistantText(text)); out > 64<<10+40*size {
			t.Errorf("%s: %d bytes become %d", name, len(text), out)
		}
	}
}

// TestParsingMarkdownIsLinear: twice the text needs at most twice the allocations.
func TestParsingMarkdownIsLinear(t *testing.T) {
	if !every {
		t.Skip("large texts: in the night")
	}
	half, whole := costly(maxMarkdown/2), costly(maxMarkdown)
	for name := range whole {
		allocs := func(text string) float64 {
			return testing.AllocsPerRun(1, func() { _ = renderMarkdown(text) })
		}
		if a, b := allocs(half[name]), allocs(whole[name]); b > 2.6*a+2000 {
			t.Errorf("%s: %.0f allocations, of twice the text %.0f", name, a, b)
		}
	}
}

func TestLongOrdinaryTextsAreMarkdown(t *testing.T) {
	for name, text := range map[string]string{
		"a long table":        "| a | b | c | d |\n|---|---|---|---|\n" + strings.Repeat("| `x` | **y** | [z](https://example.org/z) | `a\\|b` |\n", 40),
		"a table of nothing":  "|a|b|c|d|e|f|\n|-|-|-|-|-|-|\n" + strings.Repeat("|1|2|3|4|5|6|\n", 1000),
		"a list of links":     strings.Repeat("- [una página](https://example.org/a/b/c?d=e) y otra: https://example.org/x\n", 500),
		"much code":           "```\n" + strings.Repeat("x := a[i](b)[c] * *p // _y_ `z`\n", 1500) + "```\n",
		"a list in a list":    strings.Repeat("- a\n  - b\n    - c\n      - d\n        - e\n", 800),
		"one long paragraph":  strings.Repeat("palabra **negrita** [1] y `código` (véase https://example.org/a). ", 150),
		"sources at the end":  strings.Repeat("Lo dice[^1] alguien [aquí][1].\n", 50) + "\n" + strings.Repeat("[1]: https://example.org \"Un título\"\n", 50),
		"very short, very **": "**a** *b* ~~c~~ `d` [e](https://f.example) ![g](https://h.example/i.png)",
	} {
		if len(text) > maxMarkdown {
			t.Fatal(name, len(text))
		}
		if _, err := convert(text); err != nil {
			t.Errorf("%s (%d bytes): %v", name, len(text), err)
		}
	}
}

func TestAnExpensiveTextIsShownAsPlainText(t *testing.T) {
	for name, text := range map[string]string{
		"too costly": strings.Repeat("[a](", 15_000), "too long": strings.Repeat("**a** ", maxMarkdown/6+1),
		"too deep": strings.Repeat("*", 3000) + "a" + strings.Repeat("*", 3000),
	} {
		if got := string(assistantText(text)); got != `<p class="raw">`+text+"</p>" {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	if got := string(assistantText(strings.Repeat(">", 60_000) + " **a**")); !strings.Contains(got, "<strong>a</strong>") || strings.Count(got, "<blockquote") > maxNesting {
		t.Errorf("%.200s", got)
	}
}

// library is the Markdown library without a meter.
var library = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.Linkify, extension.TaskList,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safeNodes{}, 1))),
)

// FuzzMarkdown checks that the meter does not change the result, and that the size of the result is proportional to
// the text.
func FuzzMarkdown(f *testing.F) {
	for _, s := range costly(120) {
		f.Add(s)
	}
	f.Add(ordinary(500))
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 8<<10)]
		if allocs := testing.AllocsPerRun(1, func() { _, _ = convert(s) }); allocs > float64(2000+16*len(s)) {
			t.Fatalf("%d bytes: %.0f allocations", len(s), allocs)
		}
		got, err := convert(s)
		if err != nil || len(s) > 250 {
			return
		}
		source := []byte(s)
		doc := library.Parser().Parse(reading.NewReader(source))
		if depth(doc) >= maxNesting {
			return
		}
		prepare(doc)
		var want bytes.Buffer
		if err := library.Renderer().Render(&want, source, doc); err != nil {
			t.Fatal(err)
		}
		if got != want.String() {
			t.Fatalf("%q\n got %s\nwant %s", s, got, want.String())
		}
	})
}

func TestTextsAreRenderedOnceAndTheCacheIsBounded(t *testing.T) {
	k, made := htmlCache{most: 4096}, 0
	show := func(text string) render.HTML {
		return k.html(text, func() render.HTML { made++; return render.HTML(strings.Repeat("x", 500) + text) })
	}
	for range 5 {
		if got := show("a"); !strings.HasSuffix(string(got), "xa") {
			t.Fatal(got)
		}
	}
	if made != 1 {
		t.Fatalf("rendered %d times", made)
	}
	for i := range 1000 {
		show(fmt.Sprint(i))
		show("a") // in use, so it stays
	}
	if made != 1001 {
		t.Errorf("rendered %d times", made)
	}
	held := 0
	for _, half := range []map[[32]byte]render.HTML{k.newer, k.older} {
		for _, html := range half {
			held += len(html)
		}
	}
	if held > 2*k.most || held == 0 {
		t.Errorf("%d bytes are kept", held)
	}
	k.html("huge", func() render.HTML { return render.HTML(strings.Repeat("x", 8192)) })
	if _, ok := k.find([32]byte{}); ok || len(k.newer) > 8 {
		t.Error(len(k.newer))
	}
}

func BenchmarkHighlighted(b *testing.B) {
	for name, text := range map[string]string{"words": strings.Repeat("is ", 21_000), "texts": strings.Repeat(`"\`, 32_000), "comments": strings.Repeat("/* ", 21_000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				highlighted("sql", text)
			}
		})
	}
}
