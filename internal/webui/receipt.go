package webui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"piloto/internal/ident"
	"piloto/internal/plan"
)

// receiptView is a run as it is printed: what was proposed, what was approved and
// what was executed, with the chain that binds them.
type receiptView struct {
	Card      *card
	Asked     template.HTML // who asked for it
	Proposed  time.Time
	Confirmed *signature
	Steps     []receiptStep
	Events    []receiptEvent
	Revisions []revision
	Head      string
	Problems  []string // what does not hold; none when it does
	Whole     bool     // every event is here
	Download  string
	Made      time.Time
}

// signature is who said something, and when.
type signature struct {
	By template.HTML
	At time.Time
}

// receiptStep is one effect that was sent: a step, an element or an undo.
type receiptStep struct {
	Name     string
	Called   template.HTML // as it was proposed
	State    plan.StepStatus
	Sent     *sent
	Status   int
	Bytes    int
	Result   string // SHA-256
	Approval *approval
	Settled  *settled
	Command  *replaced
	Error    template.HTML
	Reused   string
}

// sent is one request as it left.
type sent struct {
	Method   string
	Target   target
	Path     template.HTML
	Request  string // SHA-256
	At       time.Time
	Attempts int
}

type receiptEvent struct {
	Seq  int
	At   time.Time
	Type string
	Step string
	Hash string
}

// receiptEvents is how many events of a run a receipt reads.
const receiptEvents = 20_000

func (s *site) receiptPage(w http.ResponseWriter, v visit, runID string) error {
	if !ident.Valid(runID) {
		return plan.ErrRunNotFound
	}
	run, err := s.Runs.Run(v.Context(), v.who.Account, runID)
	if err != nil {
		return err
	}
	var events []plan.Event
	var revisions []plan.Revision
	err = together(
		func() (err error) { events, err = s.events(v.Context(), v, runID, receiptEvents); return },
		func() (err error) { revisions, err = s.Runs.Revisions(v.Context(), run); return },
	)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "receipt-page", newReceipt(run, revisions, events, v))
	return nil
}

// newReceipt arranges a run to be printed, and says whether its events hold.
func newReceipt(run plan.Run, list []plan.Revision, events []plan.Event, v visit) *receiptView {
	c := newCard(run, events, v.tag, v.now)
	a := arranger{run: run, card: c, words: words{tag: v.tag}, now: v.now}
	if n := len(list); n == 0 || list[n-1].Digest != run.Digest {
		list = append(slices.Clone(list), plan.Revision{Plan: run.Plan, Digest: run.Digest, By: run.User, At: run.CreatedAt})
	}
	r := &receiptView{
		Card: c, Asked: a.show(run.User), Proposed: run.CreatedAt, Revisions: a.revisions(list), Head: run.Chain,
		Whole: len(events) == run.EventSeq, Download: "/api/runs/" + run.ID + "/receipt", Made: v.now,
	}
	r.Problems = chained(run, events)
	requests := map[string]string{}
	for _, e := range events {
		r.Events = append(r.Events, receiptEvent{Seq: e.Seq, At: e.At, Type: e.Type, Step: plain(e.StepID), Hash: e.Hash})
		switch e.Type {
		case plan.EventConfirmed:
			r.Confirmed = &signature{By: a.show(run.Confirmer), At: e.At}
		case plan.EventStepStart, plan.EventStepRetry:
			var data struct{ Request string }
			if json.Unmarshal(e.Data, &data) == nil && data.Request != "" {
				requests[e.StepID] = data.Request
			}
		}
	}
	for _, id := range effectsOf(run) {
		r.Steps = append(r.Steps, a.receiptStep(id, requests[id]))
	}
	return r
}

// chained says where the chain of a run's events breaks.
func chained(run plan.Run, events []plan.Event) (broken []string) {
	prev := ""
	for i, e := range events {
		same, err := e.Chained(prev)
		if err != nil || same.Hash != e.Hash || e.Seq != i+1 {
			broken = append(broken, fmt.Sprintf("%d %s", e.Seq, e.Type))
		}
		prev = e.Hash
	}
	if len(events) == run.EventSeq && prev != run.Chain {
		broken = append(broken, run.Chain)
	}
	return broken
}

// effectsOf names every effect of a run: each step, its elements, and the undos, in
// the plan's order.
func effectsOf(run plan.Run) (ids []string) {
	known := map[string]bool{}
	for _, s := range run.Steps {
		known[s.StepID] = true
	}
	for _, s := range run.Plan.Steps {
		e := plan.EffectID{Step: s.ID, Item: -1}
		for e.Item < run.State(s.ID).Items {
			undo := e
			undo.Undo = true
			if e.Item < 0 || known[e.String()] {
				ids = append(ids, e.String())
			}
			if known[undo.String()] {
				ids = append(ids, undo.String())
			}
			e.Item++
		}
	}
	return ids
}

func (a arranger) receiptStep(id, request string) receiptStep {
	state := a.run.State(id)
	step, _ := a.run.Plan.Step(id)
	r := receiptStep{Name: stepOf(a.run.Plan, id, a.words.tag), Called: a.show(step.Called()), State: state.Status, Reused: plain(state.Reused)}
	if last := state.Last; last.URL != "" {
		s := sent{Method: step.Method, Request: request, At: last.SentAt, Attempts: state.Attempts}
		s.Target, s.Path = sentTo(last.URL)
		r.Sent = &s
	}
	if state.Result != nil {
		r.Status, r.Bytes, r.Result = state.Result.Status, state.Result.Bytes, state.Result.SHA256
	}
	if state.Approval != nil {
		r.Approval = a.approval(&cardStep{ID: id, Key: a.run.ID + "-" + plain(id)}, state)
	}
	if s := state.Settled; s != nil {
		r.Settled = &settled{Outcome: s.Outcome, By: a.show(s.By), Note: a.show(s.Note), At: s.At}
	}
	if c := state.Command; c != nil && c.Now != "" {
		r.Command = &replaced{Was: a.show(c.Was), Now: a.show(c.Now), Because: a.show(c.Because)}
	}
	if state.Error != nil {
		r.Error = a.show(state.Error.Message)
	}
	return r
}
