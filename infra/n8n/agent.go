package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The agents of agent.json: unchanged, a slow one, and one that fails.
const (
	ready  = "horario"
	slow   = "lento"
	broken = "roto"
	inside = "la hoja de cálculo secreta"
)

// paths maps each agent to its path.
var paths = map[string]string{ready: "piloto-agente", slow: "piloto-agente-lento", broken: "piloto-agente-roto"}

// agents returns variants of the workflow that a person might build: one with a pause before its answer, and one
// whose answer fails.
func (w *workflow) agents() ([]*workflow, error) {
	var out []*workflow
	for name, between := range map[string]*node{
		slow:   {Type: "n8n-nodes-base.wait", TypeVersion: 1.1, Parameters: map[string]any{"amount": 3, "unit": "seconds"}},
		broken: {Type: "n8n-nodes-base.stopAndError", TypeVersion: 1, Parameters: map[string]any{"errorMessage": inside}},
	} {
		raw, err := json.Marshal(w)
		if err != nil {
			return nil, err
		}
		other := &workflow{}
		if err := json.Unmarshal(raw, other); err != nil {
			return nil, err
		}
		other.ID, other.Name = paths[name], w.Name+" "+name
		for _, n := range other.Nodes {
			if n.WebhookID != "" {
				n.WebhookID, n.Parameters["path"] = paths[name], paths[name]
			}
		}
		between.ID, between.Name = name, name
		if name == slow {
			between.WebhookID = "waits"
		}
		other.Nodes = append(other.Nodes, between)
		answer := other.Connections["Mensaje"]
		other.Connections["Mensaje"] = map[string][][]connection{"main": {{{Node: name, Type: "main"}}}}
		other.Connections[name] = answer
		out = append(out, other)
	}
	return out, nil
}

// registerAgent registers a workflow as an agent in Piloto, with a keyword for it.
func (w *world) registerAgent(ctx context.Context, name string) error {
	var got struct {
		Status string
		Tools  []struct{ Name string }
	}
	err := w.ask(ctx, http.MethodPost, "/api/mcps", map[string]any{
		"url": w.back.URL + "/mcp/" + paths[name], "role": "agent", "name": name,
		"description": "Responde preguntas sobre el " + name, "keywords": []string{name},
		"key": map[string]string{"in": "header", "name": "X-Caller-Key", "value": w.caller},
	}, &got)
	if err == nil && (got.Status != "online" || len(got.Tools) != 1 || got.Tools[0].Name != "chat") {
		err = fmt.Errorf("it is %s, with the tools %v", got.Status, got.Tools)
	}
	return err
}

// calls counts the calls of an agent's tool since the last instruction to the gate.
func (w *world) calls(name string) int {
	n := 0
	for _, p := range w.back.requestsTo("/mcp/" + paths[name]) {
		if strings.Contains(p.Body, `"tools/call"`) {
			n++
		}
	}
	return n
}

// checkCalledOnce fails unless an agent was called exactly once.
func (w *world) checkCalledOnce(name string) error {
	if n := w.calls(name); n != 1 {
		return fmt.Errorf("it was called %d times", n)
	}
	return nil
}

func agentSteps() []step {
	const flow = "agent"
	return []step{
		{flow, "a workflow behind its MCP trigger is registered as an agent", func(ctx context.Context, w *world) error {
			return errors.Join(w.registerAgent(ctx, ready), w.registerAgent(ctx, slow), w.registerAgent(ctx, broken))
		}},
		{flow, "without its key it is not", func(ctx context.Context, w *world) error {
			got, err := call(ctx, http.MethodPost, "http://"+w.address+"/api/mcps",
				map[string]string{"url": w.back.URL + "/mcp/" + paths[ready], "role": "agent", "name": "nadie"}, http.Header{"Authorization": {"Bearer " + w.token}})
			if err == nil && got.Status < 400 {
				err = fmt.Errorf("%d %s", got.Status, brief(got.Text))
			}
			return err
		}},
		{flow, "what speaks of it is answered by it, and it is called once", func(ctx context.Context, w *world) error {
			w.back.next(nothing)
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("asks", "1", "¿Qué horario tenéis?"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200, "action", "delegate", "agent_used", ready), contains(got, "de lunes a viernes"), contains(got, "¿Qué horario tenéis?"), w.checkCalledOnce(ready))
		}},
		{flow, "one that takes longer than the request waits is heard, and called once", func(ctx context.Context, w *world) error {
			w.back.next(nothing)
			w.gate.next(inHurry)
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("waits", "1", "Pregunta al lento, sin prisa"))
			if err != nil {
				return err
			}
			err = errors.Join(expect(got, 200, "action", "delegate", "agent_used", slow), contains(got, "de lunes a viernes"), w.checkCalledOnce(slow), w.checkRemembered(ctx, "waits", 1))
			if n := len(w.gate.requestsTo("/api/turns/")); n == 0 {
				err = errors.Join(err, errors.New("it was answered at once"))
			}
			return err
		}},
		{flow, "one that breaks is told as a failure, and nothing of what it said", func(ctx context.Context, w *world) error {
			w.back.next(nothing)
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("breaks", "1", "Pregunta al roto"))
			if err != nil {
				return err
			}
			if strings.Contains(got.Text, inside) {
				err = errors.New("the customer reads what broke")
			}
			return errors.Join(err, expect(got, 200, "agent_used", "", "agent", broken), contains(got, `"code":"agent.`), checkSentence(got), w.checkCalledOnce(broken))
		}},
		{flow, "one that is not published any more is told as a failure", func(ctx context.Context, w *world) error {
			w.back.next(goElsewhere)
			defer w.back.next(nothing)
			got, err := w.hook(ctx, http.MethodPost, "piloto-chat", message("gone", "1", "¿Qué horario tenéis mañana?"))
			if err != nil {
				return err
			}
			return errors.Join(expect(got, 200, "agent_used", "", "agent", ready), contains(got, `"code":"agent.`), checkSentence(got))
		}},
	}
}
