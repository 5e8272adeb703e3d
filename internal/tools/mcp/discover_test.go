package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/mcp"
	"piloto/internal/tools/tool"
)

func TestDiscoverTriesUsualPaths(t *testing.T) {
	slashed := http.NewServeMux() // some frameworks want the slash
	slashed.Handle("/mcp/", mount("/mcp/", tool.TransportStreamable, false, echo()))
	slashed.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/mcp/", http.StatusTemporaryRedirect)
	})
	site := http.NewServeMux() // a web page, with a server below it
	site.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") })
	site.Handle("/mcp", mount("/mcp", tool.TransportStreamable, false, echo("2025-06-18")))
	locked := http.NewServeMux()
	locked.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	locked.Handle("/mcp", mount("/mcp", tool.TransportStreamable, false, echo()))
	for name, c := range map[string]struct {
		handler http.Handler
		asked   string
		want    string
		via     tool.Transport
	}{
		"as it is":        {mount("/", tool.TransportStreamable, false, echo()), "", "", tool.TransportStreamable},
		"at /mcp":         {mount("/mcp", tool.TransportStreamable, true, echo()), "", "/mcp", tool.TransportStreamable},
		"at /sse":         {mount("/sse", tool.TransportSSE, false, echo()), "", "/sse", tool.TransportSSE},
		"with a slash":    {slashed, "", "/mcp/", tool.TransportStreamable},
		"and again":       {slashed, "/mcp/", "/mcp/", tool.TransportStreamable},
		"as NormalizeURL": {slashed, "/mcp", "/mcp/", tool.TransportStreamable},
		"below a page":    {site, "", "/mcp", tool.TransportStreamable},
		"behind a lock":   {locked, "", "/mcp", tool.TransportStreamable},
		"somewhere else":  {mount("/a/b", tool.TransportSSE, false, echo()), "/a/b", "/a/b", tool.TransportSSE},
	} {
		s := serve(t, c.handler)
		found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL + c.asked})
		if err != nil || found.BaseURL != s.URL+c.want || found.Transport != c.via || len(found.Operations) != 1 {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
}

