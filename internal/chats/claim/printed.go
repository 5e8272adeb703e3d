package claim

import (
	"strings"

	"piloto/internal/chats/toolset"
)

// Marks of a tool call that is written as text.
var (
	toolNames = toolset.Distinct()
	callMarks = []string{
		"<tool_call", "[tool_call", "<function=", "<function_call", "<|python_tag|>", "<|tool", "<invoke", "action input:", "requires_confirmation", "requiere_confirmacion", "requiere_confirmación",
		`"tool_calls": [`, `"tool_calls":[`, `"function_call": {`, `"tool_call": {`,
	}
	callKeys = []string{`"tool"`, `"tool_name"`, `"function"`, `"action"`, `"accion"`, `"acción"`, `"operation"`, `"operacion"`, `"herramienta"`, `"name"`, `"method"`}
	argKeys  = []string{`"arguments"`, `"parameters"`, `"args"`, `"params"`, `"action_input"`, `"tool_input"`, `"argumentos"`, `"parametros"`, `"parámetros"`, `"body"`}
	planKeys = []string{`"plan"`, `"steps"`, `"pasos"`, `"goal"`, `"objetivo"`}
	stepKeys = []string{`"method"`, `"path"`, `"operation"`, `"tool"`, `"action"`, `"op"`, `"goal"`, `"steps"`, `"pasos"`, `"metodo"`, `"método"`, `"accion"`, `"acción"`}
	calling  = []string{"call", "llam", "usa", "use", "using", "invo", "action:", "herramienta:", "tool:", "ejecut", "execut", "run"}
)

func containsAny(text string, marks []string) bool {
	for _, mark := range marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// printsCall reports a tool call, or the JSON of a plan, written as text.
func printsCall(folded string) bool {
	if containsAny(folded, callMarks) {
		return true
	}
	// Only an argument of our own tools has this name, inside and outside of a fence.
	if strings.Contains(folded, `"mcp_id"`) && containsAny(folded, stepKeys[:2]) {
		return true
	}
	if strings.IndexByte(folded, '{') >= 0 && !strings.Contains(folded, `"type": "object"`) && !strings.Contains(folded, `"type":"object"`) {
		if containsAny(folded, callKeys) && containsAny(folded, argKeys) && !strings.Contains(folded, `"status"`) {
			return true
		}
		if containsAny(folded, planKeys) && containsAny(folded, stepKeys) && strings.Contains(folded, `"plan"`) || strings.Contains(folded, `"steps"`) && containsAny(folded, stepKeys[:6]) {
			return true
		}
	}
	return namesTool(folded)
}

// namesTool reports a call of one of our tools: a bracket, a colon or a brace after its name, or
// a verb for calling before it on its line.
func namesTool(folded string) bool {
	for _, name := range toolNames {
		rest := folded
		for {
			at := strings.Index(rest, name)
			if at < 0 {
				break
			}
			after := strings.TrimLeft(rest[at+len(name):], "`\" ")
			if after != "" && strings.IndexByte("({:>", after[0]) >= 0 {
				return true
			}
			before := rest[max(0, at-40):at]
			if i := strings.LastIndexByte(before, '\n'); i >= 0 {
				before = before[i+1:]
			}
			if containsAny(before, calling) && !containsAny(before, []string{" when", "cuando", "can be", "se usa", "sirve"}) {
				return true
			}
			rest = rest[at+len(name):]
		}
	}
	return false
}
