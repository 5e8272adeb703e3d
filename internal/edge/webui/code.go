package webui

import (
	"strings"
	"sync"
	"unicode/utf8"

	"piloto/internal/ground/lazy"
)

// syntax is the scanner's knowledge of a language. The scanner reads each byte of any text once, because code comes from a
// model, and its cost must be bounded.
type syntax struct {
	line   []string // the beginnings of a comment that ends with the line
	open   string   // the beginning of a comment that ends with shut; "": there is none
	shut   string
	quotes string   // the quotes of a text that ends on the same line
	blocks []string // the quotes of a text that ends on any line
	names  bool     // a text before a colon is a name: JSON
	keys   bool     // a word before a colon, at the beginning of a line, is a name: YAML
	markup bool     // words are those after "<" or "</"
	folded bool     // case does not count
	words  func() map[string]bool
}

var (
	cComments = []string{"//"}
	hash      = []string{"#"}
)

// syntaxes are the languages by the names that a fence gives them.
var syntaxes = sync.OnceValue(func() map[string]*syntax {
	all := map[string]*syntax{}
	for names, s := range map[string]*syntax{
		"go golang": {line: cComments, open: "/*", shut: "*/", quotes: `"'`, blocks: []string{"`"}, words: lazy.Words(`break case chan const continue default defer
			else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil iota`)},
		"js javascript jsx mjs ts typescript tsx": {line: cComments, open: "/*", shut: "*/", quotes: `"'`, blocks: []string{"`"}, words: lazy.Words(`async await break case
			catch class const continue debugger default delete do else enum export extends finally for from function get if implements import in instanceof interface
			let new of private protected public readonly return set static super switch this throw try type typeof var void while yield true false null undefined`)},
		"json jsonc json5": {line: cComments, quotes: `"`, names: true, words: lazy.Words(`true false null`)},
		"py python python3": {line: hash, quotes: `"'`, blocks: []string{`"""`, `'''`}, words: lazy.Words(`and as assert async await break case class continue def del
			elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self`)},
		"sh bash shell zsh console": {line: hash, quotes: `"'`, words: lazy.Words(`if then else elif fi for in do done while until case esac function return export local
			cd echo exit set unset source sudo`)},
		"sql postgres postgresql mysql sqlite": {line: []string{"--"}, open: "/*", shut: "*/", quotes: `'"`, folded: true, words: lazy.Words(`select from where and or not in is
			null as on join left right inner outer full cross group by order having limit offset union all distinct insert into values update set delete create
			table alter drop index view primary key foreign references default check unique constraint begin commit rollback case when then else end exists
			between like asc desc with returning true false`)},
		"yaml yml":                 {line: hash, quotes: `"'`, keys: true, words: lazy.Words(`true false null yes no on off`)},
		"toml ini conf properties": {line: []string{"#", ";"}, quotes: `"'`, blocks: []string{`"""`, `'''`}, words: lazy.Words(`true false`)},
		"html xml svg":             {open: "<!--", shut: "-->", quotes: `"'`, markup: true},
		"css scss":                 {open: "/*", shut: "*/", quotes: `"'`, words: lazy.Words(`important media import supports keyframes from to not and only var calc`)},
		"java kotlin kt scala c cpp c++ h cs csharp rust rs php swift dart": {line: cComments, open: "/*", shut: "*/", quotes: `"'`, words: lazy.Words(`abstract as async await
			auto bool boolean break byte case catch char class const continue crate data default delete do double dyn else enum extends extern false final
			finally float fn for foreach fun function goto if impl implements import in include inline instanceof int interface internal is let long loop match
			mod move mut namespace new null nullptr object override package private protected pub public readonly record ref return self short signed sizeof
			static string struct super switch template this throw throws trait true try type typedef typename union unsafe unsigned use using val var
			virtual void volatile where while yield`)},
		"ruby rb": {line: hash, quotes: `"'`, words: lazy.Words(`alias and begin break case class def do else elsif end ensure false for if in module next nil not or
			redo rescue retry return self super then true undef unless until when while yield require puts`)},
		"docker dockerfile make makefile": {line: hash, quotes: `"'`, words: lazy.Words(`FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG AS
			ONBUILD STOPSIGNAL HEALTHCHECK SHELL ifeq ifneq ifdef ifndef else endif include define endef export`)},
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = s
		}
	}
	return all
})

// languageOf returns the language that a fence names, as it is shown; "": none.
func languageOf(info string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	if utf8.RuneCountInString(name) > 20 {
		return ""
	}
	return name
}

