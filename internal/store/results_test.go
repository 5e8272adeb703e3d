package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
)

// texts make a JSON string of n bytes.
var texts = map[string]func(n int) json.RawMessage{
	"compressible": func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("a", n-2) + `"`) },
	"multi-byte": func(n int) json.RawMessage {
		return json.RawMessage(`"` + strings.Repeat("a", (n-2)%4) + strings.Repeat("🛶", (n-2)/4) + `"`)
	},
	"incompressible": func(n int) json.RawMessage {
		random, b := rand.New(rand.NewPCG(uint64(n), 7)), make([]byte, n-2)
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return json.RawMessage(`"` + string(b) + `"`)
	},
	"markup": func(n int) json.RawMessage { // each of it is six bytes when it is written as JSON again
		return json.RawMessage(`"` + strings.Repeat("<", n-2) + `"`)
	},
}

// TestNoSizeWedgesARun has answers around every limit, sent with a body as large,
// and asked for with it: they are stored, they are there whole, and the run ends.
func TestNoSizeWedgesARun(t *testing.T) {
	w := fixture.NewWorld(t)
	sizes := []int{200<<10 - 1, 200 << 10, 200<<10 + 1, 255 << 10, 256 << 10, 257 << 10, 399_000, 400_000, 401_000, 1 << 20, 2 << 20}
	if testing.Short() {
		sizes = []int{200<<10 + 1}
	}
	for kind, of := range texts {
		for _, size := range sizes {
			t.Run(fmt.Sprint(kind, " ", size), func(t *testing.T) {
				w.Chat = w.NewChat()
				r := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
				if err := w.Confirm(r); err != nil {
					t.Fatal(err)
				}
				w.Begin(r.ID)
				body := of(size)
				st := plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepWaiting, UpdatedAt: now, Approval: &plan.Approval{
					Ask: plan.Ask{Minutes: 60}, Body: body, Token: "t", ExpiresAt: w.Clock().Add(time.Hour),
				}}
				next, err := w.Store.Runs.MoveRun(ctx, w.Read(r.ID), run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepAsked}, To: plan.Waiting, State: &st, Begins: true, Due: now})
				if err != nil {
					t.Fatal(err)
				}
				st.Status, st.Attempts, st.Last = plan.StepRunning, 1, plan.Attempt{Number: 1, Body: body, Open: true}
				if next, err = w.Store.Runs.MoveRun(ctx, next, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepStart}, State: &st, Begins: true}); err != nil {
					t.Fatal(err)
				}
				st.Status, st.Last.Open = plan.StepDone, false
				st.Result = &plan.Result{Status: 200, Body: body, Bytes: len(body)}
				told, err := w.Store.Runs.MoveRun(ctx, next, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepDone}, State: &st})
				if err != nil {
					t.Fatal(err)
				}
				got := w.Read(r.ID)
				res := got.State(plan.EffectOf("s1")).Result
				if apart := size > 200<<10; (res.Apart > 0) != apart || res.Truncated {
					t.Errorf("%d pieces, truncated %v", res.Apart, res.Truncated)
				}
				if res.Apart > 0 && (len(res.Body) > 6<<10 || !json.Valid(res.Body) || !utf8.Valid(res.Body) || string(told.State(plan.EffectOf("s1")).Result.Body) != string(res.Body)) {
					t.Errorf("the beginning: %d bytes", len(res.Body))
				}
				whole, err := w.Store.Runs.Whole(ctx, got, plan.EffectOf("s1"), *res)
				if err != nil || string(whole.Body) != string(body) || whole.Apart != 0 {
					t.Errorf("%d bytes of %d, %v", len(whole.Body), len(body), err)
				}
				if ended, err := w.Runs.Finish(ctx, fixture.Key(r.ID), ""); err != nil || ended.Status != plan.Done {
					t.Errorf("%s, %v", ended.Status, err)
				}
			})
		}
	}
}

// TestPiecesOfTwoResultsDoNotMix has two invocations answer for one attempt: the recorded answer is
// read, whichever was written last.
func TestPiecesOfTwoResultsDoNotMix(t *testing.T) {
	w := fixture.NewWorld(t)
	r := begun(t, w)
	st := plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1, UpdatedAt: now}
	bodies := []json.RawMessage{texts["incompressible"](900_000), texts["incompressible"](900_001)}
	var won []json.RawMessage
	for _, body := range bodies { // both knew the run as it was
		st.Result = &plan.Result{Status: 200, Body: body, Bytes: len(body)}
		_, err := w.Store.Runs.MoveRun(ctx, r, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepDone}, State: &st})
		if err == nil {
			won = append(won, body)
		} else if !errors.Is(err, fault.ErrMoved) {
			t.Fatal(err)
		}
	}
	got := w.Read(r.ID)
	whole, err := w.Store.Runs.Whole(ctx, got, plan.EffectOf("s1"), *got.State(plan.EffectOf("s1")).Result)
	if err != nil || len(won) != 1 || string(whole.Body) != string(won[0]) {
		t.Errorf("%d won; %d bytes, %v", len(won), len(whole.Body), err)
	}
}

