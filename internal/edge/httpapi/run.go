package httpapi

import (
	"encoding/json"
	"time"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/view"
)

// Run is the JSON form of a run.
type Run struct {
	RunID       string      `json:"run_id"`
	ChatID      string      `json:"chat_id"`
	ProjectID   string      `json:"project_id,omitempty"`
	PlanID      string      `json:"plan_id"`
	Revision    int         `json:"revision"`
	Goal        string      `json:"goal"`
	Status      plan.Status `json:"status" enum:"draft,queued,running,waiting,done,error,in_doubt,cancelled,expired,superseded"`
	Digest      plan.Digest `json:"digest" doc:"what a confirmation must name"`
	Replaces    plan.Digest `json:"replaces,omitempty" doc:"digest of the revision before this one"`
	ExpiresAt   time.Time   `json:"expires_at"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	Locale      string      `json:"locale"`
	Ceiling     int         `json:"ceiling,omitempty" doc:"tokens of models that the run may use at most"`
	Undoable    int         `json:"undoable" doc:"how many of the steps that change something can be undone"`
	Changing    int         `json:"changing" doc:"how many steps change something"`
	Concludes   bool        `json:"concludes,omitempty" doc:"it ended, and a model tells in the chat what came of it: the message ID#conclusion"`
	ConfirmedBy string      `json:"confirmed_by,omitempty"`
	Reason      string      `json:"reason,omitempty" doc:"why somebody rejected the draft"`

	Withdrawn *plan.Withdrawal `json:"withdrawn,omitempty" doc:"the model took the draft back, and no person cancelled it. POST …/repeat proposes it again"`
	Dropped   *plan.Dropped    `json:"dropped,omitempty" doc:"the draft that waited and in whose place this plan came"`

	Retries  string        `json:"retries,omitempty" doc:"the run that this one goes on from"`
	Stopping bool          `json:"stopping,omitempty" doc:"a person asked to stop it"`
	Undoing  bool          `json:"undoing,omitempty" doc:"what was done is being undone"`
	Taken    []plan.Taken  `json:"taken,omitempty" doc:"values of its steps that stood in what was read before it was proposed. What was read more than ten minutes ago may have changed: POST …/look reads it again"`
	Steps    []Step        `json:"steps" nullable:"false"`
	Error    *plan.Failure `json:"error,omitempty"`
}

// PlannedStep is a proposed step with its target.
type PlannedStep struct {
	ID      string          `json:"id"`
	Title   string          `json:"title"`
	MCPID   string          `json:"mcp_id"`
	Server  string          `json:"server" doc:"the server's name when it was proposed"`
	Target  string          `json:"target" doc:"the host it is sent to"`
	Base    string          `json:"base_url" doc:"the address that the path follows"`
	URL     string          `json:"url" doc:"the address as it is sent, without the key; ${…} is what an earlier step will answer"`
	Tool    string          `json:"tool,omitempty" doc:"called in the place of a method and a path; its arguments are the body"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	About   string          `json:"about,omitempty" doc:"of a tool: what its server says that it does, cut; nobody has checked it"`
	Query   json.RawMessage `json:"query,omitempty"`
	Headers json.RawMessage `json:"headers,omitempty" doc:"those that the service's document asks for, by their names"`
	Body    json.RawMessage `json:"body,omitempty"`
	Media   string          `json:"media_type,omitempty" doc:"the type in which the body is sent"`
	Auth    string          `json:"auth,omitempty" doc:"where the service's keys are that it carries: «query token; header X-Id»"`
	Needs   []string        `json:"needs" nullable:"false"`
	Risk    plan.Risk       `json:"risk" enum:"read,write,destructive"`
	When    *ref.Condition  `json:"when,omitempty" doc:"it is skipped when this does not hold"`
	ForEach string          `json:"for_each,omitempty" doc:"a reference to a list: it is done for each element, ${item}"`
	Undo    *UndoCall       `json:"undo,omitempty" doc:"what takes it back"`
	NoUndo  bool            `json:"no_undo,omitempty" doc:"what it does is to stay: no undo is suggested"`
	Verify  *VerifyCall     `json:"verify,omitempty" doc:"how it is found out whether it was done, when its answer is lost"`
	Ask     *plan.Ask       `json:"ask,omitempty" doc:"the approval it will wait for, as far as known"`
	Targets []plan.Target   `json:"targets,omitempty" doc:"what its references were found to name"`

	Unanswered *plan.Doubt `json:"unanswered,omitempty" doc:"the same request was sent before in the chat, and nobody knew whether it was done when the plan was shown: what is confirmed may be done twice, unless the service knows idempotency keys"`
}

