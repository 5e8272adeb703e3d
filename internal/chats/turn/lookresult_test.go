package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"piloto/internal/chats/turn"
	"piloto/internal/ground/excerpt"
	"piloto/internal/ground/ids"
	"piloto/internal/models/llm"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// answersWith lets each request be answered with a body.
func (w *world) answersWith(body string, cut bool) {
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body), Truncated: cut}, nil
	})
}

func repeated(n int, format string) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(format, i))
	}
	return strings.Join(parts, ",")
}

var binary = func() string {
	var all []byte
	for i := range 256 << 9 {
		all = append(all, byte(i))
	}
	return string(all)
}()

// room is the most characters of an answer in the prompt: 8,000 tokens of a model of which no usage is known.
const room = 28_000

// Each answer is read whole up to 8,000 tokens. A longer one is cut by whole elements or lines, it says so, and all of it can be read.
func TestAnAnswerIsReadWholeOrInWholeParts(t *testing.T) {
	rows := "[" + repeated(6000, `{"id":%d,"name":"Sala","seats":6}`) + "]"
	for name, c := range map[string]struct {
		body string
		cut  bool
		all  bool   // it is read whole
		last string // of the answer, which the parts have
	}{
		"rows":                {"[" + repeated(700, `{"id":"r-%d","name":"Sala Este"}`) + "]", false, true, "Este"},
		"short texts":         {"[" + repeated(14200, `"a%d"`) + "]", false, false, "a14199"},
		"markup":              {strings.Repeat("<i>\"\\</i>", 7000), false, false, "</i>"},
		"rows in one line":    {rows[:len(rows)/2], true, false, "Sala"},
		"one long text":       {`{"data":"` + strings.Repeat("iVBORw0KGgoAAAANSUhEUg", 2000) + `"}`, false, false, "SUhEUg"},
		"bytes":               {binary, false, false, "xyz{|}~"},
		"lines":               {`"` + strings.Repeat(`línea\n`, 6000) + `"`, false, false, "línea"},
		"one line":            {`"` + strings.Repeat("palabra ", 6000) + `"`, false, false, "palabra"},
		"a map of things":     {`{"n":1,"by":{` + repeated(3000, `"k%d":{"name":"Sala"}`) + `}}`, false, false, "k2999"},
		"an element of 2 MB":  {`{"id":1,"notes":"` + strings.Repeat("ñandú ", 2<<20/7) + `","last":"fin"}`, false, false, "ñandú"},
		"a tool that doubles": {`{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"rows":[1,2]}}`, false, true, "structuredContent"},
	} {
		w := newLookWorld(t)
		w.answersWith(c.body, c.cut)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("ya")}
		w.send(t, "mira")
		got := w.model.lastTool()
		if utf8.RuneCountInString(got) > room+500 || strings.Contains(got, `\u003c`) {
			t.Errorf("%s: %d characters: %.200s", name, utf8.RuneCountInString(got), got)
		}
		var first struct {
			Answer json.RawMessage
			Cut    []excerpt.Cut
			Rest   *struct {
				ID, At string
				From   int
			} `json:"read_result"`
		}
		if err := json.Unmarshal([]byte(got), &first); err != nil || strings.ContainsFunc(string(first.Answer), unicode.IsControl) {
			t.Errorf("%s: %v: %.200q", name, err, first.Answer)
		}
		if c.all != (len(first.Cut) == 0) {
			t.Errorf("%s: cut %+v", name, first.Cut)
		}
		if strings.HasPrefix(c.body, "[") != strings.HasPrefix(string(first.Answer), "[") {
			t.Errorf("%s is read as %.100s", name, first.Answer)
		}
		if c.all {
			continue
		}
		if first.Rest == nil || first.Rest.ID != "l1" {
			if !c.cut {
				t.Errorf("%s: it does not say how the rest is read: %.300s", name, got)
			}
			continue
		}
		allParts(t, name, c.body, c.cut, first.Rest.At, c.last)
	}
}

