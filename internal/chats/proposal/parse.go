package proposal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// The members of a model's arguments.
var (
	requestKeys   = []string{"mcp_id", "method", "path", "query", "headers", "body", "tool"}
	PlanKeys      = []string{"goal", "steps"}
	stepKeys      = []string{"id", "title", "why", "mcp_id", "method", "path", "query", "headers", "body", "tool", "needs", "when", "for_each", "undo", "no_undo", "verify"}
	callKeys      = append(slices.Clone(requestKeys), "title", "why") // of mcp_request
	checkKeys     = append(slices.Clone(requestKeys), "expect")
	conditionKeys = []string{"value", "is", "to", "all", "any", "not"}
)

// maxNested bounds how deep a condition is checked for unknown members.
const maxNested = 8

// Request reads the arguments of mcp_request as a plan of one step. Its goal is what the call does and why it is wanted; "": nothing
// says why, so the plan is named by its title.
func Request(raw json.RawMessage) (plan.Proposal, []fault.Field) {
	var s plan.ProposedStep
	wrong := toolcall.Decode(raw, &s, callKeys)
	why, bad := readWhy(raw)
	wrong = append(append(wrong, bad...), normalize(&s)...)
	p := plan.Proposal{Steps: []plan.ProposedStep{s}}
	if why != "" {
		p.Goal = withWhy(s.Title, why)
	}
	return p, wrong
}

// readWhy reads why a call is wanted; "": it does not say.
func readWhy(raw json.RawMessage) (string, []fault.Field) {
	var in struct{ Why json.RawMessage }
	var why string
	if json.Unmarshal(raw, &in) != nil || len(in.Why) == 0 { // what is no object has an error of its own
		return "", nil
	}
	if json.Unmarshal(in.Why, &why) != nil {
		return "", []fault.Field{{Loc: []any{"why"}, Msg: "must be a string", Type: "type_error"}}
	}
	return strings.TrimSpace(why), nil
}

// withWhy returns what a call does and why: «Reservar la sala — para la reunión».
func withWhy(title, why string) string {
	title = strings.TrimSuffix(strings.TrimSpace(title), ".")
	if title == "" || why == "" || strings.EqualFold(title, strings.TrimSuffix(why, ".")) {
		return cmp.Or(why, title)
	}
	return title + " — " + why
}

// Plan reads the arguments of propose_plan and of revise_plan.
func Plan(raw json.RawMessage) (plan.Proposal, []fault.Field) {
	var outer struct {
		Goal  string            `json:"goal"`
		Steps []json.RawMessage `json:"steps"`
	}
	wrong := toolcall.Decode(raw, &outer, PlanKeys)
	p := plan.Proposal{Goal: strings.TrimSpace(outer.Goal)}
	if len(outer.Steps) > plan.MaxSteps {
		return p, append(wrong, fault.Field{
			Loc: []any{"steps"}, Type: "too_long", Msg: fmt.Sprintf("a plan has at most %d steps", plan.MaxSteps),
		})
	}
	for i, rawStep := range outer.Steps {
		s, bad := readStep(rawStep)
		for _, f := range bad {
			f.Loc = append([]any{"steps", i}, f.Loc...)
			wrong = append(wrong, f)
		}
		p.Steps = append(p.Steps, s)
	}
	return p, wrong
}

// readStep reads one step of a plan. An empty member counts as absent, because models fill in
// members that they do not use.
func readStep(raw json.RawMessage) (plan.ProposedStep, []fault.Field) {
	var s plan.ProposedStep
	if inner := toolcall.Unquote(raw); inner != nil { // an object in a string
		raw = inner
	}
	wrong := toolcall.Decode(raw, &s, stepKeys)
	why, bad := readWhy(raw)
	if wrong = append(wrong, bad...); why != "" {
		s.Title = withWhy(s.Title, why)
	}
	var parts struct{ When, Undo, Verify json.RawMessage }
	if json.Unmarshal(raw, &parts) == nil {
		wrong = append(wrong, unknownConditionMembers(parts.When, maxNested, "when")...)
		wrong = append(wrong, toolcall.Unknown(parts.Undo, requestKeys, "undo")...)
		wrong = append(wrong, toolcall.Unknown(parts.Verify, checkKeys, "verify")...)
		var check struct{ Expect json.RawMessage }
		if json.Unmarshal(parts.Verify, &check) == nil {
			wrong = append(wrong, unknownConditionMembers(check.Expect, maxNested, "verify", "expect")...)
		}
	}
	if toolcall.Empty(parts.When) {
		s.When = nil
	}
	if toolcall.Empty(parts.Undo) {
		s.Undo = nil
	}
	if toolcall.Empty(parts.Verify) {
		s.Verify = nil
	}
	return s, append(wrong, normalize(&s)...)
}

