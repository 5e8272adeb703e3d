package demo

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVerbsHaveOneKind: a word means one kind of action, also as the beginning of another.
func TestVerbsHaveOneKind(t *testing.T) {
	for kind, words := range vocabulary.Verbs {
		for word := range words {
			word = strings.TrimSuffix(word, "*")
			for range 20 { // the kinds are a map
				if got := verbOf(word); got != kind {
					t.Fatalf("%s is of the kinds %s and %s", word, kind, got)
				}
			}
		}
	}
	for _, word := range []string{"sala", "room", "reservas", "reservation", "verde"} {
		if got := verbOf(word); got != "" {
			t.Errorf("%s is a verb: %s", word, got)
		}
	}
}

// TestTextsAreInBothLanguages: each key of the code has both sentences, with the same values.
func TestTextsAreInBothLanguages(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file.Name())
		if err != nil || !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:say|about)\("([a-z_.]+)"`).FindAllStringSubmatch(string(raw), -1) {
			used[m[1]] = true
			if _, ok := texts[m[1]]; !ok {
				t.Errorf("%s says %s, which is no text", file.Name(), m[1])
			}
		}
	}
	marks := regexp.MustCompile(`%[a-z]`)
	for key, text := range texts {
		es, en := marks.FindAllString(text.ES, -1), marks.FindAllString(text.EN, -1)
		if text.ES == "" || text.EN == "" || strings.Join(es, "") != strings.Join(en, "") || !used[key] {
			t.Errorf("%s: %q, %q, used %t", key, text.ES, text.EN, used[key])
		}
	}
}
