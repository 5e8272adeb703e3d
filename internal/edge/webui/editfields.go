package webui

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// schemaField is a document's description of a member of a query or a body.
type schemaField struct {
	name, label, help string
	kind              string // of member; "" when any value fits
	needed            bool
	options           []option
}

// parameterFields returns the parameters of an operation in one part: its query, or its header.
func parameterFields(op tool.Operation, in string) (list []schemaField) {
	for _, p := range op.Parameters {
		if p.In == in {
			f := fieldOf(p.Name, p.Schema, nil)
			f.needed = p.Required
			list = append(list, f)
		}
	}
	return list
}

// fieldsOf returns the properties of the schema of an object, in its order.
func fieldsOf(schema json.RawMessage) (list []schemaField) {
	var s struct {
		Properties json.RawMessage
		Required   []string
		Defs       map[string]json.RawMessage `json:"$defs"`
		Ref        string                     `json:"$ref"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	if s.Ref != "" && len(s.Properties) == 0 {
		defs := s.Defs
		if json.Unmarshal(resolved(s.Ref, defs), &s) != nil {
			return nil
		}
		s.Defs = defs
	}
	members, _ := jcs.Members(s.Properties)
	for _, m := range members {
		if string(m.Value) == "false" { // it is not sent
			continue
		}
		f := fieldOf(m.Name, m.Value, s.Defs)
		f.needed = slices.Contains(s.Required, m.Name)
		list = append(list, f)
	}
	return list
}

// resolved returns the schema that a reference names.
func resolved(name string, defs map[string]json.RawMessage) json.RawMessage {
	return defs[strings.TrimPrefix(name, "#/$defs/")]
}

// fieldOf reads the schema of one member.
func fieldOf(name string, schema json.RawMessage, defs map[string]json.RawMessage) schemaField {
	var s struct {
		Type        json.RawMessage
		Format      string
		Title       string
		Description string
		Enum        []json.RawMessage
		Ref         string `json:"$ref"`
	}
	_ = json.Unmarshal(schema, &s) // a schema may be true; then nothing is known
	if s.Ref != "" {
		title, description := s.Title, s.Description
		_ = json.Unmarshal(resolved(s.Ref, defs), &s)
		if title != "" {
			s.Title = title
		}
		if description != "" {
			s.Description = description
		}
	}
	f := schemaField{name: name, label: clip.Runes(clip.Line(s.Title), 80), help: clip.Runes(clip.Line(s.Description), 200)}
	types := string(s.Type)
	only := func(kind string) bool { return strings.Contains(types, `"`+kind+`"`) }
	switch {
	case len(s.Enum) > 0 && len(s.Enum) <= 100:
		f.kind = "choice"
		for _, raw := range s.Enum {
			f.options = append(f.options, option{string(raw), textOf(raw)})
		}
	case only("object"), only("array"):
		f.kind = "json"
	case only("string") && s.Format == "date":
		f.kind = "date"
	case only("string"):
		f.kind = "text"
	case only("integer"), only("number"):
		f.kind = "number"
	case only("boolean"):
		f.kind = "truth"
	}
	return f
}

// member returns the input of a value; of nil, an empty one. A value that does not fit the schema is edited by its own type.
func (f schemaField) member(raw json.RawMessage) member {
	m := member{Name: f.name, Kind: f.kind, Raw: string(raw), Label: f.label, Help: f.help, Needed: f.needed, Options: f.options}
	if len(raw) == 0 {
		if m.Kind == "" {
			m.Kind = "json"
		}
		return m
	}
	var text string
	isText := raw[0] == '"' && json.Unmarshal(raw, &text) == nil
	switch {
	case f.kind == "choice" && slices.ContainsFunc(f.options, func(o option) bool { return o.Raw == string(raw) }):
	case isText && f.kind == "date" && isDay(text):
		m.Text = text
	case isText && (f.kind != "json" || ref.Contains(text)):
		m.Kind, m.Text, m.Options = "text", text, nil
		m.Long = len(text) > 80 || strings.ContainsAny(text, "\r\n")
	case raw[0] == 't' || raw[0] == 'f':
		m.Kind, m.Text, m.Options = "truth", string(raw), nil
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		m.Kind, m.Text, m.Options = "number", string(raw), nil
	default:
		m.Kind, m.Options = "json", nil
		var pretty bytes.Buffer
		if m.Text = string(raw); json.Indent(&pretty, raw, "", "  ") == nil {
			m.Text = pretty.String()
		}
	}
	return m
}

func isDay(text string) bool {
	return len(text) == len("2006-01-02") && text[4] == '-' && text[7] == '-'
}

// Bounds of the calls that a step may be added for.
const (
	mostServices = 30
	mostCalls    = 400
)

// editableService is a service of which a draft may call other operations: its entries.
type editableService struct {
	server  tool.Server
	entries []tool.Entry
}

// services reads the services whose calls a plan may have.
func (r editor) services(ctx context.Context, v visit) ([]editableService, error) {
	servers, err := r.servers.Servers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	servers = slices.DeleteFunc(slices.Clone(servers), func(server tool.Server) bool { return !server.Active || server.IsAgent() })
	servers = servers[:min(len(servers), mostServices)]
	list := make([]editableService, len(servers))
	var reads []func() error
	for i, server := range servers {
		list[i].server = server
		reads = append(reads, func() (err error) {
			list[i].entries, err = r.servers.Entries(ctx, v.who.Account, server)
			return err
		})
	}
	return list, runAll(reads...)
}

// operation reads the operation of an entry. One that cannot be read is edited without its schema.
func (r editor) operation(v visit, services []editableService, id string, of tool.Entry) (tool.Operation, bool) {
	for _, one := range services {
		if one.server.ID != id {
			continue
		}
		for _, e := range one.entries {
			if e.Name != of.Name || of.Name == "" && (e.Method != of.Method || e.Path != of.Path) {
				continue
			}
			op, err := r.servers.Operation(v.req.Context(), v.who.Account, one.server, e)
			if err != nil {
				r.log.WarnContext(v.req.Context(), "web.operation_unread", "mcp_id", id, "error", err)
			}
			return op, err == nil
		}
	}
	return tool.Operation{}, false
}

func callsOf(services []editableService) (list []editService) {
	left := mostCalls
	for _, one := range services {
		v := editService{ID: one.server.ID, Name: plain(one.server.Name)}
		for _, e := range one.entries[:min(left, len(one.entries))] {
			if e.Refused == nil {
				v.Calls = append(v.Calls, editCall{Called: e.String(), Summary: plain(e.Summary)})
			}
			left--
		}
		list = append(list, v)
	}
	return list
}

// step reads the inputs of a step that is added to a draft: ?mcp= a service, ?call= one of its calls, ?id= the id of the
// new step.
func (r editor) step(ctx context.Context, v visit) (editStep, error) {
	q := v.req.URL.Query()
	services, err := r.services(ctx, v)
	if err != nil {
		return editStep{}, err
	}
	for _, one := range services {
		for _, e := range one.entries {
			if one.server.ID != q.Get("mcp") || e.String() != q.Get("call") {
				continue
			}
			op, _ := r.operation(v, services, one.server.ID, e)
			step := plan.Step{ID: plan.EffectOf(q.Get("id")), Title: e.Summary, MCPID: one.server.ID, Tool: e.Name, Method: e.Method, Path: e.Path}
			view, err := newEdit(plan.Run{Plan: plan.Plan{Steps: []plan.Step{step}}}, func(plan.Step) (tool.Operation, bool) { return op, true })
			if err != nil {
				return editStep{}, err
			}
			return view.Steps[0], nil
		}
	}
	return editStep{}, plan.ErrStepNotFound
}
