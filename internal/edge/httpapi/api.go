package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

var errUnclassified = errors.New("httpapi: a route that does not say who may use it")

// api is one handler under construction.
type api struct {
	config   Config
	function Function
	router   *router
}

func newAPI(c Config) *api { return &api{config: c, router: &router{config: c}} }

// newHuma returns huma on a mux, with no operation yet.
func newHuma(m humago.Mux) huma.API {
	return humago.New(m, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Piloto", Version: "1",
				Description: "A chat that acts, and asks first. Errors are RFC 9457 problems with a stable code and a trace id.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer":  {Type: "http", Scheme: "bearer"},
					"token":   {Type: "apiKey", In: "header", Name: "X-VX11-Token"},
					"webhook": signature,
				},
			},
		},
		Formats: map[string]huma.Format{"application/json": format, "json": format}, DefaultFormat: "application/json",
	})
}

// schemaName names a type in the document. What a receipt is made of has the names
// of what it is about.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t.PkgPath() == reflect.TypeFor[receipt.Receipt]().PkgPath() && name != "Receipt":
		return "Receipt" + name
	case t == reflect.TypeFor[plan.Step]() || t == reflect.TypeFor[plan.Revision]():
		return "Plan" + name
	}
	return name
}

// handler returns what was registered, to be served by one function.
func (a *api) handler() http.Handler { return a.router }

// operation is what a route says of itself besides its types.
type operation struct {
	method       string
	path         string
	id           string // operationId
	summary      string
	access       access
	signed       bool       // also a webhook's signature may say who is asking
	class        rate.Class // what it counts as; a request alone when it reads, else a write
	status       int        // of success; 200 when not set
	failures     []int      // documented besides 400, 401, 403, 429 and 500
	optionalBody bool       // its body may be left out; that reads as an empty object
	long         bool       // it is a turn, which may be answered apart from its request

	describe func(huma.API, *huma.Operation) // says what its types do not; nil: nothing
}

// register adds a route to the router, with how it is bound to huma. The handler
// returns a domain error; it becomes a problem here.
func register[In, Out any](a *api, op operation, handle func(context.Context, *In) (*Out, error)) {
	failures := append([]int{http.StatusBadRequest, http.StatusTooManyRequests}, op.failures...)
	var security []map[string][]string
	if op.access != open {
		failures = append(failures, http.StatusUnauthorized, http.StatusForbidden)
		security = []map[string][]string{{"bearer": {}}, {"token": {}}}
	}
	if op.signed {
		security = append(security, map[string][]string{"webhook": {}})
	}
	described := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Summary: op.summary,
		Tags: []string{string(a.function)}, DefaultStatus: op.status,
		Errors: append(failures, http.StatusInternalServerError), Security: security,
		// The body is bounded and read before huma sees it. A deadline of huma's
		// would stay on the connection and end slow handlers.
		BodyReadTimeout: -1, MaxBodyBytes: 2 * MaxBody,
	}
	handler := func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		var told *Problem
		switch {
		case errors.As(err, &told):
			return nil, told
		case err != nil:
			return nil, problem(ctx, err)
		}
		return out, nil
	}
	a.router.add(a.function, op, func(h huma.API) {
		huma.Register(h, described, handler)
		if op.optionalBody {
			operationOf(h, op.method, op.path).RequestBody.Required = false
		}
		if op.describe != nil {
			op.describe(h, operationOf(h, op.method, op.path))
		}
	})
}

// operationOf returns what the document says of a route.
func operationOf(h huma.API, method, path string) *huma.Operation {
	item := h.OpenAPI().Paths[path]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[method]
}

// bodySchema returns the schema of an operation's body, or nil.
func bodySchema(h huma.API, op *huma.Operation) *huma.Schema {
	if op.RequestBody == nil {
		return nil
	}
	schema := op.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		return h.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// caller returns who is asking; the router let nobody else pass.
func caller(ctx context.Context) auth.Principal {
	p, _ := auth.FromContext(ctx)
	return p
}

// reply is an answer with a JSON body.
type reply[T any] struct{ Body T }

func answer[T any](body T) *reply[T] { return &reply[T]{Body: body} }

// nothing is an answer without a body, or a request without anything.
type nothing struct{}
