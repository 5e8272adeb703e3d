package httpapi

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// Server is the JSON form of a registered service, without its operations.
type Server struct {
	MCPID       string          `json:"mcp_id"`
	Name        string          `json:"name"`
	Kind        tool.Kind       `json:"kind" enum:"openapi,mcp"`
	Role        tool.Role       `json:"role" enum:"tools,agent"`
	BaseURL     string          `json:"base_url"`
	Transport   tool.Transport  `json:"transport,omitempty" enum:"streamable,sse" doc:"of kind mcp"`
	Description string          `json:"description,omitempty" doc:"of an agent"`
	Keywords    []string        `json:"keywords,omitempty" doc:"of an agent"`
	Reads       Reads           `json:"reads"`
	Errors      tool.Errors     `json:"errors" enum:"doubt,rejected" doc:"what 500, 502, 504, or 503 without Retry-After means for a call that must not be repeated. doubt: it may have been done; rejected: it was not"`
	Frozen      []string        `json:"frozen,omitempty" doc:"tools that are others than the approved ones: refused until a refresh approves them"`
	DocumentURL string          `json:"document_url,omitempty"`
	Active      bool            `json:"active"`
	Status      tool.Status     `json:"status" enum:"online,offline"`
	Operations  int             `json:"operations" doc:"how many endpoints or tools it has"`
	Warnings    []string        `json:"warnings" nullable:"false"`
	Key         *tool.KeyPlace  `json:"key,omitempty" doc:"where its first key goes, when it has one; never the key"`
	Keys        []tool.KeyState `json:"keys" nullable:"false" doc:"the places where its document wants a key, and those where one is set"`
	LastError   string          `json:"last_error,omitempty"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	RefreshedAt *time.Time      `json:"refreshed_at,omitempty"`
}

// Endpoint is one entry of a server's allowlist.
type Endpoint struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	OperationID string `json:"operation_id"`
	Summary     string `json:"summary"`
	Fingerprint string `json:"fingerprint"`

	Refused *RefusedOperation `json:"refused,omitempty" doc:"why it cannot be called; absent: it can"`
}

// RefusedOperation is the reason why an operation cannot be called.
type RefusedOperation struct {
	Reason  string `json:"reason" enum:"cookie,header,server,scheme,body,style,file"`
	Message string `json:"message"`
}

// Tool is one entry of the allowlist of a server of kind mcp.
type Tool struct {
	Name        string     `json:"name"`
	Description string     `json:"description" doc:"its title and its description by the server, cut"`
	Hints       tool.Hints `json:"hints,omitzero" doc:"what the server says about its calls; nobody has checked it"`
	Fingerprint string     `json:"fingerprint"`
}

// ServerDetail is a server with its allowlist: endpoints, or the tools of a server of kind mcp.
type ServerDetail struct {
	Server
	Endpoints []Endpoint `json:"endpoints" nullable:"false"`
	Tools     []Tool     `json:"tools" nullable:"false"`
}

// ServerRefreshed is a server with its new allowlist and its changes, each as "METHOD /path" or as a tool's name.
type ServerRefreshed struct {
	ServerDetail
	Added   []string `json:"added" nullable:"false"`
	Removed []string `json:"removed" nullable:"false"`
	Changed []string `json:"changed" nullable:"false"`
}

// Reads says which calls of a service need no confirmation.
type Reads struct {
	Mode  tool.ReadMode `json:"mode" enum:"off,preview,on" doc:"preview: its GETs, to show on a card what a plan is about; on: also by a turn, to answer"`
	Zone  string        `json:"circle,omitempty" doc:"what was read from a service may go into a read of another of the same circle; absent: of no other"`
	Tools []string      `json:"tools,omitempty" doc:"of kind mcp: the tools that are read"`

	Changed []string `json:"changed,omitempty" doc:"of kind mcp: tools that were to be read and are others now, or gone: not read until the reads are set again"`
}

func showReads(s tool.Server, entries []tool.Entry) Reads {
	same, changed := s.NamedTools(entries)
	return Reads{Mode: cmp.Or(s.Reads.Mode, tool.ReadsOff), Zone: s.Reads.Zone, Tools: same, Changed: changed}
}

func showServer(s tool.Server, entries []tool.Entry) Server {
	v := Server{
		MCPID: s.ID, Name: s.Name, Kind: s.Kind, Role: cmp.Or(s.Role, tool.RoleTools), BaseURL: s.BaseURL,
		Transport: s.Transport, Description: s.About, Keywords: s.Keywords, Reads: showReads(s, entries), Errors: cmp.Or(s.Errors, tool.ErrorsDoubt), Frozen: s.Frozen, DocumentURL: s.DocumentURL, Active: s.Active,
		Status: s.Status, Operations: s.Operations, Warnings: list(s.Warnings), LastError: s.LastError,
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(), Keys: s.KeyStates(),
	}
	if len(s.Keys) > 0 {
		v.Key = &s.Keys[0]
	}
	if at := s.RefreshedAt.UTC(); !at.IsZero() {
		v.RefreshedAt = &at
	}
	return v
}

func showDetail(ctx context.Context, s tool.Server, entries []tool.Entry) ServerDetail {
	v := ServerDetail{Server: showServer(s, entries), Endpoints: make([]Endpoint, 0, len(entries)), Tools: []Tool{}}
	for _, e := range entries {
		if e.Name != "" {
			v.Tools = append(v.Tools, Tool{Name: e.Name, Description: e.FullDescription(), Hints: e.Hints, Fingerprint: e.Fingerprint})
			continue
		}
		one := Endpoint{Method: e.Method, Path: e.Path, OperationID: e.OperationID, Summary: e.Summary, Fingerprint: e.Fingerprint}
		if why := e.Refused; why != nil {
			one.Refused = &RefusedOperation{Reason: why.Reason, Message: why.Phrase().In(requestInfoFrom(ctx).lang)}
		}
		v.Endpoints = append(v.Endpoints, one)
	}
	return v
}

// Block is the reason why a turn may not run, and the next step.
type Block struct {
	Reason  string             `json:"reason" doc:"stable; what a program matches on"`
	Message string             `json:"message"`
	Balance *int64             `json:"creditBalance,omitempty" doc:"when credits are the reason"`
	Missing int64              `json:"creditsMissing,omitempty" doc:"credits to add before it can be paid"`
	Costs   int64              `json:"answerMicros,omitempty" doc:"micro-USD that an answer may cost, when a limit is below it"`
	Passed  *PassedLimit       `json:"passed,omitempty" doc:"the limit that the call would pass, when limits are the reason"`
	Action  string             `json:"action" doc:"what to do next"`
	Remedy  eligibility.Remedy `json:"remedy" enum:"manage_credits,manage_assistants,retry" doc:"where"`
	Cause   llm.Cause          `json:"cause,omitempty" enum:"unpaid,no_model,filtered,cut_short,too_long" doc:"of provider_refused, when the provider says it"`
}

// PassedLimit is a limit of what may be spent, in micro-USD, that a call would pass.
type PassedLimit struct {
	Of     eligibility.Bound `json:"of" enum:"day,month,run,agent" doc:"run: of one answer or run; agent: the budget of an agent or of its job"`
	Limit  int64             `json:"limit_micros"`
	Spent  int64             `json:"spent_micros" doc:"also what other answers hold"`
	Needed int64             `json:"needed_micros" doc:"what the call may cost at most"`
}

func showPassed(p eligibility.Passed) *PassedLimit {
	if p.Of == "" {
		return nil
	}
	shown := PassedLimit(p)
	return &shown
}

func showBlock(b *eligibility.Block, lang locale.Tag) *Block {
	if b == nil {
		return nil
	}
	return &Block{Reason: string(b.Reason), Message: b.Message().In(lang), Balance: b.CreditBalance, Missing: b.Missing, Costs: b.Costs(), Passed: showPassed(b.Passed), Action: b.Action().In(lang), Remedy: b.Remedy, Cause: b.Cause}
}

// host returns the host and port of a base URL.
func host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Host
}

// list returns an empty list instead of nil, so that JSON never has null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
