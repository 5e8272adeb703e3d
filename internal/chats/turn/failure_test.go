package turn_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// failingStore is a store that cannot write plans.
type failingStore struct{ turn.Plans }

func (failingStore) Propose(context.Context, plan.Run, conversation.Chat, *plan.Run, run.Record) (plan.Run, error) {
	return plan.Run{}, errors.New("throttled")
}

func TestStoreErrorDuringTurnIsReported(t *testing.T) {
	w := newWorldWith(t, paidDeployment())
	w.grant(t, 1)
	w.model.answers = []any{calls("mcp_request", w.request("GET", "/rooms", ""))}
	w.service.Plans = failingStore{w.Store.Runs}
	reply := w.send(t, "lista las salas")
	if reply.Kind != turn.KindBlocked || reply.Block.Reason != eligibility.InternalError {
		t.Fatalf("%+v", reply)
	}
	if list := w.Messages(); list[len(list)-1].Code != "internal_error" {
		t.Errorf("the chat does not say so: %+v", list)
	}
}

// lossyWallet is a wallet that stores a hold, once, and returns an error.
type lossyWallet struct {
	credit.Store
	reserve, extend bool
}

func (l *lossyWallet) Reserve(ctx context.Context, h credit.Hold, limits credit.Limits) error {
	if err := l.Store.Reserve(ctx, h, limits); err != nil || !l.reserve {
		return err
	}
	return errors.New("the answer was lost")
}

func (l *lossyWallet) Extend(ctx context.Context, h credit.Hold, more credit.Part, micros int64, limits credit.Limits, at time.Time) (credit.Hold, error) {
	longer, err := l.Store.Extend(ctx, h, more, micros, limits, at)
	if err != nil || !l.extend {
		return longer, err
	}
	return h, errors.New("the answer was lost")
}

// TestTurnSettlesHoldWhoseResponseWasLost: nothing stays held when the response to taking or
// extending a hold was lost.
func TestTurnSettlesHoldWhoseResponseWasLost(t *testing.T) {
	search := llm.Reply{Calls: calls("search_tools", `{"query":"salas"}`).Calls, Usage: llm.Usage{Input: 4_000, Output: 900}}
	for name, c := range map[string]struct {
		wallet  lossyWallet
		answers []any
		used    int
	}{
		"the first hold": {lossyWallet{reserve: true}, nil, 0},
		"more of it":     {lossyWallet{extend: true}, []any{search, text("ya")}, 4_900},
	} {
		w := newWorldWith(t, paidDeployment(), c.answers...)
		w.grant(t, 1)
		wallet := c.wallet
		wallet.Store = w.Store.Wallet
		w.service.Paid.Credit.Store = &wallet
		if reply := w.send(t, "busca"); reply.Kind != turn.KindBlocked || reply.Block.Reason != eligibility.InternalError {
			t.Fatalf("%s: %+v", name, reply)
		}
		s := w.standing(t)
		if len(s.Sessions) != 1 || s.Sessions[0].Used != c.used || s.Sessions[0].Free != s.Sessions[0].Tokens-c.used || s.Day != w.turns(t)[0].Micros {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// newDelayedWorld returns a world whose assistant waits for further messages.
func newDelayedWorld(t *testing.T, answers ...any) *world {
	w := newWorld(t, answers...)
	a := *w.service.Paid.Eligibility.Deployment.Assistant
	a.Automation.DelayMS = 300
	w.service.Paid.Eligibility.Deployment.Assistant = &a
	return w
}

// sendAsync sends a message and returns after it is stored. The channel gets the reply.
func (w *world) sendAsync(message string) <-chan turn.Reply {
	replied := make(chan turn.Reply, 1)
	go func() {
		reply, _ := w.try(message)
		replied <- reply
	}()
	for len(w.Messages()) == 0 {
		time.Sleep(time.Millisecond)
	}
	return replied
}

func TestShortWordDoesNotSwallowQuestion(t *testing.T) {
	w := newDelayedWorld(t, text("aquí van"), text("aquí van")) // the model also answers the short word, perhaps first
	first := w.sendAsync("muéstrame las salas")
	w.send(t, "ok") // there is no plan to confirm
	if reply := <-first; reply.Kind != turn.KindMessage || reply.Message.Content != "aquí van" {
		t.Errorf("nobody answers: %+v", reply)
	}
}

func TestStopDuringDelayEndsTurn(t *testing.T) {
	w := newDelayedWorld(t, text("tarde"))
	first := w.sendAsync("hola")
	if err := w.service.Stop(context.Background(), auth.Principal{Account: fixture.Account}, w.Chat.ID); err != nil {
		t.Fatal(err)
	}
	if reply := <-first; reply.Kind != turn.KindNotice || len(w.model.asked) != 0 {
		t.Errorf("%+v after %d calls", reply, len(w.model.asked))
	}
}

func TestConcurrentRequestsAnswerMessageOnce(t *testing.T) {
	w := newWorldWith(t, paidDeployment())
	w.send(t, "hola") // blocked: there are no credits
	w.grant(t, 1)
	gate := &gate{open: make(chan struct{}), of: 5, reply: replyWithUsage("una vez", 10, 10)}
	w.service.Paid.Models = providers{gate}
	var mu sync.Mutex
	kinds := map[turn.Kind]int{}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			reply, err := w.service.Answer(context.Background(), w.message(""))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if kinds[reply.Kind]++; reply.Kind == turn.KindNotice {
				gate.arrive()
			}
		})
	}
	all.Wait()
	if kinds[turn.KindMessage] != 1 || kinds[turn.KindNotice] != 4 {
		t.Errorf("%v", kinds)
	}
	if s := w.standing(t); s.Sessions[0].Used != 20 {
		t.Errorf("charged %d", s.Sessions[0].Used)
	}
}

