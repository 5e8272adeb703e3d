package webui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// editView is the editor of a draft: the editable parts of each step, with the digest of the plan, and the calls that a step
// may be added for.
type editView struct {
	Run      string
	Digest   string
	Goal     string
	Steps    []editStep
	Services []editService
}

// editService is a service with the calls that a step may be added for.
type editService struct {
	ID, Name string
	Calls    []editCall
}

type editCall struct{ Called, Summary string }

// editStep holds a step's texts unchanged, without display, because they are sent back. Rest is the JSON of the parts
// that the editor does not change.
type editStep struct {
	Number int
	ID     string
	Title  string
	Called string
	Path   string // "" for a tool
	Tool   bool
	Rest   string
	Needs  string // JSON; when the step is removed, its dependents get these instead
	Each   string // the list whose elements the step runs for, as a reference
	When   string // the condition, as JSON
	Parts  []editPart
	Open   bool
}

// editPart is the query, the headers or the body: its JSON and, if that is a flat object of scalars, its members.
type editPart struct {
	Name    string // query, headers or body
	Text    string // JSON, indented
	Flat    bool
	Members []member
	More    []member // that the document has, and the plan does not
}

// member is a member of a query, of headers or of a body. Raw is its JSON: an unchanged value is sent back with its original digits.
type member struct {
	Name, Kind, Raw, Text string // Kind: text, number, truth, choice, date or json
	Long                  bool
	Label, Help           string // of the document
	Needed                bool   // the document requires it; any other one is left out when it is empty
	Absent                bool   // the plan does not have it
	Options               []option
}

// option is one of the values that the document allows.
type option struct{ Raw, Text string }

// editor reads drafts as they are edited.
type editor struct {
	runs    plan.Reader
	servers Servers
	log     *slog.Logger
}

// draft reads the editor of a draft.
func (r editor) draft(ctx context.Context, v visit, id string) (*editView, error) {
	if !ids.Valid(id) {
		return nil, plan.ErrRunNotFound
	}
	run, err := r.runs.Run(ctx, v.who.Account, id)
	if err != nil {
		return nil, err
	}
	if run.Status != plan.Draft {
		return nil, plan.ErrRunNotFound
	}
	services, err := r.services(ctx, v)
	if err != nil {
		return nil, err
	}
	view, err := newEdit(run, func(step plan.Step) (tool.Operation, bool) {
		b, _ := run.Plan.Binding(step.ID)
		return r.operation(v, services, step.MCPID, tool.Entry{Name: step.Tool, Method: step.Method, Path: b.Template})
	})
	if err != nil {
		return nil, err
	}
	view.Services = callsOf(services)
	return view, nil
}

// newEdit returns the editor of a run's draft. of finds the operation of a step in its document.
func newEdit(run plan.Run, of func(plan.Step) (tool.Operation, bool)) (*editView, error) {
	view := &editView{Run: run.ID, Digest: string(run.Digest), Goal: run.Plan.Goal}
	for i, s := range run.Plan.Steps {
		rest, err := restOf(s)
		if err != nil {
			return nil, err
		}
		op, _ := of(s)
		e := editStep{
			Number: i + 1, ID: s.ID.String(), Title: s.Title, Called: plain(s.Called()), Path: s.Path, Tool: s.Tool != "", Rest: rest, Needs: needsOf(s),
			Open: len(run.Plan.Steps) <= 3, Each: s.ForEach, Parts: partsOf(s, op),
		}
		if s.When != nil {
			raw, err := json.Marshal(s.When)
			if err != nil {
				return nil, err
			}
			e.When = string(raw)
		}
		view.Steps = append(view.Steps, e)
	}
	return view, nil
}

// restOf returns the JSON of a proposed step without the parts that the editor changes.
func restOf(s plan.Step) (string, error) {
	p := struct {
		ID     string `json:"id"`
		MCPID  string `json:"mcp_id"`
		Tool   string `json:"tool,omitempty"`
		Method string `json:"method"`
		Undo   any    `json:"undo,omitempty"`
		NoUndo bool   `json:"no_undo,omitempty"`
		Verify any    `json:"verify,omitempty"`
	}{NoUndo: s.NoUndo, ID: s.ID.String(), MCPID: s.MCPID, Tool: s.Tool, Method: s.Method}
	if s.Undo != nil && !s.Undo.Suggested { // a suggested undo is suggested again
		p.Undo = s.Undo.Call
	}
	if s.Verify != nil {
		p.Verify = s.Verify
	}
	raw, err := json.Marshal(p)
	return string(raw), err
}

func needsOf(s plan.Step) string {
	raw, err := json.Marshal(append([]string{}, s.Needs...))
	if err != nil {
		return "[]"
	}
	return string(raw)
}

// partsOf returns the query, the headers and the body of a step, with the fields of its document.
func partsOf(s plan.Step, op tool.Operation) (parts []editPart) {
	if s.Tool == "" {
		parts = append(parts, partOf("query", s.Query, parameterFields(op, "query")))
		if fields := parameterFields(op, "header"); len(fields) > 0 || len(s.Headers) > 0 {
			parts = append(parts, partOf("headers", s.Headers, fields))
		}
	}
	if s.Tool != "" || plan.RiskOf(s.Method) != plan.Read || len(s.Body) > 0 {
		var fields []schemaField
		if body := cmp.Or(op.BodyOf(tool.Arguments{Headers: s.Headers, Body: s.Body}), op.Body); body != nil {
			fields = fieldsOf(body.Schema)
		}
		parts = append(parts, partOf("body", s.Body, fields))
	}
	return parts
}

// mostMembers is the largest number of members in a form; a larger body is edited as JSON.
const mostMembers = 40

func partOf(name string, raw json.RawMessage, fields []schemaField) editPart {
	p := editPart{Name: name}
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" || string(raw) == "{}" {
		raw = nil
	}
	if len(raw) > 0 {
		p.Text = string(raw)
		var pretty bytes.Buffer
		if json.Indent(&pretty, raw, "", "  ") == nil {
			p.Text = pretty.String()
		}
		if p.Members, p.Flat = membersOf(raw, fields); !p.Flat {
			return p
		}
	}
	for _, f := range fields {
		has := slices.ContainsFunc(p.Members, func(m member) bool { return m.Name == f.name })
		if has || len(p.Members)+len(p.More) >= mostMembers {
			continue
		}
		m := f.member(nil)
		m.Absent = true
		if f.needed {
			p.Members = append(p.Members, m)
		} else {
			p.More = append(p.More, m)
		}
	}
	p.Flat = len(p.Members)+len(p.More) > 0
	return p
}

// membersOf parses an object, in its order; false for any other value.
func membersOf(raw json.RawMessage, fields []schemaField) (list []member, flat bool) {
	all, ok := jcs.Members(raw)
	if !ok || len(all) > mostMembers {
		return nil, false
	}
	seen := map[string]bool{}
	for _, one := range all {
		if seen[one.Name] {
			return nil, false
		}
		seen[one.Name] = true
		f := schemaField{name: one.Name}
		if i := slices.IndexFunc(fields, func(f schemaField) bool { return f.name == one.Name }); i >= 0 {
			f = fields[i]
		}
		list = append(list, f.member(one.Value))
	}
	return list, len(list) > 0
}
