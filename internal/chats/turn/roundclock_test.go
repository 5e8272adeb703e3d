package turn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/models/llm"
)

// clocks returns the times that a request tells, as its lines have them.
func clocks(r llm.Request) (list []string) {
	for _, m := range r.Messages {
		for line := range strings.Lines(m.Content) {
			if m.Role == llm.System && strings.HasPrefix(line, "Now: ") {
				list = append(list, strings.TrimSuffix(strings.SplitAfter(line, ".")[0], "\n"))
			}
		}
	}
	return list
}

func clockAt(at time.Time) string { return at.UTC().Format("Now: Monday 2006-01-02 15:04, UTC.") }

// TestAJobKnowsThePresentTime: after a wait, or hours of rounds, its prompt has the time at its end, and only appends.
func TestAJobKnowsThePresentTime(t *testing.T) {
	read := calls("read_file", `{"path":"a.go"}`)
	w := newJobWorld(t, read, read, read, read, text("Hecho."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: handTools}).ID)
	began := w.Clock()
	var told []time.Time
	for i, pass := range []time.Duration{50 * time.Minute, time.Minute, 3 * time.Minute, 40 * time.Minute} {
		w.Pass(pass)
		if pass > 5*time.Minute {
			told = append(told, w.Clock())
		}
		if _, err := w.tell(t, j.ID, job.ToolResult{ID: fmt.Sprintf("%d.0", i+1), Output: "package a"}); err != nil {
			t.Fatal(err)
		}
		j = w.drive(t, j.ID)
		want := []string{clockAt(began)}
		for _, at := range told {
			want = append(want, clockAt(at))
		}
		last := w.model.asked[len(w.model.asked)-1]
		if got := clocks(last); !slices.Equal(got, want) {
			t.Errorf("round %d is told %q, want %q", i+2, got, want)
		}
	}
	if j.Status != job.Success || len(w.model.asked) != 5 {
		t.Fatalf("%+v", j)
	}
	for i := range w.model.asked[1:] {
		before, after := w.model.asked[i].Messages, w.model.asked[i+1].Messages
		for k, m := range before {
			if fmt.Sprint(after[k]) != fmt.Sprint(m) {
				t.Errorf("round %d has another message %d: %.200v", i+2, k, after[k])
			}
		}
	}
}

// unanswering are jobs whose process dies before an answer is stored.
type unanswering struct{ job.Store }

func (unanswering) AnswerRound(context.Context, job.Job, job.Round) error { return errDied }

// TestALostRoundIsAskedWithThePresentTime, also the first one, which keeps the rest of its state.
func TestALostRoundIsAskedWithThePresentTime(t *testing.T) {
	for _, lost := range []int{1, 2} {
		w := newJobWorld(t, calls("read_file", `{"path":"a.go"}`), text("Hecho."))
		id := w.start(t, "build", job.Order{Tools: handTools}).ID
		if lost == 2 {
			w.drive(t, id)
			w.Pass(20 * time.Minute)
			if _, err := w.tell(t, id, job.ToolResult{ID: "1.0", Output: "package a"}); err != nil {
				t.Fatal(err)
			}
		}
		w.service.Jobs = unanswering{w.Store.Jobs}
		if _, err := w.service.Round(t.Context(), fixture.Account, id); !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		w.service.Jobs = w.Store.Jobs
		w.model.answers = append([]any{map[int]llm.Reply{1: calls("read_file", `{"path":"a.go"}`), 2: text("Hecho.")}[lost]}, w.model.answers...)
		w.Pass(3 * time.Hour)
		w.drive(t, id)
		last := w.model.asked[lost]
		got := clocks(last)
		if len(got) != lost || got[lost-1] != clockAt(w.Clock()) || !strings.Contains(said(last), "Language of the person") && !strings.Contains(said(last), "writes") {
			t.Errorf("%d: it is told %q, and it is %s", lost, got, clockAt(w.Clock()))
		}
		if j := w.job(t, id); j.Lost != 1 {
			t.Errorf("%d: %+v", lost, j)
		}
	}
}
