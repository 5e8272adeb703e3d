package archtest

import (
	"go/ast"
	"testing"
)

// dialing lists the functions that connect without a guard, by library.
var dialing = map[string][]string{
	"net": {
		"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "ListenPacket", "LookupHost", "LookupIP", "LookupAddr", "LookupTXT",
	},
	"net/http":                   {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport"},
	"crypto/tls":                 {"Dial", "DialWithDialer", "Dialer"},
	"net/rpc":                    {"Dial", "DialHTTP"},
	"net/smtp":                   {"Dial", "SendMail", "NewClient"},
	"net/http/httputil":          {"ReverseProxy", "NewSingleHostReverseProxy"},
	"github.com/coder/websocket": {"Dial"},
}

// unguarded lists the packages that may use them, because only the operator of the deployment chooses the address.
var unguarded = map[string]string{
	"internal/tools/outbound": "it is the guard",
	"internal/boot":           "the model that the deployment itself names may be anywhere",
}

// TestOnlyTheGuardDials checks that every request to an address from a user goes through package outbound. An
// http.Client without a transport of its own would not.
func TestOnlyTheGuardDials(t *testing.T) {
	for _, f := range sources(t, false) {
		if !within(f.dir(), "internal", "functions") || unguarded[f.dir()] != "" {
			continue
		}
		for library, names := range dialing {
			for _, n := range calls(f, library, names...) {
				t.Errorf("%s connects past the guard: be given a client of package outbound", f.at(n))
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			c, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if s, ok := c.Type.(*ast.SelectorExpr); !ok || s.Sel.Name != "Client" && s.Sel.Name != "Transport" || !isPackage(s.X, "http") {
				return true
			}
			for _, e := range c.Elts {
				if pair, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Transport" {
						return true
					}
				}
			}
			t.Errorf("%s connects past the guard: it has no transport that it was given", f.at(n))
			return true
		})
	}
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