// TestResultWithMissingPieceIsAnError has one piece gone: it is said, and nothing
// shorter is taken for the whole.
func TestResultWithMissingPieceIsAnError(t *testing.T) {
	var config aws.Config
	var name string
	w := fixture.NewWorld(t)
	w.Store, config, name = fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	r := plan.Run{ID: newID(now), Account: "acme", Plan: plan.Plan{Steps: []plan.Step{{ID: plan.EffectOf("s1")}}}, Steps: []plan.StepState{{StepID: plan.EffectOf("s1")}}}
	chat := newChat(t, w.Store, "acme", now)
	r.ChatID, r.Plan.ExpiresAt = chat.ID, now.Add(time.Hour)
	draft, err := w.Store.Runs.Propose(ctx, r, chat, nil, run.Record{At: now, Type: plan.EventProposed})
	if err != nil {
		t.Fatal(err)
	}
	chat.PendingRunID = r.ID
	queued, err := w.Store.Runs.Confirm(ctx, draft, chat, "x", "ana", now, run.Record{At: now, Type: plan.EventConfirmed})
	if err != nil {
		t.Fatal(err)
	}
	begun, err := w.Store.Runs.MoveRun(ctx, queued, run.Move{Record: run.Record{At: now, Type: plan.EventStarted}, To: plan.Running, Due: now})
	if err != nil {
		t.Fatal(err)
	}
	st := plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1, UpdatedAt: now, Result: &plan.Result{Body: texts["incompressible"](900_000)}}
	done, err := w.Store.Runs.MoveRun(ctx, begun, run.Move{Record: run.Record{At: now, Type: plan.EventStepDone}, State: &st})
	if err != nil {
		t.Fatal(err)
	}
	res := *done.State(plan.EffectOf("s1")).Result
	client := dynamodb.NewFromConfig(config)
	pk := map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "A#acme#R#" + r.ID}, ":sk": &types.AttributeValueMemberS{Value: "RESULT#"}}
	out, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: &name, KeyConditionExpression: aws.String("PK = :pk AND begins_with(SK, :sk)"), ExpressionAttributeValues: pk,
	})
	if err != nil || len(out.Items) != res.Apart {
		t.Fatalf("%d of %d pieces, %v", len(out.Items), res.Apart, err)
	}
	last := out.Items[len(out.Items)-1]
	if _, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &name, Key: map[string]types.AttributeValue{"PK": last["PK"], "SK": last["SK"]},
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Store.Runs.Whole(ctx, done, plan.EffectOf("s1"), res); err == nil {
		t.Errorf("%d bytes", len(got.Body))
	}
}

// TestInvocationReadsNoLargeResult: what an invocation reads of a run does not grow with the results of its steps;
// whoever asks for the run has all of each, and so has a retry of it.
func TestInvocationReadsNoLargeResult(t *testing.T) {
	for _, size := range []int{6 << 10, 6<<10 + 1, 198_000, 200 << 10} {
		w := fixture.NewWorld(t)
		r := begun(t, w)
		body := texts["incompressible"](size)
		st := plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1, UpdatedAt: now, Result: &plan.Result{Status: 200, Body: body, Bytes: size}}
		if _, err := w.Store.Runs.MoveRun(ctx, r, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepDone}, State: &st}); err != nil {
			t.Fatal(err)
		}
		bare, err := w.Store.Runs.Bare(ctx, fixture.Account, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		res := *bare.State(st.StepID).Result
		if len(res.Body) > 6<<10 || (size > 6<<10) != (res.Apart == 1 && res.Near) {
			t.Errorf("%d: an invocation reads %d bytes, in %d pieces", size, len(res.Body), res.Apart)
		}
		whole, err := w.Store.Runs.Whole(ctx, bare, st.StepID, res)
		if err != nil || string(whole.Body) != string(body) || whole.Near {
			t.Errorf("%d: the whole has %d bytes, %v", size, len(whole.Body), err)
		}
		if got := w.Read(r.ID).State(st.StepID).Result; string(got.Body) != string(body) || got.Apart != 0 || got.Near {
			t.Errorf("%d: the run has %d bytes, in %d pieces", size, len(got.Body), got.Apart)
		}
	}
}

