package job

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
)

// A client may give a job tools that it carries out itself, on its own machine: the job waits until the client answered
// the calls of a round, as it waits for a plan. So this program runs nothing there, and a model can work on the files of
// a person who is at a terminal.

// Bounds of the tools of a client, and of its answers.
const (
	MostTools     = 20
	maxToolText   = 2_000     // bytes of a description
	maxSchema     = 4 << 10   // bytes
	MaxContext    = 24 << 10  // bytes of a client's description of its machine
	maxArguments  = 128 << 10 // bytes of the arguments of the calls of a round
	maxResult     = 16 << 10  // bytes of the answer to a call
	maxResults    = 64 << 10  // bytes of the answers to the calls of a round
	clientTime    = time.Hour
	ClientSilence = 90 * time.Second // of a client that said that it is there
	MachineZone   = "machine"        // reads on the client's machine, beside the services that a model has read
)

// Tool is a tool of the client.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"` // for the model
	Schema      json.RawMessage `json:"schema"`      // of its arguments
	Writes      bool            `json:"writes,omitempty"`
}

// OpenCall is a call that the client has to answer.
type OpenCall struct {
	ID        string `json:"call_id"` // its round and its index: 3.0
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote them
}

// ToolResult is the client's answer to a call: the text for the model, and the deeds of the call. A client that does not
// report deeds is believed to have done the call.
type ToolResult struct {
	ID     string `json:"call_id"`
	Output string `json:"output" doc:"for the model"`
	Did    []Deed `json:"did,omitempty" maxItems:"100" doc:"what it came to, for the record of the job"`
}

// The errors of a client's answers.
var (
	ErrNoCalls   = fault.New(fault.Conflict, "job.no_call") // it does not wait for these calls
	ErrAnother   = fault.New(fault.Forbidden, "job.of_another")
	ErrHasResult = fault.New(fault.Invalid, "job.told") // Fields has every problem
)

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// CheckTools returns every problem of the tools of a client. taken are the names that other tools have.
func CheckTools(tools []Tool, taken func(name string) bool) (wrong []fault.Field) {
	add := func(typ string, place ...any) {
		wrong = append(wrong, fault.Field{Loc: append([]any{"body", "tools"}, place...), Type: typ})
	}
	if len(tools) > MostTools {
		add("too_long")
	}
	seen := map[string]bool{}
	for i, t := range tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case !toolName.MatchString(t.Name):
			add("string_pattern_mismatch", i, "name")
		case seen[t.Name] || taken(t.Name):
			add("taken", i, "name")
		}
		seen[t.Name] = true
		if t.Description == "" || len(t.Description) > maxToolText {
			add("string_too_long", i, "description")
		}
		if len(t.Schema) > maxSchema || json.Unmarshal(t.Schema, &schema) != nil || schema.Type != "object" {
			add("object_type", i, "schema")
		}
	}
	return wrong
}

// FitsArguments reports whether calls may be left to the client: their arguments are kept with the job.
func FitsArguments(calls []OpenCall) bool {
	n := 0
	for _, c := range calls {
		n += len(c.Arguments)
	}
	return n <= maxArguments
}

// AwaitsClient reports whether a job waits for answers of its client, or until it says that it is there.
func (j Job) AwaitsClient() bool { return j.Status == Waiting && (j.Absent || len(j.OpenCalls()) > 0) }

// WasLeft reports whether the only process, which began at a time, found a job in the middle of a round and has not heard of
// its client, which was there before: it may have ended with the process before.
func (j Job) WasLeft(began time.Time) bool {
	return j.Status == Running && j.UpdatedAt.Before(began) && !j.Seen.IsZero() && j.Seen.Before(began)
}

// OpenCalls returns the calls that the client did not answer yet.
func (j Job) OpenCalls() (list []OpenCall) {
	for _, c := range j.Open {
		if !hasResult(j.Results, c.ID) {
			list = append(list, c)
		}
	}
	return list
}

func hasResult(results []ToolResult, id string) bool {
	return slices.ContainsFunc(results, func(t ToolResult) bool { return t.ID == id })
}

// Watch is when a client is checked, and when the only process began that hears clients; zero: there may be others.
type Watch struct{ Now, Began time.Time }

// ClientGone reports whether the client of a job did not answer in time, or is silent.
func (j Job) ClientGone(w Watch) bool {
	return j.ClientSilent(w) || j.AwaitsClient() && !w.Now.Before(j.Waited.Add(clientTime))
}

// ClientSilent reports whether the client of a job that waits for it said that it is there, and does not say so any more. Before the only
// process began, nobody heard it.
func (j Job) ClientSilent(w Watch) bool {
	heard := j.Seen
	if heard.Before(w.Began) {
		heard = w.Began
	}
	return j.AwaitsClient() && !j.Seen.IsZero() && !w.Now.Before(heard.Add(ClientSilence))
}

