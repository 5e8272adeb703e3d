package store_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

type countingClient struct {
	aws.HTTPClient
	calls *atomic.Int64
}

func (c countingClient) Do(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return c.HTTPClient.Do(r)
}

// TestPageOfRunsCostsWhatItShows: among ten thousand runs, and as many drafts that wait, a page makes the calls that it
// makes among sixty.
func TestPageOfRunsCostsWhatItShows(t *testing.T) {
	var calls atomic.Int64
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return countingClient{c, &calls} })
	client := dynamodb.NewFromConfig(config)
	w := fixture.NewWorldOver(t, table)
	model := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`))
	out, err := client.Query(ctx, &dynamodb.QueryInput{
		TableName: &name, KeyConditionExpression: aws.String("PK = :pk"), ExpressionAttributeValues: kv.Item{":pk": kv.S(kv.Run(fixture.Account, model.ID))},
	})
	if err != nil {
		t.Fatal(err)
	}
	many := 10_000
	if testing.Short() {
		many = 1000
	}
	made := 1
	grow := func(to int) {
		t.Helper()
		var batch []types.WriteRequest
		write := func() {
			t.Helper()
			if _, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: batch}}); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
		for ; made < to; made++ {
			at := model.CreatedAt.Add(time.Duration(made) * time.Millisecond)
			id := w.IDs.New(at)
			chat := w.IDs.New(w.Clock())
			for _, it := range append(out.Items, kv.Item{
				"PK": kv.S(kv.Account(fixture.Account)), "SK": kv.S("CHAT#" + w.Chat.ID), "pending_run_id": kv.S(model.ID), "chat_id": kv.S(w.Chat.ID),
			}) {
				copied := kv.Item{}
				for k, v := range it {
					if s, ok := v.(*types.AttributeValueMemberS); ok {
						v = kv.S(strings.NewReplacer(kv.At(model.CreatedAt, ""), kv.At(at, ""), model.ID, id, w.Chat.ID, chat).Replace(s.Value))
					}
					copied[k] = v
				}
				batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: copied}})
			}
			if len(batch) > 20 {
				write()
			}
		}
		write()
	}
	count := func(read func() (int, string, error)) int64 {
		t.Helper()
		before := calls.Load()
		n, cursor, err := read()
		if err != nil || n != 50 || cursor == "" {
			t.Fatalf("%d of 50, cursor %q: %v", n, cursor, err)
		}
		return calls.Load() - before
	}
	runs := func() (int, string, error) {
		page, cursor, err := table.Runs.Runs(ctx, fixture.Account, plan.Filter{}, "", 50)
		return len(page), cursor, err
	}
	waits := func() (int, string, error) {
		page, cursor, err := table.Runs.Waiting(ctx, fixture.Account, "", w.Clock(), "", 50)
		return len(page), cursor, err
	}
	grow(60)
	fewRuns, fewWaits := count(runs), count(waits)
	grow(many)
	if got := count(runs); got != fewRuns {
		t.Errorf("a page of runs makes %d calls among %d runs, and %d among 60", got, many, fewRuns)
	}
	if got := count(waits); got != fewWaits {
		t.Errorf("a page of what waits makes %d calls among %d, and %d among 60", got, many, fewWaits)
	}
	// A period reads no run outside of it. The runs are a millisecond apart.
	last := model.CreatedAt.Add(time.Duration(made-1) * time.Millisecond)
	for _, c := range []struct {
		from, to time.Time
		want     int
	}{
		{last.Add(-4 * time.Millisecond), time.Time{}, 5},
		{last.Add(-4 * time.Millisecond), last, 4},
		{last, last, 0},
		{last.Add(time.Hour), time.Time{}, 0},
		{last, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1},
		{time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC), last, 50},
	} {
		before := calls.Load()
		page, _, err := table.Runs.Runs(ctx, fixture.Account, plan.Filter{From: c.from, To: c.to}, "", 50)
		if err != nil || len(page) != c.want || c.want < 50 && calls.Load()-before > 20 {
			t.Errorf("%d runs from %v to %v, want %d, in %d calls: %v", len(page), c.from, c.to, c.want, calls.Load()-before, err)
		}
	}
	// A filter that nothing meets does not read the whole list.
	before := calls.Load()
	page, cursor, err := table.Runs.Runs(ctx, fixture.Account, plan.Filter{Statuses: []plan.Status{plan.Done}}, "", 50)
	if err != nil || len(page) != 0 || cursor == "" || calls.Load()-before > 1300 {
		t.Errorf("%d runs, cursor %q, %d calls: %v", len(page), cursor, calls.Load()-before, err)
	}
}

// TestListsCountWhatWasDoneHandedOut: the steps of a wave are done by writes that do not change the row of the run.
func TestListsCountWhatWasDoneHandedOut(t *testing.T) {
	w := fixture.NewWorld(t)
	none := &[]string{}
	book := plan.ProposedStep{Title: "POST /bookings", Method: "POST", Path: "/bookings", Body: json.RawMessage(`{"room":"norte"}`), Needs: none}
	r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{book, book, book}})
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.LoseProcess(r.ID, 1)
	w.Pass(time.Hour)
	w.Execute(r.ID)
	heads, _, err := w.Store.Runs.Runs(ctx, fixture.Account, plan.Filter{}, "", 50)
	if err != nil || len(heads) != 1 || heads[0].Done != w.Read(r.ID).DoneSteps() || heads[0].Done == 0 {
		t.Errorf("%+v, %v; %d are done", heads, err, w.Read(r.ID).DoneSteps())
	}
}
