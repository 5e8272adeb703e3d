// Package reads makes the read-only calls of a model: it decides which may be made at once, makes them, and keeps the
// part of the answers that the model sees. A turn, or a job, holds one Set.
package reads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/redact"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Bounds of the reads of a reply.
const (
	Most   = 12 // and of a turn
	AtOnce = 4
)

// Reader makes a read that needs no confirmation (step.Reader). plan.ErrReadAsks means that it is to be proposed instead.
type Reader interface {
	Read(ctx context.Context, call plan.Bound) (plan.ReadAnswer, error)
}

// Turn is the turn, or the round of a job, that reads.
type Turn struct {
	Reader  Reader
	Drafter proposal.Drafter
	For     plan.Bound // without a call
	Log     *slog.Logger
	Stopped error                           // cause of a context that a person stopped
	Denied  func(err error, call plan.Step) // hears why a read failed
	Most    int                             // reads of services
	AskAll  bool                            // each read is proposed
	Zones   []string                        // trust zones whose data the model has read
	Before  []conversation.Source           // reads of earlier answers
	Room    func() int                      // the most characters of an answer in the prompt; nil: those of MostTokens
}

// Set holds the reads of a turn, or of a job with those of its earlier rounds.
type Set struct {
	Turn
	made    []read
	earlier int // how many of them are of earlier rounds
}

// NewSet returns a set without a read.
func NewSet(of Turn) *Set { return &Set{Turn: of} }

// read is one read and its answer. A repeated read has the same sum; "" of a read that may be repeated.
type read struct {
	sum      string
	source   conversation.Source
	text     string                 // the whole answer
	answered bool                   // there is an answer, and it is here
	kept     func() (string, error) // reads the answer of a read of an earlier round; nil: it is here
	whole    *ref.Result            // the answer of this round, with success; nil: it is none, or cut
}

// Made is a read as a job keeps it.
type Made struct {
	Sum    string
	Source conversation.Source
	Text   string // the whole answer
}

// Since returns the reads after the first n.
func (s *Set) Since(n int) (list []Made) {
	for _, r := range s.made[n:] {
		list = append(list, Made{r.sum, r.source, r.text})
	}
	return list
}

// Len returns how many reads were made.
func (s *Set) Len() int { return len(s.made) }

// OfFiles returns how many reads of files were made.
func (s *Set) OfFiles() (n int) {
	for _, r := range s.made {
		if r.source.MCPID == tool.FilesID {
			n++
		}
	}
	return n
}

// Resume adds a read of an earlier round. kept reads its answer.
func (s *Set) Resume(sum string, source conversation.Source, kept func() (string, error)) {
	s.made = append(s.made, read{sum: sum, source: source, kept: kept})
	s.earlier = len(s.made)
}

// Add adds a read that was made elsewhere, and gives it an id.
func (s *Set) Add(source conversation.Source, answer string) {
	source.ID = s.nextID()
	s.made = append(s.made, read{source: source, text: answer, answered: true})
}

// Sources returns the reads of this turn or round.
func (s *Set) Sources() (list []conversation.Source) {
	for _, r := range s.made[s.earlier:] {
		list = append(list, r.source)
	}
	return list
}

// From returns the ids of the servers that answered.
func (s *Set) From() (list []string) {
	for _, r := range s.made {
		if r.source.Answer != "" {
			list = append(list, r.source.MCPID)
		}
	}
	return list
}

// Answers returns the answers that the model has read, the newest first: of this turn or job whole, of earlier turns as
// they stand in the prompt.
func (s *Set) Answers() []plan.Answered {
	var list []plan.Answered
	for _, b := range s.Before {
		list = append(list, answered(b, b.Answer))
	}
	for _, r := range s.made {
		text := r.source.Answer
		if r.answered {
			text = r.text
		}
		list = append(list, answered(r.source, text))
	}
	slices.Reverse(list)
	return list
}

func answered(s conversation.Source, text string) plan.Answered {
	return plan.Answered{MCPID: s.MCPID, Service: s.Service, Called: s.Called(), At: s.At, Call: s.Call, Answer: text, Names: s.Names}
}

// Results are whole answers of this round, by the sums of their calls.
type Results map[string]ref.Result

// Results returns the last answers of this round.
func (s *Set) Results() Results {
	all := Results{}
	for _, r := range s.made {
		if r.whole != nil && r.sum != "" {
			all[r.sum] = *r.whole
		}
	}
	return all
}

// Of returns those that the steps of a plan would read again, by the names of the steps.
func (all Results) Of(p plan.Plan) (map[string]ref.Result, error) {
	read := map[string]ref.Result{}
	for _, step := range p.Steps {
		sum, err := sumOf(step)
		if err != nil {
			return nil, err
		}
		if res, ok := all[sum]; ok && step.ForEach == "" {
			read[step.ID.Step()] = res
		}
	}
	return read, nil
}

// sumOf returns a digest that steps with the same call share.
func sumOf(s plan.Step) (string, error) {
	return jcs.Sum(s.Call())
}

// AddZone notes a trust zone whose data the model has read. It reports whether it is new.
func (s *Set) AddZone(zone string) bool {
	if slices.Contains(s.Zones, zone) {
		return false
	}
	s.Zones = append(s.Zones, zone)
	return true
}

// Knows reports whether the model has read data of a trust zone.
func (s *Set) Knows(zone string) bool { return slices.Contains(s.Zones, zone) }

// Zones returns the trust zones of servers, each once. A server that is not listed is a zone of its own.
func Zones(listed []tool.Listed, mcpIDs []string) (list []string) {
	for _, id := range mcpIDs {
		if zone := serverOf(listed, id).Zone(); !slices.Contains(list, zone) {
			list = append(list, zone)
		}
	}
	return list
}

