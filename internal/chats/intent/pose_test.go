package intent

import (
	"strings"
	"testing"

	"piloto/internal/ground/locale"
)

func TestPosesReachTheirScores(t *testing.T) {
	bySplit := map[string][]sample{}
	for _, s := range readPoses(t) {
		bySplit[s.split] = append(bySplit[s.split], s)
	}
	if len(bySplit["a"]) < 400 || len(bySplit["b"]) < 400 {
		t.Errorf("%d and %d texts", len(bySplit["a"]), len(bySplit["b"]))
	}
	for split, samples := range bySplit {
		pending, done := scores(samples, func(label string, want bool, s sample) {
			t.Logf("%s %s: want %v: %q", split, label, want, s.Text)
		})
		for label, s := range map[string]score{"pending": pending, "done": done} {
			t.Logf("%s %s: %s", split, label, s)
			if least := minScore(split); s.precision() < least || s.recall() < least {
				t.Errorf("%s %s: %s; both must reach %.2f", split, label, s, least)
			}
		}
	}
}

// held lists the splits below 0.95, with their worst score. The texts of r, af and ag are
// ordinary answers and were not used for training: they show the quality for new texts. Those of
// the others were written to be hard, or are long.
var held = map[string]float64{"r": 0.92, "s": 0.92, "u": 0.87, "w": 0.93, "x": 0.93, "z": 0.89, "ae": 0.87}

// minScore returns the required score of a split.
func minScore(split string) float64 {
	if least, ok := held[split]; ok {
		return least
	}
	return 0.95
}

// The product's own texts do not pose, except the two about a pending plan: from a model,
// without a call, those would pose.
func TestPosesPassesNoticesOfTheProduct(t *testing.T) {
	for _, lang := range []locale.Tag{"es", "en"} {
		for _, key := range []string{
			"turn.none_pending", "turn.already_running", "turn.cancelled", "turn.superseded",
			"turn.bad_call", "turn.empty", "turn.too_many_rounds", "blocked.no_api_key.do", "blocked.rate_limited", "blocked.provider_unreachable.do",
		} {
			if text := locale.Text(lang, key); Poses(text).Pending {
				t.Errorf("%s %s poses: %q", lang, key, text)
			}
		}
		if text := locale.Text(lang, "turn.proposed"); !Poses(text).Pending {
			t.Errorf("%s: no plan waits: %q", lang, text)
		}
		if text := locale.Text(lang, "turn.confirmed"); !Poses(text).Done {
			t.Errorf("%s: nothing is being done: %q", lang, text)
		}
	}
}

// mostPerByte bounds the comparisons per byte of a text.
const mostPerByte = 40

// countOperations counts the comparisons for a text.
func countOperations(text string) int64 {
	before := operations.Load()
	Poses(text)
	return operations.Load() - before
}

// The cost is linear in the length, for any text of 64 KB.
func TestPosesCostIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("large texts")
	}
	units := []string{
		"a", "\"", "`\"", "```\n", "> ", "«", "no ", "si quieres ", "me te se lo ", "he ya me lo ", "i've now already ", "se ha ya ",
		"would you like me to go now ", "please just then ", "i will go ahead and now ", "¿quieres que te lo ", "¿", "? ",
		"{\"plan\":", "propose_plan ", "- 1. ", "…", "a\u0301", "plan: ", "dear ", "la sala está reservada ", "pedido ", "booked ",
		"borrando ", "hecho, ", "si ", "by ", "en 1990 ", "le ", "plan ", "confirma ", "yes ", "paso 1 ",
		"se ha enviado ", "enviado ", "tu ", "room's gone ", "a.b@c ", "tienes ",
		"14 sent ", "the 3 ", "el 3 de mayo ", "fue ", "le damos ", "i went and ", "dile ", "reminder set to ", "ready to ",
	}
	check := func(unit string, size int) {
		text := strings.Repeat(unit, size/len(unit))
		if n := countOperations(text); n > mostPerByte*int64(len(text)) {
			t.Errorf("%q: %d comparisons for %d bytes", unit, n, len(text))
		}
	}
	for _, a := range units {
		check(a, 64<<10)
		if testing.Short() {
			continue
		}
		for _, b := range units {
			check(a+b, 4<<10)
		}
	}
}

// Formatting does not change the pose of a text.
func TestPosesIgnoresFormatting(t *testing.T) {
	for _, text := range []string{
		"**¿Confirmas que reserve la sala?**",
		"> Responde **confirmo** para ejecutar",
		"¿CONFIRMAS QUE RESERVE LA SALA?",
		"¿Con\u200bfirmas que reserve la sala?",
		strings.Repeat("La sala tiene luz natural. ", 200) + "¿La reservo?",
		"¿La reservo?\n\n" + strings.Repeat("La sala tiene luz natural. ", 200),
	} {
		if !Poses(text).Pending {
			t.Errorf("Poses(%.60q) = false", text)
		}
	}
}

func FuzzPoses(f *testing.F) {
	for i, row := range readPoses(f) {
		if testing.Short() && i%10 > 0 {
			continue
		}
		f.Add(row.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n := countOperations(text); n > mostPerByte*int64(len(text)+64) {
			t.Fatalf("%d comparisons for %d bytes", n, len(text))
		}
		if !Poses(text + "\n¿Confirmas la reserva?").Pending {
			t.Fatalf("%q hides the question after it", text)
		}
	})
}

// Only the rules classify a long answer; the model classifies a common one, too.
func BenchmarkPoses(b *testing.B) {
	for name, sentences := range map[string]int{"common": 4, "long": 400} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat("La sala tiene luz natural, una pizarra y el plan de evacuación junto a la puerta. ", sentences)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if Poses(text).Pending {
					b.Fatal("prose poses")
				}
			}
		})
	}
}
