package rule

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/ground/fold"
)

// alike are spellings of /pedidos/prohibido that a database, a file system or a framework treats as
// the same.
var alike = []string{
	"/pedidos/Prohibido", "/PEDIDOS/PROHIBIDO", "/pedidos/prohibido%20", "/pedidos/prohibido ", "/pedidos/prohibido.", "/pedidos/prohibido%2e",
	"/pedidos/prohibido...", "/pedidos/prohibido. .", "/pedidos./prohibido", "/pedidos%20/prohibido", "/pedidos/prohi\u200bbido", "/pedidos/\ufeffprohibido",
	"/pedidos/prohibido\u00ad", "/pedidos/pro\u2060hibido", "/pedidos/prohibido\ufe0f", "/pedidos/prohi\u034fbido", "/pedidos/prohibi\U000e0064do",
	"/pedidos/prohi%E2%80%8Bbido", "/pedidos/%EF%BB%BFprohibido", "/pedidos/ｐｒｏｈｉｂｉｄｏ", "/ｐedidos/prohibido", "/pedidos/prohíbido", "/pedidos/prohi\u0301bido",
	"/pedidos/prõhïbîdø", "/pedidos/𝐩𝐫𝐨𝐡𝐢𝐛𝐢𝐝𝐨", "/pedidos/ⓟrohibido", "/pedidos/prohıbido", "/pedidos/PROHİBIDO", "/pedidos/prohibidº",
	"/pedidos/%50rohibido", "/pedidos/%2550rohibido", "/pedidos/%252550rohibido", "/pedidos/%u0050rohibido", "/pedidos/％50rohibido", "/pedidos/%ef%bc%9050rohibido/../prohibido",
	"/pedidos/Prohibido;v=1", "/pedidos;a=b/Prohibido", "/pedidos/Prohibido；v=1", "/pedidos/Prohibido%3bv", "/pedidos/Prohibido/", "/pedidos//Prohibido", "/pedidos/./Prohibido",
	"/pedidos／Prohibido", "/pedidos∕Prohibido", "/pedidos%ef%bc%8fProhibido", "/pedidos＼Prohibido", `/pedidos\Prohibido`, "/pedidos%255CProhibido",
	"/pedidos/x/．．/Prohibido", "/pedidos/x/‥/Prohibido", "/pedidos/x/.. /Prohibido", "/pedidos/Prohibido::$DATA", "/pedidos/prohibido::$data", "/pedidos/prohibido%00",
	"/pedidos/%20prohibido", "/pedidos/\u3000Prohibido", "/pedidos/prohibido.json", "/pedidos/Prohibido.XML ", "/pedidos/x/ ../prohibido.",
	"/pedidos/Prohibido?x", "/pedidos/Prohibido？x", "/pedidos/Prohibido＃x", "/pedidos/prohibido\u00a0", "/pedidos/prohibido\u3000", "/pedidos/prohibido%zz/../%50rohibido",
}

func TestJudgeMatchesTextsThatFoldToTheSame(t *testing.T) {
	for _, glob := range []string{"/pedidos/prohibido", "/pedidos/*hibido", "/pedidos/pro*", "/pedidos/prohibid?", "/**/Prohibido", "/pedidos/prohíbido.", "/ＰEDIDOS/PROHIBIDO/**"} {
		for _, path := range append([]string{"/pedidos/prohibido"}, alike...) {
			for _, effect := range []Effect{Ask, Deny} {
				s := Set{Rules: []Rule{{Effect: Allow}, {Effect: effect, Method: "delete", Path: glob}}}
				if got := s.Judge(Call{Method: "DELETE", Path: path, Resolved: true}).Effect; got != effect {
					t.Errorf("%+q walks around %s %s: %s", path, effect, glob, got)
				}
			}
		}
	}
	for _, path := range alike {
		s := Set{Rules: []Rule{{Effect: Allow, Path: "/pedidos/prohibido"}}}
		if s.Judge(Call{Method: "DELETE", Path: path, Resolved: true}).Effect == Allow && !strings.HasSuffix(path, "/../prohibido") {
			t.Errorf("%+q is allowed by what only folds to it", path)
		}
	}
}

