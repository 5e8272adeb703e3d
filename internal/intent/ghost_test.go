package intent

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

type assistantText struct {
	split, tier, text string
	ghost             bool
}

// texts reads testdata/ghosts.tsv: split, tier, label, text in Go escapes. The
// rules were first written with the split tuned; held, fresh, third and fourth
// were each worded apart and scored once before the rules were changed for them
// (recall 0.84, 0.70, 0.70, 0.84; precision 0.93, 0.95, 1.00, 0.96).
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
	for _, name := range []string{"must/tune", "must/unseen", "must/tuned", "must/held", "must/fresh", "must/third", "must/fourth", "must", "should"} {
		s := scores[name]
		t.Logf("%-10s precision %.3f recall %.3f (%+v)", name, s.precision(), s.recall(), *s)
		if strings.HasPrefix(name, "must") && (s.precision() < 0.95 || s.recall() < 0.95) {
			t.Errorf("%s: precision %.3f, recall %.3f; both must reach 0.95", name, s.precision(), s.recall())
		}
	}
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
