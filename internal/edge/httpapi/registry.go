package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// Registry serves the routes for an account's services (/api/mcps and below), webhooks, rules, agents, and settings of
// the router.
func Registry(c Config, servers Servers, companies Companies) http.Handler {
	a := newAPI(c)
	a.registry(servers)
	a.rules()
	a.agents()
	a.companies(companies)
	return a.handler()
}

func (a *api) registry(servers Servers) {
	a.function = FunctionRegistry
	r := serverHandler{a.config, servers}
	register(a, operation{
		method: http.MethodGet, path: "/api/mcps", id: "listServers", access: withChat,
		summary: "List the registered services, without their operations",
	}, r.list)
	register(a, operation{
		method: http.MethodPost, path: "/api/mcps", id: "registerServer", access: withAdmin, status: http.StatusCreated,
		summary:  "Register a service and discover its operations",
		failures: []int{409, 413, 415, 422, 502, 503},
	}, r.register)
	register(a, operation{
		method: http.MethodGet, path: "/api/mcps/{id}", id: "readServer", access: withChat,
		summary: "Read a service with its operations", failures: []int{404},
	}, r.read)
	register(a, operation{
		method: http.MethodDelete, path: "/api/mcps/{id}", id: "deleteServer", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove a service, its operations and its key", failures: []int{404},
	}, r.delete)
	register(a, operation{
		method: http.MethodPost, path: "/api/mcps/{id}/refresh", id: "refreshServer", access: withAdmin,
		summary: "Discover a service again and say what changed", failures: []int{404, 409, 422, 502, 503},
	}, r.refresh)
	for _, method := range []string{http.MethodPut, http.MethodPost} {
		register(a, operation{
			method: method, path: "/api/mcps/{id}/active", id: strings.ToLower(method) + "ServerActive", access: withAdmin,
			summary: "Switch a service on or off", failures: []int{404, 413, 415, 422},
		}, r.activate)
	}
	register(a, operation{
		method: http.MethodPut, path: "/api/mcps/{id}/reads", id: "setServerReads", access: withAdmin,
		summary: "Say what may be read from a service without a confirmation", failures: []int{404, 413, 415, 422},
	}, r.reads)
	register(a, operation{
		method: http.MethodPut, path: "/api/mcps/{id}/errors", id: "setServerErrors", access: withAdmin,
		summary: "Say what it means when a service answers an error of its own", failures: []int{404, 413, 415, 422},
	}, r.errors)
	register(a, operation{
		method: http.MethodPut, path: "/api/mcps/{id}/key", id: "setServerKey", access: withAdmin,
		summary: "Store the key of one place, which is sent to a service", failures: []int{404, 413, 415, 422},
	}, r.setKey)
	register(a, operation{
		method: http.MethodGet, path: "/api/mcps/{id}/key", id: "listServerKeys", access: withChat,
		summary: "List the places where a service wants a key, and those where one is set", failures: []int{404},
	}, r.listKeys)
	register(a, operation{
		method: http.MethodDelete, path: "/api/mcps/{id}/key", id: "deleteServerKey", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove a service's key from one place, or all of its keys", failures: []int{404, 422},
	}, r.deleteKey)
	a.webhooks()
	a.hooks()
}

// KeyRequest is a key and its place. Name is the header, the parameter or the cookie, or the client's id (oauth); bearer has
// none.
type KeyRequest struct {
	In       string `json:"in" enum:"header,query,cookie,bearer,oauth"`
	Name     string `json:"name,omitempty" maxLength:"128"`
	Value    string `json:"value" minLength:"1" maxLength:"4096" writeOnly:"true" doc:"with oauth: the client's secret"`
	TokenURL string `json:"token_url,omitempty" maxLength:"2048" doc:"of oauth: where the client credentials give a token"`
	Scope    string `json:"scope,omitempty" maxLength:"512" doc:"of oauth"`
}

func (k *KeyRequest) credential() *tool.Credential {
	if k == nil {
		return nil
	}
	return &tool.Credential{Place: tool.KeyPlace{In: k.In, Name: k.Name, TokenURL: k.TokenURL, Scope: k.Scope}, Secret: k.Value}
}

