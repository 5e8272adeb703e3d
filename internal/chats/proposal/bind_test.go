package proposal

import (
	"errors"
	"testing"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// TestAmbiguousPathBindsNoOtherOperation binds calls that some servers would take for another
// operation.
func TestAmbiguousPathBindsNoOtherOperation(t *testing.T) {
	listed := tool.Listed{
		Server: tool.Server{Kind: tool.KindOpenAPI, BaseURL: "https://shop.example"},
		Entries: []tool.Entry{
			{Method: "POST", Path: "/users/{id}"}, {Method: "POST", Path: "/users/{id}:delete"}, {Method: "GET", Path: "/users/{id}"}, {Method: "GET", Path: "/users/me"},
		},
	}
	for call, want := range map[string]string{
		"POST /users/5": "/users/{id}", "POST /users/5:delete": "/users/{id}:delete", "GET /users/me": "/users/me", "POST /users/me": "/users/{id}",
		"POST /users/${s1.body.id}": "/users/{id}", "GET /users/${s1.body.a}-${s1.body.b}": "/users/{id}", "POST /users/${s1.body.a}${s1.body.b}:delete": "/users/{id}:delete",
		"POST /users/5:DELETE": "", "POST /users/5%253adelete": "", "GET /users/Me": "", "GET /users/me%20": "", "GET /users/m\u200be": "", "GET /users/me;v=1": "", "GET /users/me.": "",
	} {
		var c plan.Call
		c.Method, c.Path = call[:4], call[5:]
		if call[3] == ' ' {
			c.Method, c.Path = call[:3], call[4:]
		}
		e, _, where, err := matchEntry(listed, c)
		switch {
		case want == "" && (!errors.Is(err, tool.ErrRequest) || where != "path" || explain(err) == ""):
			t.Errorf("%q is bound to %s: %v", call, e, err)
		case want != "" && (err != nil || e.Path != want):
			t.Errorf("%q is bound to %s: %v", call, e, err)
		}
	}
}