func TestJudgeFoldsNames(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		call Call
	}{
		{Rule{Path: "delete_all"}, Call{Tool: "Delete_All"}},
		{Rule{Path: "delete_*"}, Call{Tool: "DELETE_all"}},
		{Rule{Path: "delete_all"}, Call{Tool: "delete_\u200ball"}},
		{Rule{Path: "delete_all"}, Call{Tool: "ｄelete_all"}},
		{Rule{Path: "borrár"}, Call{Tool: "borrar"}},
		{Rule{Server: "Banco"}, Call{ServerName: "BÁNCO"}},
		{Rule{Server: "Banco"}, Call{ServerName: "Ban\u200bco"}},
		{Rule{Server: "straße*"}, Call{ServerName: "STRASSE 9"}},
		{Rule{Method: "delete"}, Call{Method: "DELETE"}},
	} {
		for _, effect := range []Effect{Ask, Deny} {
			r := c.rule
			r.Effect = effect
			if got := (Set{Rules: []Rule{r}}).Judge(c.call).Effect; got != effect {
				t.Errorf("%+v does not hold for %+v", c.rule, c.call)
			}
		}
		r := c.rule
		r.Effect = Allow
		if got := (Set{Rules: []Rule{r}}).Judge(c.call).Effect; got == Allow && r.Method == "" {
			t.Errorf("%+v allows %+v", c.rule, c.call)
		}
	}
}

