package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/chats/turn"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/run"
)

// Faults of a request that are found before the domain is called.
var (
	errRoute     = fault.New(fault.NotFound, "route.not_found")
	errMethod    = fault.New(fault.NotAllowed, "route.method_not_allowed")
	errMedia     = fault.New(fault.Unsupported, "request.media_type")
	errTooLarge  = fault.New(fault.TooLarge, "request.too_large")
	errUnread    = fault.New(fault.Malformed, "request.unreadable") // the body ended early
	errEncoding  = fault.New(fault.Malformed, "request.encoding")   // not UTF-8, or a NUL
	errJSON      = fault.New(fault.Malformed, "request.json_invalid")
	errDepth     = fault.New(fault.Malformed, "request.too_deep")
	errNumber    = fault.New(fault.Malformed, "request.number_range")
	errInvalid   = fault.New(fault.Invalid, "request.invalid") // Fields has the places
	errMessage   = fault.New(fault.TooLarge, "message.too_large")
	errSession   = fault.New(fault.NotFound, "session.not_found")
	errSwitch    = fault.New(fault.Unavailable, "switch_unavailable")   // the Operator API's code
	errRealtime  = fault.New(fault.Unavailable, "realtime.unavailable") // the deployment has no sockets
	errAccount   = fault.New(fault.NotFound, "account.not_found")
	errNobody    = fault.New(fault.NotFound, "ai.no_assistant")
	errPeriod    = fault.New(fault.Invalid, "credit.period")
	errDeadline  = fault.New(fault.Unavailable, "request.timeout")
	errCancelled = fault.New(fault.Unavailable, "request.cancelled") // the client is gone
)

// statuses is the only mapping from a kind of failure to an HTTP status.
var statuses = map[fault.Kind]int{
	fault.Internal:        http.StatusInternalServerError,
	fault.Malformed:       http.StatusBadRequest,
	fault.Invalid:         http.StatusUnprocessableEntity,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.NotAllowed:      http.StatusMethodNotAllowed,
	fault.Conflict:        http.StatusConflict,
	fault.Gone:            http.StatusGone,
	fault.TooLarge:        http.StatusRequestEntityTooLarge,
	fault.Unsupported:     http.StatusUnsupportedMediaType,
	fault.Throttled:       http.StatusTooManyRequests,
	fault.Upstream:        http.StatusBadGateway,
	fault.Unavailable:     http.StatusServiceUnavailable,
	fault.Outdated:        http.StatusPreconditionFailed,
	fault.Unconditional:   http.StatusPreconditionRequired,
	fault.OutOfRange:      http.StatusRequestedRangeNotSatisfiable,
}

