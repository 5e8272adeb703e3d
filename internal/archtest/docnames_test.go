package archtest

import (
	"go/ast"
	"regexp"
	"slices"
	"testing"
)

// identifier matches a doc comment that begins with an identifier: a word with a capital inside, or a small first letter.
var identifier = regexp.MustCompile(`^(\w*[a-z]\w*[A-Z]\w*|[a-z]\w*)\b`)

// noIdentifiers are other words in small letters with which doc comments begin.
var noIdentifiers = []string{"knownText known", "endpoint go", "init huma", "TestSocketsOutsideOfTheNamespaceAreRefused python3"}

// TestDocCommentsBeginWithTheirName finds comments that a renaming left with the name of before.
func TestDocCommentsBeginWithTheirName(t *testing.T) {
	for _, f := range sources(t, true) {
		for _, d := range f.syntax.Decls {
			for name, doc := range documented(d) {
				first := identifier.FindString(doc.Text())
				if first != "" && first != name && !slices.Contains(noIdentifiers, name+" "+first) {
					t.Errorf("%s: the comment of %s begins with %q: begin it with the name", f.at(doc), name, first)
				}
			}
		}
	}
}

// documented returns the doc comments of a declaration by the names that they document.
func documented(d ast.Decl) map[string]*ast.CommentGroup {
	docs := map[string]*ast.CommentGroup{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		docs[d.Name.Name] = d.Doc
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				docs[s.Name.Name] = s.Doc
				if d.Lparen == 0 {
					docs[s.Name.Name] = d.Doc
				}
			case *ast.ValueSpec:
				if d.Lparen == 0 && len(s.Names) == 1 {
					docs[s.Names[0].Name] = d.Doc
				}
			}
		}
	}
	return docs
}
