package intent

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/locale"
)

type assistantText struct {
	split, tier, text string
	ghost             bool
}

// texts reads testdata/ghosts.tsv: split, tier, label, text in Go escapes. Only
// tune and tuned were in sight while rules were written. Every other split was
// worded apart and scored once before the rules were changed for what it missed,
// so these first scores, not those of this test, say how texts to come fare
// (precision/recall): held 0.93/0.84, fresh 0.95/0.70, third 1.00/0.70, fourth
// 0.96/0.84, unseen 0.94/0.65 with the rules of an earlier day; fifth 1.00/0.68,
// sixth 1.00/0.83, seventh 0.91/0.78, eighth 1.00/0.85, ninth 1.00/0.79, tenth
// 1.00/1.00. Three sets quoted from the public, not kept here, had 0.90/0.92,
// 0.93/0.89 and 0.86/0.79.
func texts(t testing.TB) []assistantText {
	t.Helper()
	raw, err := os.ReadFile("testdata/ghosts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []assistantText
	for n, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if n == 0 {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			t.Fatalf("line %d: %d fields", n+1, len(fields))
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[3], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		out = append(out, assistantText{fields[0], fields[1], text, fields[2] == "ghost"})
	}
	return out
}

type score struct{ hits, misses, alarms, quiet float64 }

func (s *score) count(want, got bool) {
	switch {
	case want && got:
		s.hits++
	case want:
		s.misses++
	case got:
		s.alarms++
	default:
		s.quiet++
	}
}

func (s score) precision() float64 { return s.hits / max(1, s.hits+s.alarms) }
func (s score) recall() float64    { return s.hits / max(1, s.hits+s.misses) }

func TestGhostIsPreciseAndComplete(t *testing.T) {
	rows := texts(t)
	if len(rows) < 250 {
		t.Fatalf("corpus has %d texts", len(rows))
	}
	scores := map[string]*score{}
	for _, row := range rows {
		got := Ghost(row.text)
		for _, name := range []string{row.tier, row.tier + "/" + row.split} {
			if scores[name] == nil {
				scores[name] = &score{}
			}
			scores[name].count(row.ghost, got)
		}
		if got != row.ghost {
			t.Logf("%s/%s: Ghost(%q) = %v", row.tier, row.split, row.text, got)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		s := scores[name]
		t.Logf("%-12s precision %.3f recall %.3f (%+v)", name, s.precision(), s.recall(), *s)
		if strings.HasPrefix(name, "must") && (s.precision() < 0.95 || s.recall() < 0.95) {
			t.Errorf("%s: precision %.3f, recall %.3f; both must reach 0.95", name, s.precision(), s.recall())
		}
	}
}

// The product's own words pass, but for the two that speak of a plan at hand:
// from a model, without a call, those would be ghosts.
func TestGhostKnowsTheProductsNotices(t *testing.T) {
	for _, lang := range []locale.Tag{"es", "en"} {
		for _, key := range []string{
			"turn.none_pending", "turn.already_running", "turn.cancelled", "turn.superseded", "turn.ghost",
			"turn.bad_call", "turn.empty", "turn.too_many_rounds", "blocked.no_api_key.do", "blocked.rate_limited", "blocked.provider_unreachable.do",
		} {
			if text := locale.Text(lang, key); Ghost(text) {
				t.Errorf("%s %s is a ghost: %q", lang, key, text)
			}
		}
		for _, key := range []string{"turn.proposed", "turn.confirmed"} {
			if text := locale.Text(lang, key); !Ghost(text) {
				t.Errorf("%s %s passes: %q", lang, key, text)
			}
		}
	}
}

// The cost grows with the length, whatever the text is made of: a text of eight times
// the length costs about eight times as much, and 64 times where the cost is quadratic.
// The least of several costs, taken by turns, is compared: what else runs on the machine
// only adds to some of them.
func TestGhostIsLinear(t *testing.T) {
	for _, unit := range []string{"a", "\"", "`\"", "```\n", "no ", "si quieres ", "me te se lo ", "would you like me to go now ", "please just then ", "i will go ahead and now ", "¿quieres que te lo ", "{\"plan\":", "propose_plan ", "- 1. ", "…", "a\u0301"} {
		short, long := strings.Repeat(unit, 32<<10/len(unit)), strings.Repeat(unit, 256<<10/len(unit))
		a, b := spent(short), spent(long)
		for tries := 0; b > 32*a && tries < 20; tries++ {
			a, b = min(a, spent(short)), min(b, spent(long))
		}
		if b > 32*a {
			t.Errorf("%q: 256 KB cost %.0f times as much as 32 KB", unit, float64(b)/float64(a))
		}
	}
}

func spent(text string) time.Duration {
	start := time.Now()
	Ghost(text)
	return max(time.Since(start), 1)
}

// A ghost stays one however it is dressed.
func TestGhostIgnoresDress(t *testing.T) {
	for _, text := range []string{
		"**¿Confirmas que reserve la sala?**",
		"> Responde **confirmo** para ejecutar",
		"¿CONFIRMAS QUE RESERVE LA SALA?",
		"¿Con\u200bfirmas que reserve la sala?",
		strings.Repeat("La sala tiene luz natural. ", 200) + "¿La reservo?",
		"¿La reservo?\n\n" + strings.Repeat("La sala tiene luz natural. ", 200),
	} {
		if !Ghost(text) {
			t.Errorf("Ghost(%.60q) = false", text)
		}
	}
}

func FuzzGhost(f *testing.F) {
	for _, row := range texts(f) {
		f.Add(row.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Ghost(text)
		if !Ghost(text + "\n¿Confirmas la reserva?") {
			t.Fatalf("%q hides the question after it", text)
		}
	})
}

// An answer as long as a model may give is judged at once.
func BenchmarkGhost(b *testing.B) {
	text := strings.Repeat("La sala tiene luz natural, una pizarra y el plan de evacuación junto a la puerta. ", 400)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Ghost(text) {
			b.Fatal("prose is a ghost")
		}
	}
}
