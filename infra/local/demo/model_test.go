package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/chats/claim"
)

var update = flag.Bool("update", false, "write the replies into testdata/dialogues.txt")

func newTool(name string) openai.Tool {
	return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}}
}

var offered = []openai.Tool{newTool("mcp_request"), newTool("propose_plan")}

func system(t testing.TB) openai.ChatCompletionMessage {
	t.Helper()
	raw, err := os.ReadFile("testdata/catalogue.txt")
	if err != nil {
		t.Fatal(err)
	}
	return openai.ChatCompletionMessage{Role: "system", Content: string(raw)}
}

// client is a go-openai client of a model whose today is friday.
func client(t testing.TB) *openai.Client {
	t.Helper()
	server := httptest.NewServer(NewModel(func() time.Time { return friday }))
	t.Cleanup(server.Close)
	config := openai.DefaultConfig("any")
	config.BaseURL = server.URL + "/v1"
	return openai.NewClientWithConfig(config)
}

// show returns a reply in the form of the golden file.
func show(m openai.ChatCompletionMessage) string {
	if len(m.ToolCalls) == 0 {
		return m.Content
	}
	var pretty bytes.Buffer
	call := m.ToolCalls[0].Function
	if json.Indent(&pretty, []byte(call.Arguments), "", " ") != nil || len(call.Arguments) < 140 {
		return call.Name + " " + call.Arguments
	}
	return call.Name + " " + pretty.String()
}

// TestDialogues plays testdata/dialogues.txt, and testdata/looks.txt with a service that may be read. A block is a
// dialogue of lines «user:», «assistant:», «call:» and «tool:», then «want:» and the reply. An assistant or call of @
// stands for the model's own reply at that point.
func TestDialogues(t *testing.T) {
	playAll(t, "testdata/dialogues.txt", system(t), offered)
	playAll(t, "testdata/looks.txt", looking(t), append(slices.Clone(offered), newTool("look")))
}

func playAll(t *testing.T, file string, prompt openai.ChatCompletionMessage, tools []openai.Tool) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t)
	var golden strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\nuser: ") {
		lines, want, _ := strings.Cut("user: "+strings.TrimPrefix(block, "user: "), "\nwant:")
		got := play(t, c, lines, prompt, tools)
		fmt.Fprintf(&golden, "%s\nwant:\n%s\n\n", lines, got)
		if got != strings.TrimSpace(want) && !*update {
			t.Errorf("%s\ngot:\n%s\nwant:%s", lines, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(golden.String())+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func play(t *testing.T, c *openai.Client, lines string, prompt openai.ChatCompletionMessage, tools []openai.Tool) string {
	t.Helper()
	messages := []openai.ChatCompletionMessage{prompt}
	ask := func() openai.ChatCompletionMessage {
		res, err := c.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: ModelName, Messages: transcript(t, messages), Tools: tools})
		if err != nil {
			t.Fatal(lines, err)
		}
		reply := res.Choices[0].Message
		if claim.Read(reply.Content).Poses() {
			t.Errorf("%s\nreply is a ghost plan: %s", lines, reply.Content)
		}
		return reply
	}
	for line := range strings.SplitSeq(lines, "\n") {
		role, text, _ := strings.Cut(line, ": ")
		switch {
		case text == "@":
			messages = append(messages, ask())
		case role == "tool":
			last := messages[len(messages)-1]
			if len(last.ToolCalls) == 0 {
				t.Fatalf("%s\nthere is no call to answer: %s", lines, last.Content)
			}
			messages = append(messages, openai.ChatCompletionMessage{Role: "tool", ToolCallID: last.ToolCalls[0].ID, Content: text})
		default:
			messages = append(messages, openai.ChatCompletionMessage{Role: role, Content: text})
		}
	}
	return show(ask())
}

func userRequest(t testing.TB, text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{Model: "any", Messages: []openai.ChatCompletionMessage{system(t), {Role: "user", Content: text}}, Tools: offered}
}

