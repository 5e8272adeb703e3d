package paid_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// provider answers as its function says, and notes which providers were asked.
type provider struct {
	answer func(ctx context.Context, name string, r llm.Request) (llm.Reply, error)
	asked  []string
}

// Model implements eligibility.Models.
func (p *provider) Model(_ context.Context, _ ids.Account, c eligibility.Candidate) (llm.Model, error) {
	return named{p, c.Provider}, nil
}

type named struct {
	p    *provider
	name string
}

// Complete implements llm.Model.
func (n named) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	n.p.asked = append(n.p.asked, n.name)
	return n.p.answer(ctx, n.name, r)
}

type world struct {
	*fixture.World
	*provider
	service *paid.Service
}

// newWorld returns a world in which «first» costs credits, and «second» stands in for it.
func newWorld(t *testing.T, answer func(context.Context, string, llm.Request) (llm.Reply, error)) *world {
	w, p := fixture.NewWorld(t), &provider{answer: answer}
	d := eligibility.Deployment{
		Providers: []eligibility.Platform{{Name: "first", BaseURL: "https://first.example", CostsCredits: true}, {Name: "second", BaseURL: "https://second.example"}},
		Assistant: fixture.Assistant("first", "m", eligibility.Choice{Provider: "second", Model: "m"}),
	}
	return &world{w, p, &paid.Service{
		Eligibility: w.Eligibility(d, "first", "second"), Credit: w.Credit(), Models: p, Log: slog.New(slog.DiscardHandler),
		Retry: llm.Retry{Most: 1, Now: w.Clock, Rand: func(time.Duration) time.Duration { return 0 }},
	}}
}

// move gives the account a number of credits, or takes them.
func (w *world) move(t *testing.T, kind credit.Kind, n int64) {
	t.Helper()
	if _, err := w.service.Credit.Move(t.Context(), fixture.Account, credit.Movement{Kind: kind, Amount: n, Reason: "x", Actor: "ana"}); err != nil {
		t.Fatal(err)
	}
}

// begin returns calls whose model is chosen, with a record.
func (w *world) begin(t *testing.T, id string) *paid.Calls {
	t.Helper()
	snapshot, err := w.service.Eligibility.Read(t.Context(), eligibility.Question{Account: fixture.Account, Need: eligibility.Need{Input: 100, Output: 100}})
	if err != nil {
		t.Fatal(err)
	}
	calls := w.service.New(fixture.Account)
	calls.Session = "a session"
	if block := calls.Resolve(snapshot); block != nil {
		t.Fatalf("blocked: %+v", block)
	}
	calls.Begin(credit.Turn{ID: id, At: w.Clock(), User: "ana"})
	return calls
}

// ask makes one call.
func ask(ctx context.Context, c *paid.Calls) (llm.Reply, error) {
	return c.Ask(ctx, func() (llm.Request, error) { return request(c), nil })
}

func request(c *paid.Calls) llm.Request {
	return llm.Request{Model: c.Use.Model, Messages: []llm.Message{{Role: llm.User, Content: "hola"}}, MaxTokens: 100}
}

func answers(context.Context, string, llm.Request) (llm.Reply, error) {
	return llm.Reply{Text: "hola", Usage: llm.Usage{Input: 10, Output: 5}}, nil
}

