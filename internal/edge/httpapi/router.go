package httpapi

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/lazy"
)

// access is the scopes of which a caller needs one.
type access string

// The zero access refuses everybody, so every route must declare its access.
const (
	open        access = "open"                    // everybody
	withChat    access = access(auth.ScopeChat)    // callers with the scope chat
	withAdmin   access = access(auth.ScopeAdmin)   // callers with the scope admin
	withBilling access = access(auth.ScopeBilling) // callers with the scope billing
	withApprove access = withChat + "|" + access(auth.ScopeApprove)
	withEither  access = withAdmin + "|" + withBilling // callers with one of the two
)

// route is one operation of the API.
type route struct {
	method   string
	pattern  string // "/api/runs/{id}"
	segments []string
	function Function
	access   access
	page     bool
	signed   bool           // a webhook's signature is accepted, too
	class    rate.Class     // rate class
	long     bool           // may be answered asynchronously
	bytes    int64          // size limit of a body that is no JSON
	bind     func(huma.API) // registers its handler
	describe func(huma.API) // completes the document, after bind
	bound    func() boundRoute
}

// boundRoute is the handler of a route and the description of its body. It is created at the first request of the
// route, because creating those of all routes would dominate the start of a function.
type boundRoute struct {
	body         bool            // the route reads a body
	bodyRequired bool            // the body must be present, though it has no required member
	members      map[string]bool // names of the body's members; true: a text that is empty when it shows nothing
	schemas      int             // how many schemas judge the body
	serve        http.HandlerFunc
}

// setBody records the body that an operation has.
func (b *boundRoute) setBody(h huma.API, op operation) {
	schema := bodySchema(h, operationOf(h, op.method, op.path))
	if schema == nil {
		return
	}
	b.body, b.bodyRequired = true, !op.optionalBody && len(schema.Required) == 0
	b.members = map[string]bool{}
	for name, of := range schema.Properties {
		b.members[name] = of.MinLength != nil && *of.MinLength > 0 || of.Type == huma.TypeString && said()[name]
	}
}

// said are the members with words for people that may be absent: one that shows nothing counts as empty.
var said = lazy.Words("name title goal description note reason")

// HandleFunc implements humago.Mux.
func (b *boundRoute) HandleFunc(_ string, serve func(http.ResponseWriter, *http.Request)) {
	b.serve = serve
}

// ServeHTTP implements humago.Mux.
func (b *boundRoute) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.serve(w, r) }

// router finds the route of a request and calls its handler after all checks. Unlike http.ServeMux it never
// redirects, and it answers an unknown route with a problem.
type router struct {
	config Config
	routes []*route
}

// add adds a route, which bind registers with huma. Each route has a huma API of its own, so that binding one does
// not change data that another reads. answer is the type of its successful answer; nil for one without a body.
func (t *router) add(function Function, op operation, bind func(huma.API), answer reflect.Type) {
	t.routes = append(t.routes, &route{
		method: op.method, pattern: op.path, segments: strings.Split(op.path, "/"), function: function, access: op.access, signed: op.signed, page: op.page, long: op.long, bytes: op.bytes,
		class: cmp.Or(op.class, classOf(op.method)),
		bind:  bind,
		describe: func(h huma.API) {
			if op.describe != nil {
				op.describe(h, operationOf(h, op.method, op.path))
			}
		},
		bound: sync.OnceValue(func() boundRoute {
			var b boundRoute
			h := newHuma(&b, requestSchemas{newSchemas(), answer})
			bind(h)
			b.setBody(h, op)
			b.schemas = len(h.OpenAPI().Components.Schemas.Map())
			return b
		}),
	})
}

// serve serves one request; the package comment has the order of the checks.
func (t *router) serve(w http.ResponseWriter, r *http.Request) {
	outer := r
	r = r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, t.config.newRequestInfo(w, r)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	to, values := find(t.routes, r)
	if err := checkRate(r.Context(), to); err != nil {
		t.config.render(w, r, err)
		return
	}
	if to == nil {
		t.config.render(w, r, missError(w, r))
		return
	}
	outer.Pattern = to.method + " " + to.pattern // for the middleware that logs this request
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	admitted, err := t.admit(w, r, to)
	if to.page && errors.Is(err, auth.ErrRequired) && wantsPage(r) {
		http.Redirect(w, r, "/", http.StatusSeeOther) // where a person signs in
		return
	}
	if err != nil {
		t.config.render(w, r, err)
		return
	}
	if wait, ok := t.config.asyncWait(to, admitted); ok {
		t.config.answerAsync(w, admitted, wait)
		return
	}
	to.bound().serve(w, admitted)
}

// wantsPage reports whether a browser shows the answer to a person: it accepts a page by its name.
func wantsPage(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}

