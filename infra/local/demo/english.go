package demo

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"piloto/internal/ground/locale"
)

//go:embed english.json
var englishFile []byte

// english has the sentences of the service and the agent by their Spanish text: in their documents, and in their answers.
var english = func() struct{ Document, Answers map[string]string } {
	out := decoded[struct{ Document, Answers map[string]string }](englishFile)
	for _, room := range rooms {
		out.Answers[seatsOf(room)] = fmt.Sprintf("%s seats %d", out.Answers[room.Name], room.Capacity)
	}
	return out
}()

// words maps each text of english in one language to the other language: words[true] is to English.
var words = func() map[bool]map[string]string {
	out := map[bool]map[string]string{false: {}, true: {}}
	for _, texts := range []map[string]string{english.Document, english.Answers} {
		for es, en := range texts {
			out[true][es], out[false][en] = en, es
		}
	}
	return out
}()

// word returns a text of the service in the language of the sentence; another text as it is.
func (s speech) word(text string) string {
	if other, ok := words[s.en][text]; ok {
		return other
	}
	return text
}

// inJSON returns a replacer of whole JSON strings.
func inJSON(texts map[string]string) *strings.Replacer {
	var pairs []string
	for _, es := range slices.Sorted(maps.Keys(texts)) {
		pairs = append(pairs, string(encode(es)), string(encode(texts[es])))
	}
	return strings.NewReplacer(pairs...)
}

var (
	englishDocument = sync.OnceValue(func() []byte {
		return []byte(inJSON(english.Answers).Replace(inJSON(english.Document).Replace(string(document))))
	})
	englishAnswers = sync.OnceValue(func() *strings.Replacer { return inJSON(english.Answers) })
)

// Speak has the service answer, and describe itself, in a language from now on. The first is Spanish.
func (s *Service) Speak(tag locale.Tag) { s.english.Store(tag == locale.English) }

// Language returns the language in which the service answers.
func (s *Service) Language() locale.Tag {
	if s.english.Load() {
		return locale.English
	}
	return locale.Spanish
}

// In returns a text of the demonstration, which is given in Spanish, in a language.
func In(tag locale.Tag, text string) string { return speech{tag == locale.English}.word(text) }