// highlighted returns code as HTML, with its comments, texts, numbers, words and names in spans. Code of an unknown
// language is only escaped.
func highlighted(language, code string) string {
	s := syntaxes()[strings.ToLower(language)]
	if s == nil {
		return escapeHTML(code)
	}
	c := &scanner{syntax: s, code: code}
	for c.at < len(code) {
		c.next()
	}
	c.plain(len(code))
	return c.out.String()
}

// scanner reads code from its beginning to its end.
type scanner struct {
	*syntax
	code  string
	at    int // of the next byte
	shown int // the code before it is in out
	out   strings.Builder
}

// plain writes the code up to a position, without a span.
func (c *scanner) plain(to int) {
	c.out.WriteString(escapeHTML(c.code[c.shown:to]))
	c.shown = to
}

// span writes the next code, up to a position, in a span of a class.
func (c *scanner) span(class string, to int) {
	c.plain(c.at)
	c.out.WriteString(`<span class="` + class + `">`)
	c.plain(to)
	c.out.WriteString("</span>")
	c.at = to
}

// ended returns the position after the next occurrence of a text, or that of the end.
func (c *scanner) ended(from int, text string) int {
	if i := strings.Index(c.code[from:], text); i >= 0 {
		return from + i + len(text)
	}
	return len(c.code)
}

func (c *scanner) next() {
	rest := c.code[c.at:]
	for _, start := range c.line {
		if strings.HasPrefix(rest, start) && (start != "#" || c.spaceBefore()) {
			comment, _, _ := strings.Cut(rest, "\n")
			c.span("hc", c.at+len(comment))
			return
		}
	}
	if c.open != "" && strings.HasPrefix(rest, c.open) {
		c.span("hc", c.ended(c.at+len(c.open), c.shut))
		return
	}
	for _, quote := range c.blocks {
		if strings.HasPrefix(rest, quote) {
			c.span("hs", c.ended(c.at+len(quote), quote))
			return
		}
	}
	switch b := rest[0]; {
	case strings.IndexByte(c.quotes, b) >= 0:
		c.text()
	case '0' <= b && b <= '9':
		c.span("hn", c.run(c.at))
	case inWord(b):
		c.word()
	default:
		c.at++
	}
}

// spaceBefore reports whether the next byte begins a word: "#" within one begins no comment.
func (c *scanner) spaceBefore() bool { return c.at == 0 || c.code[c.at-1] <= ' ' }

// text reads a text within quotes, at most to the end of the line.
func (c *scanner) text() {
	i := c.at + 1
	for i < len(c.code) && c.code[i] != c.code[c.at] && c.code[i] != '\n' {
		if c.code[i] == '\\' && i+1 < len(c.code) && c.code[i+1] != '\n' {
			i++
		}
		i++
	}
	if i < len(c.code) && c.code[i] == c.code[c.at] {
		i++
	}
	class := "hs"
	if c.names && strings.HasPrefix(strings.TrimLeft(c.code[i:min(len(c.code), i+8)], " \t"), ":") {
		class = "hp"
	}
	c.span(class, i)
}

// run returns the end of the letters, digits and dots from a position.
func (c *scanner) run(i int) int {
	for i < len(c.code) && (inWord(c.code[i]) || '0' <= c.code[i] && c.code[i] <= '9' || c.code[i] == '.') {
		i++
	}
	return i
}

func (c *scanner) word() {
	to := c.run(c.at)
	word := strings.TrimRight(c.code[c.at:to], ".")
	to = c.at + len(word)
	before := strings.TrimRight(c.code[max(0, c.at-2):c.at], "/")
	switch {
	case c.markup:
		if strings.HasSuffix(before, "<") {
			c.span("hk", to)
			return
		}
	case c.keys && to < len(c.code) && c.code[to] == ':' && c.first():
		c.span("hp", to)
		return
	case c.words != nil:
		if c.folded {
			word = strings.ToLower(word)
		}
		if c.words()[word] {
			c.span("hk", to)
			return
		}
	}
	c.at = to
}

// first reports whether a word is the first of its line, after spaces and a dash. It reads at most 80 bytes back.
func (c *scanner) first() bool {
	for i := c.at - 1; i >= 0 && c.at-i < 80; i-- {
		switch c.code[i] {
		case '\n':
			return true
		case ' ', '-':
		default:
			return false
		}
	}
	return c.at < 80
}

// inWord reports whether a byte belongs to a word. All bytes of letters beyond ASCII do.
func inWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' || b == '$' || b >= utf8.RuneSelf
}