func TestStreamEqualsWholeAnswer(t *testing.T) {
	c := client(t)
	for _, text := range []string{"hola", "busca salas libres para 6 el martes", "reserva una sala para 6 mañana a las 10"} {
		req := userRequest(t, text)
		whole, err := c.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Usage.TotalTokens != whole.Usage.PromptTokens+whole.Usage.CompletionTokens || whole.Usage.CompletionTokens == 0 || whole.ID == "" {
			t.Errorf("usage %+v, id %q", whole.Usage, whole.ID)
		}
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
		reply, finish, usage := collect(t, c, req)
		if show(reply) != show(whole.Choices[0].Message) || finish != whole.Choices[0].FinishReason {
			t.Errorf("stream: %s (%s)\nwhole: %s (%s)", show(reply), finish, show(whole.Choices[0].Message), whole.Choices[0].FinishReason)
		}
		if usage == nil || usage.CompletionTokens != whole.Usage.CompletionTokens {
			t.Errorf("stream usage %+v, want %+v", usage, whole.Usage)
		}
	}
}

func collect(t *testing.T, c *openai.Client, req openai.ChatCompletionRequest) (reply openai.ChatCompletionMessage, finish openai.FinishReason, usage *openai.Usage) {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return reply, finish, usage
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			reply.Content += choice.Delta.Content
			for _, call := range choice.Delta.ToolCalls {
				if call.ID != "" {
					reply.ToolCalls = append(reply.ToolCalls, openai.ToolCall{ID: call.ID})
				}
				last := &reply.ToolCalls[*call.Index]
				last.Function.Name += call.Function.Name
				last.Function.Arguments += call.Function.Arguments
			}
			if choice.FinishReason != "" {
				finish = choice.FinishReason
			}
		}
	}
}

