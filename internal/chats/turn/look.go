package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/redact"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Bounds of the looks of a turn.
const (
	maxLooks    = 12
	looksAtOnce = 4
)

// Looker makes reads that need no confirmation (step.Reader). plan.ErrLookAsks means that a read is to be proposed instead.
type Looker interface {
	Look(ctx context.Context, r plan.Run, s plan.Step) (plan.Look, error)
}

// looks holds the reads of a turn, or of a job with those of its earlier rounds.
type looks struct {
	made    []look
	most    int
	circles []string // whose data the model has read
}

// ofServices counts the reads of services; those of files have a bound of their own.
func (l looks) ofServices() (n int) {
	for _, one := range l.made {
		if one.source.MCPID != tool.FilesID {
			n++
		}
	}
	return n
}

// look is one read and its answer. A repeated look has the same call; "" of a look that may be repeated.
type look struct {
	call   string
	source conversation.Source
	text   string                   // the whole answer
	lines  []string                 // of it; nil: there is no answer
	read   func() ([]string, error) // reads the lines of a look of an earlier round; nil: they are here
	whole  *ref.Result              // the answer of this round, with success; nil: it is none, or cut
}

// asked is a look that the model asks for in one reply.
type asked struct {
	at     int // its place among the calls of the reply
	call   string
	raw    json.RawMessage // as a request
	run    plan.Run
	server tool.Server
}

