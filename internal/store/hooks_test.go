package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/live/hook"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// receiver notes what is sent to it, and answers as it is told.
type receiver struct {
	mu     sync.Mutex
	got    []posted
	answer func(url string) (int, error)
	asks   string // Retry-After of the answers
	media  string // Content-Type of the answers
	said   string // their body
	cut    bool   // before the end of their body
}

type posted struct {
	url    string
	header map[string]string
	body   string
}

func (r *receiver) Post(_ context.Context, url string, header map[string]string, body []byte) (int, func(string) string, []byte, error) {
	r.mu.Lock()
	r.got = append(r.got, posted{url, header, string(body)})
	answer, headers, said := r.answer, http.Header{"Retry-After": {r.asks}, "Content-Type": {r.media}}, []byte(r.said)
	if r.cut {
		said = nil
	}
	r.mu.Unlock()
	if answer == nil {
		return 204, headers.Get, said, nil
	}
	status, err := answer(url)
	return status, headers.Get, said, err
}

func (r *receiver) take() []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// hooked is a world whose account has hooks.
type hooked struct {
	*fixture.World
	t       *testing.T
	service *hook.Service
	sweeper *hook.Sweeper
	to      *receiver
}

func newHooked(t *testing.T) hooked {
	w := fixture.NewWorld(t)
	to := &receiver{}
	return hooked{
		w, t,
		&hook.Service{Store: w.Store.Hooks, Address: func(raw string) (string, error) { return raw, nil }, NewID: w.IDs.New, Now: w.Clock},
		&hook.Sweeper{Store: w.Store.Hooks, Send: to, NewID: w.IDs.New, Now: w.Clock, Log: slog.New(slog.DiscardHandler)}, to,
	}
}

// make makes a hook of events.
func (h hooked) make(url string, events ...hook.Event) (hook.Hook, string) {
	h.t.Helper()
	made, secret, err := h.service.Create(ctx, auth.Principal{Account: fixture.Account, User: "ana"}, hook.Wish{URL: &url, Events: events})
	if err != nil {
		h.t.Fatal(err)
	}
	return made, secret
}

