// Package tool models the services that the assistant may call: registered servers, the allowlist discovered on
// each, and how one call becomes one request.
//
// A service of KindOpenAPI is described by an OpenAPI document, and its tools are operations. A service of KindMCP
// speaks the Model Context Protocol, and its tools have names. A server of KindMCP may be an agent: turns are
// delegated to it, and no step calls it.
//
// Three invariants hold. A call is possible only when its (method, path), or its name, matches one entry of the
// server's current catalogue. Every entry has a fingerprint of all that decides the meaning of a call, so that a
// plan can name exactly the operation that was shown. A request built here always has the registered scheme, host
// and port, and the template's segments.
package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/ref"
)

// The errors of this package.
var (
	ErrServerNotFound = fault.New(fault.NotFound, "mcp.not_found")
	ErrServerMoved    = fault.New(fault.Conflict, "mcp.changed")    // another writer changed the server meanwhile
	ErrURL            = fault.New(fault.Invalid, "url.invalid")     // not a URL that can be registered: Args["reason"]
	ErrTarget         = fault.New(fault.Invalid, "url.refused")     // a private, loopback or metadata address
	ErrUnreachable    = fault.New(fault.Invalid, "mcp.unreachable") // no response where the document should be
	ErrNoDocument     = fault.New(fault.Invalid, "mcp.no_document") // it responds, but without a readable OpenAPI document
	ErrDocument       = fault.New(fault.Invalid, "mcp.document_invalid")
	ErrKind           = fault.New(fault.Invalid, "mcp.kind_unsupported")
	ErrName           = fault.New(fault.Invalid, "mcp.name_invalid") // not 1 to 80 printable characters
	ErrKey            = fault.New(fault.Invalid, "mcp.key_invalid")  // Args["reason"]
	ErrKeyMissing     = fault.New(fault.NotFound, "mcp.key_missing") // no key is set in that place: Args["in"] and Args["name"]
	ErrNotAllowed     = fault.New(fault.Invalid, "tool.not_allowed") // no such (method, path) on the server: Args["nearest"]
	ErrArguments      = fault.New(fault.Invalid, "tool.arguments")   // Fields name the faults
	ErrRequest        = fault.New(fault.Invalid, "tool.request_refused")
	ErrToolChanged    = fault.New(fault.Conflict, "tool.changed")        // the server's tool differs from the approved one: Args["tool"]
	ErrProtocol       = fault.New(fault.Invalid, "mcp.protocol")         // it responds, but breaks the Model Context Protocol: Args["reason"]
	ErrUnauthorized   = fault.New(fault.Invalid, "mcp.unauthorized")     // it responds 401 or 403 to the key, or to a request without one
	ErrSignIn         = fault.New(fault.Invalid, "mcp.oauth_required")   // it wants a person to sign in (OAuth), which is not supported yet
	ErrRole           = fault.New(fault.Invalid, "mcp.role_unsupported") // only a server of kind mcp can be an agent
	ErrAgentName      = fault.New(fault.Invalid, "mcp.agent_name")       // not 1 to 40 letters, digits, - or _
	ErrDuplicate      = fault.New(fault.Conflict, "mcp.twice")           // the account already has the service, in the same role
	ErrAgentTaken     = fault.New(fault.Conflict, "mcp.agent_taken")     // another agent of the account has the name
	ErrNoChat         = fault.New(fault.Invalid, "mcp.no_chat_tool")     // an agent without the tool "chat", or one that takes no message
	ErrNotSent        = fault.New(fault.Upstream, "tool.not_sent")       // no byte of the request reached the server
	ErrLost           = fault.New(fault.Upstream, "tool.lost")           // some bytes may have reached it, and no status came back
)

// Kind names the protocol of a server.
type Kind string

// The kinds of server.
const (
	KindOpenAPI Kind = "openapi"
	KindMCP     Kind = "mcp"
	KindFiles   Kind = "files" // FilesServer
)

// Role names the purpose of a server.
type Role string

// The roles of a server. An agent is of KindMCP and has the tool ChatTool. Its name is unique in the account, and a
// decision refers to it by that name.
const (
	RoleTools Role = "tools"
	RoleAgent Role = "agent"
)

// ChatTool is the tool that takes a message to an agent: {message, session_id, context}.
const ChatTool = "chat"

// Transport names how a server of KindMCP is reached.
type Transport string

// The transports. TransportSSE is the one of protocol version 2024-11-05.
const (
	TransportStreamable Transport = "streamable"
	TransportSSE        Transport = "sse"
)

