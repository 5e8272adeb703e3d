package receipt_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/store"
	"piloto/internal/tools/tool"
)

// flaky is a signer that fails on demand, and counts its calls.
type flaky struct {
	*receipt.Local
	mu     sync.Mutex
	err    error
	signed int
}

func (f *flaky) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Sign implements receipt.Signer.
func (f *flaky) Sign(ctx context.Context, message []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signed++
	if f.err != nil {
		return nil, f.err
	}
	return f.Local.Sign(ctx, message)
}

// sealing is a world whose runs are sealed with a test key.
type sealing struct {
	*fixture.World
	t      *testing.T
	signer *flaky
	sealer *receipt.Sealer
}

func newSigner(t *testing.T) *flaky {
	t.Helper()
	text, err := receipt.NewPrivate()
	if err != nil {
		t.Fatal(err)
	}
	local, err := receipt.NewLocal(text)
	if err != nil {
		t.Fatal(err)
	}
	return &flaky{Local: local}
}

func newSealing(t *testing.T) *sealing {
	t.Helper()
	w := fixture.NewWorld(t)
	s := &sealing{World: w, t: t, signer: newSigner(t)}
	s.rotate(s.signer)
	return s
}

// rotate simulates another process with another key.
func (s *sealing) rotate(f *flaky) {
	s.signer = f
	s.sealer = &receipt.Sealer{Store: s.Store.Receipts, Signer: f, Now: s.Clock, Log: slog.New(slog.DiscardHandler)}
	s.Runs.Sealer = s.sealer
}

func (s *sealing) endRun() plan.Run {
	s.t.Helper()
	s.Chat = s.NewChat()
	r := s.Draft(plan.Proposal{Goal: "Mirar", Steps: []plan.ProposedStep{{Title: "Mirar", Method: "GET", Path: "/rooms"}}})
	if err := s.Confirm(r); err != nil {
		s.t.Fatal(err)
	}
	s.Execute(r.ID)
	return s.Read(r.ID)
}

