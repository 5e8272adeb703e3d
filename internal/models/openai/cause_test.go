package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/models/llm"
)

// TestARefusalSaysItsCause in the words of many providers.
func TestARefusalSaysItsCause(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   error
		cause  llm.Cause
	}{
		{402, `{"error":{"message":"Insufficient Balance"}}`, llm.ErrRefused, llm.Unpaid},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.ErrRefused, llm.Unpaid},
		{400, `{"error":{"message":"Your credit balance is too low to access the Anthropic API.","type":"invalid_request_error"}}`, llm.ErrRefused, llm.Unpaid},
		{403, `{"error":{"message":"Your team has used all available credits."}}`, llm.ErrRefused, llm.Unpaid},
		{404, `{"error":{"message":"The model 'x' does not exist or you do not have access to it.","code":"model_not_found"}}`, llm.ErrRefused, llm.NoModel},
		{403, `{"error":{"message":"Project does not have access to model 'x'","code":"model_not_found"}}`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"Model Not Exist"}}`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"x is not a valid model ID","code":400}}`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"The model 'gpt-3.5' does not exist","code":400}}`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"The model mixtral has been decommissioned and is no longer supported.","code":"model_decommissioned"}}`, llm.ErrRefused, llm.NoModel},
		{404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llm.ErrRefused, llm.NoModel},
		{404, `{"error":{"message":"No endpoints found for x/y.","code":404}}`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"temperature is wrong for this model"}}`, llm.ErrRefused, ""},
		{404, `<html>no such page</html>`, llm.ErrRefused, llm.NoModel},
		{400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}`, llm.ErrRefused, llm.Filtered},
		{400, `{"error":{"message":"Content Exists Risk"}}`, llm.ErrRefused, llm.Filtered},
		{403, `{"error":{"code":403,"message":"flagged","metadata":{"reasons":["flagged_input"]}}}`, llm.ErrRefused, llm.Filtered},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.ErrNoKey, ""},
		{401, `{"error":{"message":"no"}}`, llm.ErrNoKey, ""},
		{200, `{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}`, llm.ErrRefused, llm.Filtered},
		{200, `{"choices":[{"finish_reason":"SAFETY","message":{"content":null}}]}`, llm.ErrRefused, llm.Filtered},
		{200, `{"choices":[{"finish_reason":"length","message":{"content":"","reasoning_content":"pienso"}}]}`, llm.ErrRefused, llm.CutShort},
		{200, `{"choices":[{"finish_reason":"MAX_TOKENS","message":{"content":"<think>pienso"}}]}`, llm.ErrRefused, llm.CutShort},
		{400, `{"error":{"message":"wrong"}}`, llm.ErrRefused, ""},
	} {
		if _, err := provider(t, says(c.status, c.body)).Complete(context.Background(), ask("m", nil)); !errors.Is(err, c.want) || llm.CauseOf(err) != c.cause {
			t.Errorf("%d %s: %v, cause %q", c.status, c.body, err, llm.CauseOf(err))
		}
	}
}

// TestAPageIsNoAnswer: the address is that of a site, and another attempt would get the same.
func TestAPageIsNoAnswer(t *testing.T) {
	asked := 0
	client := provider(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>Hola</title>"))
	})
	for _, sink := range []llm.Sink{nil, &page{}} {
		if _, err := client.Complete(context.Background(), ask("m", sink)); llm.CauseOf(err) != llm.NoModel {
			t.Error(err)
		}
	}
	if asked != 2 {
		t.Errorf("%d requests", asked)
	}
}

// toolless is a provider that refuses tools, and the members of a call; it may take tools with plain schemas.
type toolless struct {
	no    string
	plain bool
	sent  []string
}

func (p *toolless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Tools []struct {
			Function struct{ Parameters json.RawMessage }
		}
		Messages []struct {
			Role    string
			Content string
			Calls   []any `json:"tool_calls"`
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	line := fmt.Sprint(len(body.Tools), " tools")
	refused := len(body.Tools) > 0 && !p.plain
	for _, t := range body.Tools {
		refused = refused || strings.Contains(string(t.Function.Parameters), `"minItems":1`)
	}
	for _, m := range body.Messages {
		line += "|" + m.Role + " " + m.Content
		refused = refused || !p.plain && (m.Role == "tool" || len(m.Calls) > 0)
	}
	p.sent = append(p.sent, line)
	if refused {
		status := 400
		if strings.Contains(p.no, "endpoints") {
			status = 404
		}
		says(status, fmt.Sprintf(`{"error":{"message":%q}}`, p.no))(w, r)
		return
	}
	says(200, `{"choices":[{"finish_reason":"stop","message":{"content":"hola"}}]}`)(w, r)
}

// TestAModelWithoutToolsTalks: that is remembered and said, and what other models called is told in words.
func TestAModelWithoutToolsTalks(t *testing.T) {
	for _, no := range []string{
		"registry.ollama.ai/library/gemma:2b does not support tools", "No endpoints found that support tool use.",
		"`tool calling` is not supported with this model", `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`,
		"Function calling is not enabled for models/gemma-3", "deepseek-reasoner does not support Function Calling", "Unsupported parameter: 'tools'",
	} {
		p := &toolless{no: no}
		client := provider(t, p.ServeHTTP)
		r := ask("m", nil)
		r.Tools = twoTools
		r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "a", Name: "look", Arguments: `{"x":1}`}}},
			llm.Message{Role: llm.ToolRole, CallID: "a", Content: "3"})
		for range 2 {
			if reply, err := client.Complete(context.Background(), r); err != nil || reply.Text != "hola" || !reply.NoTools {
				t.Errorf("%s: %+v, %v", no, reply, err)
			}
		}
		without := `0 tools|user u|assistant look {"x":1}|user look: 3`
		if d := cmp.Diff([]string{"2 tools|user u|assistant |tool 3", without, without}, p.sent); d != "" {
			t.Errorf("%s: %s", no, d)
		}
		r.Tools = nil
		if reply, err := client.Complete(context.Background(), r); err != nil || reply.NoTools {
			t.Errorf("without tools: %+v, %v", reply, err)
		}
	}
}

// TestASchemaThatIsRefusedIsSaidPlainly, and the tools stay.
func TestASchemaThatIsRefusedIsSaidPlainly(t *testing.T) {
	p := &toolless{plain: true, no: "Invalid JSON payload received. Unknown name \"x\" at 'tools[0].function_declarations[0].parameters.properties[4].value'"}
	client := provider(t, p.ServeHTTP)
	r := ask("m", nil)
	r.Tools = []llm.Tool{{Name: "plan", Parameters: json.RawMessage(`{"type":"object","properties":{"steps":{"type":"array","minItems":1,"items":{"type":"object","properties":{"id":{"type":"string"}}}}}}`)}}
	for range 2 {
		if reply, err := client.Complete(context.Background(), r); err != nil || reply.NoTools {
			t.Errorf("%+v, %v", reply, err)
		}
	}
	if len(p.sent) != 3 || !client.Quirks("m").PlainTools {
		t.Errorf("%q", p.sent)
	}
	want := `{"type":"object","properties":{"steps":{"type":"array","items":{"type":"string"},"description":"JSON {\"minItems\":1,\"items\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}}}}"}}}`
	if got := string(llm.Plain(r.Tools[0].Parameters)); got != want {
		t.Error(got)
	}
}
