package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/changes"
	"piloto/internal/chats/job"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// toolSpec is a tool as data. do answers a call, whose arguments are an object: its result is the text for the model,
// and "" when the call is answered together with the others of its reply. Every error of the call is a result; do
// returns an error only when a store fails.
type toolSpec struct {
	llm.Tool
	class toolset.Class
	needs func(offer) bool // whether a turn has it; nil: each has
	do    func(ctx context.Context, l *loop, c toolCall) (string, error)
}

// offer decides which tools a turn has.
type offer struct {
	listed  []tool.Listed
	revises bool // the model may change a draft that waits
	decides bool // the turn answers a person who decides about the draft
}

// toolCall is one call of a reply. batch collects the calls that are answered together.
type toolCall struct {
	at    int // its index in the reply
	name  string
	raw   json.RawMessage
	batch *batch
}

// batch has the calls of one reply that are answered together: reads, which run at once, proposals, which become one
// plan, one question, and work on files.
type batch struct {
	reads     []reads.Asked
	proposals proposal.Batch
	question  *inquiry
	open      []job.OpenCall // that the client of a job answers
	files     []changes.Call // of file tools
	apply     *applyCall     // that proposes the changes of files

	withdrawal *withdrawal // that takes the draft back

	fileFailed bool // a call of a file tool failed
}

// specOf returns the tool with a name; nil when there is none.
func specOf(name string) *toolSpec {
	for _, spec := range toolTable {
		if spec.Name == name {
			spec.class = toolset.ClassOf(name)
			return &spec
		}
	}
	return nil
}

func needsReads(o offer) bool { return mayRead(o.listed) }
func needsDraft(o offer) bool { return o.revises }

// noDraft is the result of a call about the plan that waits, when none does.
var noDraft = toolcall.Error("", "no plan waits that can be changed; propose one, or answer the person")

// doPropose takes a proposal: it is answered with the plan that all proposals of the reply become.
func doPropose(_ context.Context, l *loop, c toolCall) (string, error) {
	if c.name == toolset.Revise && l.pending == nil {
		return noDraft, nil
	}
	if c.name == toolset.Request {
		c.batch.proposals.AddRequest(c.raw)
	} else {
		c.batch.proposals.AddPlan(c.raw, c.name == toolset.Revise)
	}
	return "", nil
}

// doSearch searches the catalogue.
func doSearch(ctx context.Context, l *loop, c toolCall) (string, error) {
	return l.limitedSearch(ctx, c.raw)
}

// doRead takes a read: the reads of a reply are made at once.
func doRead(ctx context.Context, l *loop, c toolCall) (string, error) {
	a, wrong, err := l.reading.Parse(ctx, c.at, c.raw)
	if err != nil {
		return "", err
	}
	if len(wrong) > 0 {
		return toolcall.Errors(wrong), nil
	}
	c.batch.reads = append(c.batch.reads, a)
	return "", nil
}

// doReadResult reads lines of an answer that was cut.
func doReadResult(_ context.Context, l *loop, c toolCall) (string, error) {
	return l.reading.Result(c.raw), nil
}

// callable reports which entries of a server a step may call. A tool that a server changed since its approval is left
// out.
func callable(s tool.Server) func(tool.Entry) bool {
	return func(e tool.Entry) bool {
		if e.Name != "" {
			return !slices.Contains(s.Frozen, e.Name)
		}
		return slices.Contains(proposal.Methods, e.Method)
	}
}

// turnTools returns the tools of a turn: with tool names where a server has named tools. They follow from what the account has
// set, and not from what is in the chat, because tools are the beginning of a prompt.
func turnTools(o offer) []llm.Tool {
	var list []llm.Tool
	for _, t := range toolTable {
		if t.needs == nil || t.needs(o) {
			list = append(list, t.Tool)
		}
	}
	if brief.HasNamedTools(o.listed) {
		return withToolNames(list)
	}
	return list
}

// mayRead reports whether any server may be read by a turn.
func mayRead(listed []tool.Listed) bool {
	return slices.ContainsFunc(listed, func(l tool.Listed) bool { return l.Server.Reads.Mode == tool.ReadsOn })
}

// toolNames lists the tools of a turn, for a model that called an unknown one.
func toolNames(list []llm.Tool) string {
	var all []string
	for _, t := range list {
		all = append(all, t.Name)
	}
	return strings.Join(all, ", ")
}

// withToolNames lets each step and read in the schemas name a tool instead of a method and a path.
func withToolNames(list []llm.Tool) []llm.Tool {
	const property = `"tool": {"type": "string", "description": "name of a tool, in the place of method and path: its arguments are the body"},
    `
	out := slices.Clone(list)
	for i, t := range out {
		schema := strings.ReplaceAll(string(t.Parameters), `"mcp_id": {`, property+`"mcp_id": {`)
		schema = strings.ReplaceAll(schema, `"mcp_id", "method", "path"]`, `"mcp_id"]`)
		if t.Name == toolset.Look {
			schema = strings.Replace(schema, `"headers": {"type": "object"}`, `"headers": {"type": "object"},
    "body": {"type": "object"}`, 1)
		}
		out[i].Parameters = json.RawMessage(schema)
	}
	return out
}

