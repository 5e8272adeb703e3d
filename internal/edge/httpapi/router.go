package httpapi

import (
	"cmp"
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/ground/fault"
)

// access says who may use a route.
type access string

// Nobody may use a route that does not say who may: the zero access refuses.
const (
	open        access = "open"                    // everybody
	withChat    access = access(auth.ScopeChat)    // whoever has the scope chat
	withAdmin   access = access(auth.ScopeAdmin)   // whoever has the scope admin
	withBilling access = access(auth.ScopeBilling) // whoever has the scope billing
	withApprove access = withChat + "|" + access(auth.ScopeApprove)
	withEither  access = withAdmin + "|" + withBilling // whoever has one of the two
)

// route is one operation of the API.
type route struct {
	method   string
	pattern  string // "/api/runs/{id}"
	segments []string
	function Function
	access   access
	signed   bool           // a webhook's signature may say who is asking
	class    rate.Class     // what it counts as
	long     bool           // it may take longer than its route waits
	bind     func(huma.API) // describes it, and registers its handler
	bound    func() bound
}

// bound is a route's handler, and what it reads. It is made when the route's first
// request comes: to make those of all routes, and all that the document says of them,
// would be most of what starting a function takes.
type bound struct {
	body       bool            // it reads one
	bodyNeeded bool            // it must be there, though nothing need be in it
	members    map[string]bool // of its body
	serve      http.HandlerFunc
}

// reads notes what body an operation has.
func (b *bound) reads(h huma.API, op operation) {
	schema := bodySchema(h, operationOf(h, op.method, op.path))
	if schema == nil {
		return
	}
	b.body, b.bodyNeeded = true, !op.optionalBody && len(schema.Required) == 0
	b.members = map[string]bool{}
	for name := range schema.Properties {
		b.members[name] = true
	}
}

// HandleFunc implements humago.Mux.
func (b *bound) HandleFunc(_ string, serve func(http.ResponseWriter, *http.Request)) { b.serve = serve }

// ServeHTTP implements humago.Mux.
func (b *bound) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.serve(w, r) }

// router finds the route of a request and lets it pass to its handler once the
// principal and the body are admitted. Unlike http.ServeMux it never redirects, and answers a miss with a problem.
type router struct {
	config Config
	routes []*route
}

// add adds a route, which bind registers with huma. Each has a huma of its own: one that
// is bound must not change what another reads.
func (t *router) add(function Function, op operation, bind func(huma.API)) {
	t.routes = append(t.routes, &route{
		method: op.method, pattern: op.path, segments: strings.Split(op.path, "/"), function: function, access: op.access, signed: op.signed, long: op.long,
		class: cmp.Or(op.class, classOf(op.method)),
		bind:  bind,
		bound: sync.OnceValue(func() bound {
			var b bound
			h := newHuma(&b)
			bind(h)
			b.reads(h, op)
			return b
		}),
	})
}

// ServeHTTP answers one request; see the package for the order of its steps.
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	outer := r
	r = r.WithContext(context.WithValue(r.Context(), askedKey{}, t.config.ask(w, r)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	to, values := find(t.routes, r)
	if err := unhurried(r.Context(), to); err != nil {
		t.config.render(w, r, err)
		return
	}
	if to == nil {
		t.config.render(w, r, miss(w, r))
		return
	}
	outer.Pattern = to.method + " " + to.pattern // read by whoever logs this request
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	admitted, err := t.admit(w, r, to)
	if err != nil {
		t.config.render(w, r, err)
		return
	}
	if wait, ok := t.config.apart(to, admitted); ok {
		t.config.answerApart(w, admitted, wait)
		return
	}
	to.bound().serve(w, admitted)
}

// admit lets a request pass to its route once the principal, its scope, how often they
// ask, and the body are admitted, in this order. A turn is counted where it is served: an
// answer that is given again is none.
func (t *router) admit(w http.ResponseWriter, r *http.Request, to *route) (*http.Request, error) {
	if to.signed {
		var err error
		if r, err = t.config.signed(w, r); err != nil {
			return nil, err
		}
	}
	if err := to.admits(r.Context()); err != nil {
		return nil, err
	}
	if to.class == rate.Writes || to.class == rate.Decisions {
		if err := t.config.take(r.Context(), to.class); err != nil {
			return nil, err
		}
	}
	var body []byte
	if b := to.bound(); b.body {
		var err error
		if body, err = admitBody(w, r, b); err != nil {
			return nil, err
		}
	}
	return noted(r, to, body), nil
}

// miss says why no route was found. A 405 names the methods there are.
func miss(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	// An address that another function serves is not unknown, only not served with
	// this method.
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

// find returns the route of a request and the values in its path. HEAD is
// served as GET.
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

// match compares a URL with the route by segment, as sent: an encoded slash is
// part of a value, and an empty or dot segment is nothing.
func (to *route) match(u *url.URL) (map[string]string, bool) {
	parts := strings.Split(u.EscapedPath(), "/")
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
		values[strings.TrimSuffix(name, "}")] = value
	}
	return values, true
}

// admits refuses whoever may not use the route.
func (to *route) admits(ctx context.Context) error {
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

// Function is the folder of functions/ that serves a route.
type Function string

// The functions of this package.
const (
	FunctionChat        Function = "chat"
	FunctionConfirm     Function = "confirm"
	FunctionEligibility Function = "eligibility"
	FunctionRegistry    Function = "mcp"
	FunctionRecords     Function = "records"
)

// Route is one route of the deployment, in API Gateway's form.
type Route struct {
	Method   string
	Path     string // "/api/runs/{id}"
	Function Function
}

// routeTable is what the code of all functions registers; a test holds it true. A
// function that asked that code would hold all of it.
//
//go:embed routes.txt
var routeTable string

// Routes lists every route of this package, as the code that serves them
// registers them. Everything else (API Gateway's $default) belongs to Records,
// which answers it with a problem.
func Routes() []Route {
	var list []Route
	for line := range strings.Lines(routeTable) {
		columns := strings.Fields(line) // method, path, function, access, class, id
		list = append(list, Route{Method: columns[0], Path: columns[1], Function: Function(columns[2])})
	}
	return list
}

// everyRoute is the routes of all functions, to tell one that exists elsewhere from
// one that does not.
var everyRoute = sync.OnceValue(func() []*route {
	var list []*route
	for _, r := range Routes() {
		list = append(list, &route{method: r.Method, pattern: r.Path, segments: strings.Split(r.Path, "/")})
	}
	return list
})
