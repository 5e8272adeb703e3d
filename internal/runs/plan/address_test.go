package plan

import "testing"

func TestLeadsToTheShownAddressOnly(t *testing.T) {
	for _, c := range []struct {
		path, query string
		to, not     []string
	}{
		{"/a/b", "", []string{"/a/b"}, []string{"/a/b/", "/a", "/a/b?", "/a/b?x=1", "/a/%62", "/a//b", ""}},
		{"/a/%c3%b1;x=1", "", []string{"/a/%c3%b1;x=1"}, []string{"/a/%C3%B1;x=1", "/a/%c3%b1%3Bx=1", "/a/ñ;x=1"}},
		{"/a/${s1.body.id}", "", []string{"/a/7", "/a/%23W1"}, []string{"/a/7/8", "/a", "/b/7", "/a/7?x=1"}},
		{`/a/x-${s1.body["b/c"]}.json/d`, "", []string{"/a/x-1.json/d"}, []string{"/a/x-1/d", "/a/y-1.json/d", "/a/x-1.json"}},
		{"/a/${item.x}-${item.y}", "", []string{"/a/1-2"}, []string{"/a/1", "/a/12"}},
		{"/a", "b=1&c=x%20y", []string{"/a?b=1&c=x%20y"}, []string{"/a", "/a?b=1", "/a?c=x%20y&b=1", "/a?b=1&c=x+y", "/a?b=1&c=x%20y&d=2"}},
		{"/a", "b=${s1.body.b}", []string{"/a?b=1", "/a?b=", "/a?b=1&b=2", "/a?b=1,2"}, []string{"/a", "/a?", "/a?c=1", "/a?b=1&c=2", "/a?b%5B%5D=1"}},
		{"/a", "b=${s1.body.b}&b=2&c=3", []string{"/a?b=1&b=2&c=3", "/a?b=2&b=2&b=2&c=3"}, []string{"/a?b=2&c=3", "/a?b=1&c=3"}},
		{"/a", "b=x${s1.body.b}", []string{"/a?b=x1"}, []string{"/a?b=1", "/a?b=x1&b=x2"}},
	} {
		b, s := Binding{BaseURL: "http://x/v1", Query: c.query}, Step{Method: "GET", Path: c.path}
		for _, to := range c.to {
			if !b.LeadsTo(s, "http://x/v1"+to) {
				t.Errorf("%s does not lead to %s", b.URL(s), to)
			}
		}
		for _, not := range append(c.not, "0"+c.path) {
			if b.LeadsTo(s, "http://x/v1"+not) {
				t.Errorf("%s leads to %s", b.URL(s), not)
			}
		}
	}
	tool := Step{Tool: "t"}
	if b := (Binding{BaseURL: "http://x/mcp"}); b.URL(tool) != "http://x/mcp" || !b.LeadsTo(tool, "http://x/mcp") || b.LeadsTo(tool, "http://x/mcp/t") {
		t.Error("a tool leads elsewhere than to its server")
	}
}
