package command

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// last is the last segment of the path of an operation that runs a command.
const last = "command"

// Of returns the command that a step carries: the member "command" (or "cmd") of the
// body of a POST to …/command, or the body itself when it is a string.
func Of(method, path string, body json.RawMessage) (text string, ok bool) {
	path, _, _ = strings.Cut(path, "?")
	if method != "POST" || path[strings.LastIndexByte(path, '/')+1:] != last {
		return "", false
	}
	if json.Unmarshal(body, &text) == nil {
		return text, !bytes.Equal(bytes.TrimSpace(body), []byte("null"))
	}
	_, text, ok = member(body)
	return text, ok
}

// member finds the command of an object.
func member(body json.RawMessage) (name, text string, ok bool) {
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

// Texts are what a shell may read of a step that Of finds a command in, or would but
// for its shape: receivers differ in which member they run, whether it is a list, and
// what they add to it, so all of it counts. None for any other step.
func Texts(method, path string, body json.RawMessage) (texts []string) {
	if _, ok := Of(method, path, json.RawMessage(`""`)); !ok {
		return nil
	}
	if text := shellText("", body); text != "" {
		return []string{text}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
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

// Destroys reports whether any text of a step that carries a command is destructive.
// Where none is known the whole body is looked at.
func Destroys(method, path string, body json.RawMessage) bool {
	if _, ok := Of(method, path, json.RawMessage(`""`)); !ok || len(body) == 0 {
		return false
	}
	texts := Texts(method, path, body)
	if len(texts) == 0 {
		return destroys(string(body))
	}
	return slices.ContainsFunc(texts, func(text string) bool { return Classify(text).Class == Destructive })
}

// The members of a body that receivers run, those that they add to it, and those that
// it reads.
var (
	carriers  = set("command commands cmd cmds commandline command_line script shell run exec code")
	additions = set("args argv arguments params parameters flags options")
	inputs    = set("stdin input")
)

// shellText is a text, or a list of words or of lines, as a shell would read it.
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

// With returns the body with another command, and everything else as it is. A body
// without a command is returned as it came.
func With(body json.RawMessage, text string) json.RawMessage {
	written, err := marshal(text)
	if err != nil {
		return body
	}
	var whole string
	if json.Unmarshal(body, &whole) == nil && !bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return written
	}
	name, _, ok := member(body)
	if !ok {
		return body
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	object[name] = written
	out, err := marshal(object)
	if err != nil {
		return body
	}
	return out
}

// marshal writes JSON in which & and < stand for themselves.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Failed reports whether the answer of a step that ran a command says that the
// command failed: its exit code is not 0, or its status says so, or its success is
// false. An answer that says nothing of these did not fail. detail is what the
// answer says of it, as data: at most 300 characters of one line.
func Failed(body json.RawMessage) (failed bool, detail string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false, ""
	}
	why := ""
	for _, name := range []string{"exit_code", "exitCode", "exitcode", "returncode", "return_code", "code"} {
		var n json.Number
		if raw, has := object[name]; has && json.Unmarshal(unquoted(raw), &n) == nil && n != "" {
			if f, err := n.Float64(); err == nil && f != 0 {
				why = name + " " + n.String()
				break
			}
		}
	}
	for _, name := range []string{"status", "state"} {
		var text string
		if why == "" && json.Unmarshal(object[name], &text) == nil && failing[strings.ToLower(strings.TrimSpace(text))] {
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
	if said := said(object); said != "" {
		why += ": " + said
	}
	return true, oneLine(why, 300)
}

var failing = map[string]bool{
	"error": true, "failed": true, "failure": true, "timeout": true, "timed_out": true, "timedout": true, "ko": true, "fail": true, "killed": true, "aborted": true,
}

// unquoted is a number that was written as a string.
func unquoted(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return json.RawMessage(strings.TrimSpace(text))
	}
	return raw
}

// said is what an answer tells of a failure: the last line of what the command
// wrote, or a message.
func said(object map[string]json.RawMessage) string {
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
