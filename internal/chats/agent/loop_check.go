package agent

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/toolset"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/visible"
)

// Bounds of a loop. MostLoops is how many an account has of its own.
const (
	MostLoops     = 100
	MaxSteps      = 200
	MaxTimeoutS   = 7 * 24 * 60 * 60
	maxLoopName   = 40
	maxAbout      = 2_000 // characters
	maxGlobs      = 50
	maxGlob       = 64 // bytes
	maxServers    = 100
	maxKeywords   = 50
	maxKeyword    = 100     // characters
	maxModelName  = 200     // bytes
	minAnswer     = 16      // tokens
	maxAnswerMost = 128_000 // tokens
)

// ReadLoop returns the agent that a merge patch makes of the shipped one, or of the defaults for another name. It
// returns every problem of the name and of the patch.
func ReadLoop(name string, patch json.RawMessage) (Loop, []fault.Field) {
	var wrong []fault.Field
	if !isLoopName(name) {
		wrong = append(wrong, fault.Field{Loc: []any{"path", "name"}, Type: "agent_name"})
	}
	base, _ := shipped(name)
	l, more := base.merged(patch)
	return l, append(wrong, more...)
}

// isLoopName reports whether a loop may have the name: small letters, so that no two names differ by case alone.
func isLoopName(name string) bool {
	return name != "" && len(name) <= maxLoopName && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// merged returns the loop with a merge patch over it, and every problem of the patch.
func (l Loop) merged(patch json.RawMessage) (Loop, []fault.Field) {
	own, err := json.Marshal(l)
	if err != nil { // a Loop has strings and numbers only
		panic(err)
	}
	members := map[string]json.RawMessage{}
	if raw := mergePatch(own, patch); json.Unmarshal(raw, &members) != nil || members == nil {
		return l, []fault.Field{fieldError("object_type")}
	}
	out := Loop{Name: l.Name, Mode: ConfirmSensitive, MaxSteps: usualSteps, TimeoutS: usualTimeout, Eval: EvalOff}
	targets := map[string]any{
		"description": &out.Description, "prompt": &out.Prompt, "tools": &out.Tools, "servers": &out.Servers, "mode": &out.Mode,
		"max_steps": &out.MaxSteps, "timeout_s": &out.TimeoutS, "budget_micros": &out.BudgetMicros, "warn_micros": &out.WarnMicros,
		"max_tokens": &out.MaxTokens, "assistant": &out.Assistant, "eval": &out.Eval, "keywords": &out.Keywords,
	}
	var wrong []fault.Field
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch to, known := targets[name]; {
		case !known:
			wrong = append(wrong, fieldError("extra_forbidden", name))
		case decodeMember(members[name], to) != nil:
			wrong = append(wrong, fieldError("type_error", name))
		}
	}
	return out, append(wrong, out.check(wrong)...)
}

