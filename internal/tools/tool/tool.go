// Package tool owns what the assistant may call: registered servers, the
// allowlist discovered from each, and how one call becomes one request.
//
// A service is described by an OpenAPI document, and its tools are operations; or
// it speaks the Model Context Protocol, and its tools have names. A server of the
// second kind may be an agent: turns are delegated to it, and no step calls it.
//
// What stays true: a call is possible only when its (method, path), or its name,
// matches one entry of the server's current catalogue; every entry has a
// fingerprint of all that decides what the call means, so that a plan can name
// exactly what was shown; and a request built here always has the registered
// scheme, host and port, and the template's segments.
package tool

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/fault"
)

// What a caller may notice.
var (
	ErrServerNotFound = fault.New(fault.NotFound, "mcp.not_found")
	ErrServerMoved    = fault.New(fault.Conflict, "mcp.changed")    // refreshed by someone else meanwhile
	ErrURL            = fault.New(fault.Invalid, "mcp.url_invalid") // not a URL we register: Args["reason"]
	ErrTarget         = fault.New(fault.Invalid, "mcp.url_refused") // a private, loopback or metadata address
	ErrUnreachable    = fault.New(fault.Invalid, "mcp.unreachable") // no answer where the document should be
	ErrNoDocument     = fault.New(fault.Invalid, "mcp.no_document") // answers, but nothing we can read as OpenAPI
	ErrDocument       = fault.New(fault.Invalid, "mcp.document_invalid")
	ErrKind           = fault.New(fault.Invalid, "mcp.kind_unsupported")
	ErrName           = fault.New(fault.Invalid, "mcp.name_invalid") // not 1 to 80 printable characters
	ErrKey            = fault.New(fault.Invalid, "mcp.key_invalid")  // Args["reason"]
	ErrNotAllowed     = fault.New(fault.Invalid, "tool.not_allowed") // no such (method, path) on the server: Args["nearest"]
	ErrArguments      = fault.New(fault.Invalid, "tool.arguments")   // Fields says which
	ErrRequest        = fault.New(fault.Invalid, "tool.request_refused")
	ErrToolChanged    = fault.New(fault.Conflict, "tool.changed")        // the server's tool is another than the one approved: Args["tool"]
	ErrSpeech         = fault.New(fault.Invalid, "mcp.protocol")         // answers, but not as the Model Context Protocol has it: Args["reason"]
	ErrRefusedUs      = fault.New(fault.Invalid, "mcp.unauthorized")     // answers 401 or 403 to the key it has, or to none
	ErrRole           = fault.New(fault.Invalid, "mcp.role_unsupported") // only a server of kind mcp can be an agent
	ErrAgentName      = fault.New(fault.Invalid, "mcp.agent_name")       // not 1 to 40 letters, digits, - or _
	ErrTwice          = fault.New(fault.Conflict, "mcp.twice")           // the account has the service already, in the same role
	ErrAgentTaken     = fault.New(fault.Conflict, "mcp.agent_taken")     // another agent of the account has the name
	ErrNoChat         = fault.New(fault.Invalid, "mcp.no_chat_tool")     // an agent without the tool "chat", or one that takes no message
	ErrPreview        = fault.New(fault.Invalid, "mcp.preview")          // a tool with a name is called, and never only looked at
	ErrNotSent        = fault.New(fault.Upstream, "tool.not_sent")       // nothing of the request reached the server
	ErrLost           = fault.New(fault.Upstream, "tool.lost")           // some of it may have, and no status came back
)

// Kind says what a server speaks.
type Kind string

// The kinds of server.
const (
	KindOpenAPI Kind = "openapi"
	KindMCP     Kind = "mcp"
)

// Role says what a server is for.
type Role string

// The roles of a server. An agent is of KindMCP and has the tool ChatTool; its
// name is what a decision calls it by, and is the account's only one.
const (
	RoleTools Role = "tools"
	RoleAgent Role = "agent"
)

// ChatTool is the tool by which an agent is spoken to: {message, session_id, context}.
const ChatTool = "chat"

// Transport says how a server of KindMCP is reached.
type Transport string

// The transports. TransportSSE is that of protocol 2024-11-05.
const (
	TransportStreamable Transport = "streamable"
	TransportSSE        Transport = "sse"
)

