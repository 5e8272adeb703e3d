package ask

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
	"piloto/internal/workspace/filespec"
)

// A call of write_file that the provider cut at its token limit is finished: what arrived goes back to the model as a call, whose
// result says where it ends, and the model sends the rest. All parts are one call in the answer. Nothing of it is made before.

// Bounds of a file that is written in several answers.
const (
	mostParts   = 24
	mostWritten = 96 << 10 // bytes
)

// Bounds of the place where two parts of a file are joined, in bytes.
const (
	writeTail    = 80   // of the first part that the model is shown, at least
	writeTails   = 400  // and at most, where less of it stands elsewhere in the file, too
	writeOverlap = 4096 // that the second part may repeat
	writeHead    = 200  // by which a part is known that begins anew
)

// writing is a call of write_file of which a part arrived.
type writing struct {
	before  []llm.Call // of its reply, each whole
	call    llm.Call
	path    string
	mode    string
	content string
	closed  bool // its arguments have their end, although the answer was cut
}

// begun returns the write with which an answer was cut; false when it ends otherwise, or nothing of the content arrived. Some
// providers give another reason for the end.
func (q *Query) begun(answer llm.Reply) (w writing, ok bool) {
	last := len(answer.Calls) - 1
	if last < 0 || q.NoCalls || !q.writes(answer.Calls[last].Name) || !isCut(answer) {
		return w, false
	}
	w.before, w.call = answer.Calls[:last], answer.Calls[last]
	if slices.ContainsFunc(w.before, func(c llm.Call) bool { _, err := toolcall.Arguments(c.Arguments); return err != nil }) {
		return w, false
	}
	got, ok := readPart(w.call.Arguments)
	w.path, w.mode, w.content, w.closed = got.path, got.mode, got.content, json.Valid([]byte(w.call.Arguments))
	return w, ok && w.content != ""
}

// writes reports whether a tool of the request is write_file, of the server or of a client, and can add to a file.
func (q *Query) writes(name string) bool {
	return name == filespec.WriteFile.Name && slices.ContainsFunc(q.Tools, func(t llm.Tool) bool {
		var schema struct {
			Properties struct {
				Path, Content json.RawMessage
				Mode          struct{ Enum []string }
			}
		}
		return t.Name == name && json.Unmarshal(t.Parameters, &schema) == nil && schema.Properties.Path != nil && schema.Properties.Content != nil &&
			slices.Contains(schema.Properties.Mode.Enum, filespec.Append)
	})
}

// isCut reports whether the last call of an answer was cut, or may have been.
func isCut(answer llm.Reply) bool {
	if answer.Cut || len(answer.Calls) == 0 {
		return answer.Length
	}
	b, ok := toolcall.Begin(answer.Calls[len(answer.Calls)-1].Arguments)
	return ok && b.Open == "content"
}

// part is what a call of write_file has, of which the content may be cut.
type part struct{ path, mode, content string }

func readPart(arguments string) (p part, ok bool) {
	b, ok := toolcall.Begin(arguments)
	if ok = ok && (b.Open == "" || b.Open == "content"); b.Open == "content" {
		b.Members[b.Open] = b.Text
	}
	return part{b.Members["path"], b.Members["mode"], b.Members["content"]}, ok
}

// finish asks for the rest of a write until it is whole. Where it does not end, the answer stays as it was, cut.
func (q *Query) finish(ctx context.Context, calls *paid.Calls, cut llm.Reply, w writing) (llm.Reply, error) {
	before := q.Messages
	q.quiet = true
	defer func() { q.Messages, q.quiet = before, false }()
	for range mostParts {
		q.Messages = slices.Concat(before, w.soFar(cut))
		more, err := q.askPart(ctx, calls)
		if err != nil && errors.Is(context.Cause(ctx), ErrStopped) {
			return cut, err
		}
		cut.Usage = sum(cut.Usage, more.Usage)
		next, rest, ok := w.add(more)
		if err != nil || !ok || len(next.content) > mostWritten {
			q.Log.WarnContext(ctx, "turn.write_not_finished", "turn_id", calls.Turn.ID, "bytes", len(w.content), "error", err)
			return cut, nil
		}
		if w = next; w.closed {
			whole := cut
			whole.Calls, whole.Cut, whole.Length = slices.Concat(w.before, []llm.Call{w.whole()}, rest), false, false
			return whole, nil
		}
	}
	return cut, nil
}