// recorded returns the records of the account, and the tokens that are held and used.
func (w *world) recorded(t *testing.T) (turns []credit.Turn, held, used int) {
	t.Helper()
	err := w.Store.Wallet.Turns(t.Context(), fixture.Account, w.Clock().Add(-time.Hour), w.Clock().Add(time.Hour), func(r credit.Turn) bool {
		turns = append(turns, r)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	standing, err := w.service.Credit.Standing(t.Context(), fixture.Account, w.Clock())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range standing.Sessions {
		held, used = held+s.Held(), used+s.Used
	}
	return turns, held, used
}

// A failure that another provider may mend is mended by it; one that it may not is the caller's.
func TestTheNextProviderAnswers(t *testing.T) {
	broken := errors.New("a broken pipe")
	for name, c := range map[string]struct {
		credits int64
		first   error
		asked   []string
		because eligibility.Reason
		err     error
	}{
		"it answers":             {10, nil, []string{"first"}, "", nil},
		"it cannot be reached":   {10, llm.ErrUnreachable, []string{"first", "second"}, eligibility.ProviderUnreachable, nil},
		"it has no room":         {10, llm.ErrLimited, []string{"first", "second"}, eligibility.RateLimited, nil},
		"it cannot be paid":      {0, nil, []string{"second"}, eligibility.InsufficientCredits, nil},
		"the failure is not its": {10, broken, []string{"first"}, "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(ctx context.Context, name string, r llm.Request) (llm.Reply, error) {
				if name == "first" && c.first != nil {
					return llm.Reply{}, c.first
				}
				return answers(ctx, name, r)
			})
			w.move(t, credit.KindGrant, 10)
			calls := w.begin(t, w.IDs.New(w.Clock()))
			if c.credits == 0 { // they were spent since
				w.move(t, credit.KindAdjustment, -10)
				calls.Use.SessionID = ""
			}
			answer, err := ask(t.Context(), calls)
			if !errors.Is(err, c.err) || !slices.Equal(w.asked, c.asked) {
				t.Fatalf("%v after %v", err, w.asked)
			}
			if err == nil && (answer.Text != "hola" || calls.Turn.Because != string(c.because) || calls.Turn.Provider != c.asked[len(c.asked)-1]) {
				t.Errorf("%+v, %+v", answer, calls.Turn)
			}
			if (calls.First != nil) != (c.because != "") || calls.First != nil && (calls.First.Reason != c.because || calls.First.Provider != "first") {
				t.Errorf("the block of the preferred one is %+v", calls.First)
			}
		})
	}
}

// When nobody answers, the error names the provider that was preferred.
func TestTheBlockNamesThePreferredProvider(t *testing.T) {
	w := newWorld(t, func(context.Context, string, llm.Request) (llm.Reply, error) { return llm.Reply{}, llm.ErrUnreachable })
	w.move(t, credit.KindGrant, 10)
	_, err := ask(t.Context(), w.begin(t, w.IDs.New(w.Clock())))
	blocked, ok := errors.AsType[paid.Blocked](err)
	if !ok || blocked.Block.Provider != "first" || blocked.Block.Reason != eligibility.ProviderUnreachable || len(w.asked) != 2 {
		t.Errorf("%v after %v", err, w.asked)
	}
}

// A call that its caller ended is no failure of the provider, and nobody else is asked.
func TestACallThatWasEndedAsksNobodyElse(t *testing.T) {
	stopped := errors.New("stopped by the person")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWorld(t, func(ctx context.Context, _ string, _ llm.Request) (llm.Reply, error) {
		cancel(stopped)
		return llm.Reply{Text: "ho"}, llm.ErrStopped.Because(ctx.Err())
	})
	w.move(t, credit.KindGrant, 10)
	answer, err := ask(ctx, w.begin(t, w.IDs.New(w.Clock())))
	if !errors.Is(err, llm.ErrStopped) || answer.Text != "ho" || len(w.asked) != 1 {
		t.Errorf("%q, %v after %v", answer.Text, err, w.asked)
	}
}

// A hold is settled once, whoever settles its record again.
func TestAHoldIsSettledOnce(t *testing.T) {
	w := newWorld(t, answers)
	w.move(t, credit.KindGrant, 10)
	calls := w.begin(t, w.IDs.New(w.Clock()))
	for range 2 {
		if _, err := ask(t.Context(), calls); err != nil {
			t.Fatal(err)
		}
	}
	if _, held, _ := w.recorded(t); held <= 100 {
		t.Errorf("%d tokens are held for an answer of 100 after one of 15", held)
	}
	if !calls.IsOpen() {
		t.Error("it is settled already")
	}
	for range 2 {
		if err := calls.Settle(t.Context()); err != nil || calls.IsOpen() {
			t.Fatal(err)
		}
	}
	if err := w.service.Left(fixture.Account, calls.Turn).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	turns, held, used := w.recorded(t)
	if len(turns) != 1 || held != 0 || used != 30 || turns[0].Charged != 30 || len(turns[0].Attempts) != 2 {
		t.Errorf("%+v; %d held, %d used", turns, held, used)
	}
}

