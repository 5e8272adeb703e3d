package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"piloto/internal/chats/agent"
)

func TestReadDecisionReturnsDecisionOrFault(t *testing.T) {
	agents := []agent.Agent{{Name: "reserva"}, {Name: "venta"}}
	for name, c := range map[string]struct {
		raw   string
		want  agent.Decision
		wrong string // substring of the error
	}{
		"an answer":                  {`{"action":"respond","agent_name":null,"response":" hola "}`, agent.Decision{Action: agent.Respond, Response: "hola"}, ""},
		"an agent":                   {`{"action":"delegate","agent_name":"reserva","response":""}`, agent.Decision{Action: agent.Delegate, Agent: "reserva"}, ""},
		"capitals":                   {`{"action":"Delegate","agent_name":" VENTA "}`, agent.Decision{Action: agent.Delegate, Agent: "venta"}, ""},
		"nobody":                     {`{"action":"delegate","agent_name":null,"response":"x"}`, agent.Decision{}, "agent_name must be one of reserva, venta"},
		"somebody else":              {`{"action":"delegate","agent_name":"cita","response":""}`, agent.Decision{}, "agent_name must be one of"},
		"nothing to say":             {`{"action":"respond","agent_name":null,"response":" "}`, agent.Decision{}, "must not be empty"},
		"nothing that one can see":   {`{"action":"respond","agent_name":null,"response":"\u200b\u2060 \ufeff"}`, agent.Decision{}, "must not be empty"},
		"a text that reads as other": {`{"action":"respond","agent_name":null,"response":"a\u202eb\u0000c\nd"}`, agent.Decision{Action: agent.Respond, Response: "abc\nd"}, ""},
		"nobody, by the schema":      {`{"action":"respond","agent_name":"none","response":"hola","options":[]}`, agent.Decision{Action: agent.Respond, Response: "hola"}, ""},
		"a thought in the response":  {`{"action":"respond","response":"\u003cthink\u003esecreto\u003c/think\u003ehola"}`, agent.Decision{Action: agent.Respond, Response: "hola"}, ""},
		"choices":                    {`{"action":"respond","response":"¿Cuál?","options":["a", "b"]}`, agent.Decision{Action: agent.Respond, Response: "¿Cuál?", Options: `["a", "b"]`}, ""},
		"choices of another shape":   {`{"action":"respond","response":"¿Cuál?","options":7}`, agent.Decision{Action: agent.Respond, Response: "¿Cuál?", Options: "7"}, ""},
		"no choices":                 {`{"action":"respond","response":"Hola","options":null}`, agent.Decision{Action: agent.Respond, Response: "Hola"}, ""},
		"choices of a delegation":    {`{"action":"delegate","agent_name":"venta","options":["a"]}`, agent.Decision{Action: agent.Delegate, Agent: "venta"}, ""},
		"no action":                  {`{}`, agent.Decision{}, "action must be"},
		"another shape":              {`{"action":["respond"]}`, agent.Decision{}, "it must be an object"},
	} {
		got, err := agent.ReadDecision(json.RawMessage(c.raw), agents)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}
