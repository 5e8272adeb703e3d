package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/models/llm"
)

// Action is the way in which a message is answered.
type Action string

// The actions of a decision.
const (
	Delegate Action = "delegate" // an agent answers it
	Respond  Action = "respond"  // the decision's own response answers it
)

// Decision is the model's decision about a message. Agent is one of the offered agents when
// Action is Delegate, and "" otherwise. Options is the JSON of the answers that a response which
// asks offers, as the model wrote it; "" for none.
type Decision struct {
	Action   Action
	Agent    string
	Response string
	Options  string
}

// Temperature is the model's temperature for decisions (document 001).
const Temperature = 0.4

// nobody is the agent_name of a decision that names no agent. A schema that all providers take has no null.
const nobody = "none"

// Format returns the schema of a decision: {action, agent_name, response, options}, where agent_name
// is the name of an agent or "none", and options a list, which may be empty. Without agents, only respond is allowed.
func Format(agents []Agent) *llm.Format {
	actions, names := []Action{Respond}, []string{}
	if len(agents) > 0 {
		actions = []Action{Delegate, Respond}
	}
	for _, a := range agents {
		names = append(names, a.Name)
	}
	names = append(names, nobody)
	schema, err := json.Marshal(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"action":     map[string]any{"type": "string", "enum": actions},
			"agent_name": map[string]any{"type": "string", "enum": names},
			"response":   map[string]any{"type": "string"},
			"options":    map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		},
		"required":             []string{"action", "agent_name", "response", "options"},
		"additionalProperties": false,
	})
	if err != nil { // strings always are JSON
		panic(err)
	}
	return &llm.Format{Name: "decision", Schema: schema}
}

// ReadDecision decodes the JSON of a decision over the offered agents. Its error names the
// fault, for a model that corrects its answer.
func ReadDecision(raw json.RawMessage, agents []Agent) (Decision, error) {
	var decoded struct {
		Action   Action  `json:"action"`
		Agent    *string `json:"agent_name"`
		Response *string `json:"response"`

		Options json.RawMessage `json:"options"`
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return Decision{}, errors.New("it must be an object {action, agent_name, response}")
	}
	d := Decision{Action: Action(strings.ToLower(strings.TrimSpace(string(decoded.Action))))}
	if decoded.Response != nil {
		d.Response = sanitize(*decoded.Response)
	}
	switch {
	case d.Action == Respond && d.Response == "":
		return Decision{}, errors.New(`response must not be empty when action is "respond"`)
	case d.Action == Respond:
		if raw := string(decoded.Options); raw != "null" && raw != "[]" {
			d.Options = raw
		}
		return d, nil
	case d.Action != Delegate:
		return Decision{}, errors.New(`action must be "delegate" or "respond"`)
	}
	name := ""
	if decoded.Agent != nil {
		name = strings.TrimSpace(*decoded.Agent)
	}
	at := slices.IndexFunc(agents, func(a Agent) bool { return strings.EqualFold(a.Name, name) })
	if at < 0 {
		return Decision{}, fmt.Errorf("agent_name must be one of %s when action is \"delegate\"", agentNames(agents))
	}
	d.Agent = agents[at].Name
	return d, nil
}

func agentNames(agents []Agent) string {
	if len(agents) == 0 {
		return "none: there are no agents, so action is \"respond\""
	}
	list := make([]string, len(agents))
	for i, a := range agents {
		list[i] = a.Name
	}
	return strings.Join(list, ", ")
}
