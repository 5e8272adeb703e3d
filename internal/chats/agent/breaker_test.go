package agent_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/internal/chats/agent"
)

// dawn is the start time of the breakers' tests.
var dawn = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

var three = agent.Policy{Failures: 3, Window: time.Minute, Open: 10 * time.Second, Probe: 5 * time.Second}

// oracle computes the expected breaker from the list of all events.
type oracle struct {
	agent.Policy
	hadFailures []time.Time // every failure since the last answer
	opened      []time.Time // every time it opened
	open        bool
	probe       string
	probedAt    time.Time
}

// isInForce reports whether a period of length d from a time is in force, for a clock that may
// be behind the one that wrote the time.
func isInForce(began, now time.Time, d time.Duration) bool { return now.Sub(began).Abs() < d }

func (o *oracle) admits(now time.Time) agent.Admission {
	switch {
	case !o.open:
		return agent.Admitted
	case isInForce(o.opened[len(o.opened)-1], now, o.Open), o.probe != "" && isInForce(o.probedAt, now, o.Probe):
		return agent.Refused
	}
	return agent.Probing
}

func (o *oracle) trip(now time.Time) {
	o.open, o.probe, o.opened = true, "", append(o.opened, now)
}

func (o *oracle) failed(c agent.Call, now time.Time) {
	switch {
	case c.Probe != "" && c.Probe == o.probe:
		o.trip(now)
	case c.Probe == "" && !o.open && int(c.Opens) == len(o.opened):
		o.hadFailures = append(o.hadFailures, now)
		last := o.hadFailures[max(0, len(o.hadFailures)-o.Failures):]
		if len(last) == o.Failures && !slices.ContainsFunc(last, func(at time.Time) bool { return !isInForce(at, now, o.Window) }) {
			o.trip(now)
		}
	}
}

func (o *oracle) answered(c agent.Call) {
	if c.Probe != "" && c.Probe == o.probe || c.Probe == "" && !o.open && int(c.Opens) == len(o.opened) {
		o.open, o.probe, o.hadFailures = false, "", nil
	}
}

// callers are the clients of a breaker.
type callers struct {
	now   time.Time
	calls []agent.Call // admitted calls without a result
	ids   int
}

func (m *callers) id() string {
	m.ids++
	return fmt.Sprint("probe", m.ids)
}

// tick advances the clock, and sometimes lets a clock that is behind write.
func (m *callers) tick(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(-12_000, 40_000).Draw(t, "ms")) * time.Millisecond)
}

func (m *callers) result(t *rapid.T) (agent.Call, bool) {
	if len(m.calls) == 0 {
		return agent.Call{}, false
	}
	i := rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")
	c := m.calls[i]
	m.calls = slices.Delete(m.calls, i, i+1)
	return c, true
}

// TestBreakerAgreesWithItsHistory drives a breaker by calls that start, end in any order and are
// cancelled, under a clock that also goes backwards.
func TestBreakerAgreesWithItsHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := three
		p.Failures = rapid.IntRange(1, 4).Draw(rt, "failures")
		o := &oracle{Policy: p}
		var b agent.Breaker
		m := &callers{now: dawn}
		rt.Repeat(map[string]func(*rapid.T){
			"time goes": m.tick,
			"call": func(*rapid.T) {
				switch b.Admits(p, m.now) {
				case agent.Admitted:
					m.calls = append(m.calls, agent.Call{Opens: b.Opens})
				case agent.Probing:
					id := m.id()
					if b = b.Probed(id, p, m.now); b.Probe != id {
						rt.Fatal("the probe that was offered was not given")
					}
					o.probe, o.probedAt = id, m.now
					m.calls = append(m.calls, agent.Call{Opens: b.Opens, Probe: id})
				case agent.Refused:
					if after := b.Probed(m.id(), p, m.now); after.Probe != b.Probe {
						rt.Fatal("a refused caller took the probe")
					}
				}
			},
			"failure": func(t *rapid.T) {
				if c, ok := m.result(t); ok {
					b = b.AfterFailure(c, p, m.now)
					o.failed(c, m.now)
				}
			},
			"answer": func(t *rapid.T) {
				if c, ok := m.result(t); ok {
					b = b.AfterAnswer(c)
					o.answered(c)
				}
			},
			"given up": func(t *rapid.T) {
				if c, ok := m.result(t); ok {
					b = b.AfterNothing(c)
					if c.Probe != "" && c.Probe == o.probe {
						o.probe = ""
					}
				}
			},
			"": func(t *rapid.T) {
				if got, want := b.Admits(p, m.now), o.admits(m.now); got != want || int(b.Opens) != len(o.opened) || b.Probe != o.probe {
					t.Fatalf("at %v: %v, opened %d times, probe %q; should be %v, %d, %q", m.now, got, b.Opens, b.Probe, want, len(o.opened), o.probe)
				}
				if want := min(len(o.hadFailures), p.Failures); !o.open && len(b.Failed) != want {
					t.Fatalf("%d failures are kept, and should be %d", len(b.Failed), want)
				}
				if !isAdmittedInTime(b, p, m.now) {
					t.Fatal("nobody would ever be let in again")
				}
			},
		})
	})
}

// isAdmittedInTime reports whether a client that tries each second is admitted before both
// periods of a refusal are over, on either side.
func isAdmittedInTime(b agent.Breaker, p agent.Policy, now time.Time) bool {
	for wait := time.Duration(0); wait <= 2*(p.Open+p.Probe); wait += time.Second {
		if b.Admits(p, now.Add(wait)) != agent.Refused {
			return true
		}
	}
	return false
}

func withFailures(b agent.Breaker, p agent.Policy, at ...time.Duration) agent.Breaker {
	for _, d := range at {
		b = b.AfterFailure(agent.Call{Opens: b.Opens}, p, dawn.Add(d))
	}
	return b
}

