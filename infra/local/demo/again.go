package demo

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// again returns the look that reads anew what some steps name by an id, when its newest answer is in another language than
// that in which the service describes itself now: the card of a plan describes a room as the newest answer does.
func (d dialogue) again(ops []operation, steps any) (look, bool) {
	if !slices.Contains(d.tools, toolLook) {
		return look{}, false
	}
	sent := idsIn(encode(steps))
	known := func(said []string) {
		sent = slices.DeleteFunc(sent, func(id string) bool { return slices.Contains(said, id) })
	}
	for _, read := range slices.Backward(d.reads(ops)) {
		said := textsIn(read.Answer)
		if read.fresh {
			known(said)
			continue
		}
		isNamed := slices.ContainsFunc(sent, func(id string) bool { return slices.Contains(said, id) })
		if once, ok := lookOf(ops, read); ok && isNamed && isForeign(ops, once.Server, said) && !d.looked(once) {
			return once, true
		}
		known(said)
	}
	return look{}, false
}

// looked reports whether the model has looked so in this turn.
func (d dialogue) looked(once look) bool {
	return slices.ContainsFunc(d.tail, func(m openai.ChatCompletionMessage) bool {
		return len(m.ToolCalls) > 0 && m.ToolCalls[0].Function.Arguments == string(encode(once))
	})
}

// lookOf returns the look that made a read; false when no operation can be read so now.
func lookOf(ops []operation, read readAnswer) (look, bool) {
	address, query, _ := strings.Cut(strings.TrimPrefix(read.Called, "GET "), "?")
	asked, err := url.ParseQuery(query)
	for _, op := range ops {
		path, isHere := strings.CutPrefix(address, op.Base)
		if err != nil || !op.Look || !isHere || !op.pattern().MatchString(path) {
			continue
		}
		once := look{op.Server, path, map[string]any{}}
		for _, p := range op.Query {
			if value, ok := coerce(asked.Get(p.Name), p.Type); ok {
				once.Query[p.Name] = value
			}
		}
		return once, true
	}
	return look{}, false
}

// isForeign reports whether a text of an answer is in the language in which the service does not describe itself.
func isForeign(ops []operation, server string, said []string) bool {
	for _, op := range ops {
		for en := range words {
			if _, speaks := words[!en][op.Summary]; speaks && op.Server == server {
				return slices.ContainsFunc(said, func(text string) bool { _, foreign := words[en][text]; return foreign })
			}
		}
	}
	return false
}

// textsIn returns the strings of a JSON value; none of another text.
func textsIn(raw []byte) (list []string) {
	var value any
	if json.Unmarshal(raw, &value) == nil {
		eachText("", value, func(_, text string) { list = append(list, text) })
	}
	return list
}

// idsIn returns the ids that steps send, in their paths and in their members.
func idsIn(steps []byte) (list []string) {
	var value any
	if json.Unmarshal(steps, &value) == nil {
		eachText("", value, func(name, text string) {
			switch {
			case name == "path":
				list = append(list, strings.Split(text, "/")...)
			case roleOf(name) == "id":
				list = append(list, text)
			}
		})
	}
	return list
}

// eachText visits the strings of a JSON value, with the names of their members.
func eachText(name string, value any, visit func(name, text string)) {
	switch value := value.(type) {
	case string:
		visit(name, value)
	case []any:
		for _, one := range value {
			eachText(name, one, visit)
		}
	case map[string]any:
		for name, one := range value {
			eachText(name, one, visit)
		}
	}
}