func (s *sealing) receipt(id string) receipt.Receipt {
	s.t.Helper()
	ctx, r := context.Background(), s.Read(id)
	revisions, err := s.Store.Runs.Revisions(ctx, r)
	if err != nil {
		s.t.Fatal(err)
	}
	events, err := s.Store.Runs.Events(ctx, fixture.Account, id, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	made := receipt.New(r, revisions, events)
	if r.Link > 0 {
		l, err := s.Store.Receipts.Link(ctx, fixture.Account, r.Link)
		if err != nil {
			s.t.Fatal(err)
		}
		made = made.In(l)
	}
	return made
}

// checkAll verifies the receipts of runs, and the chain, with all stored keys.
func (s *sealing) checkAll(ids ...string) []receipt.Link {
	s.t.Helper()
	ctx := context.Background()
	keys, err := s.Store.Receipts.SigningKeys(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	links, err := s.Store.Receipts.Links(ctx, fixture.Account, 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	if wrong := receipt.VerifyChain(links, keys); len(wrong) > 0 {
		s.t.Fatalf("the chain: %v", wrong)
	}
	for _, id := range ids {
		r := s.receipt(id)
		if wrong := append(receipt.Verify(r), receipt.VerifyPlace(r, links)...); len(wrong) > 0 {
			s.t.Errorf("%s: %v", id, wrong)
		}
		if err := r.SignedBy(keys); err != nil {
			s.t.Errorf("%s: %v", id, err)
		}
	}
	return links
}

// sweep sweeps a minute later: the runs, of which those that ended without a place are left to the sealer, and then
// the receipts.
func (s *sealing) sweep() (receipt.Swept, error) {
	s.Pass(time.Minute)
	if _, err := s.Runs.Sweep(context.Background()); err != nil {
		return receipt.Swept{}, err
	}
	return s.sealer.Sweep(context.Background())
}

func TestSealSignsEndedRunAndItsLaterEvents(t *testing.T) {
	s := newSealing(t)
	first, second := s.endRun(), s.endRun()
	if n := len(s.checkAll(first.ID, second.ID)); n != 2 {
		t.Fatalf("%d links", n)
	}
	// The sweep signs a run that ended without a signer.
	s.Chat = s.NewChat()
	draft := s.Draft(plan.Proposal{Goal: "Nada", Steps: []plan.ProposedStep{{Title: "Mirar", Method: "GET", Path: "/rooms"}}})
	if _, err := s.Runs.Cancel(context.Background(), run.Cancellation{Account: fixture.Account, User: "ana", RunID: draft.ID, Locale: locale.Spanish}); err != nil {
		t.Fatal(err)
	}
	if r := s.receipt(draft.ID); r.Unsigned != receipt.Pending || len(receipt.Verify(r)) > 0 {
		t.Errorf("%q, %v", r.Unsigned, receipt.Verify(r))
	}
	if got, err := s.sweep(); err != nil || got != (receipt.Swept{Placed: 1, Signed: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	s.checkAll(first.ID, second.ID, draft.ID)
	// A later event of an ended run gets a link of its own, and the old link stays.
	s.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 404, Body: []byte(`{}`), Bytes: 2}, nil
	})
	failed := s.endRun()
	s.checkAll(failed.ID)
	before := s.receipt(failed.ID)
	if _, err := s.Runs.Retry(context.Background(), run.Again{Account: fixture.Account, User: "ana", RunID: failed.ID, Locale: locale.Spanish}); err != nil {
		t.Fatal(err)
	}
	if r := s.receipt(failed.ID); r.Unsigned != receipt.Pending {
		t.Errorf("more was told, and it is %q", r.Unsigned)
	}
	if _, err := s.sweep(); err != nil {
		t.Fatal(err)
	}
	links := s.checkAll(failed.ID)
	if wrong := receipt.VerifyPlace(before, links); len(wrong) != 1 || !strings.Contains(wrong[0].What, "tells more of this run") {
		t.Errorf("the receipt of before: %v", wrong)
	}
	if got, err := s.sweep(); err != nil || got != (receipt.Swept{}) {
		t.Errorf("there was nothing left to do: %+v, %v", got, err)
	}
}

// Fifty runs of one account end at once. Who loses a race for a place takes the next one without a
// signature and signs afterwards, so no link costs more than two signatures.
func TestSealPlacesRunsThatEndAtOnce(t *testing.T) {
	const many, processes = 50, 5
	s := newSealing(t)
	s.Runs.Sealer = nil
	ids := make([]string, many)
	for i := range ids {
		ids[i] = s.endRun().ID
	}
	start, errs := make(chan struct{}), make([]error, many)
	var sealers [processes]*receipt.Sealer
	for i := range sealers {
		sealers[i] = &receipt.Sealer{Store: s.Store.Receipts, Signer: s.signer, Now: s.Clock, Log: slog.New(slog.DiscardHandler)}
	}
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			<-start
			errs[i] = sealers[i%processes].Seal(context.Background(), fixture.Key(id))
		})
	}
	close(start)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("not all were sealed at once: %v", err)
	}
	if n := len(s.checkAll(ids...)); n != many || s.signer.signed > 2*many {
		t.Errorf("%d links, %d signatures", n, s.signer.signed)
	}
}

// A signer that is throttled, or down, neither blocks nor loses a run. A sweep asks it once for each
// link, because it may fail for one only, and it signs the missing links when it is back.
func TestFailingSignerBlocksNoRun(t *testing.T) {
	s := newSealing(t)
	s.signer.fail(errors.New("ThrottlingException"))
	var ids []string
	for range 5 {
		r := s.endRun()
		if !r.Status.Terminal() {
			t.Fatalf("it is %s", r.Status)
		}
		if got := s.receipt(r.ID); got.Unsigned != receipt.Pending {
			t.Errorf("it is %q", got.Unsigned)
		}
		ids = append(ids, r.ID)
	}
	asked := s.signer.signed
	if got, err := s.sweep(); err == nil || got.Signed != 0 || s.signer.signed != asked+5 {
		t.Errorf("%+v, %v; asked %d times", got, err, s.signer.signed-asked)
	}
	s.signer.fail(nil)
	if got, err := s.sweep(); err != nil || got.Signed != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(s.checkAll(ids...)); n != 5 {
		t.Errorf("%d links", n)
	}
}