func serverOf(listed []tool.Listed, mcpID string) tool.Server {
	for _, l := range listed {
		if l.Server.ID == mcpID {
			return l.Server
		}
	}
	return tool.Server{ID: mcpID}
}

// asks reports whether a read has to be proposed: its server is not to be read by a turn, a rule asks, or it would carry
// data of services in other trust zones.
func (s *Set) asks(a Asked) bool {
	step := a.call.Step
	entry := tool.Entry{Name: step.Tool, Method: step.Method, Fingerprint: a.call.Binding.Fingerprint}
	own := a.server.Zone()
	foreign := func(zone string) bool { return zone != own }
	return s.AskAll || step.Ask != nil || !a.server.MayRead(entry) || slices.ContainsFunc(s.Zones, foreign)
}

// Make makes the reads of one reply: results[i] is set to that of call i. It returns those that have to be proposed.
func (s *Set) Make(ctx context.Context, list []Asked, results []string) (propose []Asked) {
	var now []Asked
	for _, a := range list {
		same := func(r read) bool { return r.sum == a.sum && r.isAnswered() }
		switch i := slices.IndexFunc(s.made, same); {
		case i >= 0:
			results[a.At] = s.made[i].again()
		case slices.ContainsFunc(now, func(o Asked) bool { return o.sum == a.sum }):
			results[a.At] = toolcall.Error("", "this is asked twice in one reply: its answer is that of the other call")
		case s.asks(a):
			propose = append(propose, a)
		case len(now) >= Most, len(s.made)-s.OfFiles()+len(now) >= s.Most:
			results[a.At] = toolcall.Error("", fmt.Sprintf("enough was read: %d reads are the most here; answer, or propose a plan", min(Most, s.Turn.Most)))
		default:
			now = append(now, a)
		}
	}
	made, errs := make([]read, len(now)), make([]error, len(now))
	var all errgroup.Group
	all.SetLimit(AtOnce)
	for i, a := range now {
		all.Go(func() error {
			made[i], errs[i] = s.make(ctx, a)
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	for i, a := range now {
		if errors.Is(errs[i], plan.ErrReadAsks) { // the setting changed after the turn began, or a rule did
			propose = append(propose, a)
			continue
		}
		made[i].source.ID = s.nextID()
		s.shorten(&made[i])
		s.made = append(s.made, made[i])
		results[a.At] = Text(made[i].source)
		if made[i].source.Answer != "" {
			s.AddZone(a.server.Zone())
		}
	}
	return propose
}

// nextID returns an id that no read has which the model may know: of this turn or job, or of an earlier answer.
func (s *Set) nextID() string {
	last := 0
	note := func(id string) {
		if n, err := strconv.Atoi(strings.TrimPrefix(id, "l")); err == nil {
			last = max(last, n)
		}
	}
	for _, r := range s.made {
		note(r.source.ID)
	}
	for _, b := range s.Before {
		note(b.ID)
	}
	return "l" + strconv.Itoa(last+1)
}

// isAnswered reports whether a read need not be made again, because the same answer is to be expected.
func (r read) isAnswered() bool {
	return r.source.Error == "" && !meaning.Passes(r.source.Status, false)
}

// make makes one read. A panic in it is a result and one log line.
func (s *Set) make(ctx context.Context, a Asked) (r read, err error) {
	step, binding := a.call.Step, a.call.Binding
	r = read{sum: a.sum, source: conversation.Source{
		MCPID: a.server.ID, Service: a.server.Name, Tool: step.Tool, Method: step.Method, URL: binding.URL(step), At: s.Drafter.Now().UTC(), Call: a.asked,
	}}
	defer func() {
		if cause := recover(); cause != nil {
			s.Log.ErrorContext(ctx, "turn.look_panicked", "mcp_id", a.server.ID, "error", cause)
			r.source.Error, err = "internal error: this cannot be read now", nil
		}
	}()
	if ctx.Err() != nil {
		r.source.Error = s.unsent(ctx)
		return r, nil
	}
	failpoint.Here("look.before")
	seen, err := s.Reader.Read(ctx, a.call)
	failpoint.Here("look.after")
	if errors.Is(err, plan.ErrReadAsks) {
		return r, err
	}
	if seen.URL != "" {
		r.source.URL, r.source.RequestHash = seen.URL, seen.Hash
	}
	switch {
	case err != nil && seen.Hash == "" && ctx.Err() != nil:
		r.source.Error = s.unsent(ctx)
		return r, nil
	case err != nil && errors.Is(context.Cause(ctx), s.Stopped):
		r.source.Error = "a person stopped this before the answer came"
		return r, nil
	case err != nil:
		s.Denied(err, step)
		r.source.Error = redact.Text(whyUnread(err))
		return r, nil
	}
	res := seen.Result
	r.source.Status, r.source.Bytes, r.source.AnswerHash = res.Status, res.Bytes, res.SHA256
	r.text = readable(res.Answer(step.Method))
	r.answered = true
	r.source.Cut, r.source.Names = res.Truncated, ref.NamedIn(binding.AnswerNames, r.text)
	if seen.Failed {
		r.source.Error = "the tool reports an error"
	} else if !res.Truncated && meaning.Of(res.Status, false) == meaning.Done {
		r.whole = &ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body}
	}
	return r, nil
}

// unsent returns the tool result of a read that was not sent, because its turn or job ended.
func (s *Set) unsent(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), s.Stopped) {
		return "a person stopped this; nothing was sent"
	}
	return "there is no time left to read; nothing was sent"
}

// whyUnread says to the model why there is no answer.
func whyUnread(err error) string {
	switch {
	case errors.Is(err, plan.ErrReadDenied):
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
