package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/visible"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// mostValue is the longest name of a provider in a finding, in bytes.
const mostValue = 60

// findings are what the calls showed, in the order in which they are told.
type findings []eligibility.Finding

// add adds a finding, unless it is there.
func (f *findings) add(code, value string) {
	if !slices.ContainsFunc(*f, func(o eligibility.Finding) bool { return o.Code == code }) {
		*f = append(*f, eligibility.Finding{Code: code, Value: clip.Bytes(visible.Line(value), mostValue)})
	}
}

// sentRequest is the part of a request that shows what the client left out.
type sentRequest struct {
	Messages    []sentMessage     `json:"messages"`
	Stream      bool              `json:"stream"`
	Temperature json.RawMessage   `json:"temperature"`
	Completion  json.RawMessage   `json:"max_completion_tokens"`
	Effort      string            `json:"reasoning_effort"`
	Options     json.RawMessage   `json:"stream_options"`
	Format      json.RawMessage   `json:"response_format"`
	Tools       []json.RawMessage `json:"tools"`
}

type sentMessage struct {
	Role      string          `json:"role"`
	Thought   string          `json:"reasoning_content"`
	Reasoning string          `json:"reasoning"`
	Details   json.RawMessage `json:"reasoning_details"`
	Blocks    json.RawMessage `json:"thinking_blocks"`
	Content   json.RawMessage `json:"content"`
}

// hasThought reports whether a thought went back with the message.
func (m sentMessage) hasThought() bool {
	return m.Thought != "" || m.Reasoning != "" || len(m.Details) > 0 || len(m.Blocks) > 0 || strings.HasPrefix(string(m.Content), "[")
}

