package proposal

import (
	"encoding/json"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// Batch collects the proposals in the tool calls of one answer. Several requests in one answer are the steps of one plan, in
// order.
type Batch struct {
	Proposal plan.Proposal
	Wrong    []fault.Field
	Refused  string // why a call of the answer was not taken: without it the plan would be another one
	Early    string // the proposals came before the answers of the same reply were read: the result of each
	Revises  bool   // the proposal changes the pending draft

	calls    int
	requests int // calls that are one step each
}

// Any reports whether there is a proposal.
func (b *Batch) Any() bool { return b.calls > 0 }

// Ready reports whether the proposals can become a plan.
func (b *Batch) Ready() bool {
	return b.Any() && len(b.Wrong) == 0 && b.Refused == "" && b.Early == ""
}

// Failed reports whether the proposals become no plan as they are.
func (b *Batch) Failed() bool { return b.Any() && (len(b.Wrong) > 0 || b.Refused != "") }

// AddRequest adds a call of mcp_request.
func (b *Batch) AddRequest(raw json.RawMessage) {
	b.addSteps(Request(raw))
}

// AddCall adds a call that was asked for otherwise.
func (b *Batch) AddCall(c plan.Call) {
	var s plan.ProposedStep
	s.SetCall(c)
	wrong := normalize(&s)
	b.addSteps(plan.Proposal{Steps: []plan.ProposedStep{s}}, wrong)
}

func (b *Batch) addSteps(p plan.Proposal, wrong []fault.Field) {
	b.calls++
	b.requests++
	if b.Revises {
		wrong = append(wrong, alone())
	}
	b.add(p, wrong)
}

// AddPlan adds a call of propose_plan, or of revise_plan.
func (b *Batch) AddPlan(raw json.RawMessage, revises bool) {
	b.calls++
	p, wrong := Plan(raw)
	if b.Revises = b.Revises || revises; b.Revises && b.calls > 1 {
		wrong = append(wrong, alone())
	}
	b.add(p, wrong)
}

func (b *Batch) add(p plan.Proposal, wrong []fault.Field) {
	b.Wrong = append(b.Wrong, wrong...)
	b.Proposal.Steps = append(b.Proposal.Steps, p.Steps...)
	if visible.Blank(b.Proposal.Goal) {
		b.Proposal.Goal = p.Goal
	}
}

func alone() fault.Field {
	return fault.Field{Type: "alone", Msg: "revise_plan is called once, and no other proposal with it"}
}

// Reject takes the errors of the plan that the proposals became, at locations of the tool call: a single request has no steps.
func (b *Batch) Reject(wrong []fault.Field) {
	if b.calls == 1 && b.requests == 1 {
		wrong = OfCall(wrong)
	}
	b.Wrong = wrong
}

// Reason says in one line, for a person, why the proposals became no plan.
func (b *Batch) Reason() locale.Phrase {
	if len(b.Wrong) == 0 {
		return locale.Verbatim(b.Refused)
	}
	return reason(b.Wrong)
}
