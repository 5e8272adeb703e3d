// Package tool owns what the assistant may call: registered servers, the
// allowlist discovered from each, and how one call becomes one request.
//
// What stays true: a call is possible only when its (method, path) matches one
// entry of the server's current catalogue; every entry has a fingerprint of all
// that decides what the call means, so that a plan can name exactly what was
// shown; and a request built here always has the registered scheme, host and
// port, and the template's segments.
package tool

import (
	"encoding/json"
	"strings"
	"time"

	"piloto/internal/fault"
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
	ErrNotSent        = fault.New(fault.Upstream, "tool.not_sent") // nothing of the request reached the server
	ErrLost           = fault.New(fault.Upstream, "tool.lost")     // some of it may have, and no status came back
)

// Kind says what a server speaks.
type Kind string

// The kinds of server.
const (
	KindOpenAPI Kind = "openapi"
	KindMCP     Kind = "mcp"
)

// Status says whether discovery reached the server the last time it tried.
type Status string

// The states of a server.
const (
	Online  Status = "online"
	Offline Status = "offline"
)

// KeyPlace says where a server's key goes in a request: In is "header", "query"
// or "bearer"; Name is the header or parameter (none for bearer). It never holds
// the key.
type KeyPlace struct {
	In   string `json:"in"`
	Name string `json:"name,omitempty"`
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
	BaseURL     string // scheme://host[:port][/prefix], no trailing slash
	DocumentURL string // where the document was found
	Active      bool
	Status      Status
	Catalogue   string // ULID
	Operations  int
	Warnings    []string
	Key         *KeyPlace
	LastError   string // why the last discovery failed, as a code
	CreatedAt   time.Time
	UpdatedAt   time.Time
	RefreshedAt time.Time
}

// Entry is one line of the allowlist: enough to show, search and match a tool.
// Signature is the compact form the model reads, such as
// "(capacity:integer, free_on:string) body{room_id:string*}".
type Entry struct {
	Method      string `json:"method"`
	Path        string `json:"path"` // the template, beginning with "/"
	OperationID string `json:"operation_id"`
	Summary     string `json:"summary"`
	Fingerprint string `json:"fingerprint"`
	Signature   string `json:"signature,omitempty"`
}

// Operation is all that is known of one entry.
type Operation struct {
	Entry
	Description string      `json:"description,omitempty"`
	Parameters  []Parameter `json:"parameters,omitempty"`
	Body        *Body       `json:"body,omitempty"`
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

// Answer is what a server said to a request. Headers holds only the few that a
// plan may use, in their canonical spelling. Body is decoded (no gzip) and holds
// the first bytes when Truncated; Bytes is how many there were, as far as known.
type Answer struct {
	Status    int
	Headers   map[string]string
	Body      []byte
	Bytes     int
	Truncated bool
}

// Found is what a discovery learnt of a service. BaseURL is on the origin that
// was asked, whatever the document says.
type Found struct {
	BaseURL     string
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