// The record of a process that died settles what it held.
func TestWhatAProcessLeftIsSettledByItsRecord(t *testing.T) {
	w := newWorld(t, answers)
	w.move(t, credit.KindGrant, 10)
	died := w.begin(t, w.IDs.New(w.Clock()))
	if _, err := ask(t.Context(), died); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.service.Left(fixture.Account, died.Turn).Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if turns, held, used := w.recorded(t); len(turns) != 1 || held != 0 || used != 15 {
		t.Errorf("%+v; %d held, %d used", turns, held, used)
	}
}

// What keeps an exclusive call from being made leaves a hold that can be released.
func TestAnExclusiveCallIsHeldFirst(t *testing.T) {
	w := newWorld(t, answers)
	w.move(t, credit.KindGrant, 10)
	id, taken := w.IDs.New(w.Clock()), errors.New("another did it")
	calls := w.begin(t, id)
	calls.Use.RequiresCredits = false // a free call is held, too
	calls.Alone = func(context.Context) error { return taken }
	if _, err := ask(t.Context(), calls); !errors.Is(err, taken) || len(w.asked) != 0 {
		t.Fatalf("%v after %v", err, w.asked)
	}
	second := w.begin(t, id)
	second.Alone = func(context.Context) error { return nil }
	if _, err := ask(t.Context(), second); !errors.Is(err, credit.ErrAlreadyWritten) {
		t.Fatalf("the second one got %v", err)
	}
	if err := calls.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	third := w.begin(t, id)
	third.Alone = second.Alone
	if _, err := ask(t.Context(), third); err != nil || len(w.asked) != 1 {
		t.Errorf("%v after %v", err, w.asked)
	}
}

// A reserve is held beside a call, and a call that is affordable alone is made without it, until it was held once.
func TestAReserveIsHeldWhereThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		limit    int64
		reserved bool
		made     int
	}{
		"room for both":      {1_000_000, true, 2},
		"for the call alone": {180, false, 1},
		"for none":           {50, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, answers)
			w.move(t, credit.KindGrant, 10)
			calls := w.begin(t, w.IDs.New(w.Clock()))
			calls.Use.Price, calls.Use.Limits.Run = credit.Price{Input: 1_000_000, Output: 1_000_000}, c.limit
			calls.Reserve = paid.Reserve{Input: 300, Output: 100}
			made := 0
			for range 2 {
				if _, err := calls.Once(t.Context(), request(calls)); err == nil {
					made++
				}
				calls.Turn.Micros += 60
			}
			if made != c.made || calls.Reserved != c.reserved {
				t.Errorf("%d calls, reserved %t", made, calls.Reserved)
			}
		})
	}
}

// TestWhatAProviderReadFromItsCacheIsChargedAtItsPrice: the hold does not count on a cache.
func TestWhatAProviderReadFromItsCacheIsChargedAtItsPrice(t *testing.T) {
	p := eligibility.Selection{Candidate: eligibility.Candidate{RequiresCredits: true, Price: credit.Price{Input: 1_000_000, Cached: 100_000, Output: 2_000_000}}}
	for _, c := range []struct {
		usage  llm.Usage
		cached int
		micros int64
	}{
		{llm.Usage{Input: 1000, Output: 10}, 0, 1020},
		{llm.Usage{Input: 1000, Cached: 800, Output: 10}, 800, 300},
		{llm.Usage{Input: 1000, Cached: 5000, Output: 10}, 1000, 120},
		{llm.Usage{Input: 1000, Cached: -5000, Output: 10}, 0, 1020},
		{llm.Usage{Input: -1000, Cached: 800, Output: 10}, 0, 20},
	} {
		calls := paid.Calls{Use: &p}
		calls.Count(c.usage)
		if calls.Turn.Micros != c.micros || calls.Turn.Cached != c.cached || calls.Turn.Charged != max(0, c.usage.Input)+10 {
			t.Errorf("%+v: %+v", c.usage, calls.Turn)
		}
	}
	p.Price.Cached = 0
	calls := paid.Calls{Use: &p}
	if calls.Count(llm.Usage{Input: 1000, Cached: 800, Output: 10}); calls.Turn.Micros != 1020 {
		t.Errorf("without a price of the cache it costs %d", calls.Turn.Micros)
	}
}