// UndoCall is an undo with its target.
type UndoCall struct {
	plan.Undo
	Server string `json:"server"`
	Target string `json:"target"`
	Base   string `json:"base_url"`
	Media  string `json:"media_type,omitempty" doc:"the type in which the body is sent"`
	Auth   string `json:"auth,omitempty" doc:"where the service's keys are that it carries"`
	URL    string `json:"url" doc:"the address as it is sent, without the key; ${…} is what an earlier step will answer"`
}

// VerifyCall is a check with its target.
type VerifyCall struct {
	plan.Check
	Server string `json:"server"`
	Target string `json:"target"`
	Base   string `json:"base_url"`
	Auth   string `json:"auth,omitempty" doc:"where the service's keys are that it carries"`
	URL    string `json:"url" doc:"the address as it is sent, without the key; ${…} is what an earlier step will answer"`
}

// Step is the JSON form of a run's step: the proposal and its result.
type Step struct {
	PlannedStep
	Status    plan.StepStatus  `json:"status" enum:"pending,running,waiting,done,error,in_doubt,cancelled,skipped"`
	Attempts  int              `json:"attempts"`
	Result    *plan.Result     `json:"result,omitempty"`
	Error     *plan.Failure    `json:"error,omitempty"`
	Items     []StepItem       `json:"items,omitempty" doc:"of a step that is done for each element: those that began, in order"`
	Elements  *int             `json:"elements,omitempty" doc:"how many elements there are, when that is known"`
	UndoState *Effect          `json:"undo_state,omitempty"`
	Approval  *StepApproval    `json:"approval,omitempty"`
	Resolved  *plan.Resolution `json:"settled,omitempty" doc:"what a person said of its doubt"`
	Command   *plan.Command    `json:"command,omitempty" doc:"another command in the place of one that failed"`
	Reused    string           `json:"reused,omitempty" doc:"the run whose result it has"`
	Sent      *Sent            `json:"sent,omitempty" doc:"the last attempt; its body only where it is not known what became of it"`
}

// Effect is the state of one call in addition to the step's own: of an element or an undo.
type Effect struct {
	Status   plan.StepStatus  `json:"status" enum:"pending,running,waiting,done,error,in_doubt,cancelled,skipped"`
	Attempts int              `json:"attempts"`
	Result   *plan.Result     `json:"result,omitempty"`
	Error    *plan.Failure    `json:"error,omitempty"`
	Resolved *plan.Resolution `json:"settled,omitempty"`
	Sent     *Sent            `json:"sent,omitempty"`
}

// StepItem is one element of a step that runs for each element of a list.
type StepItem struct {
	N int `json:"n" doc:"from 0"`
	Effect
	UndoState *Effect `json:"undo_state,omitempty"`
}

// Sent is the request of an attempt, without the server's key.
type Sent struct {
	Method  string          `json:"method,omitempty"`
	URL     string          `json:"url"`
	Headers json.RawMessage `json:"headers,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Cut     bool            `json:"cut,omitempty" doc:"the body is only its beginning, as a text"`
	At      time.Time       `json:"at"`
}

// StepApproval is a step's approval: pending, approved or refused. The approval is for the exact request.
type StepApproval struct {
	Reason    string          `json:"reason"`
	Rule      string          `json:"rule,omitempty" doc:"the id of the account's rule that asks"`
	Another   bool            `json:"another,omitempty" doc:"whoever confirmed may not approve; it needs the scope approve"`
	Method    string          `json:"method"`
	URL       string          `json:"url"`
	Headers   json.RawMessage `json:"headers,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
	Cut       bool            `json:"cut,omitempty" doc:"the body is only its beginning, as a text"`
	Request   string          `json:"request" doc:"the same as request_digest"`
	Digest    plan.Digest     `json:"request_digest" doc:"SHA-256 of method, URL with the headers of the plan, and body, hex: what a decision must name"`
	AskedAt   time.Time       `json:"asked_at"`
	ExpiresAt time.Time       `json:"expires_at"`
	Decision  plan.Decision   `json:"decision,omitempty" enum:"approved,refused"`
	By        string          `json:"by,omitempty"`
	Note      string          `json:"note,omitempty"`
	At        *time.Time      `json:"at,omitempty"`
}

