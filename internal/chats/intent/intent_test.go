package intent

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type utterance struct {
	text     string
	want     Intent
	critical bool
}

// corpus reads testdata/intents.tsv: message in Go escapes, expected intent, and whether its
// confirmation would be an accident.
func corpus(t testing.TB) []utterance {
	t.Helper()
	raw, err := os.ReadFile("testdata/intents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]Intent{}
	for i := Other; i <= Stop; i++ {
		named[i.String()] = i
	}
	var out []utterance
	for n, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if n == 0 {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			t.Fatalf("line %d: %d fields", n+1, len(fields))
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[0], `"`, `\"`) + `"`)
		want, known := named[fields[1]]
		if err != nil || !known {
			t.Fatalf("line %d: %q: %v", n+1, line, err)
		}
		out = append(out, utterance{text, want, fields[2] == "yes"})
	}
	return out
}

func TestClassifyAgreesWithCorpus(t *testing.T) {
	rows := corpus(t)
	if len(rows) < 400 {
		t.Fatalf("corpus has %d rows", len(rows))
	}
	for _, row := range rows {
		got := Classify(row.text)
		switch {
		case got == row.want:
		case got.Agrees() && row.critical:
			t.Errorf("CRITICAL: %q is %v, want %v", row.text, got, row.want)
		default:
			t.Errorf("%q is %v, want %v", row.text, got, row.want)
		}
	}
}

func TestListsAreClosedDisjointAndNormal(t *testing.T) {
	seen := map[string]Intent{}
	for kind := Assent; kind <= Stop; kind++ {
		for _, text := range Words(kind) {
			if before, twice := seen[text]; twice {
				t.Errorf("%q is on two lists: %v and %v", text, before, kind)
			}
			seen[text] = kind
			if got := Classify(text); got != kind {
				t.Errorf("%q of the list of %v is %v", text, kind, got)
			}
			if Normalize(text) != text {
				t.Errorf("%q is not in normal form", text)
			}
			if kind.Agrees() && hasNegation(text) {
				t.Errorf("the %v %q holds a negation", kind, text)
			}
		}
	}
	if len(Words(Assent)) < 100 || len(Words(Confirm)) < 100 || len(Words(Refusal)) < 50 || len(Words(Cancel)) < 50 || len(Words(Stop)) < 20 {
		t.Error("a list is short")
	}
}

// TestNamedSeparatesBareFromNamedMessages checks the messages that are about a plan in any chat, and those that
// answer the last message.
func TestNamedSeparatesBareFromNamedMessages(t *testing.T) {
	for kind, texts := range map[Intent][]string{
		Assent: {
			"sí", "ok", "vale", "dale", "claro", "adelante", "hazlo", "procede", "de acuerdo", "sí, por favor", "acepto", "apruebo",
			"yes", "sure", "go ahead", "do it", "sounds good", "proceed", "yes please", "👍", "👍🏽", " 👌 👍",
		},
		Confirm: {
			"confirmo", "Confirma el plan", "sí, confirmo", "ejecuta", "ejecútalo", "ejecuta el plan", "adelante con el plan", "apruebo el plan",
			"confirm", "I confirm", "run it", "run the plan", "yes, run the plan", "execute the plan", "proceed with the plan",
		},
		Refusal: {"no", "No, gracias", "no thanks", "mejor no", "ya no", "déjalo", "never mind", "forget it", "not now"},
		Cancel:  {"cancela", "cancélalo", "cancela el plan", "descarta el plan", "rechazo", "no lo ejecutes", "cancel", "abort", "discard it", "don't run it"},
		Stop:    {"detener", "detente", "para", "para ya", "alto", "basta", "stop", "stop it", "halt", "please stop"},
		Other:   {"👍👎", "❤️", "🎉", "✅", "❓", "👍 pero mañana", "undo", "para mañana", "para 6", "stop by the office", "cancela la reserva 5", "plan", "ok gracias"},
	} {
		for _, text := range texts {
			if got := Classify(text); got != kind {
				t.Errorf("%q is %v, want %v", text, got, kind)
			}
		}
	}
}

// One word more than a list entry takes a message off the list, unless the result is itself
// listed.
func TestConfirmRequiresWholeMessage(t *testing.T) {
	words := []string{"no", "pero", "si", "mañana", "but", "not", "Ana", "2", "если", "ls", "never", "quizás"}
	listed := slices.Concat(Words(Assent), Words(Confirm))
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom(listed).Draw(t, "base")
		extra := rapid.SampledFrom(words).Draw(t, "extra")
		for _, text := range []string{base + " " + extra, extra + ", " + base, base + "\n" + extra, base + extra} {
			if Classify(text).Agrees() && yeses()[Normalize(text)] == Other {
				t.Fatalf("%q confirms", text)
			}
		}
		for _, text := range []string{base + "?", "¿" + base + "?", base + " no", "no " + base, `"` + base + `"`, base + " 👎"} {
			if Classify(text).Agrees() {
				t.Fatalf("%q confirms", text)
			}
		}
		for _, text := range []string{strings.ToUpper(base), "  " + base + " !! ", "¡" + base + "!", base + " 👍", base + "."} {
			if Classify(text) != Classify(base) {
				t.Fatalf("%q does not confirm", text)
			}
		}
	})
}

func FuzzClassify(f *testing.F) {
	for _, row := range corpus(f) {
		f.Add(row.text)
	}
	f.Add("\xff\xfeok")
	f.Add("İ\u0307ẞ㏂Å̧")
	f.Fuzz(func(t *testing.T, message string) {
		got, text := Classify(message), Normalize(message)
		if again := Normalize(text); again != text {
			t.Fatalf("Normalize(%q) = %q, then %q", message, text, again)
		}
		if got != Other && text != "" && Classify(text) != got {
			t.Fatalf("%q is %v, its normal form %q is %v", message, got, text, Classify(text))
		}
		if got.Agrees() && (hasNegation(text) || strings.ContainsAny(message, "?¿")) {
			t.Fatalf("%q confirms", message)
		}
	})
}

// Noise of the largest size that a turn accepts is cheap to refuse.
func TestClassifyRefusesNoiseAtFullSize(t *testing.T) {
	for _, piece := range []string{"\u0336", "ﷺ", "\xff", "\ufffc", "ok ", "a\u0301"} {
		if Classify("ok"+strings.Repeat(piece, (32<<10)/len(piece))) != Other {
			t.Errorf("%q repeated is not Other", piece)
		}
	}
}
