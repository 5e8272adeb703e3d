package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

const small = `{"openapi":"3.0.0","info":{"title":"Small"},"paths":{"/x":{"get":{"responses":{}}}}}`

// site serves pages by path, and records the requests.
type site struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string
	asked []string
	other int // status of every other page
}

func serve(t *testing.T, pages map[string]string) *site {
	t.Helper()
	s := &site{pages: pages, other: http.StatusNotFound}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.Path)
	page, ok := s.pages[r.URL.Path]
	s.mu.Unlock()
	if to, redirect := strings.CutPrefix(page, "-> "); redirect {
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	if !ok {
		w.WriteHeader(s.other)
		_, _ = fmt.Fprint(w, `{"detail":"Not Found"}`)
		return
	}
	_, _ = fmt.Fprint(w, page)
}

func discoverer() Discoverer {
	return Discoverer{
		Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Each:   2 * time.Second,
	}
}

func TestDiscoverTriesUsualPaths(t *testing.T) {
	withServer := strings.Replace(small, `"paths"`, `"servers":[{"url":"/api/v3"}],"paths"`, 1)
	cases := []struct {
		name        string
		pages       map[string]string
		base, known string // below the site
		at, want    string // the document and base that are found, below the site
	}{
		{"the usual place", map[string]string{"/openapi.json": small}, "", "", "/openapi.json", ""},
		{"swagger", map[string]string{"/swagger.json": small}, "", "", "/swagger.json", ""},
		{"spring", map[string]string{"/v3/api-docs": small}, "", "", "/v3/api-docs", ""},
		{".NET", map[string]string{"/swagger/v1/swagger.json": small}, "", "", "/swagger/v1/swagger.json", ""},
		{"YAML", map[string]string{"/openapi.yaml": "openapi: 3.0.0\ninfo: {title: Y}\npaths: {/x: {get: {responses: {}}}}\n"}, "", "", "/openapi.yaml", ""},
		{"a prefix", map[string]string{"/api/openapi.json": small}, "/api", "", "/api/openapi.json", "/api"},
		{"a prefix, document at the top", map[string]string{"/openapi.json": small}, "/api", "", "/openapi.json", "/api"},
		{"a server of the document", map[string]string{"/openapi.json": withServer}, "", "", "/openapi.json", "/api/v3"},
		{"the document itself", map[string]string{"/specs/rooms.yaml": small}, "/specs/rooms.yaml", "", "/specs/rooms.yaml", ""},
		{"where it was", map[string]string{"/specs/rooms.yaml": small, "/openapi.json": withServer}, "", "/specs/rooms.yaml", "/specs/rooms.yaml", ""},
		{"not where it was", map[string]string{"/openapi.json": small}, "", "/specs/rooms.yaml", "/openapi.json", ""},
		{"HTML first", map[string]string{"/openapi.json": "<html>", "/swagger.json": `{"a":1}`, "/v2/api-docs": small}, "", "", "/v2/api-docs", ""},
		{"a broken one first", map[string]string{"/openapi.json": `{"openapi":"9"}`, "/swagger.json": small}, "", "", "/swagger.json", ""},
		{"named by a page", map[string]string{"/docs": `<script>SwaggerUIBundle({url: '/hidden/api.json?x=1'})</script>`, "/hidden/api.json": small}, "", "", "/hidden/api.json?x=1", ""},
		{"named by ReDoc", map[string]string{"/redoc": `<redoc spec-url="spec/a.json"></redoc>`, "/spec/a.json": small}, "", "", "/spec/a.json", ""},
	}
	for _, c := range cases {
		s := serve(t, c.pages)
		known := c.known
		if known != "" {
			known = s.URL + known
		}
		found, err := discoverer().Discover(t.Context(), tool.Target{Base: s.URL + c.base, Known: known})
		if err != nil || found.DocumentURL != s.URL+c.at || found.BaseURL != s.URL+c.want || len(found.Operations) != 1 {
			t.Errorf("%s: %s, base %s, %d operations, %v", c.name, found.DocumentURL, found.BaseURL, len(found.Operations), err)
		}
	}
}