// begun is a run of one step that runs.
func begun(t *testing.T, w *fixture.World) plan.Run {
	t.Helper()
	r := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Begin(r.ID)
	return w.Read(r.ID)
}

// TestLargestRunEnds has as many open steps as a plan may have, each with a
// state as heavy as an item may be: far more than one transaction holds.
func TestLargestRunEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 50 steps of 200 KB")
	}
	w := fixture.NewWorld(t)
	calls := make([]fixture.Call, plan.MaxSteps)
	for i := range calls {
		calls[i] = fixture.To("POST", "/bookings", `{"room":"norte"}`)
	}
	r := w.Propose(calls...)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Begin(r.ID)
	body := texts["incompressible"](200 << 10)
	next := w.Read(r.ID)
	for _, s := range r.Plan.Steps {
		st := plan.StepState{
			StepID: s.ID, Status: plan.StepRunning, Attempts: 1, UpdatedAt: w.Clock(), Last: plan.Attempt{Body: body, Open: true},
			Result: &plan.Result{Status: 429, Body: body}, Error: &plan.Failure{Code: "step.throttled"},
		}
		var err error
		if next, err = w.Store.Runs.MoveRun(ctx, next, run.Move{Record: run.Record{At: w.Clock(), Type: plan.EventStepStart, StepID: s.ID}, State: &st, Begins: true}); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := w.Runs.Finish(ctx, fixture.Key(r.ID), "TIMED_OUT")
	if err != nil || ended.Status != plan.InDoubt {
		t.Fatalf("%s, %v", ended.Status, err)
	}
	if got := w.Read(r.ID); slices.ContainsFunc(got.Steps, func(st plan.StepState) bool { return st.Status != plan.StepInDoubt }) {
		t.Error("a step is not in doubt")
	}
	if n := w.Finals(r.ID); n != 1 {
		t.Errorf("%d final messages", n)
	}
}

func TestRevisionsAreKept(t *testing.T) {
	w := fixture.NewWorld(t)
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	for n := 2; n <= 12; n++ {
		p := r.Plan
		p.Goal, p.Revision, p.Replaces = fmt.Sprint("Objetivo ", n), n, r.Digest
		p.ExpiresAt = p.ExpiresAt.Add(time.Hour)
		digest, err := p.Digest()
		if err != nil {
			t.Fatal(err)
		}
		rev := plan.Revision{Plan: p, Digest: digest, By: "ana", At: w.Clock()}
		rec := run.Record{At: w.Clock(), Type: plan.EventRevised}
		next, err := w.Store.Runs.Revise(ctx, r, w.ChatNow(), rev, rec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Store.Runs.Revise(ctx, r, w.ChatNow(), rev, rec); !errors.Is(err, fault.ErrMoved) {
			t.Fatalf("revised twice: %v", err)
		}
		r = next
	}
	got := w.Read(r.ID)
	if got.Plan.Revision != 12 || got.Digest != r.Digest || !got.DueAt.Equal(got.Plan.ExpiresAt) || got.Chain != r.Chain {
		t.Errorf("%+v", got)
	}
	list, err := w.Store.Runs.Revisions(ctx, got)
	if err != nil || len(list) != 12 || list[0].Plan.Goal != "Reservar" || list[11].Plan.Goal != "Objetivo 12" {
		t.Errorf("%d revisions, %v", len(list), err)
	}
	if err := w.Confirm(got); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Runs.Revise(ctx, w.Read(r.ID), w.ChatNow(), plan.Revision{}, run.Record{}); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("a confirmed plan was revised: %v", err)
	}
}

func TestSetRulesRefusesStaleVersion(t *testing.T) {
	table := fixture.Table(t)
	if got, err := table.Runs.Rules(ctx, "acme"); err != nil || got.Version != 0 || len(got.Rules) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	set := rule.Set{Rules: []rule.Rule{{ID: "a", Effect: rule.Deny, Reason: "no"}}, By: "ana", UpdatedAt: now}
	for seen, want := range []error{nil, nil, nil} {
		if err := table.Runs.SetRules(ctx, "acme", seen, set); !errors.Is(err, want) {
			t.Fatalf("after %d changes: %v", seen, err)
		}
	}
	for _, seen := range []int{0, 2, 4} {
		if err := table.Runs.SetRules(ctx, "acme", seen, rule.Set{}); !errors.Is(err, rule.ErrMoved) {
			t.Errorf("from version %d: %v", seen, err)
		}
	}
	got, err := table.Runs.Rules(ctx, "acme")
	if err != nil || got.Version != 3 || got.By != "ana" || len(got.Rules) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if foreign, err := table.Runs.Rules(ctx, "other"); err != nil || len(foreign.Rules) != 0 {
		t.Errorf("another account has %+v, %v", foreign, err)
	}
}