// RegisterRequest is the body of POST /api/mcps.
type RegisterRequest struct {
	URL          string       `json:"url" minLength:"1" maxLength:"2048" doc:"of the service, its OpenAPI document, or its Model Context Protocol endpoint; a query and a fragment are left out"`
	DocumentURL  string       `json:"document_url,omitempty" maxLength:"2048" doc:"where the OpenAPI document is, when it is not at the service; it may be on another origin, and calls still go to url"`
	Name         string       `json:"name,omitempty" maxLength:"80" doc:"the document's title when absent; an agent's is its agent_name, and is required"`
	Kind         tool.Kind    `json:"kind,omitempty" enum:"openapi,mcp" doc:"openapi when absent; mcp of an agent"`
	Role         tool.Role    `json:"role,omitempty" enum:"tools,agent" doc:"tools when absent"`
	Description  string       `json:"description,omitempty" maxLength:"2000" doc:"of an agent: when messages are delegated to it"`
	Keywords     []string     `json:"keywords,omitempty" maxItems:"50" doc:"of an agent: words that speak of what it does"`
	AllowOffline bool         `json:"allow_offline,omitempty" doc:"store it although it cannot be reached now"`
	Force        bool         `json:"force,omitempty" doc:"store it although the account has it in that role already"`
	Key          *KeyRequest  `json:"key,omitempty"`
	Reads        ReadsRequest `json:"reads,omitzero" doc:"what may be read without a confirmation; off when absent"`
	Errors       tool.Errors  `json:"errors,omitempty" enum:"doubt,rejected" doc:"what it means when it answers an error of its own; doubt when absent"`
}

// ActiveRequest is the body that switches a service on or off.
type ActiveRequest struct {
	Active bool `json:"active"`
}

// ReadsRequest is the body of the setting of reads without a confirmation. An absent zone or tools means none.
type ReadsRequest struct {
	Mode     tool.ReadMode `json:"mode" enum:"off,preview,on"`
	Zone     string        `json:"circle,omitempty" maxLength:"64"`
	Tools    []string      `json:"tools,omitempty" maxItems:"200"`
	Although bool          `json:"although,omitempty" doc:"read these tools although their server says of one that it changes or destroys something"`
}

// ErrorsRequest is the body that says the meaning of an error of a service.
type ErrorsRequest struct {
	Errors tool.Errors `json:"errors" enum:"doubt,rejected"`
}

func (r ReadsRequest) wanted() tool.WantedReads {
	return tool.WantedReads{Mode: r.Mode, Zone: r.Zone, Tools: r.Tools, Although: r.Although}
}

// maxListed is the limit of endpoints in a list of services. Beyond it a service has only its number of operations,
// and GET of the service returns them.
const maxListed = 10_000

// ServerList is the account's services.
type ServerList struct {
	MCPs []ServerDetail `json:"mcps" nullable:"false"`
}

type serverHandler struct {
	config  Config
	servers Servers
}

type serverInput struct {
	ID string `path:"id"`
}

