package run

import (
	"bytes"
	"encoding/json"
	"slices"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
)

// Bounds of the errors in an answer.
const (
	mostTroubles = 3 // of one answer
	troubleDepth = 3 // objects within objects
)

// troubleWords end the names of members in which a service says that something went wrong, also in an answer that is good.
var troubleWords = lazy.Words("error errors err errs warning warnings warn fault faults failure failures problem problems exception exceptions aviso avisos advertencia advertencias fallo fallos errores problema problemas")

// trouble is a member of an answer that reports an error.
type trouble struct {
	name  string
	value json.RawMessage
}

// isTrouble reports whether a member is one in which a service says that something went wrong.
func isTrouble(name string) bool {
	words := wordsOf(name)
	return len(words) > 0 && troubleWords()[words[len(words)-1]]
}

// withoutTrouble returns an answer without the members that say, or could say, that something went wrong, and those that do.
func withoutTrouble(body json.RawMessage, depth int) (rest json.RawMessage, found []trouble) {
	members, ok := jcs.Members(body)
	if !ok || depth == 0 {
		return body, nil
	}
	out, changed := bytes.NewBufferString("{"), false
	for _, m := range members {
		value := m.Value
		if isTrouble(m.Name) {
			changed = true
			if text := string(bytes.TrimSpace(value)); says(value) && text != "0" && text != "false" {
				found = append(found, trouble{m.Name, value})
			}
			continue
		}
		inner, more := withoutTrouble(value, depth-1)
		changed = changed || len(inner) != len(value)
		found = append(found, more...)
		name, err := json.Marshal(m.Name)
		if err != nil {
			return body, nil
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(inner)
	}
	if !changed {
		return body, nil
	}
	out.WriteByte('}')
	return out.Bytes(), found
}

// describeTrouble returns a line for each thing that went wrong, as untrusted text.
func describeTrouble(list []trouble, names []ref.Named) []locale.Phrase {
	var lines []locale.Phrase
	for _, t := range list {
		for _, text := range troubleTexts(t.value, troubleDepth) {
			if len(lines) == mostTroubles {
				return lines
			}
			lines = append(lines, locale.Say("run.answer_says", "name", called(names, field{member: t.name, name: escaped(oneLine(t.name))}), "text", text))
		}
	}
	return lines
}

// troubleTexts returns the sentences of a value: those of a list, and of an object its message, or else all it has.
func troubleTexts(value json.RawMessage, depth int) (texts []locale.Phrase) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		for _, one := range list {
			if depth > 0 && says(one) {
				texts = append(texts, troubleTexts(one, depth-1)...)
			}
		}
		return texts
	}
	members, ok := jcs.Members(value)
	if !ok {
		return []locale.Phrase{cellOf(value)}
	}
	for _, name := range []string{"message", "detail", "mensaje", "detalle", "description", "title", "reason", "msg"} {
		at := slices.IndexFunc(members, func(m jcs.Member) bool { return m.Name == name && says(m.Value) })
		if at >= 0 && !isComposite(members[at].Value) {
			return []locale.Phrase{cellOf(members[at].Value)}
		}
	}
	for _, m := range members {
		if depth > 0 && says(m.Value) {
			texts = append(texts, troubleTexts(m.Value, depth-1)...)
		}
	}
	return texts
}
