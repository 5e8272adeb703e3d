package httpapi

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderedhtml "github.com/yuin/goldmark/renderer/html"
	"pgregory.net/rapid"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/locale"
)

var viewer = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList), goldmark.WithRendererOptions(renderedhtml.WithUnsafe()))

// viewed renders Markdown as a viewer that lets all HTML pass.
func viewed(t interface{ Fatal(...any) }, text string) string {
	var out bytes.Buffer
	if err := viewer.Convert([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// live finds tags that Markdown itself does not make, and addresses that run something.
var live = regexp.MustCompile(`(?i)<(script|img|iframe|svg|object|embed|style|link|meta|base|form|video|audio|math|details|div|b)\b|<!--|<[^>]*\son\w+\s*=|<[^>]*(href|src)="\s*(javascript|data|vbscript|file|//)`)

var hostile = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![](http://tracker.example/a.png)", "![x][t]\n\n[t]: http://tracker.example/b",
	"\\![a](http://tracker.example)", "\\\\![a](http://tracker.example)", "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](\njavascript:alert(1))",
	"[a](java&#115;cript:alert(1))", "[a](<javascript:alert(1)>)", "[a]( javascript:alert(1))", "[a][j]\n\n[j]: javascript:alert(1)", "[a][j]\n\n[j]:\njavascript:alert(1)",
	"[a](data:text/html,<script>alert(1)</script>)", "<javascript:alert(1)>", "<http://a.example>", "[![i](http://t/x)](javascript:alert(1))",
	"| a | b |\n|---|---|\n| <img src=x onerror=alert(1)> | `<b>` |", "| `a | <img src=x onerror=y> |\n|---|---|\n| b` | c |",
	"```\n<script>alert(1)</script>\n", "   ```\n```\n<script>alert(1)</script>\n```", "~~~\n```\n~~~\n<script>alert(1)</script>\n```",
	"<div>\n```\n</div>\n\n```\n<script>alert(1)</script>\n```\n", "- ```\n```\n<script>alert(1)</script>\n", "> ```\n```\n<script>alert(1)</script>",
	"```a`b\n<script>alert(1)</script>\n```\n", "````\n```\n<script>alert(1)</script>\n", "```\n~~~\n```\n<script>x</script>\n~~~",
	"$$\n```\n$$\n<script>alert(1)</script>\n```", "a\r```\r<script>alert(1)</script>", "\t```\n<script>alert(1)</script>\n\t```", "1. a\n   ```html\n   <script>x</script>\n   ```\n<script>y</script>",
	"```\n<script>\n  ```  \n<script>alert(1)</script>", "<!-- \n```\n--> <script>alert(1)</script>\n```", "`<img src=x onerror=y>`", "``<img src=x onerror=y>``", "`a\n<img src=x onerror=y>`",
	"[^1]: <img src=x onerror=y>\n\na[^1]", "[a]: <javascript:alert(1)> 'x'\n[a]", "term\n: <img src=x onerror=y>", "``` \n<img src=x onerror=y>\n````\n<img src=x onerror=y>",
}

// TestAnExportHasNothingLive: a message, a title, a note, the name of a service and an opinion, alone and one behind
// another, in a viewer that lets HTML pass.
func TestAnExportHasNothingLive(t *testing.T) {
	exported := func(texts ...string) string {
		e := ChatExport{Chat: conversation.Chat{Title: texts[0]}}
		for _, text := range texts {
			e.Messages = append(e.Messages, wire.Message{
				Role: conversation.RoleAssistant, Content: text, Notes: []conversation.Note{{Code: conversation.NoteNothingDone, Text: text}, {Code: conversation.NoteCost, Text: text}},
				Sources: []conversation.Source{{Service: text, Tool: text}}, Feedback: &conversation.Feedback{Note: text},
			})
		}
		return string(e.markdown(locale.Spanish, time.UTC))
	}
	for _, a := range hostile {
		if html := viewed(t, exported(a)); live.MatchString(html) {
			t.Errorf("%q:\n%s", a, html)
		}
		for _, b := range hostile {
			if html := viewed(t, exported(a, b, a)); live.MatchString(html) {
				t.Fatalf("%q, then %q:\n%s", a, b, html)
			}
		}
	}
}

// TestAnyTextIsInert: pieces of Markdown in any order.
func TestAnyTextIsInert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"```", "~~~", "````", "`", "\n", "\n    ", "\n  ", "\n> ", "\n- ", "\n```\n", "\n   ```\n", ">", "* ", "12) ", "`````", strings.Repeat("`", 11), strings.Repeat("~", 12), "\n\n", " ", "   ", "    ", "\t", "- ", "1. ", "> ", "<script>", "</script>", "<img src=x onerror=y>", "![a](http://t)", "[a](javascript:b)",
			"[a]: javascript:b\n", "[a]", "html", "|", "|---|---|", "\\", "&", "<div>", "</div>", "<!--", "-->", "$$", "\r", "# ", "a", "(", ")", "!", "[", "]", "](", "]:", "javascript:b", "http://t",
		}), 0, 30).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		if html := viewed(t, "# a\n\n"+inert(text)+"\n\n---\n\n<b>"); strings.Count(html, "<b>") != 1 || live.MatchString(strings.Replace(html, "<b>", "", 1)) {
			t.Fatalf("%q\n%s\n%s", text, inert(text), html)
		}
	})
}

