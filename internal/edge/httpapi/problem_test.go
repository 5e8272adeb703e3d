package httpapi

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	_ "piloto/internal/workspace" // its sentences
)

// inspectModule calls f with every node of the module's source, without its tests.
func inspectModule(t *testing.T, f func(path string, n ast.Node)) {
	t.Helper()
	for _, root := range []string{"../../../internal", "../../../functions"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return skipMissing(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				f(path, n)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryFaultHasAMessage reads the source of the module: each code given to fault.New has a message and a next
// step, in every language.
func TestEveryFaultHasAMessage(t *testing.T) {
	codes := map[string]string{"internal_error": "fault"}
	inspectModule(t, func(path string, n ast.Node) {
		if code, ok := newFault(n); ok {
			codes[code] = path
		}
	})
	if len(codes) < 30 {
		t.Fatalf("found only %d codes: is the source still where this test looks?", len(codes))
	}
	for code, path := range codes {
		for _, tag := range locale.Tags() {
			for _, key := range []string{"fault." + code, "fault." + code + ".do"} {
				if text, ok := locale.Lookup(tag, key); !ok || text == "" {
					t.Errorf("%s (%s): no %s in %s", code, path, key, tag)
				}
			}
		}
	}
}

func skipMissing(err error) error {
	if err != nil && strings.Contains(err.Error(), "no such file") {
		return nil
	}
	return err
}

func newFault(n ast.Node) (string, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return "", false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "New" {
		return "", false
	}
	if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "fault" {
		return "", false
	}
	lit, ok := call.Args[1].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	code, err := strconv.Unquote(lit.Value)
	return code, err == nil
}

// TestEveryTypeOfProblemHasASentence reads the source of the module: each type of a field's problem that has no sentence
// of its own where it is made has a general one, in every language.
func TestEveryTypeOfProblemHasASentence(t *testing.T) {
	types := map[string]string{}
	judges := false // its file makes faults
	inspectModule(t, func(path string, n ast.Node) {
		if file, ok := n.(*ast.File); ok {
			judges = slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"piloto/internal/ground/fault"` })
		}
		if !judges {
			return
		}
		for _, typ := range problemTypes(n) {
			types[typ] = path
		}
	})
	if len(types) < 20 {
		t.Fatalf("found only %d types: is the source still where this test looks?", len(types))
	}
	for typ, path := range types {
		for _, tag := range locale.Tags() {
			if text, _ := locale.Lookup(tag, "fault.field."+typ); text == "" {
				t.Errorf("%s (%s): no fault.field.%s in %s", typ, path, typ, tag)
			}
		}
	}
}

// problemTypes returns the types of problems that a node makes: the member Type of a fault.Field without Msg, the first
// argument of the functions that make one without a sentence, and what the functions wrong… return.
func problemTypes(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if of, ok := n.Type.(*ast.SelectorExpr); n.Type != nil && (!ok || of.Sel.Name != "Field") {
			return nil
		}
		var typ string
		for _, e := range n.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return nil
			}
			switch key, _ := pair.Key.(*ast.Ident); {
			case key == nil || key.Name == "Msg":
				return nil
			case key.Name == "Type":
				typ = problemType(pair.Value)
			}
		}
		if typ != "" {
			return []string{typ}
		}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && slices.Contains([]string{"field", "fieldError", "add"}, name.Name) {
			if typ := problemType(n.Args[0]); typ != "" {
				return []string{typ}
			}
		}
	case *ast.FuncDecl:
		if strings.HasPrefix(n.Name.Name, "wrong") {
			return returned(n.Body)
		}
	}
	return nil
}

func returned(body ast.Node) (types []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) == 1 {
			if typ := problemType(back.Results[0]); typ != "" {
				types = append(types, typ)
			}
		}
		return true
	})
	return types
}

// problemType returns a literal that may be a type of problem, else "".
func problemType(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	if typ, err := strconv.Unquote(lit.Value); err == nil && typ != "" && strings.Trim(typ, "abcdefghijklmnopqrstuvwxyz_.") == "" {
		return typ
	}
	return ""
}

func TestEveryKindHasAStatusAndTitle(t *testing.T) {
	seen := map[int]fault.Kind{}
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		status := Status(kind)
		if before, twice := seen[status]; twice {
			t.Errorf("kinds %d and %d are both %d", before, kind, status)
		}
		seen[status] = kind
		for _, tag := range locale.Tags() {
			if _, ok := locale.Lookup(tag, "fault.title."+strconv.Itoa(status)); !ok {
				t.Errorf("%d has no title in %s", status, tag)
			}
		}
	}
}

func TestProblemIsLocalised(t *testing.T) {
	for _, c := range []struct{ query, cookie, accept, want string }{
		{"", "", "", "No existe esa dirección."},
		{"", "", "en-GB", "There is no such address."},
		{"", "en", "es", "There is no such address."},
		{"?lang=es", "en", "en", "No existe esa dirección."},
		{"?lang=en", "", "", "There is no such address."},
		{"?lang=%00", "", "en", "No existe esa dirección."},
		{"", "", "fr", "No existe esa dirección."},
	} {
		r := ask(auth.Principal{}, "GET", "/x"+c.query, "", "Accept-Language", c.accept)
		if c.cookie != "" {
			r.Header.Set("Cookie", LanguageCookie+"="+c.cookie)
		}
		if got := decode(t, newSite().do(r))["detail"]; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestProblemIncludesTheReason(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		detail string
	}{
		{tool.ErrURL.With("reason", "credentials"), 422, "La dirección no es válida. No puede llevar usuario ni contraseña."},
		{tool.ErrDocument.With("reason", "not JSON"), 422, "El documento del servicio no se puede leer como OpenAPI. (not JSON)"},
		{plan.ErrStale.WithFault("changed", fault.Reason("run.changed_superseded")), 409, "El plan ha cambiado desde que se mostró. No se ha ejecutado nada. Otro plan lo ha sustituido."},
		{fault.New(fault.Invalid, "workspace.name").With("name", "a/..").WithFault("why", fault.Reason("workspace.name.segment")), 422, "«a/..» no puede ser el nombre de un archivo: tiene una parte vacía, «.» o «..»."},
		{auth.ErrScope, 403, "Tu token no permite hacer esto: le falta el permiso «…»."},
		{auth.ErrScope.With("scope", "{scope}"), 403, "Tu token no permite hacer esto: le falta el permiso «{scope}»."},
		{fmt.Errorf("wrapped: %w", plan.ErrExpired), 410, "El plan ha caducado sin confirmarse. No se ha ejecutado nada."},
		{fmt.Errorf("get item: %w", context.DeadlineExceeded), 503, "La respuesta ha tardado demasiado."},
		{fmt.Errorf("get item: %w", context.Canceled), 503, "La petición se canceló antes de terminar."},
		{fmt.Errorf("put item: %w", fault.ErrStorage), 503, "Ahora no se puede guardar nada: el disco de Piloto está lleno o no admite escritura. Lo que ya se guardó está a salvo y se puede leer."},
		{auth.ErrUndecided.Because(fault.ErrStorage), 503, "Ahora no se puede guardar nada: el disco de Piloto está lleno o no admite escritura. Lo que ya se guardó está a salvo y se puede leer."},
		{fmt.Errorf("surprise"), 500, "Algo ha fallado en Piloto."},
	} {
		w := httptest.NewRecorder()
		Problems(Config{})(w, httptest.NewRequest("GET", "/api/x", nil), c.err)
		m := decode(t, w)
		if w.Code != c.status || m["detail"] != c.detail || m["action"] == "" {
			t.Errorf("%v: %d %v", c.err, w.Code, m["detail"])
		}
		if w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %s", c.err, w.Header())
		}
	}
}
