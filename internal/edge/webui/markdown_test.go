package webui

import (
	"strings"
	"testing"
)

func TestAssistantTextFetchesNothing(t *testing.T) {
	const rel = ` target="_blank" rel="noopener noreferrer nofollow">`
	for in, want := range map[string]string{
		"**a** `b`":                                      "<p><strong>a</strong> <code>b</code></p>\n",
		"[aquí](https://example.org/x?y=1&z=2)":          `<p><a href="https://example.org/x?y=1&amp;z=2"` + rel + `aquí<span class="link-host">example.org</span></a></p>` + "\n",
		"[bank.com](https://evil.example)":               `<p><a href="https://evil.example"` + rel + `bank.com<span class="link-host">evil.example</span></a></p>` + "\n",
		"[x](https://p\u0430ypal.com)":                   `<p><a href="https://xn--pypal-4ve.com"` + rel + `x<span class="link-host">xn--pypal-4ve.com</span></a></p>` + "\n",
		"https://example.org:8443/a":                     `<p><a href="https://example.org:8443/a"` + rel + `https://example.org:8443/a<span class="link-host">example.org:8443</span></a></p>` + "\n",
		"[x](javascript:alert(1))":                       "<p>x</p>\n",
		"[x](data:text/html,hi)":                         "<p>x</p>\n",
		"[salir](/signout) [c](//evil.example/a)":        "<p>salir c</p>\n",
		"[x](https://a:b@evil.example)":                  "<p>x</p>\n",
		"<javascript:alert(1)>":                          "<p>javascript:alert(1)</p>\n",
		"![foto](https://evil.example/p.png?d=1)":        `<p><span class="image-label"><a href="https://evil.example/p.png?d=1"` + rel + `foto<span class="link-host">evil.example</span></a></span></p>` + "\n",
		"[![a](https://x.example/i)](https://y.example)": `<p><a href="https://y.example"` + rel + `<span class="image-label">a</span><span class="link-host">y.example</span></a></p>` + "\n",
		"a <img src=x onerror=alert(1)> b":               "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>\n",
		"<script>alert(1)</script>\n":                    `<p class="raw">&lt;script&gt;alert(1)&lt;/script&gt;` + "\n</p>\n",
		"a&#x202e;b":                                     "<p>a⟦U+202E⟧b</p>\n",
		"a\u202eb":                                       "<p>a⟦U+202E⟧b</p>\n",
		"👩\u200d🚀":                                       "<p>👩\u200d🚀</p>\n",
		"# Título":                                       "<h3>Título</h3>\n",
		"[a]: https://evil.example\n\n[a]":               `<p><a href="https://evil.example"` + rel + `a<span class="link-host">evil.example</span></a></p>` + "\n",
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

func FuzzAssistantText(f *testing.F) {
	for _, s := range []string{"[a](b)", "![a](http://x/)", "<b>", "```\n<script>\n```", "[x](\"><img>)", "| a |\n|--|\n| <i> |", "https://x\"onclick=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := strings.ToLower(string(assistantText(s)))
		for _, tag := range tags.FindAllString(got, -1) {
			name := strings.Trim(strings.Fields(tag)[0], "</>")
			if strings.Contains(" p a em strong code pre span ul ol li h3 h4 h5 h6 blockquote table thead tbody tr th td del hr br ", " "+name+" ") {
				continue
			}
			t.Fatalf("%q lets %q through: %s", s, tag, got)
		}
		if strings.Contains(got, "<img") || strings.Contains(got, "href=\"javascript") {
			t.Fatalf("%q: %s", s, got)
		}
	})
}
