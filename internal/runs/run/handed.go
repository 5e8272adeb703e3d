package run

import (
	"context"
	"encoding/json"
	"time"

	"piloto/internal/conversation/wire"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/order"
	"piloto/internal/runs/plan"
)

// Limits of one transaction that reclaims effects. DynamoDB takes 100 writes and 4 MB, and 400 KB in the item of the events.
const (
	mostTaken       = 40
	mostTakenBytes  = 2 << 20   // of states
	mostTakenEvents = 200 << 10 // bytes
)

// TakeBack reclaims the dispatched effects of a run: their unsequenced events get numbers, their messages are posted, and from
// then on they are written with the run again. It returns the run after it, or fault.ErrMoved when one of them moved
// meanwhile.
func TakeBack(ctx context.Context, m Mover, ids *ids.Source, r plan.Run, at time.Time) (plan.Run, error) {
	for r.HandedOut() {
		next, err := m.MoveRun(ctx, r, TakenBack(ids, r, at)...)
		if err != nil {
			return r, err
		}
		r = next
	}
	return r, nil
}

// TakenBack returns the moves that reclaim dispatched effects, as many as one transaction holds. The events stand in the order
// of their times; those of one effect stay in their order at any clock skew.
func TakenBack(ids *ids.Source, r plan.Run, at time.Time) []Move {
	type timed struct {
		Move
		at time.Time
	}
	var events []timed
	var silent []Move
	for _, st := range atOnce(r) {
		loose := st.Loose
		st.Handed, st.Loose = "", nil
		if len(loose) == 0 {
			silent = append(silent, Move{Record: Record{At: at}, State: &st})
		}
		var last time.Time
		for i, e := range loose {
			if e.At.After(last) {
				last = e.At
			}
			m := Move{Record: Record{At: e.At, Type: e.Type, StepID: st.StepID, Data: e.Data, Messages: wire.Read(e.Messages)}}
			if i == len(loose)-1 {
				m.State = &st
			}
			events = append(events, timed{m, last})
		}
	}
	order.By(events, func(a, b timed) int { return a.at.Compare(b.at) })
	moves := make([]Move, 0, len(events)+len(silent))
	for _, e := range events {
		for i := range e.Messages { // its position is that of now, because clients read on from the last one that they know
			id := ids.New(at)
			e.Messages[i].ID, e.Messages[i].Seq = id, id
		}
		moves = append(moves, e.Move)
	}
	return append(moves, silent...)
}

// atOnce returns the first states of dispatched effects that one transaction can reclaim.
func atOnce(r plan.Run) []plan.StepState {
	var list []plan.StepState
	bytes, events := 0, 0
	for _, st := range r.Steps {
		if st.Handed == "" {
			continue
		}
		raw, _ := json.Marshal(st.Loose) // it was read from JSON
		bytes, events = bytes+size(st), events+len(raw)
		if len(list) > 0 && (len(list) == mostTaken || bytes > mostTakenBytes || events > mostTakenEvents) {
			break
		}
		list = append(list, st)
	}
	return list
}

// size returns about how many bytes a state has.
func size(st plan.StepState) int {
	n := 1<<10 + len(st.Last.Body)
	if st.Result != nil {
		n += len(st.Result.Body)
	}
	if st.Approval != nil {
		n += len(st.Approval.Body)
	}
	return n
}

// takenBack reclaims the dispatched effects of a run, and reads the run again.
func (s *Service) takenBack(ctx context.Context, k Key) (plan.Run, error) {
	r, err := s.Runs.Bare(ctx, k.Account, k.RunID) // a result that is stored apart is not written again
	if err == nil {
		_, err = TakeBack(ctx, s.Runs, s.IDs, r, s.Now())
	}
	if err != nil {
		return r, err
	}
	return s.Runs.Run(ctx, k.Account, k.RunID)
}
