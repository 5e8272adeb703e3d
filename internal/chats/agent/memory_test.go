package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"piloto/internal/chats/agent"
)

// noon is the start time of the memories' tests.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func newExchange(n int, by string, at time.Time) agent.Exchange {
	return agent.Exchange{User: fmt.Sprint("pregunta ", n), Agent: by, Response: fmt.Sprint("respuesta ", n), At: at}
}

// TestMemoryHoldsNewestExchangesThatFit compares memories with a list of all exchanges since they last
// expired.
func TestMemoryHoldsNewestExchangesThatFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m agent.Memory
		var all []agent.Exchange
		now, newest := noon, noon
		for range rapid.IntRange(1, 40).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{-600, 0, 1, 60, 3600, 86_400 - 1, 86_400, 100_000}).Draw(t, "seconds")) * time.Second)
			if len(all) > 0 && !now.Before(newest.Add(agent.MemoryLife)) {
				all = nil
			}
			e := agent.Exchange{
				User:     strings.Repeat("a", rapid.SampledFrom([]int{1, 100, 8 << 10}).Draw(t, "user")),
				Agent:    rapid.SampledFrom([]string{"", "reserva"}).Draw(t, "agent"),
				Response: strings.Repeat("b", rapid.SampledFrom([]int{0, 100, 8 << 10}).Draw(t, "response")), At: now,
			}
			before := m.Version
			m, all = m.Add(e), append(all, e)
			if newest = m.UpdatedAt; now.After(newest) || m.Version <= before || !m.ExpiresAt.Equal(newest.Add(agent.MemoryLife)) {
				t.Fatalf("%+v at %v after version %d", m, now, before)
			}
			want, size := 0, 0
			for i := len(all) - 1; i >= 0 && want < agent.Kept; i-- {
				if size += len(all[i].User) + len(all[i].Agent) + len(all[i].Response); want > 0 && size > 64<<10 {
					break
				}
				want++
			}
			if d := cmp.Diff(all[len(all)-want:], m.Exchanges); d != "" {
				t.Fatal(d)
			}
			if m.Current() != e.Agent || !m.Has(e) {
				t.Fatalf("the newest is not there: %+v", m)
			}
			if shown := m.Recent(); len(shown) != min(want, agent.Shown) || !cmp.Equal(shown[len(shown)-1], e) {
				t.Fatalf("%d are shown of %d", len(shown), want)
			}
		}
	})
}

// TestRetriedMessageIsOneExchange: the last answer is stored.
func TestRetriedMessageIsOneExchange(t *testing.T) {
	first, again, other := newExchange(1, "", noon), newExchange(1, "venta", noon.Add(time.Minute)), newExchange(2, "", noon.Add(30*time.Second))
	first.ID, again.ID, other.ID = "m1", "m1", "m2"
	m := agent.Memory{}.Add(first).Add(other)
	if before := m.Without("m1"); len(before.Exchanges) != 1 || before.Current() != "" || before.Version != m.Version || len(m.Exchanges) != 2 {
		t.Errorf("%+v of %+v", before, m)
	}
	if d := cmp.Diff([]agent.Exchange{other, again}, m.Add(again).Exchanges); d != "" {
		t.Error(d)
	}
	if m.Has(again) || !m.Add(again).Has(again) {
		t.Error("two answers are taken for one")
	}
	if same := (agent.Memory{}).Add(newExchange(1, "", noon)).Add(newExchange(1, "", noon)); len(same.Exchanges) != 2 {
		t.Errorf("two messages without a name are one: %+v", same)
	}
}

func TestMemoryExpiresByClockAndNotByStore(t *testing.T) {
	m := agent.Memory{Company: 7, Session: "s"}.Add(newExchange(1, "venta", noon))
	last := noon.Add(agent.MemoryLife - 1)
	if d := cmp.Diff(m, m.At(last)); d != "" {
		t.Error(d)
	}
	over := m.At(noon.Add(agent.MemoryLife))
	if d := cmp.Diff(agent.Memory{Company: 7, Session: "s", Version: m.Version}, over); d != "" {
		t.Error(d)
	}
	if next := m.Add(newExchange(2, "", noon.Add(agent.MemoryLife))); len(next.Exchanges) != 1 || next.Current() != "" {
		t.Errorf("what had expired is remembered: %+v", next)
	}
	if next := m.Add(newExchange(2, "", last)); len(next.Exchanges) != 2 {
		t.Errorf("what had not expired is forgotten: %+v", next)
	}
	if none := (agent.Memory{}); none.Current() != "" || len(none.Recent()) != 0 {
		t.Error("nothing was said, and something is remembered")
	}
}

// TestDeletedMemoryIsNotTakenForNewOne: a turn read a memory that was then deleted and created
// again. It must not take the new memory for the one it read.
func TestDeletedMemoryIsNotTakenForNewOne(t *testing.T) {
	old := agent.Memory{}.Add(newExchange(1, "", noon))
	anew := agent.Memory{}.Add(newExchange(2, "", noon.Add(time.Second)))
	if old.Version == anew.Version {
		t.Errorf("both have version %d", old.Version)
	}
}

func TestExchangeIsBoundedAndReadable(t *testing.T) {
	long := strings.Repeat("ñ", 5000) // 10,000 bytes
	for _, c := range []struct{ name, in, want string }{
		{"short", "hola\n\tqué tal", "hola\n\tqué tal"},
		{"lines of others", "a\r\nb", "a\nb"},
		{"controls", "a\x00b\x1bc\x7fd\u0085e", "abcde"},
		{"no UTF-8", "a\xff\xfeb", "ab"},
		{"long", long, strings.Repeat("ñ", (8<<10-3)/2) + "…"},
	} {
		e := agent.Memory{}.Add(agent.Exchange{User: c.in, Response: c.in, Agent: c.in, At: noon.Add(1500 * time.Microsecond)}).Exchanges[0]
		if e.User != c.want || e.Response != c.want {
			t.Errorf("%s: %.40q (%d bytes)", c.name, e.User, len(e.User))
		}
		if len(e.User) > 8<<10 || len(e.Agent) > 200 || !utf8.ValidString(e.User+e.Agent) {
			t.Errorf("%s: %d bytes, agent %d", c.name, len(e.User), len(e.Agent))
		}
		if !e.At.Equal(noon.Add(time.Millisecond)) {
			t.Errorf("%s: at %v", c.name, e.At)
		}
	}
}

func TestExchangeIsEncodedAsInDocument001(t *testing.T) {
	list := []agent.Exchange{newExchange(1, "", noon), newExchange(2, "reserva", noon.Add(time.Minute))}
	raw, err := json.Marshal(list)
	want := `[{"user":"pregunta 1","agent":null,"response":"respuesta 1","timestamp":"2026-03-02T12:00:00Z"},` +
		`{"user":"pregunta 2","agent":"reserva","response":"respuesta 2","timestamp":"2026-03-02T12:01:00Z"}]`
	if err != nil || string(raw) != want {
		t.Errorf("%s %v", raw, err)
	}
}
