package paid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// pupil is a client that has learned something of its model.
type pupil struct {
	named
	learned *string
}

func (pupil) List(context.Context) ([]llm.Listed, error) { return nil, nil }

func (p pupil) Learned(string) json.RawMessage {
	if *p.learned == "" {
		return nil
	}
	return json.RawMessage(*p.learned)
}

// pupils are clients that learned the same.
type pupils struct {
	*provider
	learned string
}

// Model implements eligibility.Models.
func (p *pupils) Model(_ context.Context, _ ids.Account, c eligibility.Candidate) (llm.Model, error) {
	return pupil{named{p.provider, c.Provider}, &p.learned}, nil
}

func (w *world) lessons(t *testing.T) eligibility.Lessons {
	t.Helper()
	settings, err := w.Store.Settings.Settings(t.Context(), fixture.Account)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lessons["first"]
}

// known returns what a call that begins now heeds.
func (w *world) known(t *testing.T) string {
	t.Helper()
	return string(w.begin(t, "k").Use.Known.Quirks)
}

// TestWhatCallsShowIsStoredForOtherProcesses: once for each thing that is new, until a check of the model ends, or its address
// changes.
func TestWhatCallsShowIsStoredForOtherProcesses(t *testing.T) {
	w := newWorld(t, answers)
	w.move(t, "grant", 10)
	client := &pupils{provider: w.provider}
	w.service.Models, w.service.Learns = client, true
	call := func() {
		t.Helper()
		w.Pass(time.Second)
		calls := w.begin(t, fmt.Sprint("t", w.Clock().Unix()))
		for range 2 {
			if _, err := ask(t.Context(), calls); err != nil {
				t.Fatal(err)
			}
		}
		if err := calls.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if got := w.lessons(t); got.Provider != "" {
		t.Errorf("nothing was learned, and stored: %+v", got)
	}
	client.learned = `{"no_temperature":true}`
	call()
	first := w.lessons(t).Models["m"]
	if call(); w.known(t) != client.learned || first.Lesson != 1 || !w.lessons(t).Models["m"].At.Equal(first.At) {
		t.Errorf("known %s, first %+v, then %+v", w.known(t), first, w.lessons(t))
	}
	client.learned = `{"no_temperature":true,"plain":true}`
	if call(); w.known(t) != client.learned {
		t.Errorf("known %s", w.known(t))
	}

	late := w.begin(t, "late") // it was chosen before the check ended
	w.Pass(time.Second)
	found := eligibility.Check{ID: "c", Provider: "first", BaseURL: "https://first.example", Status: eligibility.CheckDone, Models: map[string]eligibility.Known{
		"m": {Quirks: json.RawMessage(`{"plain":true}`), Window: 9000, At: w.Clock()},
	}}
	if err := w.Store.Settings.PutCheck(t.Context(), fixture.Account, nil, found); err != nil {
		t.Fatal(err)
	}
	client.learned = `{"no_tools":true}`
	if _, err := ask(t.Context(), late); err != nil || w.known(t) != `{"plain":true}` {
		t.Errorf("after a check %s is known, %v", w.known(t), err)
	}
	client.learned = `{"plain":true,"signed":true}`
	if call(); w.known(t) != client.learned || w.begin(t, "w").Use.Window != 9000 {
		t.Errorf("after a check and a lesson %s is known", w.known(t))
	}

	moved := eligibility.Config{Name: "first", BaseURL: "https://other.example", Keyless: true}
	if err := w.Store.Settings.PutProvider(t.Context(), fixture.Account, nil, moved); err != nil {
		t.Fatal(err)
	}
	if got := w.known(t); got != "" {
		t.Errorf("at another address %s is known", got)
	}
	client.learned = `{"signed":true}`
	if call(); w.known(t) != client.learned {
		t.Errorf("known %s", w.known(t))
	}
	if err := w.Store.Settings.DeleteProvider(t.Context(), fixture.Account, "first"); err != nil {
		t.Fatal(err)
	}
	if got := w.lessons(t); got.Provider != "" {
		t.Errorf("of a deleted provider is known: %+v", got)
	}
}

// TestAModelThatChangesItsMindIsNotWrittenForEver.
func TestAModelThatChangesItsMindIsNotWrittenForEver(t *testing.T) {
	w := newWorld(t, answers)
	w.move(t, "grant", 10)
	client := &pupils{provider: w.provider}
	w.service.Models, w.service.Learns = client, true
	for i := range 40 {
		client.learned = fmt.Sprintf(`{"window":%d}`, i+1)
		if _, err := ask(t.Context(), w.begin(t, fmt.Sprint("t", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.lessons(t).Models["m"]; got.Lesson != 32 || string(got.Quirks) != `{"window":32}` {
		t.Errorf("%+v", got)
	}
}