// rawAnswer is an answer as the provider wrote it, with the parts that the client takes away or mends.
type rawAnswer struct {
	Choices []struct {
		Message rawMessage `json:"message"`
		Delta   rawMessage `json:"delta"`
		Finish  string     `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Input int `json:"prompt_tokens"`
	} `json:"usage"`
}

type rawMessage struct {
	Content   json.RawMessage `json:"content"`
	Thought   string          `json:"reasoning_content"`
	Reasoning string          `json:"reasoning"`
	Blocks    json.RawMessage `json:"thinking_blocks"`
	Extra     json.RawMessage `json:"extra_content"`
	Calls     []rawCall       `json:"tool_calls"`
	Old       json.RawMessage `json:"function_call"`
}

type rawCall struct {
	ID       json.RawMessage `json:"id"`
	Extra    json.RawMessage `json:"extra_content"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

var thinking = regexp.MustCompile(`(?i)</?(think|thinking|thought)>`)

// read adds what one call showed.
func (f *findings) read(p probe, reply llm.Reply, seen []llm.Exchange, err error) {
	var sent sentRequest
	var raw []rawAnswer
	if len(seen) > 0 {
		last := seen[len(seen)-1]
		_ = json.Unmarshal(last.Request, &sent) // the client wrote it
		raw = answersOf(last.Answer)
	}
	switch {
	case err != nil:
		f.failed(p.name, err)
		return
	case p.name == callText:
		f.text(sent, raw)
	case p.name == callTool:
		f.tool(reply, sent, raw)
	case p.name == callTwo:
		f.two(reply, sent, raw)
	case p.name == callStructured:
		f.structured(reply, sent)
	case p.name == callStream:
		f.stream(sent, raw, seen)
	}
	f.thoughts(raw)
}

// refusals are the findings about a call that the provider refused.
var refusals = map[string]string{callTool: "no_tools", callTwo: "no_results", callStructured: "no_schema", callStream: "no_stream"}

func (f *findings) failed(call string, err error) {
	if errors.Is(err, llm.ErrRefused) {
		f.add(refusals[call], "")
		return
	}
	f.add("unanswered_"+call, "")
}

// answersOf returns the parts of an answer: one, or the events of a stream.
func answersOf(body []byte) []rawAnswer {
	one := func(text []byte) rawAnswer {
		var a rawAnswer
		_ = json.Unmarshal(text, &a) // a member of another type is left out
		return a
	}
	if json.Valid(body) {
		return []rawAnswer{one(body)}
	}
	var list []rawAnswer
	for line := range bytes.Lines(body) {
		if data, is := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); is && json.Valid(data) {
			list = append(list, one(data))
		}
	}
	return list
}

// eachMessage calls do with the messages of an answer.
func eachMessage(raw []rawAnswer, do func(rawMessage)) {
	for _, a := range raw {
		for _, c := range a.Choices {
			do(c.Message)
			do(c.Delta)
		}
	}
}

func (f *findings) text(sent sentRequest, raw []rawAnswer) {
	later := slices.ContainsFunc(sent.Messages[min(1, len(sent.Messages)):], func(m sentMessage) bool { return m.Role == string(llm.System) })
	if !later {
		f.add("system_front", "")
	}
	if sent.Stream {
		f.add("only_stream", "")
	}
	if len(sent.Temperature) == 0 {
		f.add("no_temperature", "")
	}
	if len(sent.Completion) > 0 {
		f.add("completion_tokens", "")
	}
	if !counted(raw) {
		f.add("no_usage", "")
	}
}

func counted(raw []rawAnswer) bool {
	return slices.ContainsFunc(raw, func(a rawAnswer) bool { return a.Usage != nil && a.Usage.Input > 0 })
}

func (f *findings) tool(reply llm.Reply, sent sentRequest, raw []rawAnswer) {
	if reply.NoTools {
		f.add("no_tools", "")
		return
	}
	if len(reply.Calls) == 0 {
		f.add("no_call", "")
		return
	}
	f.add("tools", "")
	if sent.Effort != "" {
		f.add("no_reasoning", "")
	}
	own := false
	eachMessage(raw, func(m rawMessage) {
		own = own || len(m.Old) > 0 && string(m.Old) != "null"
		for _, c := range m.Calls {
			own = true
			if c.Function.Name != toolName {
				f.add("renames_tools", c.Function.Name)
			}
			if id := strings.Trim(string(c.ID), `" `); id == "" || id == "null" {
				f.add("no_ids", "")
			}
		}
	})
	if !own {
		f.add("calls_in_text", "")
	}
}

func (f *findings) two(reply llm.Reply, sent sentRequest, raw []rawAnswer) {
	if reply.NoTools { // what follows a call is refused
		*f = slices.DeleteFunc(*f, func(o eligibility.Finding) bool { return o.Code == "tools" })
		f.add("no_tools", "")
		return
	}
	if slices.ContainsFunc(sent.Messages, sentMessage.hasThought) {
		f.add("thoughts_back", "")
	}
	if len(reply.Calls) < 2 {
		f.add("one_call", "")
		return
	}
	f.add("two_calls", "")
	ids := map[string]int{}
	eachMessage(raw, func(m rawMessage) {
		for _, c := range m.Calls {
			ids[string(c.ID)]++
		}
	})
	for id, n := range ids {
		if n > 1 && strings.Trim(id, `" `) != "" && id != "null" {
			f.add("same_ids", "")
		}
	}
}

func (f *findings) structured(reply llm.Reply, sent sentRequest) {
	var got struct {
		City    *string
		Degrees *float64
	}
	switch err := json.Unmarshal([]byte(reply.Text), &got); {
	case err != nil || got.City == nil || got.Degrees == nil:
		f.add("schema_broken", "")
	case len(sent.Format) > 0:
		f.add("schema", "")
	case len(sent.Tools) > 0:
		f.add("schema_by_tool", "")
	default:
		f.add("schema_by_prompt", "")
	}
}

func (f *findings) stream(sent sentRequest, raw []rawAnswer, seen []llm.Exchange) {
	whole, ended := len(seen) > 0 && json.Valid(seen[len(seen)-1].Answer), false
	for _, a := range raw {
		for _, c := range a.Choices {
			ended = ended || c.Finish != ""
		}
	}
	switch {
	case !sent.Stream:
		f.add("no_stream", "")
		return
	case whole:
		f.add("stream_whole", "")
	case !ended:
		f.add("stream_no_reason", "")
	default:
		f.add("stream", "")
	}
	if len(sent.Options) == 0 || !counted(raw) {
		f.add("stream_no_usage", "")
	}
}

// thoughts adds where the model's thoughts are.
func (f *findings) thoughts(raw []rawAnswer) {
	var text strings.Builder
	eachMessage(raw, func(m rawMessage) {
		var said string
		_ = json.Unmarshal(m.Content, &said) // a list of parts has its thoughts apart
		text.WriteString(said)
		switch {
		case strings.Contains(string(m.Blocks), `"thinking"`):
			f.add("thoughts", "thinking_blocks")
		case strings.HasPrefix(string(m.Content), "[") && strings.Contains(string(m.Content), `"thinking"`):
			f.add("thoughts", "content")
		case m.Thought != "":
			f.add("thoughts", "reasoning_content")
		case m.Reasoning != "":
			f.add("thoughts", "reasoning")
		}
		signed := strings.Contains(string(m.Extra), "thought_signature")
		for _, c := range m.Calls {
			signed = signed || strings.Contains(string(c.Extra), "thought_signature")
		}
		if signed {
			f.add("thought_signature", "")
		}
	})
	if tag := thinking.FindString(text.String()); tag != "" {
		f.add("thinks_in_text", tag)
	}
}

// finish stores what is known of the model for later calls.
func (r *running) finish(found findings) {
	known := eligibility.Known{Quirks: r.client.Learned(r.check.Model), At: r.Now()}
	if r.window > 0 {
		found.add("window", strconv.Itoa(r.window))
		known.Window = min(max(r.window, eligibility.MinWindow), eligibility.MaxWindow)
	}
	r.check.Findings = found
	r.check.Models = eligibility.Keep(r.check.Models, r.check.Model, known)
}
