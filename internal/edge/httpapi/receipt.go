package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// eventsPage is the number of events in one read of a run's events.
const eventsPage = 1000

// linksPage is the default page size of the chain.
const linksPage = 1000

// maxReceipt is the size limit of a receipt, in bytes: a Lambda response is at most 6 MB.
const maxReceipt = 5 << 20

var (
	errReceipt  = fault.New(fault.TooLarge, "receipt.too_large")
	errNoResult = fault.New(fault.NotFound, "step.no_result")
)

// history adds the routes that read the past of a run.
func (a *api) history(s runRecords) {
	register(a, operation{
		method: http.MethodGet, path: "/api/runs/{id}/receipt", id: "readReceipt", access: withChat,
		summary: "Read what was proposed, confirmed and done, in a form that can be verified", failures: []int{404, 413},
	}, s.receipt)
	register(a, operation{
		method: http.MethodGet, path: "/api/receipts", id: "listReceipts", access: withChat,
		summary: "Read the chain of the account's receipts, each with the hash of the one before it, signed", failures: []int{422},
	}, s.links)
	register(a, operation{
		method: http.MethodGet, path: "/api/keys", id: "listKeys", access: withChat,
		summary: "Read the public keys that receipts are, and were, signed with",
	}, s.keys)
	register(a, operation{
		method: http.MethodGet, path: "/api/runs/{id}/revisions", id: "listRevisions", access: withChat,
		summary: "Read the plans that a run had, the oldest first, and what each changed", failures: []int{404},
	}, s.revisions)
	register(a, operation{
		method: http.MethodGet, path: "/api/runs/{id}/steps/{step}/result", id: "readResult", access: withChat,
		summary: "Read all that is stored of what a step was answered", failures: []int{404},
	}, s.result)
}

// Revision is a plan at one point of its history.
type Revision struct {
	Revision int           `json:"revision"`
	Digest   plan.Digest   `json:"digest"`
	By       string        `json:"by" doc:"who edited it; of the first, who asked for it"`
	Model    string        `json:"model,omitempty" doc:"what wrote it, when a model did"`
	At       time.Time     `json:"at"`
	Goal     string        `json:"goal"`
	Steps    []PlannedStep `json:"steps" nullable:"false"`
	Changes  []plan.Change `json:"changes" nullable:"false" doc:"against the revision before"`
}

// RevisionList is the list of a run's plans.
type RevisionList struct {
	Revisions []Revision `json:"revisions" nullable:"false"`
}

type runInput struct {
	ID string `path:"id"`
}

// findRun returns a run of the caller without its large results, which may be 10 MB.
func (s runRecords) findRun(ctx context.Context, id string) (plan.Run, error) {
	if !ids.Valid(id) {
		return plan.Run{}, plan.ErrRunNotFound
	}
	return s.runs.Bare(ctx, caller(ctx).Account, id)
}

func (s runRecords) receipt(ctx context.Context, in *runInput) (*reply[receipt.Receipt], error) {
	r, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	revisions, err := s.runs.Revisions(ctx, r)
	if err != nil {
		return nil, err
	}
	// A revision that was written after the run was read does not belong to this state.
	revisions = slices.DeleteFunc(revisions, func(rev plan.Revision) bool { return rev.Plan.Revision > r.Plan.Revision })
	events, err := s.allEvents(ctx, r)
	if err != nil {
		return nil, err
	}
	made := receipt.New(r, revisions, events)
	if r.Link > 0 {
		l, err := s.receipts.Link(ctx, r.Account, r.Link)
		if err != nil {
			return nil, err
		}
		made = made.In(l)
	}
	if raw, err := json.Marshal(made); err != nil || len(raw) > maxReceipt {
		return nil, errReceipt.Because(err)
	}
	return answer(made), nil
}

// LinkList is a page of the chain of an account's receipts.
type LinkList struct {
	Links []receipt.Link `json:"links" nullable:"false"`
	Next  int            `json:"next,omitempty" doc:"what to ask for after, for the page after this one; absent at the end"`
}

func (s runRecords) links(ctx context.Context, in *struct {
	After int `query:"after" minimum:"0" doc:"the last place known"`
	Limit int `query:"limit" minimum:"1" maximum:"1000" doc:"1000 when absent"`
},
) (*reply[LinkList], error) {
	limit := in.Limit
	if limit == 0 {
		limit = linksPage
	}
	links, err := s.receipts.Links(ctx, caller(ctx).Account, in.After, limit)
	if err != nil {
		return nil, err
	}
	v := LinkList{Links: list(links)}
	if len(links) == limit {
		v.Next = links[limit-1].Seq
	}
	return answer(v), nil
}

// KeyList is the list of public keys that sign receipts, or signed them before.
type KeyList struct {
	Keys []receipt.Key `json:"keys" nullable:"false"`
}

func (s runRecords) keys(ctx context.Context, _ *nothing) (*reply[KeyList], error) {
	keys, err := s.receipts.SigningKeys(ctx)
	return answer(KeyList{list(keys)}), err
}

// allEvents reads the events up to the last one of the run as it was read, so that both have the same state.
func (s runRecords) allEvents(ctx context.Context, r plan.Run) ([]plan.Event, error) {
	var all []plan.Event
	for len(all) < r.EventSeq {
		page, err := s.runs.Events(ctx, r.Account, r.ID, len(all), min(eventsPage, r.EventSeq-len(all)))
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break // verification detects the missing events
		}
		all = append(all, page...)
	}
	return all, nil
}

func (s runRecords) revisions(ctx context.Context, in *runInput) (*reply[RevisionList], error) {
	r, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	revisions, err := s.runs.Revisions(ctx, r)
	if err != nil {
		return nil, err
	}
	v := RevisionList{Revisions: make([]Revision, 0, len(revisions))}
	for i, rev := range revisions {
		shown := Revision{
			Revision: rev.Plan.Revision, Digest: rev.Digest, By: rev.By, Model: rev.Model, At: rev.At.UTC(), Goal: rev.Plan.Goal,
			Steps: make([]PlannedStep, 0, len(rev.Plan.Steps)), Changes: []plan.Change{},
		}
		for _, step := range rev.Plan.Steps {
			shown.Steps = append(shown.Steps, showPlanned(rev.Plan, step))
		}
		if i > 0 {
			shown.Changes = list(plan.Edits(revisions[i-1].Plan, rev.Plan))
		}
		v.Revisions = append(v.Revisions, shown)
	}
	return answer(v), nil
}

func (s runRecords) result(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Step string `path:"step" doc:"also of an element (s2[3]) or an undo (undo:s2)"`
},
) (*reply[plan.Result], error) {
	r, err := s.findRun(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	id := plan.ParseEffect(in.Step)
	if _, ok := r.Plan.Step(id); !ok {
		return nil, plan.ErrStepNotFound
	}
	stored := r.State(id).Result
	if stored == nil {
		return nil, errNoResult
	}
	whole, err := s.runs.Whole(ctx, r, id, *stored)
	if err != nil {
		return nil, err
	}
	whole.Apart, whole.Body = 0, jcs.Legible(whole.Body)
	return answer(whole), nil
}