// askPart asks for one more part, in its own time.
func (q *Query) askPart(ctx context.Context, calls *paid.Calls) (llm.Reply, error) {
	if q.Again == nil {
		return q.askOnce(ctx, calls)
	}
	ctx, cancel := q.Again()
	defer cancel()
	return q.askOnce(ctx, calls)
}

// whole returns the call with all that arrived.
func (w writing) whole() llm.Call {
	c := w.call
	raw, err := jcs.Marshal(struct {
		Path    string `json:"path,omitempty"`
		Mode    string `json:"mode,omitempty"`
		Content string `json:"content"`
	}{w.path, w.mode, w.content})
	if err == nil { // they are texts
		c.Arguments = string(raw)
	}
	return c
}

// soFar returns the call with what arrived, and its result.
func (w writing) soFar(cut llm.Reply) []llm.Message {
	c := llm.Distinct([]llm.Call{w.whole()}, nil)
	ask := locale.ModelText("prompt.cut_write", "n", toolcall.Encode(len([]rune(w.content))), "tail", toolcall.Encode(w.tail()))
	return []llm.Message{
		{Role: llm.Assistant, Content: cut.Text, Thought: cut.Thought, Extra: cut.Extra, Calls: c},
		{Role: llm.ToolRole, CallID: c[0].ID, Content: ask},
	}
}

// tail returns the end of what arrived, so much that it stands nowhere else in it.
func (w writing) tail() string {
	for n := writeTail; ; n *= 2 {
		if len(w.content) <= n {
			return w.content
		}
		tail := w.content[clip.Boundary(w.content, len(w.content)-n):]
		if n >= writeTails || isOnce(w.content, tail) {
			return tail
		}
	}
}

// add adds a further answer. rest are the calls of it that are another thing. It reports false when the answer does not go on with the
// file.
func (w writing) add(more llm.Reply) (next writing, rest []llm.Call, ok bool) {
	at := slices.IndexFunc(more.Calls, func(c llm.Call) bool {
		p, ok := readPart(c.Arguments)
		return ok && c.Name == w.call.Name && (w.path == "" || p.path == "" || cleanPath(p.path) == cleanPath(w.path))
	})
	if more.Cut && !more.Length {
		return w, nil, false
	}
	if at < 0 { // it has nothing to add
		if more.Length {
			more.Calls = nil
		}
		return w, more.Calls, w.closed
	}
	p, _ := readPart(more.Calls[at].Arguments)
	cutHere := isCut(more) && at == len(more.Calls)-1
	if !more.Length {
		rest = slices.Delete(slices.Clone(more.Calls), at, at+1)
	}
	was := len(w.content)
	if w.path == "" {
		w.path = p.path
	}
	switch again := w.beginsAnew(p); {
	case again && cutHere && len(p.content) <= was: // it was farther before
	case again:
		w.content = p.content
	default:
		w.content += p.content[overlap(w.content, p.content):]
	}
	w.closed = !cutHere
	return w, rest, w.closed && w.path != "" || cutHere && len(w.content) > was
}

func cleanPath(path string) string { return strings.TrimPrefix(path, "./") }

// beginsAnew reports whether a further part is the file from its beginning, and not its rest.
func (w writing) beginsAnew(p part) bool {
	if p.mode != filespec.Append {
		line, _, _ := strings.Cut(w.content, "\n")
		other, _, _ := strings.Cut(p.content, "\n")
		return strings.TrimSpace(line) != "" && line == other
	}
	head := w.content[:min(len(w.content), writeHead)]
	return strings.HasPrefix(p.content, head) && isOnce(w.content, head)
}

// overlap returns how many bytes of a further part repeat the end of what is there. An end that stands there more than once is a
// file that repeats itself.
func overlap(before, after string) int {
	for n := min(len(before), len(after), writeOverlap); n >= seamLeast; n-- {
		if strings.HasSuffix(before, after[:n]) {
			if !isOnce(before, before[len(before)-min(n, writeTail):]) {
				return 0
			}
			return n
		}
	}
	return 0
}

func isOnce(text, part string) bool {
	return strings.Index(text, part) == strings.LastIndex(text, part)
}
