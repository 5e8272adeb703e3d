package run_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// decided is the response that a client received: the status it read, or whether its decision was
// accepted. The outcome of a lost response is unknown.
type decided struct {
	status plan.Status
	ok     bool
	lost   bool
}

// decisionModel is one draft: it is confirmed once, and may be cancelled before that, or until it
// begins.
var decisionModel = porcupine.Model{
	Init: func() any { return plan.Draft },
	Step: func(state, input, output any) (bool, any) {
		now, op, out := state.(plan.Status), input.(string), output.(decided)
		next := now
		switch {
		case op == "confirm" && now == plan.Draft:
			next = plan.Queued
		case op == "cancel" && (now == plan.Draft || now == plan.Queued):
			next = plan.Cancelled
		}
		switch {
		case op == "get":
			return out.lost || out.status == now, now
		case out.lost:
			return true, next
		}
		return out.ok == (next != now), next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, output) },
}

// TestDecisionsAreLinearizable lets many clients confirm, cancel and read a draft while
// transactions conflict and responses are lost. The responses must equal those of a sequential
// order, each between its request and its response.
func TestDecisionsAreLinearizable(t *testing.T) {
	const drafts, clients, each = 6, 6, 4
	for draft := range drafts {
		faults := &table.Faults{Conflicts: 0.3}
		if draft%2 == 0 { // not both: a repeated write that already succeeded meets no conflict
			faults = &table.Faults{Lost: 0.3}
		}
		faults.Stop()
		table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { faults.HTTPClient = c; return faults })
		w := fixture.NewWorldOver(t, table)
		r := w.Propose(book)
		faults.Resume()
		start := time.Now()
		var mu sync.Mutex
		var history []porcupine.Operation
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(draft), uint64(c)))
				for range each {
					op := []string{"confirm", "cancel", "get", "get"}[random.IntN(4)]
					called := time.Since(start)
					out := decide(t, w, r, op)
					returned := time.Since(start)
					if out.lost { // it may still take effect
						returned = time.Hour
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: c, Input: op, Call: int64(called), Output: out, Return: int64(returned)})
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if got := porcupine.CheckOperationsTimeout(decisionModel, history, 10*time.Second); got != porcupine.Ok {
			t.Errorf("history of %d operations is %s", len(history), got)
		}
	}
}

func decide(t *testing.T, w *fixture.World, r plan.Run, op string) decided {
	ctx := context.Background()
	var err error
	switch op {
	case "get":
		got, err := w.Store.Runs.Run(ctx, fixture.Account, r.ID)
		if err != nil {
			t.Error(err)
		}
		return decided{status: got.Status}
	case "confirm":
		err = w.Confirm(r)
	case "cancel":
		_, err = w.Runs.Cancel(ctx, run.Cancellation{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish})
	}
	refused := errors.Is(err, plan.ErrAlreadyRunning) || errors.Is(err, plan.ErrNotPending) || errors.Is(err, plan.ErrStale)
	return decided{ok: err == nil, lost: err != nil && !refused}
}
