package command

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"piloto/internal/ground/jcs"
	"piloto/internal/ground/lazy"
	"piloto/internal/tools/tool"
)

// commandSegment is the last path segment of an operation that runs a command.
const commandSegment = "command"

// Of returns the command that a step carries: the member "command" (or "cmd") of the body of a POST
// to …/command, or the body itself when it is a string.
func Of(a tool.Arguments) (text string, ok bool) {
	if !carries(a) {
		return "", false
	}
	if json.Unmarshal(a.Body, &text) == nil {
		return text, !bytes.Equal(bytes.TrimSpace(a.Body), []byte("null"))
	}
	_, text, ok = commandMember(a.Body)
	return text, ok
}

// carries reports whether a call is the POST to …/command.
func carries(a tool.Arguments) bool {
	path, _, _ := strings.Cut(a.Path, "?")
	return a.Method == "POST" && path[strings.LastIndexByte(path, '/')+1:] == commandSegment
}

// commandMember returns the command member of an object.
func commandMember(body json.RawMessage) (name, text string, ok bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return "", "", false
	}
	for _, name := range []string{"command", "cmd"} {
		if raw, has := object[name]; has && json.Unmarshal(raw, &text) == nil && !bytes.Equal(raw, []byte("null")) {
			return name, text, true
		}
	}
	return "", "", false
}

// Texts returns all texts that a shell may read of a step in which Of finds a command, also when
// the body has another shape. Receivers differ in the member that they run, in whether it may be a
// list, and in the arguments that they add, so all of these count. It returns nil for any other
// step.
func Texts(a tool.Arguments) (texts []string) {
	if !carries(a) {
		return nil
	}
	if text := shellText("", a.Body); text != "" {
		return []string{text}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(a.Body, &object) != nil {
		return nil
	}
	added := ""
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text := shellText(name, object[name])
		switch kind := strings.ToLower(name); {
		case text == "":
		case carriers()[kind]:
			texts = append(texts, text)
		case additions()[kind]:
			added += " " + text
		case inputs()[kind]:
			added += " <<<'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
	}
	for i := range texts {
		texts[i] += added
	}
	return texts
}

// Destroys reports whether any text of a step that carries a command is destructive. If the body
// has no such text, the whole body is checked.
func Destroys(a tool.Arguments) bool {
	if !carries(a) || len(a.Body) == 0 {
		return false
	}
	texts := Texts(a)
	if len(texts) == 0 {
		return isDestructive(string(a.Body))
	}
	return slices.ContainsFunc(texts, func(text string) bool { return Classify(text).Class == Destructive })
}

// The members of a body that receivers run, those that they append, and those that they pipe into
// it.
var (
	carriers  = lazy.Words("command commands cmd cmds commandline command_line script shell run exec code")
	additions = lazy.Words("args argv arguments params parameters flags options")
	inputs    = lazy.Words("stdin input")
)

// shellText returns a text, or a list of words or lines, as a shell would read it.
func shellText(name string, raw json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return strings.TrimSpace(text)
	case json.Unmarshal(raw, &list) != nil || len(list) == 0:
		return ""
	case strings.HasSuffix(name, "ds"), name == "script", strings.Contains(strings.TrimSpace(list[0]), " "):
		return strings.Join(list, "\n")
	}
	return strings.Join(list, " ")
}

// With returns the body with another command and everything else unchanged. A body without a
// command is returned unchanged.
func With(body json.RawMessage, text string) json.RawMessage {
	written, err := jcs.Marshal(text)
	if err != nil {
		return body
	}
	var whole string
	if json.Unmarshal(body, &whole) == nil && !bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return written
	}
	name, _, ok := commandMember(body)
	if !ok {
		return body
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	object[name] = written
	out, err := jcs.Marshal(object)
	if err != nil {
		return body
	}
	return out
}

// Failed reports whether the response to a command reports failure: its exit code is not 0, its
// status is a failure, or its success is false. A response without these did not fail. detail is
// the response's description of the failure, as untrusted data: at most 300 characters on one line.
func Failed(body json.RawMessage) (failed bool, detail string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false, ""
	}
	why := ""
	for _, name := range []string{"exit_code", "exitCode", "exitcode", "returncode", "return_code", "code"} {
		var n json.Number
		if raw, has := object[name]; has && json.Unmarshal(unquote(raw), &n) == nil && n != "" {
			if f, err := n.Float64(); err == nil && f != 0 {
				why = name + " " + n.String()
				break
			}
		}
	}
	for _, name := range []string{"status", "state"} {
		var text string
		if why == "" && json.Unmarshal(object[name], &text) == nil && failureStates[strings.ToLower(strings.TrimSpace(text))] {
			why = name + " " + text
		}
	}
	for _, name := range []string{"success", "ok"} {
		var well bool
		if raw, has := object[name]; why == "" && has && !bytes.Equal(raw, []byte("null")) && json.Unmarshal(raw, &well) == nil && !well {
			why = name + " false"
		}
	}
	if why == "" {
		return false, ""
	}
	if said := failureText(object); said != "" {
		why += ": " + said
	}
	return true, oneLine(why, 300)
}

var failureStates = map[string]bool{
	"error": true, "failed": true, "failure": true, "timeout": true, "timed_out": true, "timedout": true, "ko": true, "fail": true, "killed": true, "aborted": true,
}

// unquote returns a number that was written as a string.
func unquote(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(strings.TrimSpace(text))
	}
	return raw
}

// failureText returns the response's description of a failure: the last line of the command's
// output, or a message.
func failureText(object map[string]json.RawMessage) string {
	for _, name := range []string{"stderr", "error", "message", "detail", "output", "stdout"} {
		var text string
		if json.Unmarshal(object[name], &text) != nil {
			continue
		}
		if text = strings.TrimSpace(text); text != "" {
			return text[strings.LastIndexByte(text, '\n')+1:]
		}
	}
	return ""
}