// TestInertTextReadsAsBefore: a person sees the same, and a program gets its code.
func TestInertTextReadsAsBefore(t *testing.T) {
	for in, want := range map[string]string{
		"a **b** [c](https://c.example/?q=1) [d](mailto:d@e)": "a **b** [c](https://c.example/?q=1) [d](mailto:d@e)",
		"a < b & c > d":                        "a &lt; b & c > d",
		"```go title=x\nif a < b {}\n```\n> q": "```go\nif a < b {}\n```\n> q",
		"```mermaid\na-->b\n````":              "```\na-->b\n```",
		"Usa `Map<K,V>` y `x`":                 "Usa &#96;Map&lt;K,V>&#96; y `x`",
		"![gato](https://g.example/g.png)":     "&#33;[gato](https://g.example/g.png)",
		"[sala](/salas)":                       "[sala]&#40;/salas)",
		"[nota]: lo que dijo":                  "[nota]&#58; lo que dijo",
		"```\nsin <fin":                        "```\nsin <fin\n```",
		"a ```<b>``` ~~~":                      "a &#96;&#96;&#96;&lt;b>&#96;&#96;&#96; &#126;&#126;&#126;",
		"x `a` < ``b`c`` [d](/e) `[f](/g)`":    "x `a` &lt; ``b`c`` [d]&#40;/e) &#96;[f]&#40;/g)&#96;",
		"```a`b\n<b>":                          "&#96;&#96;&#96;a`b\n&lt;b>",
	} {
		if got := inert(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestCodeIsAsItWas wherever Markdown takes it for code.
func TestCodeIsAsItWas(t *testing.T) {
	for in, want := range map[string]string{
		"1. a\n   ```html\n   <b>\n     <i>\n   ```\n2. b":               "1. a\n```html\n<b>\n  <i>\n```\n2. b",
		"- a\n  - b\n\n    ```\n    if a < b {\n\n    }\n    ```\n  - c": "- a\n  - b\n\n```\nif a < b {\n\n}\n```\n- c",
		"1. ```sh\n   a <b\n   ```\n   y más":                            "1.\n```sh\na <b\n```\ny más",
		"* ~~~\n  <b>\n  ~~~":                                            "*\n```\n<b>\n```",
		"~~~html\n<b>\n```\n~~~~":                                        "````html\n<b>\n```\n````",
		"> a\n> ```go\n> a < b\n>\n>   c\n> ```\n> d":                    "> a\n```go\na < b\n\n  c\n```\n> d",
		">```\n><b>\n>```":                                               "```\n<b>\n```",
		"> > ```\n> > <b>\n> c":                                          "```\n<b>\n```\n> c",
		"> - ```\n>   <b>\n>   ```\n> - c":                               "> -\n```\n<b>\n```\n> - c",
		"- > ```\n  > <b>\n  > ```\n  > c":                               "-\n```\n<b>\n```\n  > c",
		"- ```\n  <b>\n<i>":                                              "-\n```\n<b>\n```\n&lt;i>",
		"   ```\n   <b>\n ```\n<i>":                                      "```\n<b>\n```\n&lt;i>",
		"```\n\t<b>\n```":                                                "```\n\t<b>\n```",
		"- a\n\t```\n\t\t<b>\n\t```":                                     "- a\n```\n\t<b>\n```",
		"a:\n\n    <b>\n\n      <i>\n\nb":                                "a:\n\n```\n<b>\n\n  <i>\n```\n\nb",
		"a\n    <b>":                                                     "a\n    &lt;b>",
		"- a\n\n      <b>\n\n  c":                                        "- a\n\n```\n<b>\n```\n\nc",
		"-     <b>":                                                      "-\n```\n<b>\n```",
		"- a\n\n  <b>":                                                   "- a\n\n  &lt;b>",
		"    ```\n    <b>":                                               "````\n```\n<b>\n````",
		"- a\n  ```\n  x\n  ```\n\n  b\n  - c\n    - d\n\ne\n    - f":    "- a\n```\nx\n```\n\nb\n- c\n  - d\n\ne\n    - f",
	} {
		if got := inert(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestInertIsLinear: many fences that nothing closes.
func TestInertIsLinear(t *testing.T) {
	for _, line := range []string{"```x\n", "~~~x\n", "```x\n~~~~x\n", "``````````x\n```x\n", "`<", "](", "]: ", "- ```x\n", "> ```x\n", "- > ", "> > ", "\t", "1. ", "    x\n\n", " "} {
		if inert(strings.Repeat(line, mostExported/8/len(line))) == "" {
			t.Error(line)
		}
	}
}