func TestBreakerOpensExactlyAtThreshold(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		at   []time.Duration
		want agent.Phase
	}{
		"one fewer":                        {[]time.Duration{0, s}, agent.Closed},
		"exactly":                          {[]time.Duration{0, s, 2 * s}, agent.Open},
		"all at once":                      {[]time.Duration{0, 0, 0}, agent.Open},
		"the first is a window old":        {[]time.Duration{0, s, 60 * s}, agent.Closed},
		"the first is just within it":      {[]time.Duration{0, s, 60*s - 1}, agent.Open},
		"old ones, then a row":             {[]time.Duration{0, s, 100 * s, 101 * s, 102 * s}, agent.Open},
		"each within, all together not":    {[]time.Duration{0, 40 * s, 80 * s, 120 * s}, agent.Closed},
		"by a clock that went back":        {[]time.Duration{30 * s, 10 * s, 0}, agent.Open},
		"by a clock that was far ahead":    {[]time.Duration{time.Hour, 0, s}, agent.Closed},
		"by one far ahead, and then a row": {[]time.Duration{time.Hour, 0, s, 2 * s}, agent.Open},
	} {
		b := withFailures(agent.Breaker{}, three, c.at...)
		if got := b.Phase(dawn.Add(c.at[len(c.at)-1])); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	answered := withFailures(agent.Breaker{}, three, 0, s).AfterAnswer(agent.Call{})
	if b := withFailures(answered, three, 2*s, 3*s); b.Phase(dawn.Add(3*s)) != agent.Closed {
		t.Error("an answer did not end the row")
	}
}

func TestBreakerReportsPhaseAndRetryTime(t *testing.T) {
	b := withFailures(agent.Breaker{Agent: "a"}, three, 0, 0, 0)
	opened := dawn.Add(three.Open)
	probed := b.Probed("p", three, opened)
	for name, c := range map[string]struct {
		b       agent.Breaker
		at      time.Time
		want    agent.Phase
		retryAt time.Time
	}{
		"nothing known":     {agent.Breaker{}, dawn, agent.Closed, time.Time{}},
		"open":              {b, dawn, agent.Open, opened},
		"its time is over":  {b, opened, agent.HalfOpen, opened},
		"being probed":      {probed, opened, agent.HalfOpen, opened.Add(three.Probe)},
		"the probe failed":  {probed.AfterFailure(agent.Call{Probe: "p"}, three, opened), opened, agent.Open, opened.Add(three.Open)},
		"it was answered":   {probed.AfterAnswer(agent.Call{Probe: "p"}), opened, agent.Closed, time.Time{}},
		"it was given up":   {probed.AfterNothing(agent.Call{Probe: "p"}), opened, agent.HalfOpen, opened},
		"another's failure": {probed.AfterFailure(agent.Call{Probe: "q"}, three, opened), opened, agent.HalfOpen, opened.Add(three.Probe)},
		"another's answer":  {probed.AfterAnswer(agent.Call{Probe: "q"}), opened, agent.HalfOpen, opened.Add(three.Probe)},
		"a late answer":     {b.AfterAnswer(agent.Call{}), dawn, agent.Open, opened},
		"a pause":           {agent.Breaker{}.AfterPause(opened), dawn, agent.Open, opened},
		"a pause is over":   {agent.Breaker{}.AfterPause(opened), opened, agent.Closed, opened},
		"a longer pause":    {b.AfterPause(opened.Add(time.Hour)), opened, agent.Open, opened.Add(time.Hour)},
		"a shorter pause":   {b.AfterPause(dawn), dawn, agent.Open, opened},
		"another clock's":   {agent.Breaker{}.AfterPause(dawn.Add(agent.MostRest + time.Hour)), dawn, agent.Closed, dawn.Add(agent.MostRest + time.Hour)},
		"a late failure":    {b.AfterFailure(agent.Call{}, three, dawn.Add(time.Second)), dawn, agent.Open, opened},
	} {
		if got := c.b.Phase(c.at); got != c.want || !c.b.RetryAt().Equal(c.retryAt) {
			t.Errorf("%s: %v until %v", name, got, c.b.RetryAt())
		}
	}
	if name := fmt.Sprint(agent.Closed, agent.Open, agent.HalfOpen); name != "closed open half_open" {
		t.Error(name)
	}
}

func TestCallFromBeforeOpeningDoesNotCount(t *testing.T) {
	b := withFailures(agent.Breaker{}, three, 0, 0, 0)
	late := agent.Call{}
	at := dawn.Add(three.Open)
	b = b.Probed("p", three, at).AfterAnswer(agent.Call{Opens: 1, Probe: "p"})
	if after := b.AfterFailure(late, three, at); len(after.Failed) != 0 {
		t.Errorf("a late failure: %+v", after)
	}
	b = b.AfterFailure(agent.Call{Opens: 1}, three, at)
	if after := b.AfterAnswer(late); len(after.Failed) != 1 {
		t.Errorf("a late answer: %+v", after)
	}
}

func TestClockFarAheadDoesNotBlockCallsForever(t *testing.T) {
	ahead := dawn.Add(10 * time.Minute)
	b := withFailures(agent.Breaker{}, three, 10*time.Minute, 10*time.Minute, 10*time.Minute)
	if b.Admits(three, ahead) != agent.Refused {
		t.Fatal("it did not open")
	}
	if got := b.Admits(three, dawn); got != agent.Probing {
		t.Errorf("ten minutes behind: %v", got)
	}
	b = b.Probed("p", three, ahead.Add(three.Open))
	if got := b.Admits(three, dawn); got != agent.Probing {
		t.Errorf("a probe from the future: %v", got)
	}
}
