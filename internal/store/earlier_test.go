package store_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/store/kv"
)

// TestDraftOfFormat1IsRevisedAndRuns makes the rows of a draft what format 1 wrote: the plan in the row of the run, and
// each revision under its number. The draft is read, revised, confirmed and executed.
func TestDraftOfFormat1IsRevisedAndRuns(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	client := dynamodb.NewFromConfig(config)
	w := fixture.NewWorldOver(t, table)
	r := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	pk := kv.Run(fixture.Account, r.ID)
	get := func(sk string) kv.Item {
		t.Helper()
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: kv.Key(pk, sk)})
		if err != nil || out.Item == nil {
			t.Fatal(sk, err)
		}
		return out.Item
	}
	put := func(it kv.Item) {
		t.Helper()
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := kv.Document[plan.Plan]{Name: "plan"}.Encode(r.Plan)
	if err != nil {
		t.Fatal(err)
	}
	row, revision := get("RUN"), get("RUN#PLAN")
	row["plan"] = kv.B(raw)
	delete(row, "v")
	put(row)
	revision["SK"] = kv.S("REV#000001")
	delete(revision, "number")
	put(revision)
	if _, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &name, Key: kv.Key(pk, "RUN#PLAN")}); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(r, w.Read(r.ID), cmpopts.EquateComparable(plan.EffectID{})); d != "" {
		t.Fatal(d)
	}
	p := r.Plan
	p.Goal, p.Revision, p.Replaces = "Otra cosa", 2, r.Digest
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.Store.Revise(ctx, w.Read(r.ID), w.ChatNow(), plan.Revision{Plan: p, Digest: digest, By: "ana", At: w.Clock()}, run.Record{At: w.Clock(), Type: plan.EventRevised})
	if err != nil {
		t.Fatal(err)
	}
	now := w.Read(r.ID)
	list, err := w.Store.Revisions(ctx, now)
	if err != nil || len(list) != 2 || list[0].Plan.Goal != r.Plan.Goal || list[1].Plan.Goal != "Otra cosa" || now.Plan.Goal != "Otra cosa" || now.Digest != next.Digest {
		t.Errorf("%d revisions, the plan is %q, %v", len(list), now.Plan.Goal, err)
	}
	if _, has := get("RUN")["plan"]; has {
		t.Error("the earlier plan is still in the row of the run")
	}
	if err := w.Confirm(now); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	if got := w.Read(r.ID).Status; got != plan.Done {
		t.Errorf("the run is %s", got)
	}
}

// TestEventsOfOneTransactionAreReadOneByOne: they are one row, and a client's position may be between two of them.
func TestEventsOfOneTransactionAreReadOneByOne(t *testing.T) {
	w := fixture.NewWorld(t)
	w.Steps.Steps = 50
	r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("GET", "/rooms", ""))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	const events = 8 // in five transactions
	for after := range events + 1 {
		for limit := range events + 1 {
			list, err := w.Store.Events(ctx, fixture.Account, r.ID, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			want := events - after
			if limit > 0 {
				want = min(want, limit)
			}
			got := ""
			for _, e := range list {
				got += fmt.Sprint(e.Seq, " ")
			}
			ordered := ""
			for n := range want {
				ordered += fmt.Sprint(after+n+1, " ")
			}
			if got != ordered {
				t.Errorf("after %d, at most %d: %s, want %s", after, limit, got, ordered)
			}
		}
	}
}
