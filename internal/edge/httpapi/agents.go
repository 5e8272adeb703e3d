package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// AgentRegistry reads and changes the agents of an account (agent.Registry).
type AgentRegistry interface {
	List(ctx context.Context, account ids.Account) ([]agent.Entry, error)
	Get(ctx context.Context, account ids.Account, name string) (agent.Entry, error)
	Put(ctx context.Context, account ids.Account, by, name string, seen int, patch json.RawMessage) (agent.Entry, error)
	Delete(ctx context.Context, account ids.Account, name string, seen int) error
}

func (a *api) agents() {
	s := agentHandler{a.config.Agents}
	register(a, operation{
		method: http.MethodGet, path: "/api/agents", id: "listAgents", access: withChat,
		summary: "List the agents: those that are shipped, the account's own, and the services that answer messages",
	}, s.list)
	register(a, operation{
		method: http.MethodGet, path: "/api/agents/{name}", id: "readAgent", access: withChat,
		summary: "Read an agent", failures: []int{404},
	}, s.read)
	register(a, operation{
		method: http.MethodPut, path: "/api/agents/{name}", id: "setAgent", access: withAdmin,
		summary:  "Set an agent: a merge patch (RFC 7386) over the shipped one of the name, or over the defaults; it takes the place of the one before",
		failures: []int{409, 413, 415, 422},
	}, s.set)
	register(a, operation{
		method: http.MethodDelete, path: "/api/agents/{name}", id: "deleteAgent", access: withAdmin, status: http.StatusNoContent,
		summary:  "Delete an agent of one's own, or put a shipped one back as it is shipped, while it has the version that was read",
		failures: []int{404, 409, 413, 415, 422}, optionalBody: true,
	}, s.delete)
}

// AgentPatch is the body of PUT /api/agents/{name}: the version, and the members to set. A member that is null is as
// in the defaults; an absent one is as shipped.
type AgentPatch struct {
	version int
	kind    agent.Kind
	name    string
	patch   json.RawMessage
}

// UnmarshalJSON keeps the members of the patch as they are; the registry judges them.
func (p *AgentPatch) UnmarshalJSON(raw []byte) error {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	for name, to := range map[string]any{"version": &p.version, "kind": &p.kind, "name": &p.name} {
		if value, has := members[name]; has {
			if err := json.Unmarshal(value, to); err != nil {
				return err
			}
			delete(members, name)
		}
	}
	var err error
	p.patch, err = json.Marshal(members)
	return err
}

// Schema implements huma.SchemaProvider. The bounds of the members are those of AgentView; the registry names every
// member that is out of them.
func (AgentPatch) Schema(r huma.Registry) *huma.Schema {
	text := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Nullable: true, Description: doc}
	}
	number := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeInteger, Nullable: true, Description: doc}
	}
	texts := func(doc string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{Type: huma.TypeString}, Description: doc}
	}
	least := 0.0
	s := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"version"}, AdditionalProperties: true,
		Description: "a merge patch (RFC 7386): an absent member is as shipped, and null takes it away",
		Properties: map[string]*huma.Schema{
			"version":       {Type: huma.TypeInteger, Minimum: &least, Description: "of the agent as it was read; 0 of a new one, and of a shipped one without a change"},
			"kind":          {Type: huma.TypeString, Description: "loop"},
			"name":          {Type: huma.TypeString, Description: "as in the path"},
			"description":   text("when it is to be chosen; at most 2000 characters"),
			"prompt":        text("what it does and how; at most 16 KB. null over a shipped one: its own, in the language of the chat"),
			"tools":         texts("globs of tools: " + strings.Join(toolset.Names(), ", ") + "; absent or null: all that the account may use; []: none"),
			"servers":       texts("ids of services; absent or null: all; []: none"),
			"mode":          text("confirm-all: reads are proposed, too; confirm-sensitive; yolo is the same over a service, because it never covers one"),
			"max_steps":     number("model calls, 1 to 200; one more, without tools, closes what was not done by then"),
			"timeout_s":     number("1 to 604800"),
			"budget_micros": number("cost that ends a turn; 0: only the account's limits"),
			"warn_micros":   number("cost of which a turn is noted; 0: none"),
			"max_tokens":    number("of one answer, 16 to 128000; 0: the assistant's"),
			"assistant": {
				Type: huma.TypeObject, Nullable: true, AdditionalProperties: false, Description: "the model, in place of the one of the chat's assistant",
				Properties: map[string]*huma.Schema{"provider": {Type: huma.TypeString, Nullable: true}, "model": {Type: huma.TypeString, Nullable: true}},
			},
			"eval":     text("off, basic: a successful answer is judged once; full: and corrected, at most twice"),
			"keywords": texts("words that speak of what it does"),
		},
	}
	s.PrecomputeMessages()
	return s
}