// lookArguments are the arguments of a look.
type lookArguments struct {
	MCPID     string          `json:"mcp_id"`
	Method    string          `json:"method,omitempty"`
	Path      string          `json:"path,omitempty"`
	Query     json.RawMessage `json:"query,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// check adds what does not belong to what is read to the errors: a tool has arguments, and a path has a query.
func (a lookArguments) check(wrong []fault.Field) []fault.Field {
	where, why := "", ""
	switch {
	case a.Tool != "" && (a.Method+a.Path != "" || !isEmpty(a.Query) || !isEmpty(a.Headers)):
		where, why = "tool", "has arguments, and neither method, path, query nor headers"
	case a.Tool != "":
	case !isEmpty(a.Arguments):
		where, why = "arguments", "are those of a tool: give the parameters of a path as its query"
	case a.Path == "":
		where, why = "path", "is required"
	case a.Method != "" && a.Method != "GET" && a.Method != "HEAD":
		where, why = "method", "must be GET or HEAD, because a look only reads"
	}
	if where == "" {
		return wrong
	}
	return append(wrong, fault.Field{Loc: []any{where}, Msg: why, Type: "value_error"})
}

// asRequest returns the arguments of a look as those of mcp_request.
func (a lookArguments) asRequest() (json.RawMessage, error) {
	request := map[string]any{"mcp_id": a.MCPID}
	if a.Tool != "" {
		request["tool"] = a.Tool
		if !isEmpty(a.Arguments) {
			request["body"] = a.Arguments
		}
	} else {
		request["method"], request["path"] = cmp.Or(a.Method, "GET"), a.Path
	}
	if !isEmpty(a.Query) {
		request["query"] = a.Query
	}
	if !isEmpty(a.Headers) {
		request["headers"] = a.Headers
	}
	return json.Marshal(request)
}

var lookKeys = []string{"mcp_id", "method", "path", "query", "headers", "tool", "arguments"}

// readLook reads the arguments of a look, binds them to an operation and checks them. It returns the result for the
// model when they are wrong.
func (d *dialog) readLook(ctx context.Context, at int, raw json.RawMessage) (a asked, wrong []fault.Field, err error) {
	var in lookArguments
	if wrong = in.check(decodeStrict(raw, &in, lookKeys, "mcp_id")); len(wrong) > 0 {
		return a, wrong, nil
	}
	a.at = at
	if a.raw, err = in.asRequest(); err != nil {
		return a, nil, err
	}
	s, wrong := readRequest(a.raw)
	if len(wrong) > 0 {
		return a, wrong, nil
	}
	p, wrong, err := d.drafter().draft(ctx, plan.Proposal{Steps: []plan.ProposedStep{s}})
	if err != nil || len(wrong) > 0 {
		return a, relocated(wrong), err
	}
	bound := p.Steps[0]
	if a.call, err = sumOf(bound); err != nil {
		return a, nil, err
	}
	a.run = plan.Run{
		ID: d.incoming.ID, Account: d.req.Principal.Account, User: d.req.Principal.User, ChatID: d.chat.ID, ProjectID: d.chat.ProjectID,
		Locale: string(d.req.Locale), TraceID: d.req.TraceID, Plan: p,
	}
	for _, l := range d.listed {
		if l.Server.ID == bound.MCPID {
			a.server = l.Server
		}
	}
	return a, nil, nil
}

// sumOf returns what two steps with the same call have in common.
func sumOf(s plan.Step) (string, error) {
	return jcs.Sum(plan.Call{MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body})
}

// results returns the last answers of the looks of this round, by the sums of their calls.
func (l looks) results() map[string]ref.Result {
	all := map[string]ref.Result{}
	for _, one := range l.made {
		if one.whole != nil && one.call != "" {
			all[one.call] = *one.whole
		}
	}
	return all
}

// asks reports whether a look has to be proposed: its server is not to be read by a turn, a rule asks, or it would
// carry what the model read of services in other circles.
func (d *dialog) asks(a asked) bool {
	s := a.run.Plan.Steps[0]
	entry := tool.Entry{Name: s.Tool, Method: s.Method}
	if b, ok := a.run.Plan.Binding(s.ID); ok {
		entry.Fingerprint = b.Fingerprint
	}
	own := a.server.Circle()
	foreign := func(circle string) bool { return circle != own }
	return d.agent.Mode == agent.ConfirmAll || s.Ask != nil || !a.server.MayRead(entry) || slices.ContainsFunc(d.looks.circles, foreign)
}

// readCircles returns the circles whose data is in the prompt: of the reads of earlier answers, also where only the
// answer is in it, and of what runs came to.
func (d *dialog) readCircles() []string {
	var list []string
	add := func(mcpID string) {
		s := tool.Server{ID: mcpID}
		for _, l := range d.listed {
			if l.Server.ID == mcpID {
				s = l.Server
			}
		}
		if circle := s.Circle(); !slices.Contains(list, circle) {
			list = append(list, circle)
		}
	}
	for _, id := range d.readFrom {
		add(id)
	}
	for _, r := range d.runs {
		for _, id := range r.DataFrom() {
			add(id)
		}
	}
	return list
}

// lookAll answers the looks of one reply: results[i] is that of call i. It returns those that have to be proposed.
func (d *dialog) lookAll(ctx context.Context, list []asked, results []string) (propose []asked) {
	var now []asked
	for _, a := range list {
		same := func(l look) bool { return l.call == a.call && l.isAnswered() }
		switch i := slices.IndexFunc(d.looks.made, same); {
		case i >= 0:
			results[a.at] = d.looks.made[i].again()
		case slices.ContainsFunc(now, func(o asked) bool { return o.call == a.call }):
			results[a.at] = toolError("", "this is asked twice in one reply: its answer is that of the other call")
		case d.asks(a):
			propose = append(propose, a)
		case len(now) >= maxLooks, d.looks.ofServices()+len(now) >= d.looks.most:
			results[a.at] = toolError("", fmt.Sprintf("enough was read: %d reads are the most here; answer, or propose a plan", min(maxLooks, d.looks.most)))
		default:
			now = append(now, a)
		}
	}
	made, errs := make([]look, len(now)), make([]error, len(now))
	slots := make(chan struct{}, looksAtOnce)
	var all sync.WaitGroup
	for i, a := range now {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			made[i], errs[i] = d.makeLook(ctx, a)
		})
	}
	all.Wait()
	for i, a := range now {
		if errors.Is(errs[i], plan.ErrLookAsks) { // the setting changed after the turn began, or a rule did
			propose = append(propose, a)
			continue
		}
		made[i].source.ID = d.nextLookID()
		made[i].shorten(d.req.Locale)
		d.looks.made, d.sources = append(d.looks.made, made[i]), append(d.sources, made[i].source)
		results[a.at] = made[i].result()
		if circle := a.server.Circle(); made[i].source.Answer != "" && !slices.Contains(d.looks.circles, circle) {
			d.looks.circles = append(d.looks.circles, circle)
		}
	}
	return propose
}

// nextLookID returns an id that no look has which the model may know: of this turn or job, or of an earlier answer.
func (d *dialog) nextLookID() string {
	last := 0
	note := func(id string) {
		if n, err := strconv.Atoi(strings.TrimPrefix(id, "l")); err == nil {
			last = max(last, n)
		}
	}
	for _, l := range d.looks.made {
		note(l.source.ID)
	}
	for _, s := range d.reads {
		note(s.ID)
	}
	return "l" + strconv.Itoa(last+1)
}

// isAnswered reports whether a look need not be made again, because the same answer is to be expected.
func (l look) isAnswered() bool {
	return l.source.Error == "" && !meaning.Passes(l.source.Status, false)
}

// makeLook makes one read. A panic in it is a result and one log line.
func (d *dialog) makeLook(ctx context.Context, a asked) (l look, err error) {
	s := a.run.Plan.Steps[0]
	bound, _ := a.run.Plan.Binding(s.ID)
	l = look{call: a.call, source: conversation.Source{
		MCPID: a.server.ID, Service: a.server.Name, Tool: s.Tool, Method: s.Method, URL: bound.URL(s), At: d.service.Now().UTC(), Call: a.raw,
	}}
	defer func() {
		if cause := recover(); cause != nil {
			d.service.Log.ErrorContext(ctx, "turn.look_panicked", "mcp_id", a.server.ID, "error", cause)
			l.source.Error, err = "internal error: this cannot be read now", nil
		}
	}()
	if ctx.Err() != nil {
		l.source.Error = unsent(ctx)
		return l, nil
	}
	failpoint.Here("look.before")
	seen, err := d.service.Looks.Look(ctx, a.run, s)
	failpoint.Here("look.after")
	if errors.Is(err, plan.ErrLookAsks) {
		return l, err
	}
	if seen.URL != "" {
		l.source.URL, l.source.RequestHash = seen.URL, seen.Hash
	}
	switch {
	case err != nil && seen.Hash == "" && ctx.Err() != nil:
		l.source.Error = unsent(ctx)
		return l, nil
	case err != nil && errors.Is(context.Cause(ctx), errStopped):
		l.source.Error = "a person stopped this before the answer came"
		return l, nil
	case err != nil:
		d.noteDeniedRead(err, s)
		l.source.Error = redact.Text(lookFault(err))
		return l, nil
	}
	res := seen.Result
	l.source.Status, l.source.Bytes, l.source.AnswerHash = res.Status, res.Bytes, res.SHA256
	l.text = readable(res.Answer(s.Method))
	l.lines = linesOf(l.text)
	l.source.Cut, l.source.Names = res.Truncated, ref.NamedIn(bound.AnswerNames, l.text)
	if seen.Failed {
		l.source.Error = "the tool reports an error"
	} else if !res.Truncated && meaning.Of(res.Status, false) == meaning.Done {
		l.whole = &ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body}
	}
	return l, nil
}

// unsent says to the model that a read was not sent, because what asks for it ended.
func unsent(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errStopped) {
		return "a person stopped this; nothing was sent"
	}
	return "there is no time left to read; nothing was sent"
}

// lookFault says to the model why there is no answer.
func lookFault(err error) string {
	switch {
	case errors.Is(err, plan.ErrLookDenied):
		return "a rule of the account denies this read; nothing was sent"
	case errors.Is(err, tool.ErrToolChanged):
		return "the tool is another than the one that a person approved; it was not called"
	case errors.Is(err, tool.ErrSignIn):
		return "the service asks a person to sign in (OAuth), which is not possible yet"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, tool.ErrNotSent):
		return "the service cannot be reached"
	case tool.CameOf(err) == tool.CamePage:
		return "a web page came, perhaps of a sign-in or a gateway, and no answer"
	case tool.CameOf(err) != "":
		return "what came is no answer to this"
	case errors.Is(err, tool.ErrLost):
		return "no answer came"
	}
	return "it cannot be read: " + err.Error()
}