// Status says whether discovery reached the server the last time it tried.
type Status string

// The states of a server.
const (
	Online  Status = "online"
	Offline Status = "offline"
)

// KeyPlace says where a server's key goes in a request: In is "header", "query",
// "bearer" or "oauth"; Name is the header or parameter (none for bearer). With
// oauth, Name is the client's id, and what TokenURL gives for it and the key
// (OAuth 2.1 client credentials, for Scope) is sent as a bearer token. It never
// holds the key.
type KeyPlace struct {
	In       string `json:"in"`
	Name     string `json:"name,omitempty"`
	TokenURL string `json:"token_url,omitempty"`
	Scope    string `json:"scope,omitempty"`
}

// String says it in one line, the same for the same place; of none it is empty.
func (p *KeyPlace) String() string {
	if p == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", p.In, p.Name, p.TokenURL, p.Scope))
}

// Credential is a server's key. It is stored apart from the server, read only
// by the one who sends the request, and sent only to the server's own origin.
type Credential struct {
	Place  KeyPlace
	Secret string
}

// Server is a registered service. Catalogue names the revision of the allowlist
// in force; an empty one means that nothing was discovered yet.
type Server struct {
	ID          string
	Name        string
	Kind        Kind
	Role        Role
	BaseURL     string // scheme://host[:port][/prefix], no trailing slash; of KindMCP: its endpoint
	DocumentURL string // where the document was found
	// DocumentSaid is where the person who registered the server said that its document is, "" for
	// nowhere: it may be on another origin than BaseURL.
	DocumentSaid string
	Transport    Transport
	About        string   // of an agent: when to delegate to it
	Keywords     []string // of an agent
	Frozen       []string // names of tools that are others than the approved ones; a refresh approves them
	Active       bool
	Preview      bool // its GETs change nothing and may be done before a plan is confirmed, to show what the plan is about
	Status       Status
	Catalogue    string // ULID
	Operations   int
	Warnings     []string
	Key          *KeyPlace
	LastError    string // why the last discovery failed, as a code
	CreatedAt    time.Time
	UpdatedAt    time.Time
	RefreshedAt  time.Time
}

// IsAgent reports whether turns are delegated to the server.
func (s Server) IsAgent() bool { return s.Role == RoleAgent }

// Entry is one line of the allowlist: enough to show, search and match a tool. It
// has a method and a path, or (KindMCP) a Name. Signature is the compact form the model reads, such as
// "(capacity:integer, free_on:string) body{room_id:string*}".
type Entry struct {
	Name        string `json:"name,omitempty"`
	Method      string `json:"method"`
	Path        string `json:"path"` // the template, beginning with "/"
	OperationID string `json:"operation_id"`
	Summary     string `json:"summary"`
	Fingerprint string `json:"fingerprint"`
	Signature   string `json:"signature,omitempty"`
}

// String names the entry: "METHOD /path", or the tool's name.
func (e Entry) String() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Method + " " + e.Path
}