func TestJudgeReadsNumbersAsReceiversDo(t *testing.T) {
	s := Set{Rules: []Rule{{Effect: Deny, Path: "/orders/12"}, {Effect: Deny, Path: "/users/007/**"}}}
	for path, want := range map[string]Effect{
		"/orders/012": Deny, "/orders/+12": Deny, "/orders/%2012": Deny, "/orders/12.0": Deny, "/orders/1.2e1": Deny, "/orders/120e-1": Deny, "/orders/0xc": Deny, "/orders/0b1100": Deny,
		"/orders/12abc": Deny, "/orders/12-lamps": Deny, "/orders/١٢": Deny, "/orders/１２": Deny, "/orders/12%00": Deny, "/orders/0000000012": Deny, "/orders/1_2": Deny, "/orders/0_1_2": Deny, "/orders/1_2.0": Deny, "/orders/12_": Deny,
		"/users/7": Deny, "/users/0x7/keys": Deny,
		"/orders/120": "", "/orders/1": "", "/orders/112": "", "/orders/a12": "", "/orders/12/lines": "", "/orders/-12": "", "/orders/1.25e1": "", "/orders/1_20": "",
	} {
		if got := s.Judge(Call{Method: "DELETE", Path: path, Resolved: true}).Effect; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestJudgeMatchesEverySpellingOfUUID(t *testing.T) {
	const plain = "550e8400-e29b-41d4-a716-446655440000"
	bare := strings.ReplaceAll(plain, "-", "")
	forms := []string{plain, strings.ToUpper(plain), bare, strings.ToUpper(bare), "{" + plain + "}", "%7B" + bare + "%7D", "urn:uuid:" + plain, "URN%3AUUID%3A" + plain, plain[:4] + "%2D" + bare[4:], " " + plain}
	for _, written := range []string{plain, bare, strings.ToUpper(plain)} {
		s := Set{Rules: []Rule{{Effect: Deny, Path: "/users/" + written}, {Effect: Ask, Path: "/orders/" + written + "/**"}}}
		for _, form := range forms {
			if got := s.Judge(Call{Method: "DELETE", Path: "/users/" + form, Resolved: true}).Effect; got != Deny {
				t.Errorf("%s denied, and %s is %q", written, form, got)
			}
			if got := s.Judge(Call{Method: "DELETE", Path: "/orders/" + form + "/lines/1", Resolved: true}).Effect; got != Ask {
				t.Errorf("%s asked, and %s is %q", written, form, got)
			}
		}
		other := plain[:len(plain)-1] + "1"
		if got := s.Judge(Call{Method: "DELETE", Path: "/users/" + other, Resolved: true}).Effect; got != "" {
			t.Errorf("%s is %q", other, got)
		}
	}
}

// TestFoldingKeepsOtherPathsFree checks that paths of other objects are not restricted.
func TestFoldingKeepsOtherPathsFree(t *testing.T) {
	s := Set{Rules: []Rule{{Effect: Deny, Path: "/pedidos/prohibido"}, {Effect: Ask, Path: "/v1/*.json"}, {Effect: Deny, Path: "/a/b?d"}}}
	for _, path := range []string{
		"/pedidos/prohibidos", "/pedidos/prohibid", "/pedidos", "/pedidos/prohibido/lineas", "/pedido/prohibido", "/pedidos/pro.hibido", "/pedidos/pro-hibido", "/pedidos/pro%20hibido",
		"/v1/x.xml", "/v1/json", "/a/bd", "/a/b/d", "/a/bccd", "/पकी", "/",
	} {
		if got := s.Judge(Call{Method: "DELETE", Path: path, Resolved: true}); got.Effect != "" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// TestDeniedPathHasNoWeakerVariant draws a path, a rule that matches it, and a variant that some
// receiver treats as the same path.
func TestDeniedPathHasNoWeakerVariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.StringMatching(`[a-z][a-z0-9_-]{0,7}`), 1, 4).Draw(t, "segments")
		var glob, variant strings.Builder
		for _, s := range segments {
			glob.WriteString("/" + globFor(t, s))
			variant.WriteString(variantOf(t, s))
		}
		if rapid.Bool().Draw(t, "and below") {
			glob.WriteString("/**")
		}
		path := "/" + strings.Join(segments, "/")
		for _, effect := range []Effect{Ask, Deny} {
			s := Set{Rules: []Rule{{Effect: effect, Path: glob.String()}, {Effect: Allow}}}
			if s.Judge(Call{Path: path, Resolved: true}).Effect != effect {
				t.Fatalf("%s does not hold for %s", glob.String(), path)
			}
			if got := s.Judge(Call{Path: variant.String(), Resolved: true}).Effect; got != effect {
				t.Fatalf("%s holds for %s and not for %+q: %s", glob.String(), path, variant.String(), got)
			}
		}
	})
}

// globFor draws a pattern that matches a segment.
func globFor(t *rapid.T, segment string) string {
	at := rapid.IntRange(0, len(segment)-1).Draw(t, "at")
	switch rapid.IntRange(0, 3).Draw(t, "pattern") {
	case 0:
		return segment[:at] + "*"
	case 1:
		return segment[:at] + "?" + segment[at+1:]
	case 2:
		return "*" + segment[at:]
	}
	return strings.ToUpper(segment[:at]) + segment[at:]
}