// admit runs the checks of a route: principal, scope, rate, idempotency key and body, in this order. A turn is counted where it is
// served, because a replayed answer is not a turn.
func (t *router) admit(w http.ResponseWriter, r *http.Request, to *route) (*http.Request, error) {
	if to.signed {
		var err error
		if r, err = t.config.authenticateSigned(w, r); err != nil {
			return nil, err
		}
	}
	if err := to.checkAccess(r.Context()); err != nil {
		return nil, err
	}
	if to.class == rate.Writes || to.class == rate.Decisions {
		if err := t.config.take(r.Context(), to.class); err != nil {
			return nil, err
		}
	}
	if keys := r.Header.Values(headerKey); to.method != http.MethodGet && len(keys) > 0 && !isKey(keys) {
		return nil, errInvalid.At(field("string_pattern_mismatch", "header", headerKey))
	}
	var body []byte
	var err error
	if b := to.bound(); b.body {
		body, err = admitBody(w, r, b)
	} else if to.bytes > 0 {
		body, err = admitBytes(w, r, to.bytes)
	}
	if err != nil {
		return nil, err
	}
	return withIdentity(r, to, body), nil
}

// missError returns the error for a request without a route. A 405 lists the allowed methods.
func missError(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	// A path that another function serves exists, and is only not allowed with this method.
	for _, to := range everyRoute() {
		if _, ok := to.match(r.URL); ok {
			allow = append(allow, to.method)
		}
	}
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	allow = slices.Compact(allow)
	if len(allow) == 0 || slices.Contains(allow, r.Method) && r.Method != http.MethodHead {
		return errRoute
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return errMethod.With("allow", strings.Join(allow, ", "))
}

// find returns the route of a request and the values in its path. HEAD is served as GET.
func find(routes []*route, r *http.Request) (*route, map[string]string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, to := range routes {
		if to.method != method {
			continue
		}
		if values, ok := to.match(r.URL); ok {
			return to, values
		}
	}
	return nil, nil
}

// match compares a URL with the route by segment, as it was sent: an encoded slash is part of a value, and an empty
// or dot segment matches nothing. The value of a last segment {name+} is the rest of the path
// with any segments, because API Gateway has decoded them.
func (to *route) match(u *url.URL) (map[string]string, bool) {
	parts := strings.Split(u.EscapedPath(), "/")
	if n := len(to.segments); strings.HasSuffix(to.segments[n-1], "+}") && len(parts) > n {
		parts = append(parts[:n-1:n-1], strings.Join(parts[n-1:], "/"))
	}
	if len(parts) != len(to.segments) {
		return nil, false
	}
	var values map[string]string
	for i, want := range to.segments {
		name, isValue := strings.CutPrefix(want, "{")
		if !isValue {
			if parts[i] != want {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(parts[i])
		if err != nil || value == "" || parts[i] == "." || parts[i] == ".." {
			return nil, false
		}
		if values == nil {
			values = map[string]string{}
		}
		values[strings.TrimSuffix(strings.TrimSuffix(name, "}"), "+")] = value
	}
	return values, true
}

// checkAccess returns the error of a caller who may not use the route.
func (to *route) checkAccess(ctx context.Context) error {
	if to.access == open {
		return nil
	}
	p, ok := auth.FromContext(ctx)
	if !ok {
		return auth.Refusal(ctx)
	}
	if to.access == "" {
		return fault.Of(errUnclassified)
	}
	scopes := strings.Split(string(to.access), "|")
	if !slices.ContainsFunc(scopes, func(s string) bool { return p.Allows(auth.Scope(s)) }) {
		return auth.ErrScope.With("scope", scopes[0])
	}
	return nil
}

// Function is a folder of functions/.
type Function string

// Functions of this package.
const (
	FunctionChat        Function = "chat"
	FunctionRouter      Function = "router"
	FunctionConfirm     Function = "confirm"
	FunctionJobs        Function = "jobs"
	FunctionEligibility Function = "eligibility"
	FunctionRegistry    Function = "mcp"
	FunctionRecords     Function = "records"
	FunctionFiles       Function = "files"
)

// Route is one route of the deployment, in API Gateway's form.
type Route struct {
	Method   string
	Path     string // "/api/runs/{id}"
	Function Function
}

// routeTable is the generated list of all routes, which a test compares with the code. Computing it at run time
// would link the code of all functions into each one.
//
//go:embed routes.txt
var routeTable string

// Routes lists every route of this package. Every other path (API Gateway's $default) is served by Records, with a
// problem.
func Routes() []Route {
	var list []Route
	for line := range strings.Lines(routeTable) {
		columns := strings.Fields(line) // method, path, function, access, class, id
		list = append(list, Route{Method: columns[0], Path: columns[1], Function: Function(columns[2])})
	}
	return list
}

// everyRoute lists the routes of all functions. It distinguishes a route of another function from an unknown one.
var everyRoute = sync.OnceValue(func() []*route {
	var list []*route
	for _, r := range Routes() {
		list = append(list, &route{method: r.Method, pattern: r.Path, segments: strings.Split(r.Path, "/")})
	}
	return list
})