// decodeMember decodes one member, and refuses unknown fields in it.
func decodeMember(raw json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// mergePatch applies a merge patch (RFC 7386) to a document.
func mergePatch(document, patch json.RawMessage) json.RawMessage {
	var changes, members map[string]json.RawMessage
	if json.Unmarshal(patch, &changes) != nil || changes == nil {
		return patch
	}
	if json.Unmarshal(document, &members) != nil || members == nil {
		members = map[string]json.RawMessage{}
	}
	for name, value := range changes {
		if string(value) == "null" {
			delete(members, name)
			continue
		}
		members[name] = mergePatch(members[name], value)
	}
	merged, err := json.Marshal(members)
	if err != nil { // every member was decoded from JSON
		panic(err)
	}
	return merged
}

// check returns the problems of a loop. A member that could not be decoded has its problem already.
func (l Loop) check(before []fault.Field) []fault.Field {
	var wrong []fault.Field
	add := func(typ string, loc ...any) {
		if !slices.ContainsFunc(before, func(f fault.Field) bool { return f.Loc[len(f.Loc)-1] == loc[0] }) {
			wrong = append(wrong, fieldError(typ, loc...))
		}
	}
	if len(l.Prompt) > clip.Instructions {
		wrong = append(wrong, fault.TooLong(l.Prompt, clip.Instructions, "body", "prompt"))
	}
	l.checkTexts(add)
	l.checkLists(add)
	l.checkBounds(add)
	return wrong
}

func (l Loop) checkTexts(add func(typ string, loc ...any)) {
	if l.Prompt == "" && !IsShipped(l.Name) {
		add("missing", "prompt")
	}
	for _, t := range []struct {
		member, text string
	}{{"prompt", l.Prompt}, {"description", l.Description}} {
		switch {
		case t.text != "" && visible.Blank(t.text):
			add("string_too_short", t.member)
		case t.member == "description" && utf8.RuneCountInString(t.text) > maxAbout:
			add("string_too_long", t.member)
		case strings.ContainsFunc(t.text, isUnseen):
			add("string_pattern_mismatch", t.member)
		}
	}
}

// isUnseen reports a character that is not for a text of several lines.
func isUnseen(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }

func (l Loop) checkLists(add func(typ string, loc ...any)) {
	for _, list := range []struct {
		member string
		values []string
		most   int
		wrong  func(string) string
	}{
		{"tools", l.Tools, maxGlobs, wrongGlob},
		{"servers", l.Servers, maxServers, wrongText(maxGlob)},
		{"keywords", l.Keywords, maxKeywords, wrongText(maxKeyword)},
	} {
		if len(list.values) > list.most {
			add("too_long", list.member)
			continue
		}
		for i, value := range list.values {
			if typ := list.wrong(value); typ != "" {
				add(typ, list.member, i)
			} else if slices.Contains(list.values[:i], value) {
				add("duplicate", list.member, i)
			}
		}
	}
}

// wrongGlob returns the problem of a glob: it has to match a tool.
func wrongGlob(glob string) string {
	if len(glob) > maxGlob {
		return "string_too_long"
	}
	if slices.ContainsFunc(toolset.Names(), func(name string) bool { return matches(glob, name) }) {
		return ""
	}
	return "matches_nothing"
}

// matches reports whether a glob (*, ? and [a-z]) matches a tool's name. A bad pattern matches nothing.
func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// wrongText returns a function that returns the problem of one line of text.
func wrongText(most int) func(string) string {
	return func(text string) string {
		switch {
		case visible.Blank(text):
			return "string_too_short"
		case utf8.RuneCountInString(text) > most:
			return "string_too_long"
		case strings.ContainsFunc(text, unicode.IsControl):
			return "string_pattern_mismatch"
		}
		return ""
	}
}

func (l Loop) checkBounds(add func(typ string, loc ...any)) {
	for _, bad := range []struct {
		is     bool
		typ    string
		member string
	}{
		{!slices.Contains([]Mode{ConfirmAll, ConfirmSensitive, Yolo}, l.Mode), "enum", "mode"},
		{!slices.Contains([]Eval{EvalOff, EvalBasic, EvalFull}, l.Eval), "enum", "eval"},
		{l.MaxSteps < 1 || l.MaxSteps > MaxSteps, "out_of_range", "max_steps"},
		{l.TimeoutS < 1 || l.TimeoutS > MaxTimeoutS, "out_of_range", "timeout_s"},
		{l.BudgetMicros < 0, "out_of_range", "budget_micros"},
		{l.WarnMicros < 0 || l.BudgetMicros > 0 && l.WarnMicros > l.BudgetMicros, "out_of_range", "warn_micros"},
		{l.MaxTokens != 0 && (l.MaxTokens < minAnswer || l.MaxTokens > maxAnswerMost), "out_of_range", "max_tokens"},
	} {
		if bad.is {
			add(bad.typ, bad.member)
		}
	}
	l.Assistant.check(add)
}

// check adds the problems of an assistant; nil has none.
func (a *Assistant) check(add func(typ string, loc ...any)) {
	if a == nil {
		return
	}
	for _, m := range []struct{ member, value string }{{"provider", a.Provider}, {"model", a.Model}} {
		if typ := wrongText(maxModelName)(m.value); typ != "" {
			add(typ, "assistant", m.member)
		}
	}
}

// Check returns every problem of an assistant; nil has none.
func (a *Assistant) Check() (wrong []fault.Field) {
	a.check(func(typ string, loc ...any) { wrong = append(wrong, fieldError(typ, loc...)) })
	return wrong
}