// Status records whether the last discovery reached the server.
type Status string

// The states of a server.
const (
	Online  Status = "online"
	Offline Status = "offline"
)

// KeyPlace names the place of a server's key in a request. In is "header", "query", "cookie", "bearer" or "oauth". Name is
// the header, parameter or cookie (none for bearer). With oauth, Name is the client id: TokenURL exchanges it and the key
// for an access token (OAuth 2.1 client credentials, for Scope), which is sent as a bearer token. KeyPlace never
// holds the key.
type KeyPlace struct {
	In       string `json:"in"`
	Name     string `json:"name,omitempty"`
	TokenURL string `json:"token_url,omitempty"`
	Scope    string `json:"scope,omitempty"`
}

// String writes the place in one line, the same for the same place.
func (p KeyPlace) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", p.In, p.Name, p.TokenURL, p.Scope))
}

// Credential is a server's key. It is stored apart from the server, is read only to send a request, and is sent
// only to the server's own origin.
type Credential struct {
	Place  KeyPlace
	Secret string
}

// Server is a registered service. Catalogue names the revision of the allowlist in force; it is empty while nothing
// was discovered.
type Server struct {
	ID          string
	Name        string
	Kind        Kind
	Role        Role
	BaseURL     string // scheme://host[:port][/prefix], no trailing slash; of KindMCP: its endpoint
	DocumentURL string // where the document was found
	// DocumentSaid is the address of the document that the person gave at registration, or "". It may be on another
	// origin than BaseURL.
	DocumentSaid string
	Transport    Transport
	About        string   // of an agent: when to delegate to it
	Keywords     []string // of an agent
	Frozen       []string // names of tools that differ from the approved ones; a refresh approves them
	Active       bool
	Reads        Reads
	Errors       Errors
	Status       Status
	Catalogue    string // ULID
	Operations   int
	Warnings     []string
	Keys         []KeyPlace // of the keys that are set
	Wants        []KeyPlace // of the keys that the document names, those of every operation first
	LastError    string     // the code of the last discovery's failure
	CreatedAt    time.Time
	UpdatedAt    time.Time
	RefreshedAt  time.Time
}

// IsAgent reports whether turns are delegated to the server.
func (s Server) IsAgent() bool { return s.Role == RoleAgent }

// Entry is one line of the allowlist, with enough data to show, search and match a tool. It has a method and a
// path, or (KindMCP) a Name. Signature is the compact form that the model reads, such as "(capacity:integer,
// free_on:string) body{room_id:string*}".
type Entry struct {
	Name        string `json:"name,omitempty"`
	Method      string `json:"method"`
	Path        string `json:"path"` // the template, beginning with "/"
	OperationID string `json:"operation_id"`
	Summary     string `json:"summary"`
	About       string `json:"about,omitempty"` // the description, cleaned and cut to one line of MaxAbout characters, of 400 where a document gives it
	Hints       Hints  `json:"hints,omitzero"`  // of a tool with a name
	Fingerprint string `json:"fingerprint"`
	Signature   string `json:"signature,omitempty"`

	Refused *Refusal `json:"refused,omitempty"` // why it cannot be called; nil: it can
}

// MaxAbout is the greatest length of Entry.About, in characters.
const MaxAbout = 1000

// FullDescription returns the summary and the description of the operation, neither twice.
func (e Entry) FullDescription() string {
	summary := strings.TrimRight(e.Summary, "…")
	first, rest, more := strings.Cut(e.About, ". ")
	switch {
	case e.About == "":
		return e.Summary
	case more && strings.HasPrefix(summary, first):
		return strings.TrimSuffix(summary, ".") + ". " + rest
	case strings.HasPrefix(summary, strings.TrimSuffix(e.About, ".")):
		return summary
	case strings.HasPrefix(e.About, summary):
		return e.About
	case strings.HasSuffix(summary, "."):
		return summary + " " + e.About
	}
	return summary + ". " + e.About
}

// String returns "METHOD /path", or the tool's name.
func (e Entry) String() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Method + " " + e.Path
}