func TestDiscoverReturnsReasonOfFailure(t *testing.T) {
	away := serve(t, nil)
	away.Close()
	down := serve(t, nil)
	down.other = http.StatusBadGateway
	elsewhere := serve(t, map[string]string{"/openapi.json": small})
	moved := serve(t, map[string]string{"/openapi.json": "-> " + elsewhere.URL + "/openapi.json", "/docs": `url: "` + elsewhere.URL + `/openapi.json"`})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	guarded := discoverer()
	guarded.Client.Transport = refusing{}
	locked := serve(t, nil)
	locked.other = http.StatusForbidden
	lockedAbove := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusNotFound
		if r.URL.Path == "/openapi.json" {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
	}))
	defer lockedAbove.Close()
	plain := httptest.NewUnstartedServer(http.NotFoundHandler())
	plain.StartTLS() // its certificate has no trusted authority
	defer plain.Close()
	cases := []struct {
		name   string
		d      Discoverer
		base   string
		want   *fault.Error
		reason string
	}{
		{"nothing there", discoverer(), serve(t, nil).URL, tool.ErrNoDocument, ""},
		{"not a document", discoverer(), serve(t, map[string]string{"/openapi.json": `{"swagger":"1.2"}`}).URL, tool.ErrDocument, "-"},
		{"nobody answers", discoverer(), away.URL, tool.ErrUnreachable, "refused"},
		{"nobody has the name", discoverer(), "http://nobody.invalid", tool.ErrUnreachable, "dns"},
		{"no certificate", discoverer(), plain.URL, tool.ErrUnreachable, "tls"},
		{"only errors", discoverer(), down.URL, tool.ErrUnreachable, "status"},
		{"locked", discoverer(), locked.URL, tool.ErrUnauthorized, "document"},
		{"locked below", discoverer(), locked.URL + "/v1", tool.ErrUnauthorized, "document"},
		{"locked elsewhere", discoverer(), lockedAbove.URL + "/none", tool.ErrNoDocument, "locked"},
		{"elsewhere", discoverer(), moved.URL, tool.ErrNoDocument, "redirect"},
		{"too slow", Discoverer{Client: discoverer().Client, Each: 50 * time.Millisecond}, slow.URL, tool.ErrUnreachable, "timeout"},
		{"too slow in all", Discoverer{Client: discoverer().Client, Total: 50 * time.Millisecond}, slow.URL, tool.ErrUnreachable, "timeout"},
		{"guarded", guarded, "http://10.0.0.1", tool.ErrTarget, ""},
		{"no URL", discoverer(), "::", tool.ErrURL, "form"},
	}
	for _, c := range cases {
		_, err := c.d.Discover(t.Context(), tool.Target{Base: c.base})
		if reason := fault.Of(err).Args["reason"]; !errors.Is(err, c.want) || c.reason != "-" && reason != c.reason {
			t.Errorf("%s: %v (%s), want %s (%s)", c.name, err, reason, c.want.Code, c.reason)
		}
	}
	if len(elsewhere.asked) != 0 {
		t.Errorf("a redirect was followed to %v", elsewhere.asked)
	}
	_, err := discoverer().Discover(t.Context(), tool.Target{Base: moved.URL})
	if fault.Of(err).Args["redirect"] != elsewhere.URL {
		t.Errorf("%v does not say where the service redirects to", err)
	}
}

// TestDiscoverReadsDocumentAtGivenAddress: only that address is read, calls go to the service, and only the service
// gets the key.
func TestDiscoverReadsDocumentAtGivenAddress(t *testing.T) {
	const there = `"servers":[{"url":"/v2"},{"url":"https://other.example"}],"paths"`
	for name, x := range map[string]struct{ prefix, want string }{"at its host": {"", "/v2"}, "below a prefix": {"/v9", "/v9"}} {
		docs := serve(t, map[string]string{"/rooms.json": strings.Replace(small, `"paths"`, there, 1)})
		api := serve(t, map[string]string{"/openapi.json": small})
		key := tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: "key-of-the-service"}}
		found, err := discoverer().Discover(t.Context(), tool.Target{Base: api.URL + x.prefix, Given: docs.URL + "/rooms.json?v=1", Keys: key})
		if err != nil || found.BaseURL != api.URL+x.want || found.DocumentURL != docs.URL+"/rooms.json?v=1" || len(found.Operations) != 1 {
			t.Errorf("%s: base %s, document %s, %d operations, %v", name, found.BaseURL, found.DocumentURL, len(found.Operations), err)
		}
		if len(api.asked) != 0 || len(docs.asked) != 1 {
			t.Errorf("%s: asked %v of the service, %v of the documents", name, api.asked, docs.asked)
		}
		docs.pages, docs.other = nil, http.StatusUnauthorized
		_, err = discoverer().Discover(t.Context(), tool.Target{Base: api.URL, Given: docs.URL + "/rooms.json", Keys: key})
		if !errors.Is(err, tool.ErrUnauthorized) || len(docs.asked) != 2 || len(api.asked) != 0 {
			t.Errorf("%s, locked: %v; asked %v and %v: the key is the service's", name, err, docs.asked, api.asked)
		}
	}
}

// refusing is a transport whose guard refuses every address.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, tool.ErrTarget }