func TestDiscoverReturnsReasonOfFailure(t *testing.T) {
	answer := func(code int, media, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		})
	}
	initialized := func(result string) http.Handler {
		c := newFaultyServer(t, nil)
		c.tools = func() string { return result }
		return c
	}
	version := newFaultyServer(t, nil)
	version.gate = func(w http.ResponseWriter, method string) bool {
		if method == "initialize" {
			say(w, `{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2023-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
		}
		return method != "initialize"
	}
	other := serve(t, answer(200, "application/json", "{}"))
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: %s/messages\n\n", other.URL)
	})
	never := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	silent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, ": soon\n\nevent: message\ndata: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for name, c := range map[string]struct {
		handler http.Handler
		want    *fault.Error
		reason  string
	}{
		"says no address":       {silent, tool.ErrUnreachable, "timeout"},
		"page":                  {answer(200, "text/html", "<html>"), tool.ErrProtocol, "page"},
		"other JSON":            {answer(200, "application/json", `{"openapi":"3.1.0"}`), tool.ErrProtocol, "answer"},
		"nothing there":         {answer(404, "text/plain", ""), tool.ErrProtocol, "status"},
		"locked":                {answer(401, "application/json", `{}`), tool.ErrUnauthorized, ""},
		"forbidden":             {answer(403, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`), tool.ErrUnauthorized, ""},
		"down":                  {answer(502, "text/html", ""), tool.ErrUnreachable, ""},
		"busy":                  {answer(429, "text/html", ""), tool.ErrUnreachable, ""},
		"never":                 {never, tool.ErrUnreachable, "timeout"},
		"no list":               {initialized(`{}`), tool.ErrProtocol, "tools"},
		"list is a text":        {initialized(`{"tools":"x"}`), tool.ErrProtocol, "tools"},
		"an unknown version":    {version, tool.ErrProtocol, "version"},
		"writes somewhere else": {elsewhere, tool.ErrProtocol, "endpoint"},
		"a huge list":           {initialized(`{"tools":[{"name":"a","description":"` + strings.Repeat("x", 9<<20) + `"}]}`), tool.ErrProtocol, "size"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.handler)
			d := discoverer(t)
			switch name {
			case "never":
				d.Each = 500 * time.Millisecond
			case "a huge list":
				d.Each, d.Total = 30*time.Second, time.Minute
			}
			_, err := d.Discover(t.Context(), tool.Target{Base: s.URL, Keys: tool.Keys{{Place: tool.KeyPlace{In: "query", Name: "k"}, Secret: secret}}})
			if f := fault.Of(err); !errors.Is(err, c.want) || c.reason != "" && f.Args["reason"] != c.reason || strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cr3t") {
				t.Errorf("%v, want %v %s", err, c.want, c.reason)
			}
		})
	}
	if n := other.requests(func(*http.Request) bool { return true }); n != 0 {
		t.Errorf("%d requests went to another host", n)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	if _, err := discoverer(t).Discover(t.Context(), tool.Target{Base: closed.URL}); !errors.Is(err, tool.ErrUnreachable) || fault.Of(err).Args["reason"] != "refused" {
		t.Errorf("closed: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := discoverer(t).Discover(gone, tool.Target{Base: closed.URL}); !errors.Is(err, context.Canceled) || errors.Is(err, tool.ErrUnreachable) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDiscoverOmitsUnusableTools(t *testing.T) {
	const object = `"inputSchema":{"type":"object"}`
	for name, c := range map[string]struct{ tools, kept, warning string }{
		"two of one name":        {`{"name":"a",` + object + `},{"name":"b",` + object + `},{"name":"a","description":"x",` + object + `}`, "b", "a: 2 tools have this name"},
		"three, and one differs": {`{"name":"a",` + object + `},{"name":"a",` + object + `},{"name":"b",` + object + `},{"name":"a","description":"x",` + object + `}`, "b", "a: 2 tools have this name"},
		"two titles of one name": {`{"name":"a","title":"A",` + object + `},{"name":"a","title":"B",` + object + `}`, "", "a: 2 tools have this name"},
		"one of them is broken":  {`{"name":"a",` + object + `},{"name":"a","inputSchema":7},{"name":"b",` + object + `}`, "a b", "a: it is listed again, and there its input schema is not an object"},
		"one has no schema":      {`{"name":"a"},{"name":"a",` + object + `}`, "a", "a: it is listed again, and there its input schema is missing"},
		"one has a bad schema":   {`{"name":"a",` + object + `},{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"nothing"}}}}`, "a", "a: it is listed again"},
		"both are broken":        {`{"name":"a"},{"name":"a","inputSchema":7}`, "", "a: its input schema is missing"},
		"listed again":           {`{"name":"a",` + object + `},{"name":"b",` + object + `},{"name":"a",` + object + `},{` + object + `,"name":"a"}`, "a b", ""},
		"hints in words":         {`{"name":"a","annotations":{"destructiveHint":"true","readOnlyHint":0},` + object + `}`, "a", ""},
		"bad name":               {`{"name":"a b",` + object + `},{"name":"",` + object + `},{"name":"b",` + object + `}`, "b", `"a b"`},
		"long name":              {`{"name":"` + strings.Repeat("a", 129) + `",` + object + `}`, "", "is none"},
		"name with a line":       {`{"name":"a\nb",` + object + `}`, "", "is none"},
		"no tool":                {`null,7,"x",{"name":"b",` + object + `}`, "b", "tool 1"},
		"no schema":              {`{"name":"a"}`, "", "is missing"},
		"schema is a list":       {`{"name":"a","inputSchema":[]}`, "", "is not an object"},
		"schema of a text":       {`{"name":"a","inputSchema":{"type":"string"}}`, "", "describes no object"},
		"schema of nothing":      {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"nothing"}}}}`, "", "is not a valid JSON Schema"},
		"refers to nothing":      {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/y"}}}}`, "", "is not a valid JSON Schema"},
		"refers outside":         {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/x"}}}}`, "", "refers to another document"},
		"schema too large":       {`{"name":"a","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 70_000) + `"}}`, "", "is larger"},
		"bad output":             {`{"name":"a",` + object + `,"outputSchema":[]}`, "", "output schema"},
		"header twice":           {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"A"},"y":{"type":"object","properties":{"z":{"type":"string","x-mcp-header":"a"}}}}}}`, "", "into one header"},
		"header with a line":     {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"A\r\nB: c"}}}}`, "", "cannot be one"},
		"header without a name":  {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":""}}}}`, "", "cannot be one"},
		"header of an object":    {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"A"}}}}`, "", "no text, integer or boolean"},
		"draft 7":                {`{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"x":{"$ref":"#/definitions/y"}},"definitions":{"y":{"type":"string"}}}}`, "a", ""},
		"no type":                {`{"name":"a","inputSchema":{}}`, "a", ""},
		"look-ahead":             {`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","pattern":"^(?=a)b"}}}}`, "a", ""},
	} {
		s := newFaultyServer(t, nil)
		s.tools = func() string { return `{"tools":[` + c.tools + `]}` }
		found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
		var kept []string
		for _, op := range found.Operations {
			kept = append(kept, op.Name)
		}
		said := strings.Join(found.Warnings, "; ")
		if err != nil || strings.Join(kept, " ") != c.kept || !strings.Contains(said, c.warning) || (c.warning == "") != (said == "") {
			t.Errorf("%s: kept %v, said %q, %v", name, kept, said, err)
		}
	}
}