// Operation is one entry in full. The arguments of a tool with a name are its Body. Output is the schema of its
// structured content (of a POST: of the plain members of its response).
type Operation struct {
	Entry
	Description string          `json:"description,omitempty"`
	Parameters  []Parameter     `json:"parameters,omitempty"`
	Body        *Body           `json:"body,omitempty"`
	Others      []Body          `json:"others,omitempty"` // the other types in which the body may be sent: the call names one in its header Content-Type
	Output      json.RawMessage `json:"output,omitempty"`

	// Base is the address that the path follows, where the document names another for this operation than the server's
	// BaseURL. It is on the same origin.
	Base string `json:"base,omitempty"`
	// Security lists alternatives, each the places of the keys that it needs together; one without places needs none. It is
	// nil where the document says nothing, and empty where no alternative can be read: then no key of the document is sent.
	Security [][]KeyPlace `json:"security,omitzero"`
	// Needs are the places of keys that are required headers of the operation: without them it is not sent.
	Needs []KeyPlace `json:"needs,omitempty"`
	// TellsMissing says that the document describes the answer of the operation where there is no such thing: 404, 410 or 4XX.
	TellsMissing bool `json:"tells_missing,omitempty"`
	// JSONOnly says that the document describes JSON, and nothing else, as the operation's answer of success.
	JSONOnly bool `json:"json_only,omitempty"`
	// AnswerMembers are the members of the object with which a read succeeds; empty where the document lists none.
	AnswerMembers []string `json:"answer_members,omitempty"`
	// AnswerNames are the members of the answer, at any depth, that the document gives a title.
	AnswerNames []ref.Named `json:"answer_names,omitempty"`
	// KeyForm is how the document wants the Idempotency-Key of the operation.
	KeyForm KeyForm `json:"key_form,omitempty"`
}

// Answers reports whether an answer of success is the operation's: it is no page for people where the document describes
// JSON only. A sign-in or a gateway before the service answers with a page. JSON that is called a page is none.
func (op Operation) Answers(a Answer) bool {
	body := bytes.TrimSpace(a.Body)
	return !op.JSONOnly || len(body) == 0 || body[0] == '{' || body[0] == '[' || !meaning.Page(a.Header("Content-Type"), body)
}

// Describes reports whether a body is one that the document describes for success: JSON where it describes JSON only, and an
// object with one of the members where it lists them.
func (op Operation) Describes(body []byte) bool {
	body = bytes.TrimSpace(body)
	switch {
	case !op.JSONOnly || len(body) == 0:
		return true
	case len(op.AnswerMembers) == 0:
		return json.Valid(body)
	}
	var members map[string]json.RawMessage
	return json.Unmarshal(body, &members) == nil && slices.ContainsFunc(op.AnswerMembers, func(name string) bool { _, has := members[name]; return has })
}

// At returns the address that the path of an operation follows.
func (s Server) At(op Operation) string { return cmp.Or(op.Base, s.BaseURL) }

// Parameter is one path, query or header parameter. Schema is a self-contained JSON Schema 2020-12 ({} when
// unknown).
type Parameter struct {
	Name     string          `json:"name"`
	In       string          `json:"in"`
	Required bool            `json:"required,omitempty"`
	Style    string          `json:"style,omitempty"`   // form (default), spaceDelimited, pipeDelimited, tabDelimited, deepObject, json
	Explode  bool            `json:"explode,omitempty"` // arrays repeat the name
	Schema   json.RawMessage `json:"schema"`
}

// Body is a request body. Schema is self-contained: its own $defs hold everything that it refers to. MediaType, with its
// parameters, is sent as the Content-Type: a JSON type, a form, or the type of a text. Encoding has the members of a form
// that are written in another way than by their value. Of Operation.Others, a Schema of nil is that of Operation.Body.
type Body struct {
	Required  bool                `json:"required,omitempty"`
	MediaType string              `json:"media_type"`
	Schema    json.RawMessage     `json:"schema"`
	Encoding  map[string]Encoding `json:"encoding,omitempty"`

	// Kinds are the types of JSON Schema that the body can be, where that decides its type, or its type decides that; nil: any.
	Kinds []string `json:"kinds,omitempty"`
	// Sense is the media type on which the meaning of a value depends; "" where the document says the meaning. A value that
	// two bodies of different senses take is ambiguous.
	Sense string `json:"sense,omitempty"`
}

// Catalogue is the result of one discovery.
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

// Arguments is one call as the model or a person wrote it. Path is concrete ("/rooms/12"). Query is a JSON object
// and Body any JSON value; both are kept as written, so that numbers keep their digits. Headers is an object of texts.
type Arguments struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Query  json.RawMessage `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`

	Headers json.RawMessage `json:"headers,omitempty"`
}

// Request is a call ready to be sent: an absolute URL on the server's origin, without its key. Origin is the
// registered base URL; the key is added only when URL is on that origin.
type Request struct {
	Origin string
	Method string
	URL    string
	Header map[string]string
	Body   []byte
}