func (r serverHandler) list(ctx context.Context, _ *nothing) (*reply[ServerList], error) {
	servers, err := r.servers.List(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	v := ServerList{MCPs: make([]ServerDetail, 0, len(servers))}
	listed := 0
	for _, s := range servers {
		var entries []tool.Entry
		listed += s.Operations
		if listed <= maxListed || len(s.Reads.Tools) > 0 {
			if s, entries, err = r.servers.Get(ctx, caller(ctx).Account, s.ID); errors.Is(err, tool.ErrServerNotFound) {
				continue // removed meanwhile
			} else if err != nil {
				return nil, err
			}
		}
		detail := showDetail(ctx, s, entries)
		if listed > maxListed {
			detail.Endpoints, detail.Tools = []Endpoint{}, []Tool{}
		}
		v.MCPs = append(v.MCPs, detail)
	}
	return answer(v), nil
}

func (r serverHandler) register(ctx context.Context, in *struct{ Body RegisterRequest }) (*reply[ServerDetail], error) {
	s, entries, err := r.servers.Register(ctx, caller(ctx).Account, tool.Registration{
		URL: in.Body.URL, Document: in.Body.DocumentURL, Name: in.Body.Name, Kind: in.Body.Kind, Role: in.Body.Role,
		About: clip.Line(in.Body.Description), Keywords: keywords(in.Body.Keywords), AllowOffline: in.Body.AllowOffline, Force: in.Body.Force,
		Key: in.Body.Key.credential(), Reads: in.Body.Reads.wanted(), Errors: in.Body.Errors,
		Takes: func(bytes int) error { return r.config.takeBytes(ctx, bytes) },
	}, r.config.Now())
	if err != nil {
		return nil, err
	}
	return answer(showDetail(ctx, s, entries)), nil
}

// keywords returns the non-empty keywords, each on one line, without duplicates.
func keywords(list []string) []string {
	var some []string
	for _, word := range list {
		if word = clip.Line(word); word != "" && len(word) <= maxKeyword && !slices.Contains(some, word) {
			some = append(some, word)
		}
	}
	return some
}

// maxKeyword is the longest keyword, in bytes.
const maxKeyword = 60

func (r serverHandler) read(ctx context.Context, in *serverInput) (*reply[ServerDetail], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	s, entries, err := r.servers.Get(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(showDetail(ctx, s, entries)), nil
}

func (r serverHandler) delete(ctx context.Context, in *serverInput) (*nothing, error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	return nil, r.servers.Delete(ctx, caller(ctx).Account, in.ID)
}

func (r serverHandler) refresh(ctx context.Context, in *serverInput) (*reply[ServerRefreshed], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	s, entries, diff, err := r.servers.Refresh(ctx, caller(ctx).Account, in.ID, r.config.Now())
	if err != nil {
		return nil, err
	}
	return answer(ServerRefreshed{
		ServerDetail: showDetail(ctx, s, entries),
		Added:        list(diff.Added), Removed: list(diff.Removed), Changed: list(diff.Changed),
	}), nil
}

func (r serverHandler) activate(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ActiveRequest
},
) (*reply[ServerDetail], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	if _, err := r.servers.SetActive(ctx, caller(ctx).Account, in.ID, in.Body.Active, r.config.Now()); err != nil {
		return nil, err
	}
	return r.read(ctx, &serverInput{in.ID})
}

func (r serverHandler) reads(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ReadsRequest
},
) (*reply[ServerDetail], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	if _, err := r.servers.SetReads(ctx, caller(ctx).Account, in.ID, in.Body.wanted()); err != nil {
		return nil, err
	}
	return r.read(ctx, &serverInput{in.ID})
}

func (r serverHandler) errors(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ErrorsRequest
},
) (*reply[ServerDetail], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	if _, err := r.servers.SetErrors(ctx, caller(ctx).Account, in.ID, in.Body.Errors); err != nil {
		return nil, err
	}
	return r.read(ctx, &serverInput{in.ID})
}

func (r serverHandler) setKey(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body KeyRequest
},
) (*reply[ServerDetail], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	if _, err := r.servers.SetKey(ctx, caller(ctx).Account, in.ID, *in.Body.credential(), r.config.Now()); err != nil {
		return nil, err
	}
	return r.read(ctx, &serverInput{in.ID})
}

// ServerKeys is the places of a service's keys.
type ServerKeys struct {
	Keys []tool.KeyState `json:"keys" nullable:"false"`
}

func (r serverHandler) listKeys(ctx context.Context, in *serverInput) (*reply[ServerKeys], error) {
	if !ids.Valid(in.ID) {
		return nil, tool.ErrServerNotFound
	}
	s, _, err := r.servers.Get(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(ServerKeys{s.KeyStates()}), nil
}

func (r serverHandler) deleteKey(ctx context.Context, in *struct {
	ID   string `path:"id"`
	In   string `query:"in" enum:"header,query,cookie,bearer,oauth" doc:"the place of the key; all keys when absent"`
	Name string `query:"name" maxLength:"128" doc:"the header, the parameter or the cookie"`
},
) (*nothing, error) {
	switch {
	case !ids.Valid(in.ID):
		return nil, tool.ErrServerNotFound
	case in.In == "" && in.Name != "":
		return nil, errInvalid.At(field("missing", "query", "in"))
	}
	_, err := r.servers.RemoveKey(ctx, caller(ctx).Account, in.ID, tool.KeyPlace{In: in.In, Name: in.Name}, r.config.Now())
	return nil, err
}