var (
	hidden = []string{"\u200b", "\ufeff", "\u00ad", "\u2060", "\u180e", "\ufe0f", "\u034f", "\U000e0041", "\u0301", "\u0327", "\u202e", "\x00"}
	ends   = []string{".", " ", ". .", ";v=1", "%3Bv", "\u00a0", "．", "::$DATA", "；x"}
	starts = []string{"/", "//", "/./", "/x/../", `\`, "/%2e/", "/x/%2e%2e/", "/x/．．/", "／", "%2f", "%252F"}
)

// variantOf draws a variant that some receiver treats as the same segment.
func variantOf(t *rapid.T, segment string) string {
	var b strings.Builder
	for _, r := range segment {
		text := string(r)
		switch rapid.IntRange(0, 7).Draw(t, "letter") {
		case 0:
			text = strings.ToUpper(text)
		case 1:
			text = string(r + 0xfee0) // full width
		case 2:
			text += rapid.SampledFrom(hidden).Draw(t, "hidden")
		case 3:
			if strings.ContainsRune("aeiou", r) {
				text = string([]rune("áéíóú")[strings.IndexRune("aeiou", r)])
			}
		case 4:
			if 'a' <= r && r <= 'z' {
				text = string(r - 'a' + '𝐚')
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "escapes") {
			text = escape(text)
		}
		b.WriteString(text)
	}
	if rapid.Bool().Draw(t, "ends") {
		b.WriteString(rapid.SampledFrom(ends).Draw(t, "end"))
	}
	return rapid.SampledFrom(starts).Draw(t, "start") + b.String()
}

// escape percent-encodes every byte of a text, or only the necessary ones.
func escape(text string) string {
	if len(text) != 1 {
		return url.PathEscape(text)
	}
	const digits = "0123456789abcdef"
	return "%" + string(digits[text[0]>>4]) + string(digits[text[0]&15])
}

// FuzzFoldedIsNeverWeaker checks that a rule which matches a text also matches the folded text, and
// the text with characters that folding removes.
func FuzzFoldedIsNeverWeaker(f *testing.F) {
	for _, path := range alike {
		f.Add(path, "\u200b", 3)
	}
	f.Fuzz(func(t *testing.T, path, more string, at int) {
		if strings.ContainsAny(path, "*?[]{}\\%;#$:") || len(path) > 200 || fold.Text(more) != "" || strings.ContainsAny(fold.Text(path), `*?/\%;#$:`) || path == "" {
			return
		}
		s := Set{Rules: []Rule{{Effect: Deny, Path: "/a/" + path}}}
		if s.Judge(Call{Path: "/a/" + path, Resolved: true}).Effect != Deny {
			t.Skip("dots, and what is no UTF-8")
		}
		runes := []rune(path)
		at = min(max(at, 0), len(runes))
		for _, variant := range []string{fold.Text(path), string(runes[:at]) + more + string(runes[at:]), path + ". ", fold.Text(path) + more} {
			if s.Judge(Call{Path: "/a/" + variant, Resolved: true}).Effect != Deny {
				t.Fatalf("%+q is denied and %+q is not", path, variant)
			}
		}
	})
}

// TestJudgeCostIsLinear counts the words that are read and the characters of all readings: a path
// of twice the length costs twice as much, in every spelling.
func TestJudgeCostIsLinear(t *testing.T) {
	pattern := "/" + strings.Repeat("*a", 250) + "/**"
	for name, unit := range map[string]string{
		"letters": "a", "segments": "/a", "dots": "/..", "escapes": "%25", "more escapes": "%252561", "wide": "ａ", "long": "ﷺ", "hidden": "\u200b", "marks": "a\u0301",
		"parameters": ";a", "slashes": "／", "backslashes": `\`, "blanks": " .", "broken": "%zz", "references": "${s1.body.a}",
	} {
		cost := func(n int) (steps, runes int) {
			r := readPath("/"+strings.Repeat(unit, n), false)
			for _, list := range [][][]rune{r.plain, r.loose, r.folded, r.trimmed} {
				for _, text := range list {
					runes += len(text)
					for _, m := range pathGlob(pattern).machines() {
						m.matches(text, true)
						steps += m.steps
					}
				}
			}
			return steps, runes
		}
		steps, runes := cost(200)
		twice, more := cost(400)
		if twice > 2*steps+5000 || more > 2*runes+200 {
			t.Errorf("%s: %d steps over %d characters, and %d over %d for twice the path", name, steps, runes, twice, more)
		}
		if most := 60 * 400 * len(unit); more > most {
			t.Errorf("%s: %d characters are read of %d", name, more, most)
		}
	}
}