// A name that is listed again in other words is the same tool, and calling it works whichever of them comes first.
func TestAToolListedAgainIsOneTool(t *testing.T) {
	const schema = `"inputSchema":{"type":"object","properties":{"x":{"type":["string","null"],"enum":["a","b"]},"y":{"type":"string"}},"required":["x","y"]}`
	const sameSchema = `"inputSchema":{"required":["y","x"],"type":"object","properties":{"y":{"type":"string"},"x":{"enum":["b","a"],"type":["null","string"]}}}`
	const described = `{"name":"do","description":"It does.",`
	for name, again := range map[string]string{
		"as it was":             described + schema + `}`,
		"sets in another order": described + sameSchema + `}`,
		"with a title":          described + `"title":"Do",` + schema + `}`,
		"with another's title":  described + `"annotations":{"title":"Do"},` + sameSchema + `}`,
		"not valid":             described + `"outputSchema":{"type":"nothing"},` + schema + `}`,
	} {
		s := newFaultyServer(t, ok)
		first := described + schema + `}`
		s.tools = func() string { return `{"tools":[` + first + `,` + again + `]}` }
		at, ops := register(t, s.URL, nil)
		if ops["do"].Name != "do" {
			t.Errorf("%s: it is not there", name)
			continue
		}
		first, again = again, first
		if a, err := client(t).CallTool(t.Context(), callOf(at, ops["do"], `{"x":"a","y":"b"}`)); err != nil || a.Status != 200 {
			t.Errorf("%s: %+v %v", name, a, err)
		}
	}
}

func TestDiscoverCleansToolDescriptions(t *testing.T) {
	s := newFaultyServer(t, nil)
	s.tools = func() string {
		return `{"tools":[
			{"name":"a","description":"\n  First\u202e line\u0007.  \nSecond.` + strings.Repeat("ñ", 5000) + `","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}},
			{"name":"b","title":" ","annotations":{"title":"Named","destructiveHint":true},"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}`
	}
	found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
	if err != nil || len(found.Operations) != 2 {
		t.Fatalf("%+v %v", found, err)
	}
	a, b := found.Operations[0], found.Operations[1]
	if a.Summary != "First line." || a.Hints.Writes() || len(a.Description) > 4096 || !strings.HasPrefix(a.Description, "First line.  \nSecond.ñ") || !strings.HasSuffix(a.Description, "ñ…") {
		t.Errorf("%q %q", a.Summary, a.Description)
	}
	if !strings.HasPrefix(a.About, "First line. Second.ñ") || utf8.RuneCountInString(a.About) != tool.MaxAbout || a.FullDescription() != a.About {
		t.Errorf("%q", a.About)
	}
	if b.Summary != "Named" || !b.Hints.Destroys() || string(b.Output) != `{"type":"object"}` {
		t.Errorf("%+v", b)
	}
}