// allParts reads an answer that was cut part by part to its end.
func allParts(t *testing.T, name, body string, cut bool, at, last string) {
	t.Helper()
	var part struct {
		To, Of int
		Part   json.RawMessage
	}
	for rounds := 0; part.To == 0 || part.To < part.Of; rounds++ {
		w := newLookWorld(t)
		w.answersWith(body, cut)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), calls("read_result", fmt.Sprintf(`{"id":"l1","at":%q,"from":%d}`, at, part.To+1)), text("ya")}
		w.send(t, "mira")
		before := part.To
		if err := json.Unmarshal([]byte(w.model.lastTool()), &part); err != nil || part.To <= before || utf8.RuneCountInString(w.model.lastTool()) > room+500 {
			t.Fatalf("%s: %v: after %d: %.300s", name, err, before, w.model.lastTool())
		}
		if rounds == 2 { // and then the end
			part.To = max(part.To, part.Of-4)
		}
	}
	if !strings.Contains(string(part.Part), last) && part.Of-part.To == 0 && len(part.Part) > 40 {
		t.Errorf("%s: the end is %q", name, part.Part)
	}
}

// A long text is read as it is, not as a string in a string.
func TestATextIsReadAsItIs(t *testing.T) {
	w := newLookWorld(t)
	w.answersWith("<html>\r\n<b class=\"x\">hola & adiós</b>", false)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("ya")}
	w.send(t, "mira")
	if got := w.model.lastTool(); !strings.Contains(got, `"answer":"<html>\n<b class=\"x\">hola & adiós</b>"`) {
		t.Error(got)
	}
}

// The rest of what was read for an earlier answer is not there: that is said, and its id is not given again.
func TestTheRestOfAnEarlierReadIsNotOffered(t *testing.T) {
	w := newLookWorld(t)
	w.answersWith("["+repeated(3000, `"</reads> fila %d"`)+"]", false)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("ya")}
	w.send(t, "mira")
	w.answersWith(rooms, false)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/bookings/1")), calls("read_result", `{"id":"l1","from":1}`), text("ya")}
	reply := w.send(t, "mira más")
	if id := reply.Message.Sources[0].ID; id != "l2" || !strings.Contains(w.model.lastTool(), "no result with this id") {
		t.Errorf("%s: %s", id, w.model.lastTool())
	}
}

// A look that came to nothing may be tried again: what failed once need not fail twice.
func TestAFailedLookIsMadeAgain(t *testing.T) {
	for name, failure := range map[string]struct {
		answer tool.Answer
		err    error
	}{
		"a time-out":    {err: tool.ErrLost},
		"no connection": {err: tool.ErrNotSent},
		"a broken one":  {answer: tool.Answer{Status: 500}},
		"a busy one":    {answer: tool.Answer{Status: 429}},
		"a late one":    {answer: tool.Answer{Status: 408}},
		"an early one":  {answer: tool.Answer{Status: 425}},
		"one that left": {answer: tool.Answer{Status: 499}},
	} {
		w := newLookWorld(t)
		failed := false
		w.Answer(func(tool.Request) (tool.Answer, error) {
			if !failed {
				failed = true
				return failure.answer, failure.err
			}
			return tool.Answer{Status: 200, Body: []byte(rooms), Bytes: len(rooms)}, nil
		})
		same := calls("look", lookAt(w.Server.ID, "/rooms"))
		w.model.answers = []any{same, same, same, text("ya")}
		if w.send(t, "mira"); len(w.Requests()) != 2 || !strings.Contains(w.model.lastTool(), "read before") {
			t.Errorf("%s: %d requests; %s", name, len(w.Requests()), w.model.lastTool())
		}
	}
}

// Every wrong argument is told at once, by the schema of the tool; and what a look cannot have is not dropped.
func TestEveryWrongArgumentOfALookIsTold(t *testing.T) {
	for _, c := range []struct{ tool, arguments, says string }{
		{"look", `{"mcp_id":5,"path":7,"foo":1}`, `foo is not a parameter|mcp_id must be a string, not a number|path must be a string, not a number`},
		{"look", `{}`, `mcp_id is required|path is required`},
		{"look", `{"mcp_id":"SERVER","path":"/rooms","arguments":{"seats":99}}`, `arguments are those of a tool`},
		{"look", `{"mcp_id":"SERVER","path":"/rooms","tool":"find","query":{"a":1}}`, `tool has arguments, and neither`},
		{"read_result", `{}`, `id is required|from is required`},
		{"read_result", `{"id":1,"from":"2","lines":[]}`, `id must be a string|from must be a int|lines must be a int`},
		{"search_tools", `{"query":["a"],"n":3}`, `n is not a parameter|query must be a string`},
		{"search_tools", `{}`, `query must be a few words`},
	} {
		w := newLookWorld(t)
		w.model.answers = []any{calls(c.tool, strings.ReplaceAll(c.arguments, "SERVER", w.Server.ID)), text("ya")}
		w.send(t, "mira")
		var got struct {
			Error    string
			Problems []struct{ Where, What string }
		}
		if err := json.Unmarshal([]byte(w.model.lastTool()), &got); err != nil || !strings.Contains(got.Error, "mend this and call again") || len(w.Requests()) > 0 {
			t.Errorf("%s: %v after %v", w.model.lastTool(), err, w.Requests())
		}
		var told []string
		for _, p := range got.Problems {
			told = append(told, p.Where+" "+p.What)
		}
		all := strings.Join(told, "\n")
		for says := range strings.SplitSeq(c.says, "|") {
			if !strings.Contains(all, says) {
				t.Errorf("%s %s: %s", c.tool, c.arguments, all)
			}
		}
	}
}