// SeenText returns when the client of a job was there last, for a sentence.
func (j Job) SeenText() string { return j.Seen.UTC().Format("2006-01-02 15:04 UTC") }

// here notes that the client of a job is there, with or without calls to answer. A job that waited for that goes on.
func (s *Service) here(ctx context.Context, account ids.Account, user, id string) (Job, error) {
	var j Job
	back := false
	err := retry.Do(ctx, func() (err error) {
		switch j, err = s.Store.Job(ctx, account, id); {
		case err != nil:
			return err
		case j.User != user:
			return ErrAnother
		case j.Status.Terminal():
			return ErrEnded.With("status", string(j.Status))
		}
		if j.Seen = s.Now(); j.AwaitsClient() {
			j.DueAt = j.Seen.Add(ClientSilence)
		}
		back, j.Absent = j.Absent, false
		j, err = s.Store.SaveJob(ctx, j, nil)
		return err
	})
	if err == nil && back {
		s.resume(ctx, j)
	}
	return j, err
}

// Tell gives a job its client's answers to some of its open calls, or to all. Without answers it is a heartbeat: a
// client that sent one is gone when it sends neither another nor an answer for 90 seconds. Repeated with the same calls
// it changes nothing. Deeds of a client while the job ended are still added to its record. It returns ErrNotFound,
// ErrEnded, ErrAnother for another person than who started the job, ErrNoCalls and ErrHasResult.
func (s *Service) Tell(ctx context.Context, account ids.Account, user, id string, results []ToolResult) (Job, error) {
	if wrong := checkResult(results); len(wrong) > 0 {
		return Job{}, ErrHasResult.At(wrong...)
	}
	if len(results) == 0 {
		return s.here(ctx, account, user, id)
	}
	j, err := s.change(ctx, account, id, func(j *Job) ([]Event, error) {
		fresh := slices.DeleteFunc(slices.Clone(results), func(t ToolResult) bool { return hasResult(j.Results, t.ID) })
		switch {
		case j.User != user:
			return nil, ErrAnother
		case j.Status.Terminal() && (len(fresh) == 0 || !j.isOpen(fresh)):
			return nil, ErrEnded.With("status", string(j.Status))
		case len(j.Open) == 0 || !j.isOpen(results):
			return nil, ErrNoCalls
		case len(fresh) == 0:
			return nil, nil
		}
		all := slices.Concat(j.Results, fresh)
		if wrong := checkRoom(all); len(wrong) > 0 {
			return nil, ErrHasResult.At(wrong...)
		}
		return j.take(s.Now(), all, fresh)
	})
	if err == nil && !j.Status.Terminal() && len(j.OpenCalls()) == 0 {
		s.resume(ctx, j)
	}
	return j, err
}

// take adds the answers to some calls, and their deeds.
func (j *Job) take(at time.Time, all, fresh []ToolResult) ([]Event, error) {
	if j.Results, j.Waited = all, at; !j.Seen.IsZero() {
		j.Seen = at
	}
	j.Note(fresh...)
	names, did := make([]string, len(fresh)), []Deed{}
	for i, t := range fresh {
		names[i] = j.Open[slices.IndexFunc(j.Open, func(c OpenCall) bool { return c.ID == t.ID })].Name
		did = append(did, t.Did...)
	}
	if j.Status.Terminal() {
		j.CloseRecord()
	}
	e, err := NewEvent(at, EventToolResult, map[string]any{"calls": names, "did": did})
	return []Event{e}, err
}

// checkResult returns every problem of the answers of one request.
func checkResult(results []ToolResult) (wrong []fault.Field) {
	for i, t := range results {
		if len(t.Output) > maxResult {
			wrong = append(wrong, fault.Field{Loc: []any{"body", "results", i, "output"}, Type: "string_too_long"})
		}
		wrong = append(wrong, checkDeeds(t.Did, "body", "results", i)...)
	}
	return append(wrong, checkRoom(results)...)
}

// checkRoom returns the problem of the answers of a round that are too long together.
func checkRoom(results []ToolResult) []fault.Field {
	outputs, deeds := 0, 0
	for _, t := range results {
		outputs, deeds = outputs+len(t.Output), deeds+sizeOf(t.Did)
	}
	if outputs > maxResults || deeds > maxResults {
		return []fault.Field{{Loc: []any{"body", "results"}, Type: "string_too_long"}}
	}
	return nil
}

// isOpen reports whether each answer is to another of the job's calls.
func (j Job) isOpen(results []ToolResult) bool {
	seen := map[string]bool{}
	for _, t := range results {
		if seen[t.ID] || !slices.ContainsFunc(j.Open, func(c OpenCall) bool { return c.ID == t.ID }) {
			return false
		}
		seen[t.ID] = true
	}
	return len(results) > 0
}