func TestWhatAServerSaysOfAToolIsCleanedAndKept(t *testing.T) {
	yes, no := true, false
	object := `"inputSchema":{"type":"object"}`
	for name, c := range map[string]struct {
		tool  string
		told  string
		hints tool.Hints
	}{
		"title and description": {`"title":"Pedir","description":"Pide algo.\r\n\tCobra 5 €."`, "Pedir. Pide algo. Cobra 5 €.", tool.Hints{}},
		"the same twice":        {`"title":"Pide algo","description":"Pide algo"`, "Pide algo", tool.Hints{}},
		"unseen characters":     {`"title":"P\u202eedir","description":"a\u200b\u2060\ufeff\u00ad\u034f\u3164\udb40\udc49\ufe0fb\u0000c"`, "Pedir. abc", tool.Hints{}},
		"a huge one":            {`"title":"x","description":"` + strings.Repeat("\u200b", 100_000) + `visible"`, "x. visible", tool.Hints{}},
		"hints":                 {`"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`, "", tool.Hints{ReadOnly: &no, Destructive: &yes, Idempotent: &yes, OpenWorld: &no}},
		"hints in words":        {`"annotations":{"readOnlyHint":"true","destructiveHint":"False","idempotentHint":1,"openWorldHint":0}`, "", tool.Hints{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &no}},
		"unclear hints":         {`"annotations":{"readOnlyHint":{},"destructiveHint":"maybe","idempotentHint":[],"openWorldHint":7}`, "", tool.Hints{ReadOnly: &no, Destructive: &yes, Idempotent: &no, OpenWorld: &yes}},
		"no hints":              {`"annotations":{"readOnlyHint":null,"destructiveHint":""}`, "", tool.Hints{}},
	} {
		s := newFaultyServer(t, nil)
		s.tools = func() string { return `{"tools":[{"name":"a",` + c.tool + `,` + object + `}]}` }
		found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
		if err != nil || len(found.Operations) != 1 {
			t.Errorf("%s: %+v %v", name, found, err)
			continue
		}
		if op := found.Operations[0]; op.FullDescription() != c.told || !cmp.Equal(op.Hints, c.hints) {
			t.Errorf("%s: %q %+v", name, op.FullDescription(), op.Hints)
		}
	}
}

