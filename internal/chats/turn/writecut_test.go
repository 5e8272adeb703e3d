package turn_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/workspace/filespec"
)

// longFile is a file of about 60 KB, with what JSON escapes.
func longFile() string {
	var b strings.Builder
	for i := range 1100 {
		fmt.Fprintf(&b, "%d\tlínea «ñ» \"%d\" \\ 😀 de un fichero <largo>\n", i, i*i)
	}
	return b.String()
}

// writeArguments are those of a call of write_file. Those that end with … are cut after so many bytes of the content.
func writeArguments(path, mode, content string) string {
	raw, _ := json.Marshal(struct {
		Path    string `json:"path"`
		Mode    string `json:"mode,omitempty"`
		Content string `json:"content"`
	}{path, mode, content})
	return string(raw)
}

func cutArguments(path, mode, content string) string {
	return strings.TrimSuffix(writeArguments(path, mode, content), `"}`)
}

// inParts is a model whose answers end after so many bytes of arguments: it goes on where the result says that its call was cut.
func inParts(t *testing.T, whole string, size int) (answers []any) {
	raw := cutArguments("largo.txt", "", whole)
	head := len(cutArguments("largo.txt", "", ""))
	first := raw[:head+size]
	answers = append(answers, cutAt(calls("write_file", first)))
	for at := size; at < len(raw)-head; at += size {
		answers = append(answers, func(r llm.Request) llm.Reply {
			last := r.Messages[len(r.Messages)-1]
			call := r.Messages[len(r.Messages)-2].Calls[0]
			var has struct{ Path, Content string }
			if err := json.Unmarshal([]byte(call.Arguments), &has); err != nil || last.CallID != call.ID || !strings.HasPrefix(whole, has.Content) || has.Path != "largo.txt" {
				t.Errorf("it is given %.200s…, %v", call.Arguments, err)
			}
			rest := cutArguments("largo.txt", "append", whole[len(has.Content):])
			if head := len(cutArguments("largo.txt", "append", "")); len(rest) > head+size {
				return cutAt(calls("write_file", rest[:head+size]))
			}
			return calls("write_file", rest+`"}`)
		})
	}
	return answers
}

// TestALongFileIsWrittenInSeveralAnswers: it arrives whole, as one change on one card, wherever the answers end.
func TestALongFileIsWrittenInSeveralAnswers(t *testing.T) {
	whole := longFile()
	for _, size := range []int{8_000, 8_001, 8_002, 8_003, 8_004, 8_005, 8_006, 30_011} {
		w, f := newFileWorld(t)
		w.model.answers = append(inParts(t, whole, size), text("Escrito."), text("Escrito."))
		withFiles(t, w)
		reply := w.send(t, "Escribe el fichero largo")
		if reply.Kind != turn.KindPlan {
			t.Fatalf("%d: %s %q", size, reply.Kind, reply.Message.Content)
		}
		if body := changesOf(t, *reply.Run); len(body.Changes) != 1 || body.Changes[0].Name != "largo.txt" || body.Changes[0].Added != 1100 {
			t.Errorf("%d: %+v", size, body.Changes)
		}
		if err := w.Confirm(*reply.Run); err != nil {
			t.Fatal(err)
		}
		w.Execute(reply.Run.ID)
		if got := f.Content(t)["largo.txt"]; got != whole {
			t.Errorf("%d: %d bytes of %d: %.80q", size, len(got), len(whole), got)
		}
		made := 0
		for _, m := range w.model.asked[len(w.model.asked)-1].Messages {
			for _, c := range m.Calls {
				if made++; c.Arguments != writeArguments("largo.txt", "", whole) && !sameArguments(c.Arguments, writeArguments("largo.txt", "", whole)) {
					t.Errorf("%d: the transcript has %.100s", size, c.Arguments)
				}
			}
		}
		if made != 1 {
			t.Errorf("%d: the transcript has %d calls", size, made)
		}
	}
}