func TestRequestDuringAnswerMakesNoSecondAnswer(t *testing.T) {
	w := newWorld(t)
	held := make(chan struct{})
	s := &slowModel{preceding: make(chan struct{}), then: func(context.Context) (llm.Reply, error) { <-held; return replyWithUsage("una", 1, 1), nil }}
	w.service.Paid.Models = providers{s}
	first := w.sendAsync("hola")
	<-s.preceding
	reply, err := w.service.Answer(context.Background(), w.message(""))
	if err != nil || reply.Kind != turn.KindNotice || reply.Message.Content != locale.Text(locale.Spanish, "turn.being_answered") {
		t.Errorf("%+v, %v", reply, err)
	}
	close(held)
	<-first
	if list := w.Messages(); len(list) != 2 {
		t.Errorf("%+v", list)
	}
}

func TestBlockedAnswerCanBeRequestedAgainAtOnce(t *testing.T) {
	w := newWorldWith(t, paidDeployment())
	w.send(t, "hola")
	for range 2 {
		if reply, err := w.service.Answer(context.Background(), w.message("")); err != nil || reply.Kind != turn.KindBlocked {
			t.Fatalf("%+v, %v", reply, err)
		}
		w.Pass(time.Second)
	}
}

func TestBlockNamesPreferredProvider(t *testing.T) {
	w := newWorldWith(t, paidDeployment(free), llm.ErrUnreachable, llm.ErrNoKey)
	w.grant(t, 1)
	reply := w.send(t, "hola")
	if reply.Block == nil || reply.Block.Reason != eligibility.ProviderUnreachable || reply.Block.Provider != "openai" || reply.Block.Message().In(locale.Spanish) != "OpenAI no responde." {
		t.Errorf("%+v", reply.Block)
	}
	w = newWorldWith(t, paidDeployment(free), llm.ErrUnreachable) // no credits, and the fallback provider fails
	if reply := w.send(t, "hola"); reply.Block == nil || reply.Block.Reason != eligibility.InsufficientCredits {
		t.Errorf("%+v", reply.Block)
	}
}