// Limits of the answers and requests in a run, in bytes. Together with the plan they stay below the 6 MB of a
// Lambda response, because a client must always be able to read a run.
const (
	maxResults = 2 << 20
	maxCalls   = 2 << 20
)

// runView builds the steps of a run within these limits.
type runView struct {
	run     plan.Run
	states  map[plan.EffectID]plan.StepState
	results int // byte limit of each result
	calls   int
}

// showRun returns the JSON form of a run. It shortens large answers of services and marks them.
func showRun(r plan.Run) Run {
	seen := view.Of(r, r.UpdatedAt)
	v := Run{
		RunID: r.ID, ChatID: r.ChatID, ProjectID: r.ProjectID, PlanID: r.Plan.ID, Revision: r.Plan.Revision,
		Goal: r.Plan.Goal, Status: r.Status, Digest: r.Digest, Replaces: r.Plan.Replaces, ExpiresAt: r.Plan.ExpiresAt.UTC(),
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), Locale: r.Locale, Ceiling: r.Plan.Ceiling,
		ConfirmedBy: r.Confirmer, Reason: r.Reason, Withdrawn: r.Withdrawn, Dropped: r.Dropped, Retries: r.Retries,
		Concludes: r.Conclude == plan.ConcludeDue,
		Taken:     r.Taken, Stopping: seen.Stopping, Undoing: seen.Undoing, Undoable: seen.Undoable, Changing: seen.Changing,
		Steps: make([]Step, 0, len(r.Plan.Steps)), Error: r.Error,
	}
	s := runView{run: r, states: make(map[plan.EffectID]plan.StepState, len(r.Steps)), results: maxResults / max(1, len(r.Steps))}
	calls := 0
	for _, st := range r.Steps {
		s.states[st.StepID] = st
		if isUncertain(st) {
			calls++
		}
		if st.Approval != nil {
			calls++
		}
	}
	s.calls = maxCalls / max(1, calls)
	for _, planned := range r.Plan.Steps {
		v.Steps = append(v.Steps, s.step(planned))
	}
	return v
}

// isUncertain reports whether the result of a sent request is unknown.
func isUncertain(st plan.StepState) bool { return st.Last.Open || st.Status == plan.StepInDoubt }

func (s runView) state(id plan.EffectID) (plan.StepState, bool) {
	st, ok := s.states[id]
	if !ok {
		st = plan.StepState{StepID: id, Status: plan.StepPending}
	}
	return st, ok
}

func (s runView) step(planned plan.Step) Step {
	st, _ := s.state(planned.ID)
	shown := s.effect(st)
	v := Step{
		PlannedStep: showPlanned(s.run.Plan, planned),
		Status:      shown.Status, Attempts: shown.Attempts, Result: shown.Result, Error: shown.Error, Resolved: shown.Resolved, Sent: shown.Sent,
		UndoState: s.undo(planned.ID), Approval: s.approval(st.Approval), Command: st.Command, Reused: st.Reused,
	}
	if planned.ForEach == "" {
		return v
	}
	if st.Expanded {
		v.Elements = &st.Items
	}
	for n := range max(st.Items, plan.MaxEach) {
		id := plan.ItemOf(planned.ID, n)
		if element, ok := s.state(id); ok {
			shown := s.effect(element)
			if element.Status == plan.StepDone {
				shown.Sent = nil // there may be many, and the step has the request
			}
			v.Items = append(v.Items, StepItem{N: n, Effect: shown, UndoState: s.undo(id)})
		}
	}
	return v
}