func sameArguments(a, b string) bool {
	var x, y map[string]string
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// TestAFileIsWrittenInSeveralAnswersOfAJob, over the files of the project, and by its client as one call.
func TestAFileIsWrittenInSeveralAnswersOfAJob(t *testing.T) {
	whole := longFile()
	w, _ := newFileWorld(t)
	w.model.answers = append(inParts(t, whole, 9_000), text("Escrito."))
	withFiles(t, w)
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.Status != job.Waiting || j.RunID == "" || j.Rounds != 2 {
		t.Fatalf("%+v", j)
	}
	if body := changesOf(t, w.Read(j.RunID)); len(body.Changes) != 1 || body.Changes[0].Added != 1100 {
		t.Errorf("%+v", body.Changes)
	}
	c := newJobWorld(t)
	c.model.answers = append(inParts(t, whole, 9_000), text("Escrito."))
	j = c.drive(t, c.start(t, "build", job.Order{Tools: []job.Tool{{Name: "write_file", Description: "Write.", Schema: filespec.WriteFile.Schema(), Writes: true}}}).ID)
	if open := j.OpenCalls(); len(open) != 1 || !sameArguments(open[0].Arguments, writeArguments("largo.txt", "", whole)) {
		t.Errorf("%d calls, %+v", len(open), j.Status)
	}
}

// TestHowAModelGoesOnWithAFile has a row for what it may do when it is asked for the rest.
func TestHowAModelGoesOnWithAFile(t *testing.T) {
	const begin, tail = "# Título\nuno, que es la primera línea\ndos, que es", " la segunda\ntres\n"
	write := func(mode, content string) llm.Reply {
		return calls("write_file", writeArguments("a.md", mode, content))
	}
	cut := func(mode, content string) llm.Reply {
		return cutAt(calls("write_file", cutArguments("a.md", mode, content)))
	}
	rows := strings.Repeat("0,0,0,0\n", 40)
	for name, c := range map[string]struct {
		answers []any
		want    string
	}{
		"the rest":                        {[]any{cut("", begin), write("append", tail)}, begin + tail},
		"the rest, after a closed call":   {[]any{cutAt(write("", begin)), write("append", tail)}, begin + tail},
		"nothing was missing":             {[]any{cutAt(write("", begin+tail)), write("append", "")}, begin + tail},
		"a closed call, and then a text":  {[]any{cutAt(write("", begin+tail)), text("Ya está.")}, begin + tail},
		"its end again":                   {[]any{cut("", begin), write("append", "dos, que es"+tail)}, begin + tail},
		"its last lines again":            {[]any{cut("", begin), write("append", "uno, que es la primera línea\ndos, que es"+tail)}, begin + tail},
		"from the beginning":              {[]any{cut("", begin), write("", begin+tail)}, begin + tail},
		"from the beginning, with append": {[]any{cut("", begin), write("append", begin+tail)}, begin + tail},
		"from the beginning, in parts":    {[]any{cut("", begin), cut("", begin+tail[:5]), write("append", tail[5:])}, begin + tail},
		"without its mode":                {[]any{cut("", begin), write("", tail)}, begin + tail},
		"a file that repeats itself":      {[]any{cut("", rows), write("append", rows)}, rows + rows},
		"without a word of its limit": {[]any{
			calls("write_file", cutArguments("a.md", "", begin)), calls("write_file", cutArguments("a.md", "append", tail[:5])), write("append", tail[5:]),
		}, begin + tail},
		"half of an escape":           {[]any{cutAt(calls("write_file", cutArguments("a.md", "", begin)+`\u00`)), write("append", "\u00f1"+tail)}, begin + "ñ" + tail},
		"half of a pair":              {[]any{cutAt(calls("write_file", cutArguments("a.md", "", begin)+`\ud83d\ude`)), write("append", "😀"+tail)}, begin + "😀" + tail},
		"half of a character":         {[]any{cutAt(calls("write_file", cutArguments("a.md", "", begin)+"\xf0\x9f")), write("append", "😀"+tail)}, begin + "😀" + tail},
		"the content before the name": {[]any{cutAt(calls("write_file", `{"content":"uno, `)), write("append", "dos\n")}, "uno, dos\n"},
		"the second of two calls": {[]any{
			cutAt(calls("write_file", writeArguments("b.md", "", "b\n"), "write_file", cutArguments("a.md", "", begin))), write("append", tail),
		}, begin + tail},
		"with another call": {[]any{
			cut("", begin), calls("write_file", writeArguments("a.md", "append", tail), "write_file", writeArguments("b.md", "", "b\n")),
		}, begin + tail},
	} {
		w, f := newFileWorld(t)
		f.Put(t, "a.md", "antes\n")
		w.model.answers = append(append([]any{}, c.answers...), text("Escrito."))
		withFiles(t, w)
		reply := w.send(t, "Escribe a.md")
		if reply.Kind != turn.KindPlan || len(w.model.asked) != len(c.answers)+1 {
			t.Errorf("%s: %s after %d calls: %s", name, reply.Kind, len(w.model.asked), w.model.lastTool())
			continue
		}
		if err := w.Confirm(*reply.Run); err != nil {
			t.Fatal(err)
		}
		w.Execute(reply.Run.ID)
		got := f.Content(t)
		if got["a.md"] != c.want {
			t.Errorf("%s: %q", name, got["a.md"])
		}
		if other := strings.Contains(name, "two") || strings.Contains(name, "another"); (got["b.md"] == "b\n") != other {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAFileThatIsAddedToKeepsItsBeginning: the mode is that of the first part.
func TestAFileThatIsAddedToKeepsItsBeginning(t *testing.T) {
	w, f := newFileWorld(t, cutAt(calls("write_file", cutArguments("precios.csv", "append", "sur,3"))), calls("write_file", writeArguments("precios.csv", "append", "0\n")), text("Hecho."))
	withFiles(t, w)
	reply := w.send(t, "Añade la sur")
	if err := w.Confirm(*reply.Run); err != nil {
		t.Fatal(err)
	}
	w.Execute(reply.Run.ID)
	if got := f.Content(t)["precios.csv"]; got != someFiles["precios.csv"]+"sur,30\n" {
		t.Errorf("%q", got)
	}
}

// TestAFileThatDoesNotEndIsNotWritten: the model is told what to do, nothing is half written, and a job does not take the part for
// the whole.
func TestAFileThatDoesNotEndIsNotWritten(t *testing.T) {
	const begin = "uno, que es la primera línea"
	cut := cutAt(calls("write_file", cutArguments("a.md", "", begin)))
	more := func(n int) any {
		return cutAt(calls("write_file", cutArguments("a.md", "append", fmt.Sprintf(" %d, otra línea\n", n))))
	}
	var endless []any
	for n := range 24 {
		endless = append(endless, more(n))
	}
	for name, answers := range map[string][]any{
		"without an end":        append([]any{cut}, endless...),
		"no progress":           {cut, cut},
		"nothing more":          {cut, cutAt(calls("write_file", `{"path":"a.md","mode":"append","content":"`))},
		"a text":                {cut, text("Ya está escrito.")},
		"another file":          {cut, calls("write_file", writeArguments("b.md", "append", "b"))},
		"another tool":          {cut, calls("read_file", `{"path":"precios.csv"}`)},
		"no answer":             {cut, llm.ErrUnreachable},
		"a filter":              {cut, llm.Reply{Cut: true, Calls: calls("write_file", writeArguments("a.md", "append", "x")).Calls}},
		"too long":              {cut, calls("write_file", writeArguments("a.md", "append", strings.Repeat("x", 100_000)))},
		"an edit that was cut":  {cutAt(calls("edit_file", `{"path":"precios.csv","old_str":"norte","new_str":"su`)), cutAt(calls("edit_file", `{"path":"precios.csv","old_str":"norte","new_str":"su`))},
		"a patch that was cut":  {cutAt(calls("apply_patch", `{"patch":"--- a`)), cutAt(calls("apply_patch", `{"patch":"--- a"}`))},
		"a content of no text":  {cutAt(calls("write_file", `{"path":"a.md","content":7`)), cutAt(calls("write_file", `{"path":"a.md","content":7`))},
		"nothing of it arrived": {cutAt(calls("write_file", `{"path":"a.md","conte`)), cutAt(calls("write_file", `{"path":"a.md","content":"`))},
	} {
		for _, inJob := range []bool{false, true} {
			w, f := newFileWorld(t)
			w.model.answers = append(append([]any{}, answers...), text("No ha cabido."), text("No ha cabido."))
			withFiles(t, w)
			told := ""
			if inJob {
				j := w.drive(t, w.start(t, "build", job.Order{}).ID)
				if j.RunID != "" || j.Status == job.Success {
					t.Errorf("%s: %+v", name, j)
				}
			} else if reply := w.send(t, "Escribe a.md"); reply.Run != nil {
				t.Errorf("%s: %s", name, changesOf(t, *reply.Run).Diff)
			}
			for _, r := range w.model.asked {
				for _, m := range r.Messages {
					if m.Role == llm.ToolRole && strings.Contains(m.Content, "your reply was cut") {
						told = m.Content
					}
				}
			}
			if !strings.Contains(told, "write_file and mode append") {
				t.Errorf("%s: it was told %q", name, w.model.lastTool())
			}
			if got := f.Content(t); len(got) != len(someFiles) {
				t.Errorf("%s: %v", name, got)
			}
			if n := len(w.model.asked); n > 29 {
				t.Errorf("%s: %d calls", name, n)
			}
		}
	}
}

// TestACutCallOfAClientIsNotMade, although a provider has closed its arguments.
func TestACutCallOfAClientIsNotMade(t *testing.T) {
	tool := job.Tool{Name: "run_command", Description: "Run.", Schema: json.RawMessage(`{"type":"object"}`), Writes: true}
	cut := cutAt(calls("run_command", `{"command":"rm -rf build"}`))
	w := newJobWorld(t, cut, cut, text("No ha cabido."), text("No ha cabido."))
	j := w.drive(t, w.start(t, "build", job.Order{Tools: []job.Tool{tool}}).ID)
	if len(j.Open) != 0 || j.Status != job.Partial || !strings.Contains(w.model.lastTool(), "your reply was cut") {
		t.Errorf("%+v, told %s", j, w.model.lastTool())
	}
}

// TestATextBesideACutFileStaysAsItWas: what the model says between the parts is shown to nobody.
func TestATextBesideACutFileStaysAsItWas(t *testing.T) {
	first := cutAt(calls("write_file", cutArguments("a.md", "", "uno, ")))
	first.Text = "Lo escribo."
	second := calls("write_file", writeArguments("a.md", "append", "dos\n"))
	second.Text = "Sigo con el resto."
	w, _ := newFileWorld(t, first, second, text("Hecho."))
	withFiles(t, w)
	reply := w.send(t, "Escribe a.md")
	all, _, err := w.Store.Chats.Messages(t.Context(), conversation.Key{Account: reply.Run.Account, ChatID: w.Chat.ID}, "", 20)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, m := range all {
		said += m.Content + "\n"
	}
	if !strings.Contains(said, "Lo escribo.") || strings.Contains(said, "Sigo con el resto") {
		t.Error(said)
	}
}