// Status returns the HTTP status of a kind of failure.
func Status(kind fault.Kind) int {
	if s, ok := statuses[kind]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Problem is an RFC 9457 problem. Detail is a message in the client's language. On the Operator routes Detail is
// document 004's (a code, or the list of errors), and Message is the message.
type Problem struct {
	Type          string        `json:"type" doc:"urn:piloto:problem: and the code"`
	Title         string        `json:"title"`
	Status        int           `json:"status"`
	Code          string        `json:"code" doc:"stable; what a program matches on"`
	Detail        any           `json:"detail" doc:"a sentence for a person; on /operator routes a code or the list of errors"`
	Message       string        `json:"message,omitempty" doc:"on /operator routes: the sentence"`
	Reply         string        `json:"reply,omitempty" doc:"on /api/agent/chat, of what is wrong with a request: what to tell the customer"`
	Action        string        `json:"action,omitempty" doc:"what to do next"`
	Reason        string        `json:"reason,omitempty" doc:"on /operator/chat: why the turn may not run"`
	Remedy        string        `json:"remedy,omitempty" doc:"on /operator/chat: where to mend it"`
	CreditBalance *int64        `json:"creditBalance,omitempty" doc:"when credits are the reason"`
	Instance      string        `json:"instance,omitempty" doc:"the path of the request"`
	TraceID       string        `json:"trace_id,omitempty"`
	Errors        []fault.Field `json:"errors,omitempty" doc:"everything wrong with the request"`
	Running       string        `json:"running,omitempty" doc:"with plan.already_running, when that is because of another run: its id"`
	Existing      string        `json:"existing,omitempty" doc:"with mcp.twice: the id of the service that there is already"`
	Run           *Run          `json:"run,omitempty" doc:"with plan.stale, of a typed yes: the plan as it is now; the next yes is to it"`
	Card          string        `json:"card,omitempty" doc:"with run: the same as text, for who shows no card"`

	Approval *WaitingRequest `json:"approval,omitempty" doc:"with approval.stale: the request that waits now"`
}

// Error, GetStatus and GetHeaders make huma write a Problem unchanged.
func (p *Problem) Error() string { return p.Code }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders returns the headers that the status requires.
func (p *Problem) GetHeaders() http.Header {
	if p.Status == http.StatusUnauthorized {
		return http.Header{"Www-Authenticate": {`Bearer realm="piloto"`}}
	}
	return nil
}

// ContentType is application/problem+json.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// requestInfo is the data of a request that its problem needs.
type requestInfo struct {
	config   Config
	lang     locale.Tag
	path     string
	operator bool
	host     string      // the Host header
	secure   bool        // the client uses TLS
	header   http.Header // of the response
}

type requestInfoKey struct{}

// maxInstance is the longest path in a problem, in bytes.
const maxInstance = 256

func (c Config) newRequestInfo(w http.ResponseWriter, r *http.Request) requestInfo {
	path := r.URL.EscapedPath()
	path = path[:min(len(path), maxInstance)]
	return requestInfo{
		config: c, lang: language(r), path: path, operator: strings.HasPrefix(path, "/operator/"),
		host: r.Host, secure: isSecure(r), header: w.Header(),
	}
}

func requestInfoFrom(ctx context.Context) requestInfo {
	a, _ := ctx.Value(requestInfoKey{}).(requestInfo)
	return a
}

// LanguageCookie is the name of the cookie with the language chosen on the page.
const LanguageCookie = "piloto_lang"

// language returns the person's choice (?lang, then the cookie), else the client's preference, else Spanish.
func language(r *http.Request) locale.Tag {
	if chosen := r.URL.Query().Get("lang"); chosen != "" {
		return locale.Match(chosen)
	}
	if c, err := r.Cookie(LanguageCookie); err == nil && c.Value != "" {
		return locale.Match(c.Value)
	}
	return locale.Match(r.Header.Get("Accept-Language"))
}

// Problems returns a function that writes err as a problem, for handlers of other packages, so that all errors have
// the same form.
func Problems(c Config) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		c.render(w, r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, c.newRequestInfo(w, r))), err)
	}
}

func (c Config) render(w http.ResponseWriter, r *http.Request, err error) {
	p := problem(r.Context(), err)
	body, encodeErr := json.Marshal(p)
	if encodeErr != nil { // it contains only strings and field errors
		body = []byte(`{"code":"internal_error","status":500}`)
	}
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}

// problem converts err to the client's problem, and logs the cause.
func problem(ctx context.Context, err error) *Problem {
	a := requestInfoFrom(ctx)
	f := classify(err)
	status := Status(f.Kind)
	a.log(ctx, f, status)
	p := &Problem{
		Type: "urn:piloto:problem:" + f.Code, Status: status, Code: f.Code, Instance: a.path,
		Title:  locale.Text(a.lang, "fault.title."+strconv.Itoa(status)),
		Detail: detail(a.lang, f),
		Action: action(a.lang, f),
		Errors: localizeFields(a.lang, f), Running: f.Args["run_id"], Existing: f.Args["existing"],
	}
	if n, err := strconv.ParseInt(f.Args["balance"], 10, 64); err == nil {
		p.CreditBalance = &n
	}
	if moved, ok := errors.AsType[*turn.Moved](err); ok {
		now := showRun(moved.Run)
		p.Run, p.Card = &now, moved.Card.In(a.lang)
	}
	if other, ok := errors.AsType[*run.OtherRequest](err); ok {
		p.Approval = showRequest(other)
	}
	if a.config.Trace != nil {
		p.TraceID = a.config.Trace(ctx)
	}
	setRetryAfter(a.header, f)
	switch {
	case a.operator:
		p.asOperator()
	case a.path == agentPath:
		p.Reply = apology(a.lang, f)
	}
	return p
}

