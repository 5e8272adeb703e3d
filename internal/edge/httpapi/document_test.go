package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"piloto/internal/access/auth"
	"piloto/internal/live/hook"
)

func TestDocumentIsOpenAPI31(t *testing.T) {
	raw := Document()
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %s", doc.OpenAPI)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var described struct {
		Webhooks map[hook.Event]struct{ Post struct{ Summary string } }
	}
	if err := json.Unmarshal(Document(), &described); err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events {
		if described.Webhooks[e].Post.Summary == "" {
			t.Errorf("the messages %s are not documented", e)
		}
	}
	ids := map[string]string{}
	for _, r := range Routes() {
		item := doc.Paths.Value(documented(r.Path))
		if item == nil || item.GetOperation(r.Method) == nil {
			t.Errorf("%s %s is served and not documented", r.Method, r.Path)
			continue
		}
		id := item.GetOperation(r.Method).OperationID
		if before, twice := ids[id]; twice {
			t.Errorf("%s names %s and %s", id, before, r.Path)
		}
		ids[id] = r.Path
	}
	if len(ids) != len(Routes()) {
		t.Errorf("%d routes, %d ids", len(Routes()), len(ids))
	}
}

func TestRoutes(t *testing.T) {
	var b bytes.Buffer
	for _, r := range described().router.routes {
		fmt.Fprintf(&b, "%-6s %-36s %-11s %-13s %-9s %s\n", r.method, r.pattern, r.function, r.access, r.class, operationID(r))
	}
	if *update {
		if err := os.WriteFile("routes.txt", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(b.String(), routeTable); diff != "" {
		t.Errorf("routes.txt is not what the functions register (-update makes it anew)\n%s", diff)
	}
}

func TestEveryFunctionServesExactlyItsRoutes(t *testing.T) {
	s, served := newSite(), map[string]int{}
	for _, function := range []Function{FunctionChat, FunctionRouter, FunctionConfirm, FunctionJobs, FunctionEligibility, FunctionRegistry, FunctionRecords, FunctionFiles} {
		for _, to := range s.handler(function).(*router).routes {
			served[to.method+" "+to.pattern]++
			if to.function != function {
				t.Errorf("%s serves %s %s of %s", function, to.method, to.pattern, to.function)
			}
		}
	}
	for _, r := range Routes() {
		if n := served[r.Method+" "+r.Path]; n != 1 {
			t.Errorf("%s %s is served %d times", r.Method, r.Path, n)
		}
	}
}

func TestDocsPageHasNoScriptAndEveryRoute(t *testing.T) {
	w := newSite().do(ask(talker, "GET", "/docs", ""))
	page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	if strings.Contains(strings.ToLower(page), "<script") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(page)
	if style == nil {
		t.Fatal("no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	if !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
		t.Error("the policy does not allow the page's own style")
	}
	for _, r := range Routes() {
		if !strings.Contains(page, "<b>"+r.Method+"</b> "+documented(r.Path)+"</h3>") {
			t.Errorf("%s %s is not on the page", r.Method, r.Path)
		}
	}
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Error(got)
	}
}

func TestDocumentIsServed(t *testing.T) {
	w := newSite().do(ask(talker, "GET", "/openapi.json", ""))
	raw := Document()
	if !bytes.Equal(w.Body.Bytes(), raw) || w.Header().Get("Content-Type") != "application/openapi+json" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
}

// TestABrowserWithoutASessionIsLedToTheSignIn from a page; a program, and every other route, answers with a problem.
func TestABrowserWithoutASessionIsLedToTheSignIn(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		path, accept string
		want         int
	}{
		{"/docs", browser, 303},
		{"/docs?lang=en", browser, 303},
		{"/docs", "", 401},
		{"/docs", "*/*", 401},
		{"/docs", "application/json", 401},
		{"/openapi.json", browser, 401},
		{"/api/chats", browser, 401},
	} {
		w := newSite().do(ask(auth.Principal{}, "GET", c.path, "", "Accept", c.accept))
		if w.Code != c.want || (c.want == 303) != (w.Header().Get("Location") == "/") || c.want == 401 && !strings.Contains(w.Body.String(), "auth_required") {
			t.Errorf("%s for %q: %d to %q, %s", c.path, c.accept, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
}
