package locale

import (
	"fmt"
	"strings"

	"piloto/internal/ground/fault"
)

// Phrase is a text in no language yet. Domain code returns phrases. They are rendered where the language of a person
// is known: when a message or a failure is stored, and at the edge.
type Phrase interface {
	// In returns the text in a language.
	In(tag Tag) string
}

// Sentence is one sentence of the catalogue with the values of its placeholders. A value that is a Phrase is
// rendered in the same language.
type Sentence struct {
	Key  string
	Args map[string]any
}

// Say returns the sentence under key, with its placeholders from name, value pairs.
func Say(key string, pairs ...any) Sentence {
	s := Sentence{Key: key, Args: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Args[pairs[i].(string)] = pairs[i+1]
	}
	return s
}

// OfFault returns the sentence of a fault: that of its code, or else that for its answer over HTTP.
func OfFault(f *fault.Error) Sentence {
	key := f.Code
	if !Exists(key) {
		key = "fault." + f.Code
	}
	s := Sentence{Key: key, Args: make(map[string]any, len(f.Args)+len(f.Inner))}
	for name, value := range f.Args {
		s.Args[name] = value
	}
	for name, inner := range f.Inner {
		s.Args[name] = OfFault(inner)
	}
	return s
}

// In returns the sentence in a language.
func (s Sentence) In(tag Tag) string {
	args := make(map[string]string, len(s.Args))
	for name, value := range s.Args {
		switch value := value.(type) {
		case Phrase:
			args[name] = value.In(tag)
		default:
			args[name] = fmt.Sprint(value)
		}
	}
	return Fill(tag, s.Key, args)
}

// Verbatim is a text that is the same in every language: a name, or the text of a person or of a model.
type Verbatim string

// In returns the text.
func (v Verbatim) In(Tag) string { return string(v) }

// Joined is several phrases with Between between them. Phrases that are nil or render to nothing are left out.
type Joined struct {
	Phrases []Phrase
	Between string
}

// Lines joins phrases, one on each line.
func Lines(phrases ...Phrase) Joined { return Joined{phrases, "\n"} }

// In returns the text in a language.
func (j Joined) In(tag Tag) string {
	var texts []string
	for _, p := range j.Phrases {
		if p == nil {
			continue
		}
		if text := strings.TrimSpace(p.In(tag)); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, j.Between)
}

// Exists reports whether the catalogue has a sentence under key. A test holds that both languages have the same keys.
func Exists(key string) bool {
	_, ok := Lookup(Spanish, key)
	return ok
}
