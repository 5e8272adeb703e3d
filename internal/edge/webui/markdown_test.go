package webui

import (
	"regexp"
	"strings"
	"testing"
)

func TestAssistantTextFetchesNothing(t *testing.T) {
	const rel = ` target="_blank" rel="noopener noreferrer nofollow">`
	for in, want := range map[string]string{
		"**a** `b`":                                      "<p dir=\"auto\"><strong>a</strong> <code>b</code></p>\n",
		"[aquí](https://example.org/x?y=1&z=2)":          `<p dir="auto"><a href="https://example.org/x?y=1&amp;z=2"` + rel + `aquí<span class="link-host">example.org</span></a></p>` + "\n",
		"[bank.com](https://evil.example)":               `<p dir="auto"><a href="https://evil.example"` + rel + `bank.com<span class="link-host">evil.example</span></a></p>` + "\n",
		"[x](https://p\u0430ypal.com)":                   `<p dir="auto"><a href="https://xn--pypal-4ve.com"` + rel + `x<span class="link-host">xn--pypal-4ve.com</span></a></p>` + "\n",
		"https://example.org:8443/a":                     `<p dir="auto"><a href="https://example.org:8443/a"` + rel + `https://example.org:8443/a<span class="link-host">example.org:8443</span></a></p>` + "\n",
		"[x](javascript:alert(1))":                       "<p dir=\"auto\">x</p>\n",
		"[x](data:text/html,hi)":                         "<p dir=\"auto\">x</p>\n",
		"[salir](/signout) [c](//evil.example/a)":        "<p dir=\"auto\">salir c</p>\n",
		"[x](https://a:b@evil.example)":                  "<p dir=\"auto\">x</p>\n",
		"<javascript:alert(1)>":                          "<p dir=\"auto\">javascript:alert(1)</p>\n",
		"![foto](https://evil.example/p.png?d=1)":        `<p dir="auto"><span class="image-label"><a href="https://evil.example/p.png?d=1"` + rel + `foto<span class="link-host">evil.example</span></a></span></p>` + "\n",
		"[![a](https://x.example/i)](https://y.example)": `<p dir="auto"><a href="https://y.example"` + rel + `<span class="image-label">a</span><span class="link-host">y.example</span></a></p>` + "\n",
		"a <img src=x onerror=alert(1)> b":               "<p dir=\"auto\">a &lt;img src=x onerror=alert(1)&gt; b</p>\n",
		"<script>alert(1)</script>\n":                    `<p class="raw">&lt;script&gt;alert(1)&lt;/script&gt;` + "\n</p>\n",
		"a&#x202e;b":                                     "<p dir=\"auto\">a⟦U+202E⟧b</p>\n",
		"a\u202eb":                                       "<p dir=\"auto\">a⟦U+202E⟧b</p>\n",
		"👩\u200d🚀":                                       "<p dir=\"auto\">👩\u200d🚀</p>\n",
		"# Título":                                       "<h2 dir=\"auto\">Título</h2>\n",
		"[a]: https://evil.example\n\n[a]":               `<p dir="auto"><a href="https://evil.example"` + rel + `a<span class="link-host">evil.example</span></a></p>` + "\n",
	} {
		if got := string(assistantText(in)); got != want {
			t.Errorf("%q\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestAssistantTablesCarryNoStyle(t *testing.T) {
	got := string(assistantText("| a | b |\n|:--|--:|\n| 1 | 2 |"))
	if strings.Contains(got, "style=") || !strings.Contains(got, "<td") {
		t.Error(got)
	}
}

func TestHeadingsFollowThoseOfThePage(t *testing.T) {
	for in, want := range map[string]string{
		"# a\n## b\n### c\n# d":                       "2 3 4 2",
		"### a\n##### b\n## c\n#### d":                "2 3 2 3",
		"###### a\n# b":                               "2 2",
		"# 1\n## 2\n### 3\n#### 4\n##### 5\n###### 6": "2 3 4 5 6 6",
	} {
		var got []string
		for _, m := range regexp.MustCompile(`<h(\d)`).FindAllStringSubmatch(string(assistantText(in)), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", in, got, want)
		}
	}
}

func TestBlocksOfATextAreComplete(t *testing.T) {
	got := string(assistantText(richText + "\n\n- [ ] \u05d0\n\n```js\u202e x=1\n<b>\n```\n"))
	for _, want := range []string{
		`<span class="task">☑</span> hecho`, `<span class="task">☐</span> pendiente`, `<div class="table-wrap" tabindex="0"><table>`, `<td align="right" dir="auto">6</td>`,
		`<figcaption>go</figcaption><pre tabindex="0"><code><span class="hk">package</span> main`, `<span class="hc">// Un comentario.</span>`,
		`<figure class="code"><pre tabindex="0"><code>sin lenguaje`, `<blockquote dir="auto">`, `<figcaption>js⟦U+202E⟧</figcaption><pre tabindex="0"><code>&lt;b&gt;`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestCodeIsHighlighted(t *testing.T) {
	mark := strings.NewReplacer(`<span class="hc">`, "[c ", `<span class="hs">`, "[s ", `<span class="hn">`, "[n ", `<span class="hk">`, "[k ", `<span class="hp">`, "[p ", "</span>", "]", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">")
	for _, c := range []struct{ language, in, want string }{
		{"go", "if x := `a\n\"b`; true { // if\n\treturn 0x1F + 1.5 /* a\nb */ }", "[k if] x := [s `a\n\"b`]; [k true] { [c // if]\n\t[k return] [n 0x1F] + [n 1.5] [c /* a\nb */] }"},
		{"JSON", `{"a": "b\"", "c" : [1, null]}`, `{[p "a"]: [s "b\""], [p "c"] : [[n 1], [k null]]}`},
		{"python", "def f(x):  # def\n  \"\"\"a\n'b\"\"\"\n  return 'x", "[k def] f(x):  [c # def]\n  [s \"\"\"a\n'b\"\"\"]\n  [k return] [s 'x]"},
		{"sh", "echo ${a#b} # c\ncd 'x", "[k echo] ${a#b} [c # c]\n[k cd] [s 'x]"},
		{"sql", "SELECT a FROM t WHERE b = 'it''s' -- c", "[k SELECT] a [k FROM] t [k WHERE] b = [s 'it'][s 's'] [c -- c]"},
		{"yaml", "- name: true\n  url: http://a:1", "- [p name]: [k true]\n  [p url]: http://a:[n 1]"},
		{"html", "<p class=\"a\">p <!-- b\n--></p>", "<[k p] class=[s \"a\"]>p [c <!-- b\n-->]</[k p]>"},
		{"none", "if <b>", "if <b>"},
		{"go", "é := \"ñ", "é := [s \"ñ]"},
	} {
		if got := mark.Replace(highlighted(c.language, c.in)); got != c.want {
			t.Errorf("%s %q\n got %s\nwant %s", c.language, c.in, got, c.want)
		}
	}
}

// FuzzHighlighted: no byte of code is lost, and the only tags are those of spans.
func FuzzHighlighted(f *testing.F) {
	for language := range syntaxes() {
		f.Add(language, "if \"a\\\" // <b> 'x `y\n<!-- \"\"\" # 1.2.x /*")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		got := highlighted(language, code)
		if plain := regexp.MustCompile(`<span class="h[cshnkp]">|</span>`).ReplaceAllString(got, ""); plain != escapeHTML(code) || strings.Count(got, "<span") != strings.Count(got, "</span>") {
			t.Errorf("%s %q became %s", language, code, got)
		}
	})
}

func FuzzAssistantText(f *testing.F) {
	for _, s := range []string{"[a](b)", "![a](http://x/)", "<b>", "```\n<script>\n```", "[x](\"><img>)", "| a |\n|--|\n| <i> |", "https://x\"onclick=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := strings.ToLower(string(assistantText(s)))
		for _, tag := range tags.FindAllString(got, -1) {
			name := strings.Trim(strings.Fields(tag)[0], "</>")
			if strings.Contains(" p a em strong code pre span figure figcaption div ul ol li h2 h3 h4 h5 h6 blockquote table thead tbody tr th td del hr br ", " "+name+" ") {
				continue
			}
			t.Fatalf("%q lets %q through: %s", s, tag, got)
		}
		if strings.Contains(got, "<img") || strings.Contains(got, "href=\"javascript") {
			t.Fatalf("%q: %s", s, got)
		}
	})
}