// undo returns the state of an effect's undo; nil when there is none.
func (s runView) undo(id plan.EffectID) *Effect {
	st, ok := s.state(plan.UndoOf(id))
	if !ok {
		return nil
	}
	v := s.effect(st)
	return &v
}

func (s runView) effect(st plan.StepState) Effect {
	v := Effect{Status: st.Status, Attempts: st.Attempts, Error: st.Error, Resolved: st.Resolved}
	if st.Result != nil {
		result := st.Result.Shortened(s.results)
		result.Body = jcs.Legible(result.Body)
		v.Result = &result
	}
	if st.Last.SentAt.IsZero() {
		return v
	}
	step, _ := s.run.Plan.Step(st.StepID)
	v.Sent = &Sent{Method: step.Method, URL: st.Last.URL, Headers: st.Last.Headers, At: st.Last.SentAt.UTC()}
	if isUncertain(st) {
		v.Sent.Body, v.Sent.Cut = s.body(st.Last.Body)
	}
	return v
}

// body returns the body of a request, shortened if necessary.
func (s runView) body(raw json.RawMessage) (json.RawMessage, bool) {
	short := plan.Result{Body: raw}.Shortened(s.calls)
	return short.Body, short.Truncated
}

func (s runView) approval(a *plan.Approval) *StepApproval {
	if a == nil {
		return nil
	}
	v := &StepApproval{
		Reason: a.Reason, Rule: a.Rule, Another: a.Another, Method: a.Method, URL: a.URL, Headers: a.Headers, Request: a.Request, Digest: plan.Digest(a.Request),
		AskedAt: a.AskedAt.UTC(), ExpiresAt: a.ExpiresAt.UTC(), Decision: a.Decision, By: a.By, Note: a.Note, At: optionalTime(a.At),
	}
	v.Body, v.Cut = s.body(a.Body)
	return v
}

// WaitingRequest is the request that waits in a step now.
type WaitingRequest struct {
	StepID string `json:"step_id"`
	StepApproval
}

func showRequest(o *run.OtherRequest) *WaitingRequest {
	return &WaitingRequest{o.StepID.String(), *runView{calls: maxCalls}.approval(&o.Present)}
}

// showPlanned returns the JSON form of a plan's step.
func showPlanned(p plan.Plan, s plan.Step) PlannedStep {
	where := func(call plan.Step) (server, target, base, url string) {
		b, _ := p.Binding(call.ID)
		return b.ServerName, host(b.BaseURL), b.BaseURL, b.URL(call)
	}
	v := PlannedStep{
		ID: s.ID.String(), Title: s.Title, MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: s.Path, Query: s.Query, Headers: s.Headers, Body: s.Body,
		Needs: list(s.Needs), Risk: s.Risk, When: s.When, ForEach: s.ForEach, NoUndo: s.NoUndo, Ask: s.Ask, Targets: s.Targets, Unanswered: s.Unanswered,
	}
	v.Server, v.Target, v.Base, v.URL = where(s)
	if b, ok := p.Binding(s.ID); ok {
		v.About, v.Media, v.Auth = b.About, b.MediaOf(s), b.Auth
	}
	if undo, ok := p.Step(plan.UndoOf(s.ID)); ok {
		v.Undo = &UndoCall{Undo: *s.Undo}
		v.Undo.Server, v.Undo.Target, v.Undo.Base, v.Undo.URL = where(undo)
		b, _ := p.Binding(undo.ID)
		v.Undo.Media, v.Undo.Auth = b.MediaOf(undo), b.Auth
	}
	if check, ok := p.CheckOf(s.ID); ok {
		v.Verify = &VerifyCall{Check: *s.Verify}
		v.Verify.Server, v.Verify.Target, v.Verify.Base, v.Verify.URL = where(check)
		b, _ := p.Binding(check.ID)
		v.Verify.Auth = b.Auth
	}
	return v
}

// RunAnswer is a run alone.
type RunAnswer struct {
	Run Run `json:"run"`
}