func TestDiscoverReadsAllPagesUpToLimit(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{PageSize: 7})
	for i := range 50 {
		server.AddTool(&sdk.Tool{Name: fmt.Sprintf("t%02d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	}
	s := serve(t, mount("/", tool.TransportStreamable, false, server))
	found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
	if err != nil || len(found.Operations) != 50 || len(found.Warnings) != 0 {
		t.Errorf("%d tools, %v %v", len(found.Operations), found.Warnings, err)
	}
	crowd := newFaultyServer(t, nil)
	for _, end := range []string{`],"nextCursor":"more"}`, `]}`} {
		crowd.tools = func() string {
			var list []string
			for i := range 2500 {
				list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, i))
			}
			return `{"tools":[` + strings.Join(list, ",") + end
		}
		found, err = discoverer(t).Discover(t.Context(), tool.Target{Base: crowd.URL})
		if err != nil || len(found.Operations) != 2000 || len(found.Warnings) != 1 {
			t.Errorf("%d tools, %v %v", len(found.Operations), found.Warnings, err)
		}
	}
}

func TestAListThatDoesNotEndKeepsWhatItGave(t *testing.T) {
	page := func(cursor string, names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
		}
		return `{"tools":[` + strings.Join(list, ",") + `],"nextCursor":` + cursor + `}`
	}
	for name, c := range map[string]struct {
		page  func(n int) string // the n-th answer, from 1; "" refuses the cursor
		kept  int
		pages int32
		said  string
	}{
		"the same cursor": {func(int) string { return page(`"same"`, "a", "b") }, 2, 2, "comes back"},
		"two in turn":     {func(n int) string { return page(fmt.Sprintf(`"%d"`, n%2), fmt.Sprintf("t%d", n%2)) }, 2, 3, "comes back"},
		"other definitions": {func(n int) string {
			return strings.ReplaceAll(page(`"same"`, "a", "b"), `"b",`, fmt.Sprintf(`"b","title":"%d",`, n))
		}, 1, 2, "b: 2 tools"},
		"empty pages": {func(n int) string {
			if n == 9 {
				return page(`null`, "a")
			}
			return page(fmt.Sprintf(`"%d"`, n))
		}, 1, 9, ""},
		"ten thousand pages":    {func(n int) string { return page(fmt.Sprintf(`"%d"`, n), fmt.Sprintf("t%d", n)) }, 100, 100, "pages"},
		"always the same tools": {func(n int) string { return page(fmt.Sprintf(`"%d"`, n), "a", "b") }, 2, 100, "pages"},
		"a number": {func(n int) string {
			if n == 2 {
				return page(`null`, "b")
			}
			return page(`2`, "a")
		}, 2, 2, ""},
		"a cursor that it refuses": {func(n int) string {
			if n == 2 {
				return ""
			}
			return page(`"gone"`, "a")
		}, 1, 2, "does not know the next page"},
	} {
		s := newFaultyServer(t, ok)
		var n atomic.Int32
		s.listed = func(w http.ResponseWriter, _ *http.Request, id string) {
			text := c.page(int(n.Add(1)))
			if text == "" {
				say(w, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32602,"message":"invalid cursor"}}`)
				return
			}
			say(w, `{"jsonrpc":"2.0","id":`+id+`,"result":`+text+`}`)
		}
		found, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
		said := strings.Join(found.Warnings, "; ")
		if err != nil || len(found.Operations) != c.kept || n.Load() != c.pages || !strings.Contains(said, c.said) || (c.said == "") != (said == "") {
			t.Errorf("%s: %d tools in %d pages, %q %v", name, len(found.Operations), n.Load(), said, err)
			continue
		}
		n.Store(0) // a call lists them as registration does
		call := callOf(asServer(found), found.Operations[0], `{}`)
		call.Fingerprint = tool.Fingerprint(found.BaseURL, found.Operations[0])
		if a, err := client(t).CallTool(t.Context(), call); err != nil || a.Failed {
			t.Errorf("%s: %+v %v", name, a, err)
		}
	}
}

func TestHandshakeWithIDAsTextAndByteOrderMark(t *testing.T) {
	inner := newFaultyServer(t, ok)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := httptest.NewRecorder()
		inner.ServeHTTP(in, r)
		for name, values := range in.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(in.Code)
		if body := in.Body.String(); body != "" {
			_, _ = io.WriteString(w, "\ufeff"+regexp.MustCompile(`"id":(\d+)`).ReplaceAllString(body, `"id":"$1"`))
		}
	}))
	at, ops := register(t, s.URL, nil)
	if a, err := client(t).CallTool(t.Context(), callOf(at, ops["do"], `{}`)); err != nil || a.Failed {
		t.Errorf("%+v %v", a, err)
	}
}

// bearers returns token-1, token-2, … for keys of the place "oauth".
type bearers struct {
	n, forgotten atomic.Int32
	err          error
}

func (b *bearers) Exchange(_ context.Context, key tool.Credential) (tool.Credential, error) {
	if b.err != nil || key.Place.In != "oauth" {
		return key, b.err
	}
	return tool.Credential{Place: tool.KeyPlace{In: "bearer"}, Secret: fmt.Sprintf("token-%d", b.n.Load()+1)}, nil
}

func (b *bearers) Forget(_ tool.Credential, refused string) {
	b.forgotten.Add(1)
	if refused == fmt.Sprintf("token-%d", b.n.Load()+1) {
		b.n.Add(1)
	}
}

var _ mcp.Exchanger = (*bearers)(nil)

func TestRefusedTokenIsReplacedOnceBeforeCallOnly(t *testing.T) {
	key := tool.Keys{{Place: tool.KeyPlace{In: "oauth", Name: "app", TokenURL: "https://x.test"}, Secret: secret}}
	s := newFaultyServer(t, ok)
	var takes atomic.Value
	takes.Store("token-2")
	lock := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+takes.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	}))
	d := discoverer(t)
	by := &bearers{}
	d.Bearer = by
	found, err := d.Discover(t.Context(), tool.Target{Base: lock.URL, Keys: key})
	if err != nil || by.forgotten.Load() != 1 {
		t.Fatalf("%v, %d forgotten", err, by.forgotten.Load())
	}
	c := client(t, func(o *mcp.Options) { o.Bearer = by })
	call := callOf(asServer(found), byName(found)["do"], `{}`)
	call.Keys, call.Trust, call.Idempotency = key, time.Hour, "run-1"
	if _, err := c.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	takes.Store("token-3")
	calls := lock.requests(isCall)
	if _, err := c.CallTool(t.Context(), call); !errors.Is(err, tool.ErrUnauthorized) || lock.requests(isCall) != calls+1 {
		t.Errorf("%v, %d calls", err, lock.requests(isCall)-calls)
	}
	if a, err := c.CallTool(t.Context(), call); err != nil || a.Failed { // with a new token
		t.Errorf("%+v %v", a, err)
	}
	takes.Store("nothing")
	if _, err := c.CallTool(t.Context(), call); !errors.Is(err, tool.ErrUnauthorized) {
		t.Errorf("%v", err)
	}
	by.err = tool.ErrNotSent.With("reason", "token")
	if _, err := c.CallTool(t.Context(), call); !errors.Is(err, tool.ErrNotSent) {
		t.Errorf("%v", err)
	}
	if _, err := d.Discover(t.Context(), tool.Target{Base: lock.URL, Keys: key}); !errors.Is(err, tool.ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

const secret = "s3cr3t-k3y/with+odd=\"chars"

// A list that fails in a later page is not used: its other half may have tools that a person approved. It is told which
// page failed, and no other address is tried, because the server was found.
func TestAListThatFailsInALaterPageIsNotUsed(t *testing.T) {
	first := `{"tools":[{"name":"do","inputSchema":{"type":"object"}}],"nextCursor":"2"}`
	for name, c := range map[string]struct {
		second func(http.ResponseWriter, *http.Request, string)
		want   *fault.Error
	}{
		"an error of the server":   {status(500, "oh"), tool.ErrUnreachable},
		"an error of the protocol": {status(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"oh"}}`, "Content-Type", "application/json"), tool.ErrProtocol},
		"a page for people":        {status(200, "<html>", "Content-Type", "text/html"), tool.ErrProtocol},
		"no result":                {result("null"), tool.ErrProtocol},
		"nothing there":            {status(404, ""), tool.ErrProtocol},
		"no list":                  {result("{}"), tool.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFaultyServer(t, ok)
			var pages atomic.Int32
			s.listed = func(w http.ResponseWriter, r *http.Request, id string) {
				if pages.Add(1) == 1 {
					result(first)(w, r, id)
					return
				}
				c.second(w, r, id)
			}
			_, err := discoverer(t).Discover(t.Context(), tool.Target{Base: s.URL})
			if f := fault.Of(err); !errors.Is(err, c.want) || f.Args["reason"] != "page_of_list" || f.Args["page"] != "2" || pages.Load() != 2 {
				t.Errorf("%v %v after %d pages", err, f.Args, pages.Load())
			}
		})
	}
}