func (h hooked) sweep() hook.Swept {
	h.t.Helper()
	swept, err := h.sweeper.Sweep(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return swept
}

func (h hooked) log(id string) []hook.Delivery {
	h.t.Helper()
	list, _, err := h.service.Deliveries(ctx, fixture.Account, id, "", 50)
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// run proposes, confirms and executes a plan of one read.
func (h hooked) run() plan.Run {
	h.t.Helper()
	draft := h.Propose(fixture.To("GET", "/rooms", ""))
	if err := h.Confirm(draft); err != nil {
		h.t.Fatal(err)
	}
	h.Execute(draft.ID)
	return h.Read(draft.ID)
}

// TestAHookIsToldOfADraftAndOfTheEndOfItsRun (guarantee I40): signed, once, and only of what it wants.
func TestAHookIsToldOfADraftAndOfTheEndOfItsRun(t *testing.T) {
	h := newHooked(t)
	all, secret := h.make("https://all.example/x", hook.Events...)
	ended, _ := h.make("https://ended.example/x", hook.RunFinished)
	r := h.run()
	if swept := h.sweep(); swept.Taken != 2 || swept.Delivered != 3 || swept.Failed != 0 {
		t.Errorf("%+v", swept)
	}
	var types []string
	for _, p := range h.to.take() {
		var m struct {
			Type string
			Data hook.RunData
		}
		if err := json.Unmarshal([]byte(p.body), &m); err != nil {
			t.Fatal(err)
		}
		types = append(types, strings.TrimSuffix(strings.TrimPrefix(p.url, "https://"), ".example/x")+" "+m.Type+" "+m.Data.Status)
		if m.Data.RunID != r.ID || m.Data.Digest != string(r.Digest) || m.Data.Goal != r.Plan.Goal || m.Data.ChatID != r.ChatID {
			t.Errorf("%s", p.body)
		}
		if p.url != all.URL {
			continue
		}
		d := auth.Delivery{ID: p.header["webhook-id"], Timestamp: p.header["webhook-timestamp"], Body: []byte(p.body), Signature: p.header["webhook-signature"]}
		if err := d.Verify(secret, h.Clock()); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(types)
	if want := []string{"all plan.proposed draft", "all run.finished done", "ended run.finished done"}; !slices.Equal(types, want) {
		t.Errorf("%q", types)
	}
	if swept := h.sweep(); swept != (hook.Swept{}) {
		t.Errorf("again: %+v", swept)
	}
	for _, d := range slices.Concat(h.log(all.ID), h.log(ended.ID)) {
		if d.State != hook.Delivered || len(d.Attempts) != 1 || d.Attempts[0].Status != 204 {
			t.Errorf("%+v", d)
		}
	}
}

// TestAnAccountWithoutHooksWritesNothing: also when another account has them, or its hooks are off.
func TestAnAccountWithoutHooksWritesNothing(t *testing.T) {
	h := newHooked(t)
	made, _ := h.make("https://x.example", hook.Events...)
	off := false
	if _, _, err := h.service.Update(ctx, fixture.Account, made.ID, hook.Wish{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	h.run()
	if due, err := h.World.Store.Hooks.DueHooks(ctx, h.Clock().Add(time.Hour), 10); err != nil || len(due) > 0 {
		t.Errorf("%v %v", due, err)
	}
}

// TestARedeliveryHasTheSameID (guarantee I40): a new time and signature, after pauses that grow, for about a day.
func TestARedeliveryHasTheSameID(t *testing.T) {
	if testing.Short() {
		t.Skip("two days of sweeps")
	}
	h := newHooked(t)
	made, secret := h.make("https://x.example", hook.RunFinished)
	h.to.answer = func(string) (int, error) { return 503, nil }
	h.run()
	began := h.Clock()
	ids, times := map[string]bool{}, map[string]bool{}
	tries := 0
	var last time.Time
	for range 60 * 48 {
		h.sweep()
		for _, p := range h.to.take() {
			tries, last = tries+1, h.Clock()
			ids[p.header["webhook-id"]], times[p.header["webhook-timestamp"]] = true, true
			d := auth.Delivery{ID: p.header["webhook-id"], Timestamp: p.header["webhook-timestamp"], Body: []byte(p.body), Signature: p.header["webhook-signature"]}
			if err := d.Verify(secret, h.Clock()); err != nil {
				t.Error(err)
			}
		}
		h.Pass(time.Minute)
		if h.log(made.ID)[0].State == hook.Failed {
			break
		}
	}
	if took := last.Sub(began); tries != 11 || len(ids) != 1 || len(times) != 11 || took < 24*time.Hour || took > 48*time.Hour {
		t.Errorf("%d tries, %d ids, %d times, %s", tries, len(ids), len(times), took)
	}
	d := h.log(made.ID)[0]
	if d.State != hook.Failed || len(d.Attempts) != 11 || d.Attempts[3].Status != 503 || d.Attempts[3].Error != "status" {
		t.Errorf("%+v", d)
	}
	h.to.answer = nil
	if _, err := h.service.Resend(ctx, fixture.Account, made.ID, d.ID); err != nil {
		t.Fatal(err)
	}
	if swept := h.sweep(); swept.Delivered != 1 {
		t.Errorf("%+v", swept)
	}
	if got := h.to.take(); len(got) != 1 || !ids[got[0].header["webhook-id"]] {
		t.Errorf("sent again: %v", got)
	}
	if d := h.log(made.ID)[0]; d.State != hook.Delivered || len(d.Attempts) != 12 {
		t.Errorf("%+v", d)
	}
}

// lossy is a store whose process dies after a request, before it is recorded.
type lossy struct {
	hook.Store
	dead bool
}

var errDied = errors.New("the process died")

func (l *lossy) Record(ctx context.Context, d hook.Delivery) error {
	if l.dead {
		return errDied
	}
	return l.Store.Record(ctx, d)
}

// TestACrashAfterTheRequestSendsItAgain (guarantee I40): with the same id, when the lease is over and not before.
func TestACrashAfterTheRequestSendsItAgain(t *testing.T) {
	h := newHooked(t)
	h.make("https://x.example", hook.RunFinished)
	h.run()
	dying := &lossy{h.World.Store.Hooks, true}
	h.sweeper.Store = dying
	if _, err := h.sweeper.Sweep(ctx); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	dying.dead = false
	if swept := h.sweep(); swept != (hook.Swept{}) {
		t.Errorf("while another may send it: %+v", swept)
	}
	h.Pass(2 * time.Minute)
	if swept := h.sweep(); swept.Delivered != 1 {
		t.Errorf("%+v", swept)
	}
	if got := h.to.take(); len(got) != 2 || got[0].header["webhook-id"] != got[1].header["webhook-id"] || got[0].body != got[1].body ||
		got[0].header["webhook-timestamp"] == got[1].header["webhook-timestamp"] {
		t.Errorf("%v", got)
	}
}

// TestSweepsAtOnceSendEachDeliveryOnce (guarantee I40): a lease is one sweep's.
func TestSweepsAtOnceSendEachDeliveryOnce(t *testing.T) {
	h := newHooked(t)
	for i := range 3 {
		h.make(fmt.Sprintf("https://x%d.example", i), hook.RunFinished)
	}
	for range 3 {
		h.run()
	}
	var sweeps sync.WaitGroup
	for range 4 {
		sweeps.Go(func() { _, _ = h.sweeper.Sweep(ctx) })
	}
	sweeps.Wait()
	h.sweep() // what a sweep took from another without sending it
	seen := map[string]int{}
	for _, p := range h.to.take() {
		seen[p.header["webhook-id"]]++
	}
	if len(seen) != 9 {
		t.Errorf("%d deliveries", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}

// TestAHookThatDoesNotAnswerHoldsNoOther (guarantee I40): it is asked once in a sweep.
func TestAHookThatDoesNotAnswerHoldsNoOther(t *testing.T) {
	h := newHooked(t)
	dead, _ := h.make("https://dead.example", hook.RunFinished)
	h.make("https://well.example", hook.RunFinished)
	held := make(chan struct{})
	var well sync.WaitGroup
	well.Add(3)
	h.to.answer = func(url string) (int, error) {
		if url == dead.URL {
			<-held
			return 0, tool.ErrLost.With("reason", "timeout")
		}
		well.Done()
		return 200, nil
	}
	for range 3 {
		h.run()
	}
	go func() { well.Wait(); close(held) }() // the dead one answers after the other has everything
	if swept := h.sweep(); swept.Delivered != 3 || swept.Failed != 1 {
		t.Errorf("%+v", swept)
	}
	states := map[string]int{}
	for _, d := range h.log(dead.ID) {
		states[string(d.State)+" "+strconv.Itoa(len(d.Attempts))]++
	}
	if states["pending 1"] != 1 || states["pending 0"] != 2 {
		t.Errorf("%v", states)
	}
}

// An address that asks for a pause is left alone for so long, with everything that waits for it.
func TestAHookIsLeftAloneAsLongAsItAsks(t *testing.T) {
	h := newHooked(t)
	h.make("https://busy.example", hook.RunFinished)
	h.to.answer, h.to.asks = func(string) (int, error) { return 503, nil }, "3600"
	for range 3 {
		h.run()
	}
	h.sweep()
	h.Pass(50 * time.Minute)
	h.sweep()
	if got := h.to.take(); len(got) != 1 {
		t.Errorf("it was asked %d times", len(got))
	}
	h.to.answer = nil
	h.Pass(11 * time.Minute)
	h.sweep()
	if got := h.to.take(); len(got) != 3 {
		t.Errorf("it got %d of 3", len(got))
	}
}

// An answer that names another address is none, whatever its status: it is asked again where it is.
func TestARedirectOfAHookIsAFailure(t *testing.T) {
	h := newHooked(t)
	moved, _ := h.make("https://moved.example", hook.RunFinished)
	h.to.answer = func(string) (int, error) { return 301, nil }
	h.run()
	if swept := h.sweep(); swept.Failed != 1 || swept.Delivered != 0 || swept.Disabled != 0 {
		t.Errorf("%+v", swept)
	}
	if now, err := h.service.Hook(ctx, fixture.Account, moved.ID); err != nil || !now.Enabled || now.FailingSince.IsZero() {
		t.Errorf("%+v %v", now, err)
	}
}

// TestAHookIsSwitchedOff (guarantee I40): by 410 at once, and by failures for three days; it says why.
func TestAHookIsSwitchedOff(t *testing.T) {
	h := newHooked(t)
	gone, _ := h.make("https://gone.example", hook.RunFinished)
	failing, _ := h.make("https://failing.example", hook.RunFinished)
	h.to.answer = func(url string) (int, error) {
		if url == gone.URL {
			return 410, nil
		}
		return 500, nil
	}
	h.run()
	if swept := h.sweep(); swept.Disabled != 1 {
		t.Errorf("%+v", swept)
	}
	h.Pass(73 * time.Hour)
	h.run()
	h.sweep()
	for id, want := range map[string]string{gone.ID: hook.OffGone, failing.ID: hook.OffFailing} {
		if now, err := h.service.Hook(ctx, fixture.Account, id); err != nil || now.Enabled || now.Off != want {
			t.Errorf("%+v %v", now, err)
		}
	}
	h.run()
	if swept := h.sweep(); swept != (hook.Swept{}) {
		t.Errorf("still told: %+v", swept)
	}
	if _, err := h.service.Resend(ctx, fixture.Account, gone.ID, h.log(gone.ID)[0].ID); !errors.Is(err, hook.ErrOff) {
		t.Errorf("sent again while it is off: %v", err)
	}
	on := true
	if now, _, err := h.service.Update(ctx, fixture.Account, gone.ID, hook.Wish{Enabled: &on}); err != nil || !now.Enabled || now.Off != "" {
		t.Errorf("%+v %v", now, err)
	}
}

// Only the address itself says that nothing is there any more. A gateway before it may say so, too: while a deployment has
// lost its routes, or of an answer that was cut. What is not delivered then is sent again.
func TestOnlyTheAddressItselfSwitchesItsHookOff(t *testing.T) {
	for name, c := range map[string]struct {
		media, said string
		cut, off    bool
	}{
		"nothing":           {"", "", false, true},
		"an empty object":   {"application/json", "{}", false, true},
		"a sentence":        {"application/json", `{"error":"this subscription was removed"}`, false, true},
		"a text":            {"text/plain", "gone", false, true},
		"a page":            {"text/html; charset=utf-8", "<html>Gone", false, false},
		"a page, not named": {"", "<!DOCTYPE html><title>410", false, false},
		"JSON named a page": {"text/html", "{}", false, false},
		"a router":          {"application/json", `{"message":"no Route matched with those values"}`, false, false},
		"a router's text":   {"text/plain", "404 page not found", false, false},
		"a gateway":         {"application/json", `{"message":"gone behind the API gateway"}`, false, false},
		"a gateway's text":  {"text/plain", "Blocked by the firewall", false, false},
		"a cut answer":      {"application/json", "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			made, _ := h.make("https://x.example", hook.RunFinished)
			h.to.media, h.to.said, h.to.cut = c.media, c.said, c.cut
			h.to.answer = func(string) (int, error) { return 410, nil }
			h.run()
			h.run()
			h.sweep()
			now, err := h.service.Hook(ctx, fixture.Account, made.ID)
			if err != nil || now.Enabled == c.off {
				t.Errorf("off: %t %q, %v", !now.Enabled, now.Off, err)
			}
			for _, d := range h.log(made.ID) {
				if (d.State == hook.Failed) != c.off {
					t.Errorf("a delivery is %s", d.State)
				}
			}
		})
	}
}

// TestAnAccountsHooksAreItsOwnAndLimited: the limit holds for requests at once, too.
func TestAnAccountsHooksAreItsOwnAndLimited(t *testing.T) {
	h := newHooked(t)
	made, _ := h.make("https://x.example", hook.RunFinished)
	url := "https://y.example"
	var writes sync.WaitGroup
	for range hook.MaxHooks + 5 {
		writes.Go(func() {
			_, _, err := h.service.Create(ctx, auth.Principal{Account: fixture.Account, User: "ana"}, hook.Wish{URL: &url, Events: []hook.Event{hook.RunFinished}})
			if err != nil && !errors.Is(err, hook.ErrTooMany) {
				t.Error(err)
			}
		})
	}
	writes.Wait()
	if list, err := h.service.List(ctx, fixture.Account); err != nil || len(list) != hook.MaxHooks {
		t.Errorf("%d hooks, %v", len(list), err)
	}
	if _, err := h.service.Hook(ctx, "another", made.ID); !errors.Is(err, hook.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if err := h.service.Delete(ctx, "another", made.ID); !errors.Is(err, hook.ErrNotFound) {
		t.Errorf("removed: %v", err)
	}
	if err := h.service.Delete(ctx, fixture.Account, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := h.World.Store.Hooks.Secret(ctx, fixture.Account, made.ID); !errors.Is(err, hook.ErrNotFound) {
		t.Errorf("its secret: %v", err)
	}
}
