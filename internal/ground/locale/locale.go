// Package locale holds every sentence that a person reads, Spanish first: the answers of the chat, the messages of
// a run, and the errors. A sentence has a key in text/LANG/*.json. Both languages have the same keys and the same
// placeholders; a test checks this. The page adds its own sentences (Add), so that only its function has them.
//
// A placeholder is {name}; {n:paso|pasos} is the first word when n is 1, else the second; {n:#} is a number with the sign of the
// language between its thousands.
package locale

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"piloto/internal/ground/render"
)

// Tag is a supported language.
type Tag string

// The languages. The first is the default.
const (
	Spanish Tag = "es"
	English Tag = "en"
)

// model has the texts that only a model reads, in English. It is no language of a person.
const model = "model"

// Tags lists the languages, the default first.
func Tags() []Tag { return []Tag{Spanish, English} }

//go:embed text prompts
var files embed.FS

// sources are the files with sentences, each in text/LANG.
var sources = []embed.FS{files}

// Add adds the sentences of text/LANG/*.json. It is called while the program starts.
func Add(more embed.FS) { sources = append(sources, more) }

// catalogue loads the sentences of a language when the first one is needed, so that the start of a process does not
// wait for them.
var catalogue = map[Tag]func() map[string]string{
	Spanish: sync.OnceValue(func() map[string]string { return load(Spanish) }),
	English: sync.OnceValue(func() map[string]string { return load(English) }),
	model:   sync.OnceValue(func() map[string]string { return load(model) }),
}

var matcher = sync.OnceValue(func() language.Matcher {
	return language.NewMatcher([]language.Tag{language.Spanish, language.English})
})

// Match returns the best language for a tag or an Accept-Language header, and Spanish when it is unreadable or
// unknown.
func Match(accept string) Tag {
	if len(accept) > 256 {
		return Spanish
	}
	tags, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(tags) == 0 {
		return Spanish
	}
	_, i, confidence := matcher().Match(tags...)
	if confidence == language.No {
		return Spanish
	}
	return Tags()[i]
}

// inWords maps the names of the languages, as people write them.
var inWords = map[string]Tag{
	"español": Spanish, "espanol": Spanish, "castellano": Spanish, "spanish": Spanish,
	"inglés": English, "ingles": English, "english": English,
}

// Parse returns the language that a person wrote, as a tag or by name, and otherwise when the text names no
// supported language.
func Parse(written string, otherwise Tag) Tag {
	written = strings.ToLower(strings.TrimSpace(written))
	if tag, ok := inWords[written]; ok {
		return tag
	}
	tag, err := language.Parse(written)
	if err != nil {
		return otherwise
	}
	_, i, confidence := matcher().Match(tag)
	if confidence == language.No {
		return otherwise
	}
	return Tags()[i]
}

// Text returns the sentence under key with its placeholders filled from name, value pairs. For a key that does not
// exist it returns the key, so that the mistake is visible.
func Text(tag Tag, key string, pairs ...string) string {
	args := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return Fill(tag, key, args)
}

// ModelText is Text for a sentence that only a model reads (text/model), in English.
func ModelText(key string, pairs ...string) string { return Text(model, key, pairs...) }

// Fill does the same as Text, with the placeholders in a map.
func Fill(tag Tag, key string, args map[string]string) string {
	sentence, ok := Lookup(tag, key)
	if !ok {
		return key
	}
	if !strings.Contains(sentence, "{") {
		return sentence
	}
	return placeholder().ReplaceAllStringFunc(sentence, func(p string) string {
		name, forms, plural := strings.Cut(p[1:len(p)-1], ":")
		value, ok := args[name]
		switch {
		case !ok && !plural:
			return p
		case !plural:
			return value
		}
		if forms == "#" {
			return Grouped(tag, value)
		}
		one, many, _ := strings.Cut(forms, "|")
		if value == "1" {
			return one
		}
		return many
	})
}

// Lookup returns the sentence under key with its placeholders, and whether it exists.
func Lookup(tag Tag, key string) (string, bool) {
	texts, ok := catalogue[tag]
	if !ok {
		texts = catalogue[Spanish]
	}
	s, ok := texts()[key]
	return s, ok
}

// Keys returns every key that begins with prefix, sorted.
func Keys(prefix string) []string {
	var keys []string
	for k := range catalogue[Spanish]() {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// prompts parses the prompts when the first one is needed: few functions call a model.
var prompts = sync.OnceValue(func() map[Tag]*render.Set {
	all := map[Tag]*render.Set{}
	for _, tag := range append(Tags(), model) {
		sources := map[string]string{}
		eachFile(files, path.Join("prompts", string(tag)), func(name string, raw []byte) {
			sources[strings.TrimSuffix(name, ".tmpl")] = string(raw)
		})
		all[tag] = render.New(sources)
	}
	return all
})

// Prompt renders a prompt that has words of a person, or is shown to one (prompts/LANG/name.tmpl).
func Prompt(tag Tag, name string, data map[string]any) (string, error) {
	t, ok := prompts()[tag]
	if !ok {
		t = prompts()[Spanish]
	}
	return execute(t, name, data)
}

// ModelPrompt renders a prompt that only a model reads (prompts/model/name.tmpl). It is in English in every chat, because a
// provider finds a prompt in its cache only if it begins as the one before.
func ModelPrompt(name string, data map[string]any) (string, error) {
	return execute(prompts()[model], name, data)
}

func execute(t *render.Set, name string, data map[string]any) (string, error) {
	var b strings.Builder
	err := t.Execute(&b, name, data, nil)
	return strings.TrimSpace(b.String()), err
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{[a-z_]+(:[^{}|]*\|[^{}|]*|:#)?\}`)
})

// load reads the embedded catalogue of one language. An error in it is a programming error, and panics.
func load(tag Tag) map[string]string {
	all := make(map[string]string, 2048)
	from := sources
	if tag == model {
		from = sources[:1] // nobody adds to them
	}
	for _, source := range from {
		eachFile(source, path.Join("text", string(tag)), func(name string, raw []byte) {
			if err := read(string(raw), all); err != nil {
				panic(fmt.Sprintf("locale: %s/%s: %v", tag, name, err))
			}
		})
	}
	return all
}

// read adds the members of a JSON object of strings. Package json would need a millisecond and a half for this, and
// every function reads the catalogue for its first request.
func read(text string, into map[string]string) error {
	next := func() (string, error) { // the next string, without its quotes
		open := strings.IndexByte(text, '"') + 1
		if open == 0 {
			return "", io.ErrUnexpectedEOF
		}
		end, escaped := open, false
		for ; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				end, escaped = end+1, true
			}
		}
		if end >= len(text) {
			return "", io.ErrUnexpectedEOF
		}
		quoted := text[open-1 : end+1]
		text = text[end+1:]
		if !escaped {
			return quoted[1 : len(quoted)-1], nil
		}
		var plain string
		err := json.Unmarshal([]byte(quoted), &plain)
		return plain, err
	}
	for strings.Contains(text, `"`) {
		key, err := next()
		if err != nil {
			return err
		}
		value, err := next()
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if _, twice := into[key]; twice {
			return fmt.Errorf("%s stands twice", key)
		}
		into[key] = value
	}
	return nil
}

// eachFile reads the embedded files of a folder.
func eachFile(files embed.FS, dir string, do func(name string, raw []byte)) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic(fmt.Sprintf("locale: %v", err))
	}
	for _, e := range entries {
		raw, err := files.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			panic(fmt.Sprintf("locale: %v", err))
		}
		do(e.Name(), raw)
	}
}