// detail returns the message: that of the code, or the variant for Args["case"]. It appends the reason, if any:
// Args["reason"] has a text of its own or is a technical term, and Inner["changed"] is a complete sentence. Other Inner
// faults are placeholders of the message.
func detail(lang locale.Tag, f *fault.Error) string {
	key := "fault." + f.Code
	if which := f.Args["case"]; which != "" {
		key += "." + which
	}
	args := map[string]string{}
	maps.Copy(args, f.Args)
	for name, inner := range f.Inner {
		args[name] = locale.OfFault(inner).In(lang)
	}
	text := sentence(lang, key, args)
	if reason := f.Args["reason"]; reason != "" {
		if key := "fault." + f.Code + "." + reason; hasText(lang, key) {
			text += " " + sentence(lang, key, f.Args)
		} else {
			text += " (" + shortName(reason) + ")"
		}
	}
	if changed := f.Inner["changed"]; changed != nil {
		text += " " + locale.OfFault(changed).In(lang)
	}
	return text
}

// action returns the next step: that of the code, or the variant for Args["case"] or Args["reason"].
func action(lang locale.Tag, f *fault.Error) string {
	key := "fault." + f.Code + ".do"
	for _, arg := range []string{"case", "reason"} {
		if particular := key + "." + f.Args[arg]; hasText(lang, particular) {
			return sentence(lang, particular, f.Args)
		}
	}
	return sentence(lang, key, f.Args)
}

func hasText(lang locale.Tag, key string) bool {
	_, ok := locale.Lookup(lang, key)
	return ok
}

var unfilled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z_]+\}`) })

// sentence fills the text under key. A missing argument becomes an ellipsis.
func sentence(lang locale.Tag, key string, args map[string]string) string {
	text, _ := locale.Lookup(lang, key)
	known := map[string]string{}
	for _, name := range unfilled().FindAllString(text, -1) {
		known[name[1:len(name)-1]] = "…"
	}
	maps.Copy(known, args)
	return locale.Fill(lang, key, known)
}

// apology returns the message for a customer whose message was refused: about the message, which they can change,
// or about the rest of the request, which they cannot. It returns "" for other failures.
func apology(lang locale.Tag, f *fault.Error) string {
	switch {
	case f.Code == errMessage.Code, f.Kind == fault.TooLarge:
		return locale.Text(lang, "router.invalid.long")
	case f.Kind != fault.Invalid && f.Kind != fault.Malformed && f.Kind != fault.Unsupported:
		return ""
	case slices.ContainsFunc(f.Fields, func(at fault.Field) bool {
		return len(at.Loc) == 2 && at.Loc[1] == "message"
	}):
		return locale.Text(lang, "router.invalid.empty")
	}
	return locale.Text(lang, "router.invalid.setup")
}

// asOperator changes a problem to the form of document 004.
func (p *Problem) asOperator() {
	p.Message, _ = p.Detail.(string)
	p.Detail = p.Code
	for i, f := range p.Errors {
		if f.Type == "missing" {
			p.Errors[i].Msg, p.Errors[i].Type = "field required", "value_error.missing"
		}
	}
	if p.Status == http.StatusUnprocessableEntity && len(p.Errors) > 0 {
		p.Detail = p.Errors
	}
}

// classify returns the fault in err. A timeout or a cancellation that has no fault of its own is not an internal
// error.
func classify(err error) *fault.Error {
	f := fault.Of(err)
	switch {
	case (f.Kind == fault.Internal || f.Kind == fault.Unavailable) && errors.Is(err, fault.ErrStorage):
		return fault.ErrStorage.Because(err) // the other failures follow from it
	case f.Kind != fault.Internal:
	case errors.Is(err, context.DeadlineExceeded):
		return errDeadline.Because(err)
	case errors.Is(err, context.Canceled):
		return errCancelled.Because(err)
	}
	return f
}

// log logs the cause of a failure. It does not log the faults of clients, and not a store that cannot be written,
// because the store logs that once itself.
func (a requestInfo) log(ctx context.Context, f *fault.Error, status int) {
	if a.config.Log == nil || status < 500 && f.Cause == nil || errors.Is(f, fault.ErrStorage) {
		return
	}
	level := slog.LevelInfo
	switch {
	case f.Kind == fault.Internal:
		level = slog.LevelError
	case status >= 500 && !errors.Is(f, errCancelled):
		level = slog.LevelWarn
	}
	a.config.Log.Log(ctx, level, "request.failed", "code", f.Code, "status", status, "error", f.Error())
}