// AgentView is an agent. The members from prompt on are those of a loop.
type AgentView struct {
	Kind         agent.Kind       `json:"kind" enum:"server,loop"`
	Name         string           `json:"name"`
	Description  string           `json:"description"`
	Keywords     []string         `json:"keywords,omitempty"`
	MCPID        string           `json:"mcp_id,omitempty" doc:"of a server: its service"`
	Active       *bool            `json:"active,omitempty" doc:"of a server"`
	Prompt       string           `json:"prompt,omitempty"`
	Tools        []string         `json:"tools,omitzero" doc:"globs; absent: all that the account may use; empty: none"`
	Servers      []string         `json:"servers,omitzero" doc:"ids of services; absent: all; empty: none"`
	Mode         agent.Mode       `json:"mode,omitempty" enum:"confirm-all,confirm-sensitive,yolo"`
	MaxSteps     int              `json:"max_steps,omitempty"`
	TimeoutS     int              `json:"timeout_s,omitempty"`
	BudgetMicros int64            `json:"budget_micros,omitempty" doc:"absent: only the account's limits"`
	WarnMicros   int64            `json:"warn_micros,omitempty"`
	MaxTokens    int              `json:"max_tokens,omitempty" doc:"absent: the assistant's"`
	Assistant    *agent.Assistant `json:"assistant,omitempty"`
	Eval         agent.Eval       `json:"eval,omitempty" enum:"off,basic,full"`
	Shipped      bool             `json:"shipped,omitempty" doc:"every account has it; DELETE puts it back as it is shipped"`
	Version      *int             `json:"version,omitempty" doc:"what the next change must name; 0 of a shipped one without a change"`
	By           string           `json:"by,omitempty" doc:"who changed it last"`
	UpdatedAt    *time.Time       `json:"updated_at,omitempty"`
}

// AgentList is the account's agents.
type AgentList struct {
	Agents []AgentView `json:"agents" nullable:"false"`
}

func showAgent(e agent.Entry, lang locale.Tag) (AgentView, error) {
	if e.Kind == agent.KindServer {
		return AgentView{Kind: e.Kind, Name: e.Name, Description: e.Server.About, Keywords: e.Server.Keywords, MCPID: e.Server.ID, Active: &e.Server.Active}, nil
	}
	l := e.Loop
	prompt, err := l.PromptIn(lang)
	return AgentView{
		Kind: e.Kind, Name: e.Name, Description: l.DescriptionIn(lang), Keywords: l.Keywords,
		Prompt: prompt, Tools: l.Tools, Servers: l.Servers, Mode: l.Mode, MaxSteps: l.MaxSteps, TimeoutS: l.TimeoutS,
		BudgetMicros: l.BudgetMicros, WarnMicros: l.WarnMicros, MaxTokens: l.MaxTokens, Assistant: l.Assistant, Eval: l.Eval,
		Shipped: agent.IsShipped(e.Name), Version: &e.Change.Version, By: e.Change.By, UpdatedAt: optionalTime(e.Change.UpdatedAt),
	}, err
}

type agentHandler struct{ agents AgentRegistry }

func (s agentHandler) list(ctx context.Context, _ *nothing) (*reply[AgentList], error) {
	entries, err := s.agents.List(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	v := AgentList{Agents: make([]AgentView, len(entries))}
	for i, e := range entries {
		if v.Agents[i], err = showAgent(e, requestInfoFrom(ctx).lang); err != nil {
			return nil, err
		}
	}
	return answer(v), nil
}

type agentInput struct {
	Name string `path:"name"`
}

func (s agentHandler) read(ctx context.Context, in *agentInput) (*reply[AgentView], error) {
	return shownAgent(ctx)(s.agents.Get(ctx, caller(ctx).Account, in.Name))
}

// shownAgent returns a function that answers with an agent.
func shownAgent(ctx context.Context) func(agent.Entry, error) (*reply[AgentView], error) {
	return func(e agent.Entry, err error) (*reply[AgentView], error) {
		if err != nil {
			return nil, err
		}
		v, err := showAgent(e, requestInfoFrom(ctx).lang)
		return answer(v), err
	}
}

func (s agentHandler) set(ctx context.Context, in *struct {
	Name string `path:"name"`
	Body AgentPatch
},
) (*reply[AgentView], error) {
	var wrong []fault.Field
	if k := in.Body.kind; k != "" && k != agent.KindLoop {
		wrong = append(wrong, field("enum", "body", "kind"))
	}
	if n := in.Body.name; n != "" && n != in.Name {
		wrong = append(wrong, field("renamed", "body", "name"))
	}
	if len(wrong) > 0 {
		return nil, agent.ErrLoop.At(wrong...)
	}
	who := caller(ctx)
	return shownAgent(ctx)(s.agents.Put(ctx, who.Account, who.User, in.Name, in.Body.version, in.Body.patch))
}

func (s agentHandler) delete(ctx context.Context, in *struct {
	Name    string       `path:"name"`
	Version queryVersion `query:"version" minimum:"0" doc:"of the agent as it was read, when the body does not have it"`
	Body    AgentDelete
},
) (*nothing, error) {
	seen := cmp.Or(in.Body.Version, in.Version.seen)
	if seen == nil {
		return nil, errInvalid.At(field("missing", "body", "version"))
	}
	return nil, s.agents.Delete(ctx, caller(ctx).Account, in.Name, *seen)
}

// AgentDelete is the body of DELETE /api/agents/{name}.
type AgentDelete struct {
	Version *int `json:"version,omitempty" minimum:"0" doc:"of the agent as it was read; ?version= is the same, for clients whose DELETE has no body"`
}

// queryVersion is a version in the query; seen is nil when it is absent.
type queryVersion struct {
	Value int
	seen  *int
}

// Schema implements huma.SchemaProvider.
func (queryVersion) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeInteger} }

// Receiver and OnParamSet let huma read the version, and say whether there is one.
func (v *queryVersion) Receiver() reflect.Value { return reflect.ValueOf(&v.Value).Elem() }

// OnParamSet implements huma.ParamReactor.
func (v *queryVersion) OnParamSet(isSet bool, _ any) {
	if isSet {
		v.seen = &v.Value
	}
}