// Call is one call of a tool with a name, ready to be sent. Arguments is a JSON object. Fingerprint is that of the
// approved tool: a tool that changed since is not called. Keys are those of the server.
type Call struct {
	Server      Server
	Tool        string
	Fingerprint string
	Arguments   json.RawMessage
	Keys        Keys
	Idempotency string        // the same for every attempt at the same effect
	TraceID     string        // may be empty
	Limit       int64         // maximum bytes of the response that are kept
	Trust       time.Duration // maximum age of a cached tool list; 0: the tools are listed anew

	Within  time.Duration // how long it may take in all, unless it is granted more; 0: as long as its context
	Prolong Prolong       // asks for more when progress is reported; nil: there is no more
}

// Prolong asks that a call may go on for a time from now, and returns the time that is granted; 0: none.
type Prolong func(ctx context.Context, within time.Duration) time.Duration

// Answer is a server's response to a request. Headers holds only the few headers that a plan may use, in canonical
// spelling. Body is decoded: without gzip, and in UTF-8 when the response declared a Western single-byte charset.
// When Truncated, Body holds the first bytes. Bytes is the full size, as far as it is known.
//
//	For a Call, Body is the protocol's result ({"content": […], "structuredContent": …}). Failed means that the tool reported an error, which Body describes.
//	Code is that of the error of JSON-RPC that came instead of a result, which Body describes; "" for any other answer.
//
// Waits says that the response asks for a pause, and Wait for how long (meaning.Wait); Age is how long a cache has kept it
// (meaning.Age). Who reads the response sets them, because Headers does not hold every header that says so.
type Answer struct {
	Status    int
	Failed    bool
	Code      string
	Headers   map[string]string
	Body      []byte
	Bytes     int
	Truncated bool
	Waits     bool
	Wait      time.Duration // may be negative, and has no limit: see Meaning
	Age       time.Duration // 0: no cache has kept it
}

// MostWait limits the pause that a response may ask for.
const MostWait = 10 * time.Minute

// Meaning returns the meaning of the answer for its request, and the pause that it asks for, at most MostWait; 0 for none.
func (a Answer) Meaning() (meaning.Meaning, time.Duration) {
	m := meaning.Of(a.Status, a.Waits)
	if a.Code != "" && (m == meaning.Done || m == meaning.Refused) { // the status says no more than that there is an error
		m = meaning.OfCode(a.Code)
	}
	return m, min(max(a.Wait, 0), MostWait)
}

// Header returns a header of the answer, in any spelling; "" when it has none.
func (a Answer) Header(name string) string {
	for spelled, value := range a.Headers {
		if strings.EqualFold(spelled, name) {
			return value
		}
	}
	return ""
}

// WithWait returns an error that says that nothing was sent, with the pause that the server asked for.
func WithWait(err *fault.Error, wait time.Duration) *fault.Error {
	return err.With(argWait, min(max(wait, 0), MostWait).String())
}

// WaitOf returns the pause that an error names, and whether it names one.
func WaitOf(err error) (time.Duration, bool) {
	wait, none := time.ParseDuration(fault.Of(err).Args[argWait])
	return wait, none == nil
}

const argWait = "wait"

// Kinds of a response that is no answer to the call, so its outcome is unknown.
const (
	CamePage    = "page"    // a web page, such as that of a sign-in or a gateway
	CameResult  = "result"  // an answer to the call without a result that is one: null, for example
	CameAnother = "another" // an answer to another request
	CameNothing = "nothing" // an answer without content
	CameOther   = "other"   // anything else
)

// WithCame returns an error with the kind of a response that is no answer.
func WithCame(err *fault.Error, came string) *fault.Error { return err.With(argCame, came) }

// CameOf returns the kind of a response that is no answer; "" when an error has none.
func CameOf(err error) string { return fault.Of(err).Args[argCame] }

const argCame = "came"

// Target is a service to discover. Known is the address at which its document was found last time, "" for never.
// Said is the address that a person gave; then no other is tried. Keys are sent only to the origin of Base, by the
// protocols that need them for discovery.
type Target struct {
	Base  string
	Known string
	Given string
	Keys  Keys
}

// Found is the result of a discovery. BaseURL is always on the requested origin, not on a server of the document.
type Found struct {
	BaseURL     string
	Transport   Transport
	DocumentURL string
	Title       string
	Operations  []Operation // Fingerprint and Signature not yet set
	Warnings    []string
	KeyPlaces   []KeyPlace
}

// Diff lists the changes of a refresh, each as "METHOD /path", sorted.
type Diff struct {
	Added, Removed, Changed []string
}