// unknownConditionMembers lists the unknown members of a condition and of its nested conditions.
func unknownConditionMembers(raw json.RawMessage, depth int, where ...any) []fault.Field {
	wrong := toolcall.Unknown(raw, conditionKeys, where...)
	var c struct {
		All, Any []json.RawMessage
		Not      json.RawMessage
	}
	if depth == 0 || json.Unmarshal(raw, &c) != nil {
		return wrong
	}
	for name, list := range map[string][]json.RawMessage{"all": c.All, "any": c.Any} {
		for i, one := range list {
			wrong = append(wrong, unknownConditionMembers(one, depth-1, append(slices.Clone(where), name, i)...)...)
		}
	}
	return append(wrong, unknownConditionMembers(c.Not, depth-1, append(slices.Clone(where), "not")...)...)
}

// normalize brings a step and its other calls into the canonical form that is shown and sent. It
// returns the missing members. The undo and the check of a step use its server by default, and a
// check is a GET by default.
func normalize(s *plan.ProposedStep) []fault.Field {
	own := s.Call()
	wrong := normalizeCall(&own)
	s.SetCall(own)
	s.ForEach = strings.TrimSpace(s.ForEach)
	other := func(c *plan.Call, name string) {
		if c.MCPID == "" {
			c.MCPID = s.MCPID
		}
		for _, f := range normalizeCall(c) {
			f.Loc = append([]any{name}, f.Loc...)
			wrong = append(wrong, f)
		}
	}
	if s.Undo != nil {
		undo := *s.Undo
		other(&undo, "undo")
		s.Undo = &undo
	}
	if s.Verify != nil {
		check := *s.Verify
		if check.Method == "" && check.Tool == "" {
			check.Method = "GET"
		}
		other(&check.Call, "verify")
		s.Verify = &check
	}
	return wrong
}

// normalizeCall brings a call into the canonical form that is shown and sent: the method in
// capitals, null as absent, and an object that was written as a string as the object.
func normalizeCall(c *plan.Call) []fault.Field {
	var wrong []fault.Field
	require := func(name, value string) {
		if value == "" {
			wrong = append(wrong, toolcall.Missing(name))
		}
	}
	c.Method = strings.ToUpper(strings.TrimSpace(c.Method))
	c.Path = strings.TrimSpace(c.Path)
	require("mcp_id", c.MCPID)
	unwrap := func(name string, value *json.RawMessage) {
		*value = toolcall.Unquote(*value)
		if err := jcs.Check(*value); len(*value) > 0 && err != nil { // of a text with the object
			wrong = append(wrong, fault.Field{Loc: []any{name}, Type: "value_error", Msg: err.Error()})
		}
	}
	unwrap("query", &c.Query)
	unwrap("headers", &c.Headers)
	unwrap("body", &c.Body)
	if c.MCPID == tool.FilesID {
		c.Method = "" // bindFiles sets it
	}
	if c.Tool = strings.TrimSpace(c.Tool); c.Tool == "" {
		require("method", c.Method)
		require("path", c.Path)
	} else if c.Method+c.Path != "" || len(c.Query)+len(c.Headers) > 0 {
		wrong = append(wrong, fault.Field{
			Loc: []any{"tool"}, Type: "extra_forbidden", Msg: "a tool has neither method, path, query nor headers: its arguments are the body",
		})
	}
	if c.Method != "" && !slices.Contains(Methods, c.Method) {
		wrong = append(wrong, fault.Field{Loc: []any{"method"}, Type: "enum", Msg: "must be one of " + strings.Join(Methods, ", ")})
	}
	object := func(name string, value *json.RawMessage) {
		if len(*value) > 0 && (*value)[0] != '{' {
			wrong = append(wrong, fault.Field{Loc: []any{name}, Type: "type_error", Msg: "must be an object"})
			*value = nil
		}
		if string(*value) == "{}" {
			*value = nil
		}
	}
	object("query", &c.Query)
	object("headers", &c.Headers)
	return wrong
}

// Methods lists the HTTP Methods of a step.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}