// toolTable holds the tools beside those of files, in the order in which a turn offers them. Their classes are those of toolset.
var toolTable = []toolSpec{
	{
		do: doPropose,
		Tool: llm.Tool{
			Name:        toolset.Request,
			Description: "Propose one call of a service.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "title": {"type": "string", "description": "what it does, in the person's language"},
    "why": {"type": "string", "description": "what it is for, in a few words"},
    "mcp_id": {"type": "string", "description": "from the catalogue"},
    "method": {"type": "string"},
    "path": {"type": "string"},
    "query": {"type": "object"},
    "headers": {"type": "object"},
    "body": {"type": "object", "description": "or a list or a text"}
  },
  "required": ["mcp_id", "method", "path"],
  "additionalProperties": false
}`),
		},
	},
	{
		do: doPropose,
		Tool: llm.Tool{
			Name:        toolset.Plan,
			Description: "Propose several calls as one plan.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "what the plan achieves, in the person's language"},
    "steps": ` + steps + `
  },
  "required": ["goal", "steps"],
  "additionalProperties": false
}`),
		},
	},
	{
		do: doSearch,
		Tool: llm.Tool{
			Name:        toolset.Search,
			Description: "Find operations of the catalogue, with the schemas of what they take.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {"query": {"type": "string"}},
  "required": ["query"],
  "additionalProperties": false
}`),
		},
	},
	{
		needs: needsReads, do: doRead,
		Tool: llm.Tool{
			Name:        toolset.Look,
			Description: "Read at once what the catalogue marks with “reads”.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "mcp_id": {"type": "string"},
    "method": {"type": "string", "description": "absent: GET"},
    "path": {"type": "string"},
    "query": {"type": "object"},
    "headers": {"type": "object"}
  },
  "required": ["mcp_id"],
  "additionalProperties": false
}`),
		},
	},
	{
		needs: needsReads, do: doReadResult,
		Tool: llm.Tool{
			Name:        toolset.Result,
			Description: "Read on where the answer of a look in this turn was cut.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "l1, l2, …"},
    "at": {"type": "string", "description": "as cut names it; absent: the first one"},
    "from": {"type": "integer", "description": "from 1"},
    "lines": {"type": "integer", "description": "absent: as many as fit"}
  },
  "required": ["id", "from"],
  "additionalProperties": false
}`),
		},
	},
	{
		do: doAsk,
		Tool: llm.Tool{
			Name:        toolset.Ask,
			Description: "Ask the person one question. Their answer confirms no plan.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "question": {"type": "string", "description": "in the person's language"},
    "options": {"type": "array", "maxItems": 10, "items": {"type": "string"}, "description": "to choose from: a few words each, without numbers"}
  },
  "required": ["question"],
  "additionalProperties": false
}`),
		},
	},
	{
		needs: needsDraft, do: doPropose,
		Tool: llm.Tool{
			Name:        toolset.Revise,
			Description: "Change the plan that waits.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "absent: it stays"},
    "steps": {"type": "array", "items": {"type": "object"}, "description": "all of them as in propose_plan, with their ids"}
  },
  "required": ["steps"],
  "additionalProperties": false
}`),
		},
	},
	{
		needs: needsDecider, do: doWithdraw,
		Tool: llm.Tool{
			Name:        toolset.Withdraw,
			Description: "Take back the plan that waits, when the person wants nothing in its place.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "reason": {"type": "string", "maxLength": 500, "description": "why, in one sentence, for the record"}
  },
  "required": ["reason"],
  "additionalProperties": false
}`),
		},
	},
}

// steps is the schema of a plan's steps.
const steps = `{
      "type": "array", "minItems": 1, "maxItems": 50,
      "items": {
        "type": "object",
        "properties": {
          "id": {"type": "string", "description": "s1, s2, …"},
          "title": {"type": "string"},
          "mcp_id": {"type": "string"},
          "method": {"type": "string"},
          "path": {"type": "string"},
          "query": {"type": "object"},
          "headers": {"type": "object", "description": "${s1.headers.ETag} is one of an answer"},
          "body": {"type": "object"},
          "needs": {"type": "array", "items": {"type": "string"}, "description": "ids of steps to be done first; absent: the step before"},
          "when": {"type": "object", "description": "only if: {\"value\":\"${s1.status}\",\"is\":\"equal\",\"to\":200}; or not_equal, less, at_most, more, at_least, present, absent; or {\"all\":[…]}, {\"any\":[…]}, {\"not\":{…}}"},
          "for_each": {"type": "string", "description": "a list, \"${s1.body.items}\": once for each ${item}, ${item.id}"},
          "undo": {"type": "object", "description": "call that takes it back: {method, path, query?, headers?, body?}; may use this step's ${s1.body.id}"},
          "verify": {"type": "object", "description": "GET that shows whether it was done, if its answer is lost: {path, query?, headers?, expect: like when, over ${check.body.x}}"}
        },
        "required": ["id", "title", "mcp_id", "method", "path"],
        "additionalProperties": false
      }
    }`
