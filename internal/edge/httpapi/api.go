package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/ground/version"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

var errUnclassified = errors.New("httpapi: a route that does not say who may use it")

// api is a handler under construction.
type api struct {
	config   Config
	function Function
	router   *router
}

func newAPI(c Config) *api { return &api{config: c, router: &router{config: c}} }

// newHuma returns a huma API on a mux, without operations.
func newHuma(m humago.Mux, schemas huma.Registry) huma.API {
	return humago.New(m, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Piloto", Version: version.Version,
				Description: "A chat that acts, and asks first. Errors are RFC 9457 problems with a stable code and a trace id.",
			},
			Components: &huma.Components{
				Schemas: schemas,
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

// newSchemas returns the schemas of a document, without any.
func newSchemas() huma.Registry {
	return huma.NewMapRegistry("#/components/schemas/", schemaName)
}

// requestSchemas are the schemas of a route that is served. They judge its request, so those of its answer and of
// problems, which the document has, are not made: the first request of a route waits for all of them.
type requestSchemas struct {
	huma.Registry
	answer reflect.Type
}

// Schema implements huma.Registry.
func (s requestSchemas) Schema(t reflect.Type, allowRef bool, hint string) *huma.Schema {
	if t == s.answer || t == reflect.TypeFor[Problem]() {
		return &huma.Schema{}
	}
	return s.Registry.Schema(t, allowRef, hint)
}

// answerOf returns the type of the body of an answer; nil for one without a body, or with the type of the request's.
func answerOf(in, out reflect.Type) reflect.Type {
	answer, ok := out.FieldByName("Body")
	if asked, both := in.FieldByName("Body"); !ok || both && asked.Type == answer.Type {
		return nil
	}
	return answer.Type
}

// keptNames holds the names in the document that differ from Go's, because clients were generated with them, or because
// another type has the name.
var keptNames = map[reflect.Type]string{
	reflect.TypeFor[ResolveRequest]():     "SettleRequest",
	reflect.TypeFor[ResolveAnswer]():      "SettleAnswer",
	reflect.TypeFor[plan.Resolution]():    "Settlement",
	reflect.TypeFor[receipt.Resolution](): "ReceiptSettled",
	reflect.TypeFor[agent.Assistant]():    "AgentAssistant",
	reflect.TypeFor[job.ToolResult]():     "ToldCall",
}

// schemaName returns the name of a type in the document. The parts of a receipt and of a plan have prefixes,
// because their names are used for other types, too.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case keptNames[t] != "":
		return keptNames[t]
	case t.PkgPath() == reflect.TypeFor[receipt.Receipt]().PkgPath() && name != "Receipt":
		return "Receipt" + name
	case t == reflect.TypeFor[plan.Step]() || t == reflect.TypeFor[plan.Revision]():
		return "Plan" + name
	}
	return name
}

// handler returns the handler of all registered routes.
func (a *api) handler() http.Handler { return a.router }

// operation is the description of a route, in addition to its types.
type operation struct {
	method       string
	path         string
	id           string // operationId
	summary      string
	access       access
	page         bool       // a person reads it: a browser without a session is led to the sign-in
	signed       bool       // a webhook's signature is accepted, too
	class        rate.Class // rate class; rate.Requests when it reads, else rate.Writes, when not set
	status       int        // of a success; 200 when not set
	failures     []int      // documented in addition to 400, 401, 403, 429 and 500
	optionalBody bool       // the body may be absent, which reads as an empty object
	long         bool       // a turn, which may be answered after its request
	bytes        int64      // size limit of a body that is no JSON; zero: it is JSON, or there is none

	describe func(huma.API, *huma.Operation) // completes the document; may be nil
}

// register adds a route to the router, with a function that binds it to huma. It converts a domain error of the
// handler to a problem.
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
		OperationID: op.id, Method: op.method, Path: documented(op.path), Summary: op.summary,
		Tags: []string{string(a.function)}, DefaultStatus: op.status,
		Errors: append(failures, http.StatusInternalServerError), Security: security,
		// The body is limited and read before huma sees it. A deadline set by huma would stay on the connection and
		// end slow handlers.
		BodyReadTimeout: -1, MaxBodyBytes: 2 * MaxBody,
	}
	handler := func(ctx context.Context, in *In) (*Out, error) {
		out, err := handle(ctx, in)
		var p *Problem
		switch {
		case errors.As(err, &p):
			return nil, p
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
	}, answerOf(reflect.TypeFor[In](), reflect.TypeFor[Out]()))
}

// operationOf returns the document's entry for a route.
func operationOf(h huma.API, method, path string) *huma.Operation {
	item := h.OpenAPI().Paths[documented(path)]
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[method]
}

// documented returns a path as OpenAPI writes it, which does not say that a parameter may have several segments.
func documented(path string) string { return strings.Replace(path, "+}", "}", 1) }

// bodySchema returns the schema of an operation's JSON body, or nil.
func bodySchema(h huma.API, op *huma.Operation) *huma.Schema {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	schema := op.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		return h.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// caller returns the principal of the request. The router has checked it.
func caller(ctx context.Context) auth.Principal {
	p, _ := auth.FromContext(ctx)
	return p
}

// reply is a response with a JSON body.
type reply[T any] struct{ Body T }

func answer[T any](body T) *reply[T] { return &reply[T]{Body: body} }

// nothing is an empty response or an empty request.
type nothing struct{}