// TestWhatAProviderRefusesIsToldAsWhatItIs, in the block, and beside an answer that it cut or gave without tools. What is
// wrong with one request alone says nothing of the provider.
func TestWhatAProviderRefusesIsToldAsWhatItIs(t *testing.T) {
	for cause, want := range map[llm.Cause]string{
		llm.Unpaid: "no tiene saldo", llm.NoModel: "no tiene ese modelo", llm.Filtered: "filtro de contenido", llm.CutShort: "gastó en pensar",
	} {
		w := newWorld(t, llm.Refused(cause))
		reply := w.send(t, "hola")
		if reply.Kind != turn.KindBlocked || reply.Block.Reason != eligibility.ProviderRefused || reply.Block.Cause != cause || !strings.Contains(reply.Message.Content, want) {
			t.Errorf("%s: %+v, %s", cause, reply.Block, reply.Message.Content)
		}
	}
	for code, answer := range map[string]llm.Reply{
		conversation.NoteNoTools: {Text: "Hay una.", NoTools: true}, conversation.NoteFiltered: {Text: "Hay una", Cut: true}, conversation.NoteCutShort: {Text: "Hay una", Cut: true, Length: true},
	} {
		w := newWorld(t, answer, answer)
		reply := w.send(t, "¿qué salas hay?")
		if reply.Kind != turn.KindMessage || !hasNote(reply.Message, code) || (reply.Message.Status == conversation.Partial) != answer.Cut {
			t.Errorf("%s: %+v", code, reply.Message)
		}
		j := newJobWorld(t, answer, answer)
		j.drive(t, j.start(t, "build", job.Order{}).ID)
		if !hasNote(j.last(t), code) {
			t.Errorf("%s of a job: %+v", code, j.last(t))
		}
	}
}

func hasNote(m conversation.Message, code string) bool {
	return len(m.Notes) == 1 && m.Notes[0].Code == code && !strings.HasPrefix(m.Notes[0].Text, "note.")
}

func TestNoticeSortsAfterItsMessage(t *testing.T) {
	w := newWorld(t)
	w.send(t, "confirmo")
	if list := w.Messages(); len(list) != 2 || list[0].Role != conversation.RoleUser {
		t.Errorf("%+v", list)
	}
}

// closedWallet is a wallet whose reads and holds return errors.
type closedWallet struct{ credit.Store }

func (closedWallet) Standing(context.Context, ids.Account, time.Time) (credit.Standing, error) {
	return credit.Standing{}, errors.New("it was read")
}

func (closedWallet) Reserve(context.Context, credit.Hold, credit.Limits) error {
	return errors.New("something is held")
}

// TestTurnThatCostsNothingNeedsNoWallet: a turn reads the wallet and takes a hold when a provider that it may use costs
// credits, or spending has a limit.
func TestTurnThatCostsNothingNeedsNoWallet(t *testing.T) {
	own := paidDeployment()
	own.Assistant = fixture.Assistant("groq", "llama-3.1-8b-instant")
	fallback := paidDeployment()
	fallback.Assistant = fixture.Assistant("groq", "llama-3.1-8b-instant", eligibility.Choice{Provider: "openai", Model: "gpt-4o-mini"})
	for name, c := range map[string]struct {
		deployment eligibility.Deployment
		limits     credit.Limits
		free       bool
	}{
		"a free provider":                 {own, credit.Limits{}, true},
		"a limit of one turn":             {own, credit.Limits{Run: 1_000_000}, true},
		"a limit of the day":              {own, credit.Limits{Day: 1_000_000}, false},
		"a limit of the month":            {own, credit.Limits{Month: 1_000_000}, false},
		"a provider that costs":           {paidDeployment(), credit.Limits{}, false},
		"another one may cost credits":    {fallback, credit.Limits{}, false},
		"it costs, and one that does not": {paidDeployment(free), credit.Limits{}, false},
	} {
		w := newWorldWith(t, c.deployment, text("hola"))
		w.grant(t, 1)
		if err := w.Store.Settings.PutTerms(t.Context(), fixture.Account, eligibility.Terms{Policy: credit.DefaultPolicy(), Limits: c.limits}); err != nil {
			t.Fatal(err)
		}
		w.service.Paid.Eligibility.Standings, w.service.Paid.Credit.Store = closedWallet{w.Store.Wallet}, closedWallet{w.Store.Wallet}
		if reply := w.send(t, "hola"); (reply.Kind == turn.KindMessage) != c.free {
			t.Errorf("%s: %+v", name, reply)
		}
	}
}
