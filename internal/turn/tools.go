package turn

import (
	"encoding/json"
	"slices"
	"strings"

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

// callable keeps the entries a step may name: what a server changed since it was
// approved is none of them.
func callable(s tool.Server, entries []tool.Entry) []tool.Entry {
	return slices.DeleteFunc(entries, func(e tool.Entry) bool {
		if e.Name != "" {
			return slices.Contains(s.Frozen, e.Name)
		}
		return !slices.Contains(methods, e.Method)
	})
}

// offers are the tools of a turn: those with tool names where a server has any.
func offers(listed []tool.Listed) []llm.Tool {
	if hasNamed(listed) {
		return offeredNamed
	}
	return offered
}

// hasNamed reports whether any server has tools with names.
func hasNamed(listed []tool.Listed) bool {
	return slices.ContainsFunc(listed, func(l tool.Listed) bool { return l.Server.Kind == tool.KindMCP && len(l.Entries) > 0 })
}

// offeredNamed are the tools where steps may call tools by name as well.
var offeredNamed = named(offered)

// named lets each step of what is offered name a tool in the place of a method and
// a path.
func named(list []llm.Tool) []llm.Tool {
	const property = `"tool": {"type": "string", "description": "name of a tool, in the place of method and path: its arguments are the body"},
    `
	out := slices.Clone(list)
	for i, t := range out {
		schema := strings.ReplaceAll(string(t.Parameters), `"mcp_id": {`, property+`"mcp_id": {`)
		schema = strings.ReplaceAll(schema, `"mcp_id", "method", "path"]`, `"mcp_id"]`)
		out[i].Parameters = json.RawMessage(schema)
	}
	return out
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