// TestToolChoiceIsHonoured: a call that the rules cannot make is refused, never invented.
func TestToolChoiceIsHonoured(t *testing.T) {
	c := client(t)
	forced := openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: "mcp_request"}}
	for _, tc := range []struct {
		text   string
		choice any
		want   string // prefix of the golden form; "" when it is refused
	}{
		{"busca salas libres para 6 el martes", "none", "Para «Busca salas"},
		{"busca salas libres para 6 el martes", "auto", `mcp_request {"mcp_id":"mcp_res"`},
		{"busca salas libres para 6 el martes", "required", `mcp_request {"mcp_id":"mcp_res"`},
		{"busca salas libres para 6 el martes", forced, `mcp_request {"mcp_id":"mcp_res"`},
		{"hola", "required", ""},
		{"hola", forced, ""},
	} {
		req := userRequest(t, tc.text)
		req.ToolChoice = tc.choice
		res, err := c.CreateChatCompletion(t.Context(), req)
		if tc.want == "" {
			if err == nil || !strings.Contains(err.Error(), "tool_choice") {
				t.Errorf("%q with %v: %v, %v", tc.text, tc.choice, res, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := show(res.Choices[0].Message); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%q with %v: %s, want %s…", tc.text, tc.choice, got, tc.want)
		}
	}
}

func TestModelRefusesNonCompletion(t *testing.T) {
	h := NewModel(time.Now)
	for _, tc := range []struct {
		target, body string
		status       int
		code         string
	}{
		{"POST /v1/chat/completions", `{`, 400, "invalid_json"},
		{"POST /v1/chat/completions", `{"messages":[]}`, 400, "empty_messages"},
		{"POST /v1/chat/completions", `{"messages":[{"role":"user","content":"hola"}],"tool_choice":"required"}`, 400, "invalid_request"},
		{"POST /v1/embeddings", `{}`, 404, "unknown_url"},
		{"POST /v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"hola"}]}]}`, 200, "modelo de demostración"},
		{"POST /v1/chat/completions", `{"messages":[{"role":"assistant","content":null}]}`, 200, "modelo de demostración"},
		{"GET /v1/models", ``, 200, `"piloto-demo"`},
	} {
		if status, body := call(t, h, tc.target, "", tc.body); status != tc.status || !strings.Contains(body, tc.code) {
			t.Errorf("%s %s: %d %s", tc.target, tc.body, status, body)
		}
	}
}

// TestSummariesPoseAsNoPlan: summaries that sound like a request for consent do not make the
// model's own words a ghost plan.
func TestSummariesPoseAsNoPlan(t *testing.T) {
	prompt := "<catalogue>\nserver m \"Hotel\" http://127.0.0.1:1\n- POST /bookings/{id}/confirm body{code:string*} — Confirm the booking\n- POST /plans — Run the plan now\n</catalogue>"
	for _, text := range []string{"hola", "hello", "run booking", "confirm booking 7", "run the booking confirm"} {
		res, err := client(t).CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: ModelName, Tools: offered,
			Messages: []openai.ChatCompletionMessage{{Role: "system", Content: prompt}, {Role: "user", Content: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if reply := res.Choices[0].Message.Content; claim.Read(reply).Poses() {
			t.Errorf("%q: %s", text, reply)
		}
	}
}

// TestDemonstrationPlanWorksOnTheDemonstrationService runs the three steps of the demonstration
// plan by hand against the service, with the references filled in.
func TestDemonstrationPlanWorksOnTheDemonstrationService(t *testing.T) {
	res, err := client(t).CreateChatCompletion(t.Context(), userRequest(t, "reserva una sala para 6 mañana a las 10"))
	if err != nil {
		t.Fatal(err)
	}
	var plan planProposal
	if err := json.Unmarshal([]byte(res.Choices[0].Message.ToolCalls[0].Function.Arguments), &plan); err != nil || len(plan.Steps) != 3 {
		t.Fatal(plan, err)
	}
	s := newTestService(t)
	target := func(step planStep) string {
		query := []string{}
		for _, name := range slices.Sorted(maps.Keys(step.Query)) {
			query = append(query, fmt.Sprintf("%s=%v", name, step.Query[name]))
		}
		return step.Method + " " + step.Path + "?" + strings.Join(query, "&")
	}
	_, raw := call(t, s, target(plan.Steps[0]), "", "")
	var found struct{ Items []Room }
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		t.Fatal(raw, err)
	}
	body := strings.Replace(string(encode(plan.Steps[1].Body)), "${s1.body.items[0].id}", found.Items[0].ID, 1)
	status, raw := call(t, s, "POST /reservations", "k", body)
	if status != http.StatusCreated {
		t.Fatal(status, raw)
	}
	if status, again := call(t, s, strings.Replace(target(plan.Steps[2]), "${s2.body.id}", "r-1", 1), "", ""); status != 200 || again != raw || !strings.Contains(raw, `"room_id":"norte"`) {
		t.Errorf("read back %d %s, created %s", status, again, raw)
	}
}

// FuzzModel checks that no message makes the model fail, pose as having a plan, or give another
// answer the second time.
func FuzzModel(f *testing.F) {
	raw, err := os.ReadFile("testdata/dialogues.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if text, ok := strings.CutPrefix(line, "user: "); ok {
			f.Add(text)
		}
	}
	prompt := system(f).Content
	h := NewModel(func() time.Time { return friday })
	f.Fuzz(func(t *testing.T, text string) {
		body := encode(map[string]any{"messages": []map[string]string{{"role": "system", "content": prompt}, {"role": "user", "content": text}}, "tools": offered})
		ask := func() string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "POST", "/v1/chat/completions", bytes.NewReader(body)))
			return w.Body.String()
		}
		first := ask()
		var res openai.ChatCompletionResponse
		if err := json.Unmarshal([]byte(first), &res); err != nil || len(res.Choices) != 1 {
			t.Fatalf("%q: %s", text, first)
		}
		reply := res.Choices[0].Message
		if claim.Read(reply.Content).Poses() {
			t.Fatalf("%q is answered with a ghost plan: %s", text, reply.Content)
		}
		for _, c := range reply.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				t.Fatalf("%q: arguments %s", text, c.Function.Arguments)
			}
		}
		if ask() != first {
			t.Fatalf("%q is answered in two ways", text)
		}
	})
}
