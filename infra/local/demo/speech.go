package demo

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/chats/claim"
)

//go:embed texts.json
var textsFile []byte

// texts holds every sentence, by key and language. None may read as a plan.
var texts = decoded[map[string]struct{ ES, EN string }](textsFile)

// speech writes answers in one language.
type speech struct{ en bool }

func (s speech) say(key string, values ...any) string {
	format := texts[key].ES
	if s.en {
		format = texts[key].EN
	}
	return fmt.Sprintf(format, values...)
}

// about writes a sentence about an operation. It uses the address where the title would make the
// sentence read as a plan: a summary such as «Confirm the booking» would.
func (s speech) about(key string, op operation, values ...any) string {
	if text := s.say(key, append([]any{s.word(op.title())}, values...)...); !claim.Read(text).Poses() {
		return text
	}
	return s.say(key, append([]any{op.address()}, values...)...)
}

// askText matches an earlier question for missing values.
var askText = regexp.MustCompile(`^(?:Me falta algo|Something is missing) .*: ([^.:]+)\. (?:¿Qué|Which) `)

// ask asks for the values that are missing: those that the operation must have, and one of those that it may change.
func (s speech) ask(op operation, missing []string) string {
	var must, may []string
	for i, label := range s.labels(missing) {
		switch at := slices.IndexFunc(op.parameters(), func(p parameter) bool { return p.Name == missing[i] }); {
		case at < 0 || op.parameters()[at].Required:
			must = append(must, label)
		default:
			may = append(may, label)
		}
	}
	text := strings.Join(append(must, may...), ", ")
	switch {
	case len(may) > 1 && len(must) > 0:
		text = s.say("ask.which", strings.Join(must, ", "), strings.Join(may, ", "))
	case len(may) > 1:
		text = s.say("ask.any", text)
	}
	return s.about("ask", op, text)
}

// abilities lists up to eight operations.
func (s speech) abilities(ops []operation) string {
	if len(ops) == 0 {
		return s.say("no_service")
	}
	var b strings.Builder
	b.WriteString(s.say("abilities"))
	for i, op := range ops {
		if i == 8 {
			b.WriteString(s.say("more", len(ops)-i))
			break
		}
		line := fmt.Sprintf("\n- %s (%s)", s.word(op.title()), op.address())
		if claim.Read(line).Poses() {
			line = "\n- " + op.address()
		}
		b.WriteString(line)
	}
	return b.String()
}
