package webui

import (
	"cmp"
	"context"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// receiptView is the printable receipt of a run: its proposal, approvals and requests, with the chain of hashes. It
// shows the content of the downloadable receipt, and whether it verifies.
type receiptView struct {
	Card      *card
	Asked     render.HTML // the user who asked for the plan
	Proposed  time.Time
	Confirmed *signature
	Steps     []receiptStep
	Events    []receiptEvent
	Revisions []revision
	Head      string
	Signed    *signed // nil: not signed, for the reason in Unsigned
	Unsigned  string
	Problems  []string // faults that verification found
	Whole     bool     // all events are included
	Going     bool     // the run is not over
	Download  string
	Made      time.Time
}

// signed is the key of the receipt's signature, and its position in the account's chain.
type signed struct {
	Key, Alg string
	Seq      int
	At       time.Time
	Head     string // head of the account's chain
}

// signature is a person's confirmation, with its time.
type signature struct {
	By     render.HTML
	At     time.Time
	Digest string
}

// receiptStep is one effect: a step, an element or an undo.
type receiptStep struct {
	Name     string
	Called   render.HTML // the proposed call
	State    plan.StepStatus
	Sent     *sent
	Result   *receipt.Result
	Answer   []readField // the first plain fields of the answer
	Approval *receiptApproval
	Resolved *resolution
	Command  *replacement
	Error    string // an error code
	Reused   string
}

// sent is the request of the last attempt.
type sent struct {
	Method   render.HTML // or the tool
	Target   target
	Path     render.HTML
	Body     *code
	Request  string // SHA-256
	At       time.Time
	Attempts int
}

// receiptApproval is a step's approval and its decision.
type receiptApproval struct {
	State    string
	Reason   render.HTML
	By, Note render.HTML
	At       time.Time
	Request  string
	Same     bool // the sent request is the approved one
}

type receiptEvent struct {
	Seq  int
	At   time.Time
	Type string
	Said string // the meaning of the type, in words
	Step string
	Hash string
}

const (
	receiptEvents = 20_000  // events read of a run
	receiptBody   = 8 << 10 // bytes of a request that are printed
	receiptFields = 12      // of an answer
)

// receiptReader reads receipts.
type receiptReader struct {
	runs  Runs
	links receipt.Reader
}

// read reads the printable receipt of the run that ?run= names.
func (r receiptReader) read(ctx context.Context, v visit) (*receiptView, error) {
	runID := v.req.URL.Query().Get("run")
	if !ids.Valid(runID) {
		return nil, plan.ErrRunNotFound
	}
	run, err := r.runs.Run(ctx, v.who.Account, runID)
	if err != nil {
		return nil, err
	}
	var events []plan.Event
	var revisions []plan.Revision
	var link receipt.Link
	var keys []receipt.Key
	err = runAll(
		func() (err error) {
			if run.Link > 0 {
				link, err = r.links.Link(ctx, v.who.Account, run.Link)
			}
			return
		},
		func() (err error) { keys, err = r.links.SigningKeys(ctx); return },
		func() (err error) { events, err = readEvents(ctx, r.runs, v.who.Account, runID, receiptEvents); return },
		func() (err error) { revisions, err = r.runs.Revisions(ctx, run); return },
	)
	if err != nil {
		return nil, err
	}
	return newReceipt(run, receipt.New(run, revisions, events).In(link), keys, revisions, v), nil
}

// newReceipt builds the printable receipt of a run. If the run changed between the reads, the receipt is marked as
// incomplete and not as invalid.
func newReceipt(run plan.Run, from receipt.Receipt, keys []receipt.Key, list []plan.Revision, v visit) *receiptView {
	events := from.Events
	c := newCard(run, events, v.tag, v.now)
	a := newBuilder(run, c, words{tag: v.tag}, v.now)
	r := &receiptView{
		Card: c, Asked: a.pen.show(run.User), Proposed: run.CreatedAt, Revisions: a.revisions(list), Head: run.Chain,
		Whole: len(events) == run.EventSeq, Going: !run.Status.Terminal(), Download: "/api/runs/" + run.ID + "/receipt", Made: v.now,
	}
	r.Unsigned = from.Unsigned
	if from.Signature != nil {
		r.Signed = &signed{from.Signature.KeyID, from.Signature.Alg, from.Chain.Seq, from.Chain.At, from.Chain.Head}
	}
	if r.Whole {
		for _, p := range receipt.Verify(from) {
			r.Problems = append(r.Problems, plain(p.String()))
		}
		if err := from.SignedBy(keys); r.Signed != nil && err != nil {
			r.Problems = append(r.Problems, plain(err.Error()))
		}
	}
	if from.Confirmed != nil {
		r.Confirmed = &signature{By: a.pen.show(from.Confirmed.By), At: from.Confirmed.At, Digest: string(from.Confirmed.Digest)}
	}
	for _, e := range events {
		r.Events = append(r.Events, receiptEvent{Seq: e.Seq, At: e.At, Type: e.Type, Said: eventText(e, v.tag), Step: plain(e.StepID.String()), Hash: e.Hash})
	}
	for _, s := range from.Steps {
		r.Steps = append(r.Steps, a.receiptStep(s))
	}
	return r
}

// eventText returns the meaning of an event, in words. A type that this version does not know is shown as it is.
func eventText(e plan.Event, tag locale.Tag) string {
	kind := e.Type
	if plan.IsWithdrawal(e) {
		kind = "run.withdrawn"
	}
	if text, ok := locale.Lookup(tag, "page.event."+kind); ok {
		return text
	}
	return plain(kind)
}

func (a cardBuilder) receiptStep(s receipt.Step) receiptStep {
	r := receiptStep{
		Name: stepOf(a.run.Plan, s.ID, a.pen.words.tag), Called: a.pen.show(s.Called), State: s.Status, Result: s.Result, Error: plain(s.Error), Reused: plain(s.Reused),
	}
	if s.Sent != nil {
		r.Sent = &sent{Method: a.pen.show(s.Sent.Method), Request: s.Sent.Request, At: s.Sent.At, Attempts: s.Sent.Attempts}
		r.Sent.Target, r.Sent.Path = sentTo(s.Sent.URL)
		body := plan.Result{Body: a.run.State(s.ID).Last.Body}.Shortened(receiptBody)
		r.Sent.Body = answerBody(body.Body)
	}
	if answer, ok := a.resultOf(s.ID); ok {
		step, _ := a.run.Plan.Step(s.ID)
		if read := a.pen.words.read(structured(step, answer.Body), answerNames(a.run.Plan, s.ID), 0, receiptBody, a.now); read != nil {
			r.Answer = read.Fields[:min(receiptFields, len(read.Fields))]
		}
	}
	if p := s.Approval; p != nil {
		r.Approval = &receiptApproval{
			State: cmp.Or(string(p.Decision), "open"), Reason: a.pen.show(p.Reason), By: a.pen.show(p.By), Note: a.pen.show(p.Note), Request: p.Request,
			Same: s.Sent != nil && s.Sent.Request == p.Request,
		}
		if p.At != nil {
			r.Approval.At = *p.At
		}
		if p.Decision == "" && !a.now.Before(p.ExpiresAt) {
			r.Approval.State = "expired"
		}
	}
	if p := s.Resolved; p != nil {
		r.Resolved = &resolution{Outcome: p.Outcome, By: a.pen.show(p.By), Note: a.pen.show(p.Note), At: p.At}
	}
	if p := s.Command; p != nil {
		r.Command = &replacement{Was: a.pen.show(p.Was), Now: a.pen.show(p.Now), Because: a.pen.show(p.Because)}
	}
	return r
}