// TestCallsKnowTheCharactersPerToken of the model that is chosen, from the answers of all calls.
func TestCallsKnowTheCharactersPerToken(t *testing.T) {
	w := newWorld(t, func(_ context.Context, _ string, r llm.Request) (llm.Reply, error) {
		return llm.Reply{Text: "hola", Usage: llm.Usage{Input: len(r.Messages[0].Content) / 2, Output: 5}}, nil
	})
	w.move(t, credit.KindGrant, 10)
	calls := w.begin(t, w.IDs.New(w.Clock()))
	if got := calls.CharsPerToken(); got != llm.FirstRatio {
		t.Errorf("%.3f before any answer", got)
	}
	if _, err := calls.Ask(t.Context(), func() (llm.Request, error) {
		r := request(calls)
		r.Messages[0].Content = strings.Repeat("a", 4_000)
		return r, nil
	}); err != nil {
		t.Fatal(err)
	}
	later := w.begin(t, w.IDs.New(w.Clock()))
	if got := later.CharsPerToken(); got != 2.75 {
		t.Errorf("%.3f in a later turn", got)
	}
	if later.Use.Model = "another"; later.CharsPerToken() != llm.FirstRatio {
		t.Errorf("%.3f of another model", later.CharsPerToken())
	}
}

// TestABlockKeepsTheProviderOfTheUsage: the calls of a second provider were counted, and the block names the first one.
func TestABlockKeepsTheProviderOfTheUsage(t *testing.T) {
	for counted, want := range map[string]string{"": "first", "second": "second"} {
		calls := paid.Calls{Turn: credit.Turn{Provider: counted}}
		calls.Block(eligibility.Refuse(eligibility.BudgetExceeded, "first"))
		if got := calls.Turn; got.Provider != want || got.Outcome != credit.OutcomeBlocked || got.Reason != string(eligibility.BudgetExceeded) {
			t.Errorf("%+v, of %q", got, want)
		}
	}
}

// TestARefusedCallSaysWhatItNeeded: the hold of the turn itself is no spending beside its call.
func TestARefusedCallSaysWhatItNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*eligibility.Selection)
		want eligibility.Bound
	}{
		"the day":   {func(u *eligibility.Selection) { u.Limits.Day = 300 }, eligibility.BoundDay},
		"the month": {func(u *eligibility.Selection) { u.Limits.Month = 300 }, eligibility.BoundMonth},
		"the turn":  {func(u *eligibility.Selection) { u.Limits.Run = 300 }, eligibility.BoundRun},
		"an agent":  {func(u *eligibility.Selection) { u.Budget = 300 }, eligibility.BoundAgent},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(context.Context, string, llm.Request) (llm.Reply, error) {
				return llm.Reply{Text: "hola", Usage: llm.Usage{Input: 200, Output: 50}}, nil
			})
			w.move(t, credit.KindGrant, 10)
			calls := w.begin(t, w.IDs.New(w.Clock()))
			calls.Use.Price = credit.Price{Input: 1_000_000, Output: 1_000_000}
			c.set(calls.Use)
			if _, err := calls.Once(t.Context(), request(calls)); err != nil {
				t.Fatal(err)
			}
			r := request(calls)
			_, err := calls.Once(t.Context(), r)
			blocked, _ := errors.AsType[paid.Blocked](err)
			want := eligibility.Passed{Of: c.want, Limit: 300, Spent: 250, Needed: int64(r.Estimate() + r.MaxTokens)}
			if blocked.Block == nil || blocked.Block.Passed != want {
				t.Errorf("%+v, %v, not %+v", blocked.Block, err, want)
			}
		})
	}
}