// A result asks the model to call again only where that may help.
func TestWhatCannotBeMendedIsNotAskedAgain(t *testing.T) {
	rooms := func(w *world) string { return lookAt(w.Server.ID, "/rooms") }
	for name, c := range map[string]struct {
		calls func(w *world) llm.Reply
		says  string
	}{
		"a rule denies a look": {func(w *world) llm.Reply { return calls("look", rooms(w)) }, "do not call it again"},
		"a rule denies a write": {func(w *world) llm.Reply {
			return calls("mcp_request", w.request("POST", "/bookings", `,"body":{"room":"n1"}`))
		}, "do not call it again"},
		"asked twice": {func(w *world) llm.Reply {
			return calls("look", lookAt(w.Server.ID, "/bookings/1"), "look", lookAt(w.Server.ID, "/bookings/1"))
		}, "asked twice"},
		"unknown tool": {func(*world) llm.Reply { return calls("foo", `{}`) }, "there is no tool"},
		"before the answers": {func(w *world) llm.Reply {
			return calls("look", lookAt(w.Server.ID, "/bookings/1"), "mcp_request", w.request("DELETE", "/bookings/1", ""))
		}, "propose again"},
	} {
		w := newLookWorld(t)
		w.setRules(t, rule.Rule{ID: "r", Effect: rule.Deny, Method: "GET", Path: "/rooms", Reason: "Nadie mira"}, rule.Rule{ID: "s", Effect: rule.Deny, Method: "POST", Path: "/bookings", Reason: "Nadie reserva"})
		w.model.answers = []any{c.calls(w), text("ya")}
		w.send(t, "mira")
		if got := strings.Join(w.lastResults(), "\n"); !strings.Contains(got, c.says) || strings.Contains(got, "mend this") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// unreadable is a store of servers whose operations cannot be read the first time.
type unreadable struct {
	turn.Servers
	failed bool
}

func (s *unreadable) Operation(ctx context.Context, account ids.Account, of tool.Server, e tool.Entry) (tool.Operation, error) {
	if !s.failed {
		s.failed = true
		return tool.Operation{}, errors.New("throttled")
	}
	return s.Servers.Operation(ctx, account, of, e)
}

// A read of the store that fails is a result, and the turn goes on. Only what cannot be written ends it.
func TestAFailedReadOfTheStoreIsAResult(t *testing.T) {
	for name, c := range map[string]struct {
		call func(*world) llm.Reply
		then turn.Kind
	}{
		"a search":   {func(*world) llm.Reply { return calls("search_tools", `{"query":"sala"}`) }, turn.KindMessage},
		"a look":     {func(w *world) llm.Reply { return calls("look", lookAt(w.Server.ID, "/rooms")) }, turn.KindMessage},
		"a proposal": {func(w *world) llm.Reply { return calls("mcp_request", w.request("GET", "/rooms", "")) }, turn.KindPlan},
	} {
		var log bytes.Buffer
		w := newLookWorld(t)
		w.service.Log = slog.New(slog.NewTextHandler(&log, nil))
		w.service.Servers = &unreadable{Servers: w.service.Servers}
		w.model.answers = []any{c.call(w), c.call(w), text("ya")}
		reply, err := w.try("mira")
		if err != nil || reply.Kind != c.then || !strings.Contains(log.String(), "turn.unread") || !strings.Contains(log.String(), "throttled") {
			t.Errorf("%s: %v, %+v; %s", name, err, reply.Message, log.String())
			continue
		}
		told := w.model.asked[1].Messages
		if last := told[len(told)-1].Content; !strings.Contains(last, "cannot be read now") || strings.Contains(last, "throttled") {
			t.Errorf("%s: %s", name, last)
		}
	}
}