func TestDiscoverFetchesNoReferenceOfDocument(t *testing.T) {
	elsewhere := serve(t, map[string]string{"/schema.json": `{"type":"string"}`})
	s := serve(t, nil)
	s.pages = map[string]string{"/openapi.json": `{"openapi":"3.1.0","servers":[{"url":"` + elsewhere.URL + `"}],"paths":{"/x":{"post":{"requestBody":{"content":{
		"application/json":{"schema":{"$ref":"` + elsewhere.URL + `/schema.json"}}}}},"get":{"parameters":[{"$ref":"` + s.URL + `/p.json"},{"$ref":"p.json"}]}},
		"/y":{"$ref":"` + elsewhere.URL + `/y.json"}},"components":{"schemas":{"a":{"$id":"` + elsewhere.URL + `/a","$schema":"` + elsewhere.URL + `/meta"}}}}`}
	found, err := discoverer().Discover(t.Context(), tool.Target{Base: s.URL})
	if err != nil || len(found.Operations) != 2 || found.BaseURL != s.URL {
		t.Fatalf("%+v %v", found, err)
	}
	if len(elsewhere.asked) != 0 || len(s.asked) != 1 {
		t.Errorf("asked %v elsewhere and %v here", elsewhere.asked, s.asked)
	}
	if warned := strings.Join(found.Warnings, "\n"); !strings.Contains(warned, "names the server "+elsewhere.URL) {
		t.Errorf("the other server is not named: %s", warned)
	}
}

func TestDiscoverRefusesLargeDocument(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/openapi.json" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		page := []byte(strings.Repeat(" ", 1<<20))
		for range 64 {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	if _, err := discoverer().Discover(t.Context(), tool.Target{Base: s.URL}); !errors.Is(err, tool.ErrDocument) {
		t.Errorf("%v, want ErrDocument", err)
	}
}

func TestDiscoverEndsWithContext(t *testing.T) {
	arrived := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := discoverer().Discover(ctx, tool.Target{Base: s.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want cancelled", err)
	}
}

// TestDiscoverSendsKeyForDocumentWhenAsked: the key is sent after a refusal only, to the service's own origin, and
// it is removed from the document.
func TestDiscoverSendsKeyForDocumentWhenAsked(t *testing.T) {
	const secret = "key-of-the-service"
	for name, x := range map[string]struct {
		key  tool.Keys
		open bool // open to a request without a key, and closed to one with a key
		ok   bool
	}{
		"bearer":          {tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}, false, true},
		"a header":        {tool.Keys{{Place: tool.KeyPlace{In: "header", Name: "X-Api-Key"}, Secret: secret}}, false, true},
		"a parameter":     {tool.Keys{{Place: tool.KeyPlace{In: "query", Name: "key"}, Secret: secret}}, false, true},
		"another key":     {tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: "another-key"}}, false, false},
		"none":            {nil, false, false},
		"not asked for":   {tool.Keys{{Place: tool.KeyPlace{In: "bearer"}, Secret: secret}}, true, true},
		"a client's, not": {tool.Keys{{Place: tool.KeyPlace{In: "oauth", Name: "client"}, Secret: secret}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				shown := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.URL.RawQuery
				has := shown == "Bearer "+secret || shown == secret || shown == "key="+secret
				if x.open && shown != "" || !x.open && !has {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = fmt.Fprint(w, strings.Replace(small, "Small", "Small "+secret, 1))
			}))
			defer s.Close()
			found, err := discoverer().Discover(t.Context(), tool.Target{Base: s.URL, Keys: x.key})
			if (err == nil) != x.ok || x.ok && len(found.Operations) != 1 {
				t.Errorf("%d operations, %v", len(found.Operations), err)
			}
			if !x.open && strings.Contains(fmt.Sprintf("%+v", found), secret) {
				t.Errorf("the key is in what was found: %+v", found)
			}
		})
	}
}

// TestReadTextReadsAllOrFails: a document is read in pieces, and one that was cut is not read as a shorter one.
func TestReadTextReadsAllOrFails(t *testing.T) {
	for _, size := range []int{0, 1, 32 << 10, 32<<10 + 1, 3 << 20} {
		want := strings.Repeat("x", size)
		if got, err := readText(iotest.OneByteReader(strings.NewReader(want[:min(size, 50_000)])), maxDocument, ""); err != nil || got != want[:min(size, 50_000)] {
			t.Errorf("%d bytes, one by one: %d, %v", size, len(got), err)
		}
		if got, err := readText(iotest.DataErrReader(strings.NewReader(want)), maxDocument, ""); err != nil || got != want {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("reset")} {
			if got, err := readText(io.MultiReader(strings.NewReader(want), iotest.ErrReader(cause)), maxDocument, ""); !errors.Is(err, cause) || got != "" {
				t.Errorf("%d bytes, then %v: %d bytes, %v", size, cause, len(got), err)
			}
		}
	}
	if _, err := readText(strings.NewReader("12345"), 4, "https://a.example"); !errors.Is(err, tool.ErrDocument) {
		t.Errorf("more than allowed: %v", err)
	}
}
