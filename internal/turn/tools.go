package turn

import (
	"encoding/json"
	"slices"

	"piloto/internal/llm"
	"piloto/internal/tool"
)

// The tools the model is offered.
const (
	toolRequest = "mcp_request"
	toolPlan    = "propose_plan"
	toolSearch  = "search_tools"
)

// methods are those a step may have.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// callable keeps the entries a step may name.
func callable(entries []tool.Entry) []tool.Entry {
	return slices.DeleteFunc(entries, func(e tool.Entry) bool { return !slices.Contains(methods, e.Method) })
}

// offered are the tools, with their schemas.
var offered = []llm.Tool{
	{
		Name: toolRequest,
		Description: "Propose one call of a registered service. It runs nothing: the person sees it and confirms it first. " +
			"Paso único: propone una llamada a un servicio registrado; la persona la confirma antes de que se ejecute.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "mcp_id": {"type": "string", "description": "id of the server, from the catalogue"},
    "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
    "path": {"type": "string", "description": "concrete path, with every {parameter} filled in"},
    "query": {"type": "object", "description": "query parameters by name"},
    "body": {"type": ["object", "string", "null"], "description": "request body"}
  },
  "required": ["mcp_id", "method", "path"],
  "additionalProperties": false
}`),
	},
	{
		Name: toolPlan,
		Description: "Propose several calls as one plan, in order, where later steps may use the results of earlier ones " +
			"(${s1.body.id}). It runs nothing: the person sees it and confirms it first. " +
			"Varios pasos: propone un plan; la persona lo confirma antes de que se ejecute.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "what the plan achieves, in the person's language"},
    "steps": {
      "type": "array", "minItems": 1, "maxItems": 50,
      "items": {
        "type": "object",
        "properties": {
          "id": {"type": "string", "description": "s1, s2, …"},
          "title": {"type": "string", "description": "what the step does, in the person's language"},
          "mcp_id": {"type": "string", "description": "id of the server, from the catalogue"},
          "method": {"type": "string", "enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
          "path": {"type": "string", "description": "concrete path, with every {parameter} filled in"},
          "query": {"type": "object", "description": "query parameters by name"},
          "body": {"type": ["object", "array", "string", "null"], "description": "request body"},
          "needs": {"type": "array", "items": {"type": "string"}, "description": "ids of the steps that must be done first; absent means the step before"}
        },
        "required": ["id", "title", "mcp_id", "method", "path"],
        "additionalProperties": false
      }
    }
  },
  "required": ["goal", "steps"],
  "additionalProperties": false
}`),
	},
	{
		Name: toolSearch,
		Description: "Search the catalogue of registered services for operations, with their parameters. It calls nothing. " +
			"Busca operaciones en el catálogo.",
		Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {"query": {"type": "string", "description": "a few words"}},
  "required": ["query"],
  "additionalProperties": false
}`),
	},
}
