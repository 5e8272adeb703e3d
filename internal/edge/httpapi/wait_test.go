package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
)

// changingStore is a store whose run changes its status at a time.
type changingStore struct {
	*world
	at time.Time
	to plan.Status

	reads int // how often more than its status was read
}

func (s *changingStore) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	s.reads++
	r, err := s.world.Run(ctx, account, id)
	if !time.Now().Before(s.at) {
		r.Status = s.to
	}
	return r, err
}

func (s *changingStore) Bare(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	return s.Run(ctx, account, id)
}

func (s *changingStore) Status(ctx context.Context, account ids.Account, id string) (plan.Status, error) {
	if !time.Now().Before(s.at) {
		return s.to, nil
	}
	return s.world.Status(ctx, account, id)
}

func TestARunIsAnsweredWhenItsStatusChanges(t *testing.T) {
	for name, c := range map[string]struct {
		query   string
		before  plan.Status
		changes time.Duration
		watched bool
		takes   time.Duration // at most
		status  plan.Status
	}{
		"at once":                        {"", plan.Running, time.Second, true, 0, plan.Running},
		"no time":                        {"?wait=0", plan.Running, time.Second, true, 0, plan.Running},
		"it changes here":                {"?wait=20", plan.Running, 5 * time.Second, true, 5 * time.Second, plan.Done},
		"it changes in another process":  {"?wait=20", plan.Running, 5 * time.Second, false, 7 * time.Second, plan.Done},
		"it does not change":             {"?wait=3", plan.Running, time.Hour, true, 3 * time.Second, plan.Running},
		"a draft is confirmed elsewhere": {"?wait=3", plan.Draft, time.Second, false, 3 * time.Second, plan.Done},
		"it ended before":                {"?wait=20", plan.Cancelled, time.Hour, true, 0, plan.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite()
				s.run_.Status = c.before
				began := time.Now()
				store := &changingStore{world: s.world, at: began.Add(c.changes), to: plan.Done}
				var watches realtime.Watches
				over := make(chan struct{})
				defer close(over)
				if c.watched {
					s.config.Watcher = &watches
					go func() {
						select {
						case <-time.After(c.changes):
						case <-over:
							return
						}
						watches.Over(realtime.Nobody).Notify(context.Background(), "a", realtime.Run(plan.Run{ChatID: chatID, ID: runID}, plan.Event{After: plan.Done}))
					}()
				}
				records := newAPI(s.config)
				records.records(Stores{Runs: store}, nil, nil)
				w := httptest.NewRecorder()
				records.handler().ServeHTTP(w, ask(talker, "GET", "/api/runs/"+runID+c.query, ""))
				var r Run
				if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != http.StatusOK {
					t.Fatalf("%d %s %v", w.Code, w.Body, err)
				}
				if took := time.Since(began); took > c.takes || r.Status != c.status {
					t.Errorf("%s after %s, want %s after at most %s", r.Status, took, c.status, c.takes)
				}
				if store.reads != 1 {
					t.Errorf("it was read %d times", store.reads)
				}
			})
		})
	}
}

func TestAWaitThatIsNoneIsRefused(t *testing.T) {
	for _, wait := range []string{"26", "-1", "x", "1.5", ""} {
		w := newSite().do(ask(talker, "GET", "/api/runs/"+runID+"?wait="+wait, ""))
		if want := map[bool]int{true: 200, false: 422}[wait == ""]; w.Code != want && (want == 200 || w.Code != 400) {
			t.Errorf("wait=%s: %d %s", wait, w.Code, w.Body)
		}
		if w.Code != 200 && !strings.Contains(w.Body.String(), "wait") {
			t.Errorf("wait=%s: %s", wait, w.Body)
		}
	}
}

func TestAClientThatGoesAwayEndsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		r := ask(talker, "GET", "/api/runs/"+runID+"?wait=20", "")
		ctx, cancel := context.WithCancel(r.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		s.do(r.WithContext(ctx))
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it waited %s", took)
		}
	})
}