// Operation is all that is known of one entry. The arguments of a tool with a
// name are its Body; Output is the schema of its structured content (of a POST: of
// the plain members of what it answers), and Destructive what its server says of
// it: that can raise the risk of a call, and nothing a server says can lower it.
type Operation struct {
	Entry
	Description string          `json:"description,omitempty"`
	Parameters  []Parameter     `json:"parameters,omitempty"`
	Body        *Body           `json:"body,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
}

// Parameter is one path, query or header parameter. Schema is a self-contained
// JSON Schema 2020-12 ({} when unknown).
type Parameter struct {
	Name     string          `json:"name"`
	In       string          `json:"in"`
	Required bool            `json:"required,omitempty"`
	Style    string          `json:"style,omitempty"`   // form (default), spaceDelimited, pipeDelimited, tabDelimited, deepObject, json
	Explode  bool            `json:"explode,omitempty"` // arrays repeat the name
	Schema   json.RawMessage `json:"schema"`
}

// Body is a request body. Schema is self-contained: what it refers to is in its
// own $defs. MediaType is what is sent: a JSON type or
// application/x-www-form-urlencoded; another one is kept to say that it cannot be
// (see Sendable).
type Body struct {
	Required  bool            `json:"required,omitempty"`
	MediaType string          `json:"media_type"`
	Schema    json.RawMessage `json:"schema"`
}

// Catalogue is what one discovery found.
type Catalogue struct {
	Revision   string // ULID
	Operations []Operation
}

// Entries returns the catalogue's allowlist.
func (c Catalogue) Entries() []Entry {
	entries := make([]Entry, len(c.Operations))
	for i, op := range c.Operations {
		entries[i] = op.Entry
	}
	return entries
}

// Arguments is one call as the model or a person wrote it. Path is concrete
// ("/rooms/12"); Query is a JSON object and Body any JSON value, both kept as
// written so that numbers keep their digits.
type Arguments struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// Request is a call ready to be sent: an absolute URL on the server's origin,
// without its key. Origin is the registered base URL: a key is added only when
// URL is on it.
type Request struct {
	Origin string
	Method string
	URL    string
	Header map[string]string
	Body   []byte
}

// Call is one call of a tool with a name, ready to be made. Arguments is a JSON
// object. Fingerprint is that of the tool as it was approved: one that is another
// by now is not called. Key may be nil.
type Call struct {
	Server      Server
	Tool        string
	Fingerprint string
	Arguments   json.RawMessage
	Key         *Credential
	Idempotency string        // the same for every attempt at the same effect
	TraceID     string        // may be empty
	Limit       int64         // bytes of the answer that are kept
	Trust       time.Duration // how old what is known of the server's tools may be; 0: they are listed anew
}

// Answer is what a server said to a request. Headers holds only the few that a
// plan may use, in their canonical spelling. Body is decoded (no gzip; UTF-8 where it said a
// Western charset of one byte) and holds
// the first bytes when Truncated; Bytes is how many there were, as far as known.
//
// Of a Call, Body is the result as the protocol has it ({"content": […],
// "structuredContent": …}), and Failed says that the tool did what it did without
// success, in its own words in Body.
type Answer struct {
	Status    int
	Failed    bool
	Unheard   bool // it failed before any tool was called: there is none of that name, or with those arguments
	Headers   map[string]string
	Body      []byte
	Bytes     int
	Truncated bool
}

// MostWait is the longest that an answer may ask us to wait.
const MostWait = 10 * time.Minute

// RetryAfter reads Retry-After (RFC 9110 §10.2.3), seconds or a date: how long the
// server asks to be left alone, at most MostWait, and whether it asks at all.
func (a Answer) RetryAfter(now time.Time) (time.Duration, bool) {
	for name, value := range a.Headers {
		if !strings.EqualFold(name, "Retry-After") {
			continue
		}
		value = strings.TrimSpace(value)
		if seconds, err := strconv.Atoi(value); err == nil {
			return time.Duration(min(max(seconds, 0), int(MostWait/time.Second))) * time.Second, true
		}
		if date, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", value); err == nil {
			return min(max(date.Sub(now), 0), MostWait), true
		}
	}
	return 0, false
}

// Target is a service to discover. Known is where its document was the last time,
// "" for never; Said is the one place where a person said that it is; Key is sent only to
// the origin of Base, by those who need it to ask.
type Target struct {
	Base  string
	Known string
	Said  string
	Key   *Credential
}

// Found is what a discovery learnt of a service. BaseURL is on the origin that
// was asked, whatever the document says.
type Found struct {
	BaseURL     string
	Transport   Transport
	DocumentURL string
	Title       string
	Operations  []Operation // Fingerprint and Signature not yet set
	Warnings    []string
	KeyPlaces   []KeyPlace
}

// Diff says what a refresh changed, each as "METHOD /path", sorted.
type Diff struct {
	Added, Removed, Changed []string
}

// Problem is one thing wrong with a call: where (a JSON Pointer below path,
// query or body, such as "/body/people"), what is expected there as a sentence
// for a model, and a stable type such as "missing".
type Problem struct {
	Loc     string `json:"loc"`
	Message string `json:"message"`
	Type    string `json:"type"`
}

// String writes the problem on one line.
func (p Problem) String() string { return p.Loc + ": " + p.Message }

// Field returns the problem as a request field error.
func (p Problem) Field() fault.Field {
	var loc []any
	for _, part := range strings.Split(strings.TrimPrefix(p.Loc, "/"), "/") {
		loc = append(loc, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return fault.Field{Loc: loc, Msg: p.Message, Type: p.Type}
}