// A signature that cannot be verified is not stored.
func TestSealRefusesInvalidSignature(t *testing.T) {
	s := newSealing(t)
	mixed := &flaky{Local: newSigner(t).Local}
	s.sealer.Signer = mismatched{mixed, newSigner(t).Local}
	s.Runs.Sealer = nil
	r := s.endRun()
	if err := s.sealer.Seal(context.Background(), fixture.Key(r.ID)); !errors.Is(err, receipt.ErrForged) {
		t.Errorf("%v", err)
	}
	s.sealer.Signer = s.signer
	if _, err := s.sweep(); err != nil {
		t.Fatal(err)
	}
	s.checkAll(r.ID)
}

// mismatched reports one key and signs with another.
type mismatched struct {
	*flaky
	key *receipt.Local
}

// Key implements receipt.Signer.
func (m mismatched) Key(ctx context.Context) (receipt.Key, error) { return m.key.Key(ctx) }

func TestRotationKeepsOldKeys(t *testing.T) {
	s := newSealing(t)
	old := s.endRun()
	s.Pass(time.Hour)
	before := s.signer
	s.rotate(newSigner(t))
	now := s.endRun()
	keys, err := s.Store.Receipts.SigningKeys(context.Background())
	if err != nil || len(keys) != 2 || keys[0].Until == nil || keys[1].Until != nil || !keys[0].Until.Equal(keys[1].From) {
		t.Fatalf("%+v, %v", keys, err)
	}
	s.checkAll(old.ID, now.ID)
	if err := s.receipt(old.ID).SignedBy(keys[1:]); !errors.Is(err, receipt.ErrUnknownKey) {
		t.Errorf("the old one under the new key: %v", err)
	}
	// A process that still has the old key continues; both keys keep their times.
	s.rotate(before)
	late := s.endRun()
	if again, err := s.Store.Receipts.SigningKeys(context.Background()); err != nil || len(again) != 2 || !again[0].From.Equal(keys[0].From) {
		t.Errorf("%+v, %v", again, err)
	}
	s.checkAll(old.ID, now.ID, late.ID)
}

func TestChainBelongsToOneAccount(t *testing.T) {
	s := newSealing(t)
	r := s.endRun()
	ctx := context.Background()
	if links, err := s.Store.Receipts.Links(ctx, "theirs", 0, 10); err != nil || len(links) != 0 {
		t.Errorf("%v, %v", links, err)
	}
	if _, err := s.Store.Receipts.Link(ctx, "theirs", 1); !errors.Is(err, receipt.ErrNoLink) {
		t.Errorf("%v", err)
	}
	if tip, err := s.Store.Receipts.Tip(ctx, "theirs"); err != nil || tip.Seq != 0 {
		t.Errorf("%v, %v", tip, err)
	}
	if err := s.sealer.Seal(ctx, run.Key{Account: "theirs", RunID: r.ID}); !errors.Is(err, plan.ErrRunNotFound) {
		t.Errorf("%v", err)
	}
	s.Chat = s.NewChat()
	draft := s.Draft(plan.Proposal{Goal: "Nada", Steps: []plan.ProposedStep{{Title: "Mirar", Method: "GET", Path: "/rooms"}}})
	if err := s.sealer.Seal(ctx, fixture.Key(draft.ID)); !errors.Is(err, plan.ErrAlreadyRunning) {
		t.Errorf("of a run that did not end: %v", err)
	}
}

// A place is taken once, on the condition that the chain and the run are as they were read.
func TestPlaceIsTakenOnce(t *testing.T) {
	s := newSealing(t)
	s.Runs.Sealer = nil
	ctx := context.Background()
	one, two := s.endRun(), s.endRun()
	links := map[string]receipt.Link{}
	for _, id := range []string{one.ID, two.ID} {
		l, err := s.Store.Receipts.Ended(ctx, fixture.Account, id)
		if err == nil {
			links[id], err = l.Chained(receipt.Link{}, s.Clock())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Store.Receipts.Place(ctx, links[one.ID], s.Clock()); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Receipts.Place(ctx, links[two.ID], s.Clock()); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("the place is another's: %v", err)
	}
	again, err := links[one.ID].Chained(links[one.ID], s.Clock())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Receipts.Place(ctx, again, s.Clock()); !errors.Is(err, fault.ErrMoved) {
		t.Errorf("the run has a place: %v", err)
	}
	if _, err := s.sweep(); err != nil {
		t.Fatal(err)
	}
	s.checkAll(one.ID, two.ID)
}

var _ receipt.Store = store.Stores{}.Receipts
