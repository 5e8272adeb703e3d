package webui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

// editView is the editor of a draft: the editable parts of each step, with the digest of the plan.
type editView struct {
	Run    string
	Digest string
	Goal   string
	Steps  []editStep
}

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
	Parts  []editPart
	Open   bool
}

// editPart is the query or the body: its JSON and, if that is a flat object of scalars, its members.
type editPart struct {
	Name    string // query or body
	Text    string // JSON, indented
	Flat    bool
	Members []member
}

// member is a scalar of a body. Raw is its JSON: an unchanged value is sent back with its original digits.
type member struct {
	Name, Kind, Raw, Text string // Kind: text, number or truth
	Long                  bool
}

func (s *site) editFragment(w http.ResponseWriter, v visit) error {
	id := v.PathValue("id")
	if !ids.Valid(id) {
		return plan.ErrRunNotFound
	}
	run, err := s.Runs.Run(v.Context(), v.who.Account, id)
	if err != nil {
		return err
	}
	if run.Status != plan.Draft {
		return plan.ErrRunNotFound
	}
	view, err := newEdit(run)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "edit", view)
	return nil
}

func newEdit(run plan.Run) (*editView, error) {
	view := &editView{Run: run.ID, Digest: string(run.Digest), Goal: run.Plan.Goal}
	for i, s := range run.Plan.Steps {
		rest, err := restOf(s)
		if err != nil {
			return nil, err
		}
		e := editStep{
			Number: i + 1, ID: s.ID.String(), Title: s.Title, Called: plain(s.Called()), Path: s.Path, Tool: s.Tool != "", Rest: rest, Needs: needsOf(s),
			Open: len(run.Plan.Steps) <= 3,
		}
		if !e.Tool {
			e.Parts = append(e.Parts, partOf("query", s.Query))
		}
		e.Parts = append(e.Parts, partOf("body", s.Body))
		if plan.RiskOf(s.Method) == plan.Read && len(s.Body) == 0 && !e.Tool {
			e.Parts = e.Parts[:1]
		}
		view.Steps = append(view.Steps, e)
	}
	return view, nil
}

// restOf returns the JSON of a proposed step without the parts that the editor changes.
func restOf(s plan.Step) (string, error) {
	p := struct {
		ID      string `json:"id"`
		MCPID   string `json:"mcp_id"`
		Tool    string `json:"tool,omitempty"`
		Method  string `json:"method"`
		When    any    `json:"when,omitempty"`
		ForEach string `json:"for_each,omitempty"`
		Undo    any    `json:"undo,omitempty"`
		NoUndo  bool   `json:"no_undo,omitempty"`
		Verify  any    `json:"verify,omitempty"`
	}{NoUndo: s.NoUndo, ID: s.ID.String(), MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, ForEach: s.ForEach}
	if s.When != nil {
		p.When = s.When
	}
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

// mostMembers is the largest number of members in a form; a larger body is edited as JSON.
const mostMembers = 24

func partOf(name string, raw json.RawMessage) editPart {
	p := editPart{Name: name}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return p
	}
	p.Text = string(raw)
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") == nil {
		p.Text = pretty.String()
	}
	p.Members, p.Flat = membersOf(raw)
	return p
}

// membersOf parses a flat object of strings, numbers and booleans, in order; false for any other value.
func membersOf(raw json.RawMessage) (list []member, flat bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[name] || len(list) == mostMembers {
			return nil, false
		}
		seen[name] = true
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		m := member{Name: name, Raw: string(value)}
		switch c := value[0]; {
		case c == '"':
			if json.Unmarshal(value, &m.Text) != nil {
				return nil, false
			}
			m.Kind, m.Long = "text", len(m.Text) > 80 || strings.ContainsAny(m.Text, "\r\n")
		case c == 't' || c == 'f':
			m.Kind, m.Text = "truth", m.Raw
		case c == '-' || c >= '0' && c <= '9':
			m.Kind, m.Text = "number", m.Raw
		default:
			return nil, false
		}
		list = append(list, m)
	}
	return list, len(list) > 0
}
