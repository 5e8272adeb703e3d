package intent

import (
	"os"
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

// corpus reads testdata/intents.tsv: message in Go escapes, expected intent,
// whether confirming it would be an accident.
func corpus(t testing.TB) []utterance {
	t.Helper()
	raw, err := os.ReadFile("testdata/intents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]Intent{"confirm": Confirm, "cancel": Cancel, "other": Other}
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

func TestClassifyAgreesWithTheCorpus(t *testing.T) {
	rows := corpus(t)
	if len(rows) < 400 {
		t.Fatalf("corpus has %d rows", len(rows))
	}
	for _, row := range rows {
		got := Classify(row.text)
		switch {
		case got == row.want:
		case got == Confirm && row.critical:
			t.Errorf("CRITICAL: %q confirms, want %v", row.text, row.want)
		default:
			t.Errorf("%q is %v, want %v", row.text, got, row.want)
		}
	}
}

func TestListsAreClosedDisjointAndNormal(t *testing.T) {
	for _, text := range Confirmations() {
		if got := Classify(text); got != Confirm {
			t.Errorf("listed confirmation %q is %v", text, got)
		}
		if Normalize(text) != text {
			t.Errorf("confirmation %q is not in normal form", text)
		}
		if negated(text) {
			t.Errorf("confirmation %q holds a negation", text)
		}
	}
	for _, text := range Cancellations() {
		if got := Classify(text); got != Cancel {
			t.Errorf("listed cancellation %q is %v", text, got)
		}
		if Normalize(text) != text {
			t.Errorf("cancellation %q is not in normal form", text)
		}
	}
}

// One word beyond a list entry takes a message off the list, unless what
// results is itself listed.
func TestConfirmIsTheWholeMessage(t *testing.T) {
	words := []string{"no", "pero", "si", "mañana", "but", "not", "Ana", "2", "если", "ls", "never", "quizás"}
	listed := Confirmations()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom(listed).Draw(t, "base")
		extra := rapid.SampledFrom(words).Draw(t, "extra")
		for _, text := range []string{base + " " + extra, extra + ", " + base, base + "\n" + extra, base + extra} {
			if Classify(text) == Confirm && !confirmations()[Normalize(text)] {
				t.Fatalf("%q confirms", text)
			}
		}
		for _, text := range []string{base + "?", "¿" + base + "?", base + " no", "no " + base, `"` + base + `"`, base + " 👎"} {
			if Classify(text) == Confirm {
				t.Fatalf("%q confirms", text)
			}
		}
		for _, text := range []string{strings.ToUpper(base), "  " + base + " !! ", "¡" + base + "!", base + " 👍", base + "."} {
			if Classify(text) != Confirm {
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
		if got != Other && Classify(text) != got {
			t.Fatalf("%q is %v, its normal form %q is %v", message, got, text, Classify(text))
		}
		if got == Confirm && (negated(text) || strings.ContainsAny(message, "?¿")) {
			t.Fatalf("%q confirms", message)
		}
	})
}

// What cannot be read as words, at the largest size a turn accepts, is cheap
// to refuse.
func TestClassifyRefusesNoiseAtFullSize(t *testing.T) {
	for _, piece := range []string{"\u0336", "ﷺ", "\xff", "\ufffc", "ok ", "a\u0301"} {
		if Classify("ok"+strings.Repeat(piece, (32<<10)/len(piece))) != Other {
			t.Errorf("%q repeated is not Other", piece)
		}
	}
}
