package openai

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/thought"
	"piloto/internal/models/llm"
)

// Some servers do not know the form in which their model writes a call, and leave it in the text. A call in a text counts
// when its name is that of an offered tool and its arguments are a whole object.

// Forms of calls in a text: Qwen and Hermes (also GLM), Llama, Mistral, DeepSeek, Kimi, MiniMax.
var (
	qwen     = thought.Block{Open: "<tool_call>", Close: "</tool_call>"}
	function = thought.Block{Open: "<function=", Close: "</function>"}
	python   = thought.Block{Open: "<|python_tag|>"}
	mistral  = thought.Block{Open: "[TOOL_CALLS]"}
	deepSeek = thought.Block{Open: "<｜tool▁calls▁begin｜>", Close: "<｜tool▁calls▁end｜>"}
	kimi     = thought.Block{Open: "<|tool_calls_section_begin|>", Close: "<|tool_calls_section_end|>"}
	miniMax  = thought.Block{Open: "<minimax:tool_call>", Close: "</minimax:tool_call>"}

	callBlocks = []thought.Block{qwen, function, python, mistral, deepSeek, kimi, miniMax}
)

// Parts of these forms.
var (
	inFunction = lazy.Pattern(`(?s)^<function=([^>\s]+)>(.*?)(?:</function>)?$`)
	inGLM      = lazy.Pattern(`(?s)^([^\s<>{}]+)\s*(<arg_key>.*)?$`)
	inDeepSeek = lazy.Pattern(`(?s)<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>\s*(\S+)|(.*?)<｜tool▁sep｜>)(.*?)<｜tool▁call▁end｜>`)
	inKimi     = lazy.Pattern(`(?s)<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>`)
	inMiniMax  = lazy.Pattern(`(?s)<invoke name="([^"]+)">(.*?)</invoke>`)
	inMistral  = lazy.Pattern(`(?s)^([^\s\[\]{}]+?)(?:\[CALL_ID\][^\[]*)?\[ARGS\](.*)$`)
	parameter  = lazy.Pattern(`(?s)<(?:parameter=([^>]+)|parameter name="([^"]+)")>\n?(.*?)\n?</parameter>`)
	argument   = lazy.Pattern(`(?s)<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
	fenced     = lazy.Pattern("(?s)^```(?:json)?\\s*(.*?)\\s*```$")
)

// written is a call as a model wrote it into its text.
type written struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Type       string          `json:"type"`
	ID         json.RawMessage `json:"id"`
}

// callsIn returns the calls of a block. It reports false when one of them is no call of an offered tool.
func callsIn(b thought.Block, inner string, tools []llm.Tool) ([]llm.Call, bool) {
	inner = strings.TrimSpace(inner)
	var list []written
	add := func(name, arguments string) {
		list = append(list, written{Name: name, Arguments: json.RawMessage(bare(arguments))})
	}
	each := func(pattern *regexp.Regexp) [][]string { return pattern.FindAllStringSubmatch(inner, -1) }
	switch {
	case b == deepSeek:
		for _, m := range each(inDeepSeek()) {
			add(m[1]+m[2], m[3])
		}
	case b == kimi:
		for _, m := range each(inKimi()) {
			add(m[1], m[2])
		}
	case b == miniMax:
		for _, m := range each(inMiniMax()) {
			add(m[1], pairs(parameter(), m[2], m[1], tools))
		}
	case b == function, b == qwen && strings.HasPrefix(inner, function.Open):
		if m := inFunction().FindStringSubmatch(function.Open + strings.TrimPrefix(inner, function.Open)); m != nil {
			rest := strings.TrimSpace(m[2])
			if !strings.HasPrefix(rest, "{") {
				rest = pairs(parameter(), rest, m[1], tools)
			}
			add(m[1], rest)
		}
	case strings.HasPrefix(inner, "{"), strings.HasPrefix(inner, "["):
		list = listed(inner)
	case b == mistral:
		for one := range strings.SplitSeq(inner, mistral.Open) {
			if m := inMistral().FindStringSubmatch(strings.TrimSpace(one)); m != nil {
				add(m[1], m[2])
			}
		}
	case b == qwen:
		if m := inGLM().FindStringSubmatch(inner); m != nil {
			add(m[1], pairs(argument(), m[2], m[1], tools))
		}
	}
	return offered(list, tools)
}

// calledBy returns the call of a message for a tool. Its tool may be one that is not offered, as in a call that a server reads.
func calledBy(to, body string, tools []llm.Tool) ([]llm.Call, bool) {
	name, function := strings.CutPrefix(to, "functions.")
	known := toolNamed(to, tools)
	call := llm.Call{Name: cmp.Or(known, name), Arguments: strings.TrimSpace(body)}
	return []llm.Call{call}, known != "" || function
}

// listed reads one call, or a list of them, as JSON. Anything else is none.
func listed(text string) (list []written) {
	if text = strings.TrimSuffix(text, "</s>"); !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	if in.Decode(&list) != nil || in.More() {
		return nil
	}
	return list
}

// offered returns the calls, if each is one of an offered tool and its arguments are an object.
func offered(list []written, tools []llm.Tool) (calls []llm.Call, ok bool) {
	for _, w := range list {
		raw := strings.TrimSpace(cmp.Or(string(w.Arguments), string(w.Parameters), "{}"))
		if strings.HasPrefix(raw, `"`) {
			raw = strings.TrimSpace(textIn(json.RawMessage(raw)))
		}
		name := toolNamed(w.Name, tools)
		if name == "" || !strings.HasPrefix(raw, "{") || !json.Valid([]byte(raw)) {
			return nil, false
		}
		calls = append(calls, llm.Call{Name: name, Arguments: raw})
	}
	return calls, len(calls) > 0
}

// bare returns what is inside of a fence.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if m := fenced().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// pairs returns the arguments of a call that are written one by one: as text, or as JSON where the tool wants no text.
func pairs(pattern *regexp.Regexp, text, tool string, tools []llm.Tool) string {
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	name := toolNamed(tool, tools)
	if at := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == name }); at >= 0 {
		_ = json.Unmarshal(tools[at].Parameters, &schema) // without a schema all are texts
	}
	found := members{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		key, value := strings.TrimSpace(m[1]), m[len(m)-1]
		if key == "" {
			key = m[2]
		}
		kind := schema.Properties[key].Type
		if raw := strings.TrimSpace(value); kind != nil && kind != "string" && json.Valid([]byte(raw)) {
			found[key] = json.RawMessage(raw)
		} else {
			found[key], _ = json.Marshal(value) // a string can be encoded
		}
	}
	return cmp.Or(string(found.object()), "{}")
}

// toolNamed returns the offered tool that a model's name of a tool means, and "" when there is none. Models put the name into
// a space of names (functions.x, default_api:x), and leave marks of their template behind it (x<|channel|>commentary).
func toolNamed(name string, tools []llm.Tool) string {
	has := func(name string) bool {
		return slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name })
	}
	if has(name) {
		return name
	}
	name, _, _ = strings.Cut(name, "<|")
	name = strings.Trim(name, " \t\r\n\"'`")
	name = counted().ReplaceAllString(name, "")
	if has(name) {
		return name
	}
	if name = strings.TrimLeft(name[strings.LastIndexAny(name, ".:/")+1:], " \"'`"); has(name) {
		return name
	}
	return ""
}

// counted is the number of a call behind its name: functions.x:0.
var counted = lazy.Pattern(`:\d+$`)
