// Package brief writes the data in a model's prompt: the services and their operations, the results of runs, the reads,
// the draft that waits, and the day. It knows nothing of turns, and asks no model. No character of a text that it writes
// can end a tag of a prompt.
package brief

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Bounds of the catalogue in the prompt. A server of a thousand operations takes no more prompt
// than one of forty.
const (
	Whole         = 40 // operations that are listed without a selection
	catalogueBest = 24 // of a larger catalogue, the best matches for the message
	searchHits    = 6
	listedBytes   = 10 << 10 // of a catalogue, above which the texts about operations are cut shorter
	aboutListed   = 400      // characters of a service's text about an operation
	aboutLeast    = 80       // characters of it in a long catalogue
	aboutFound    = 4000     // characters of it in a search result
	signature     = 320      // characters of an operation's signature
	schemaBytes   = 8 << 10  // of a body's schema in a search result

	parameterBytes  = 1 << 10 // of a parameter's schema
	parametersShown = 40
)

// Goal returns the goal of a draft that waits; "" when none does.
func Goal(draft *plan.Run, at time.Time) string {
	if draft == nil || draft.StatusAt(at) != plan.Draft {
		return ""
	}
	return toolcall.OneLine(draft.Plan.Goal)
}

// Servers returns a catalogue without its operations.
func Servers(listed []tool.Listed) []tool.Listed {
	var servers []tool.Listed
	for _, l := range listed {
		servers = append(servers, tool.Listed{Server: l.Server})
	}
	return servers
}

// Best returns the part of a large catalogue that is most like the message; nil of one that is listed whole.
func Best(listed []tool.Listed, message string) []tool.Listed {
	if Count(listed) <= Whole {
		return nil
	}
	hits := tool.Search(listed, message, catalogueBest)
	var some []tool.Listed
	for _, l := range listed {
		chosen := tool.Listed{Server: l.Server}
		for _, h := range hits {
			if h.Server.ID == l.Server.ID {
				chosen.Entries = append(chosen.Entries, h.Entry)
			}
		}
		if len(chosen.Entries) > 0 {
			some = append(some, chosen)
		}
	}
	return some
}

// Count returns how many operations a catalogue has.
func Count(listed []tool.Listed) int {
	n := 0
	for _, l := range listed {
		n += len(l.Entries)
	}
	return n
}

// Catalogue writes servers and operations, a line each: what a call of it takes, and the service's text about it. A long
// catalogue has less of those texts.
func Catalogue(listed []tool.Listed) string {
	about := aboutListed
	text := catalogue(listed, about)
	for about > aboutLeast && len(text) > listedBytes {
		about = max(aboutLeast, about*3/4)
		text = catalogue(listed, about)
	}
	return text
}

func catalogue(listed []tool.Listed, most int) string {
	var b strings.Builder
	for _, l := range listed {
		fmt.Fprintf(&b, "server %s %q %s\n", l.Server.ID, toolcall.OneLine(l.Server.Name), l.Server.BaseURL)
		for _, e := range l.Entries {
			b.WriteString("- " + mark(l.Server, e) + " " + operation(e) + withSpace(toolcall.Line(e.Signature, signature)))
			if e.Refused != nil {
				b.WriteString(" (cannot be called)")
			}
			if about := toolcall.Line(e.FullDescription(), most); about != "" {
				fmt.Fprintf(&b, " — %s", about)
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// mark says what a call of an operation takes: nothing, a confirmation, or one of something that is lost. The last is as the
// card says it.
func mark(s tool.Server, e tool.Entry) string {
	switch {
	case s.MayRead(e):
		return "reads"
	case plan.RiskOf(e.Method).Raised(e.Hints.Destroys()) == plan.Destructive:
		return "destroys"
	}
	return "asks"
}

// operation returns an operation's name, as the catalogue writes it.
func operation(e tool.Entry) string {
	if e.Name != "" {
		return "tool " + toolcall.OneLine(e.Name)
	}
	return e.Method + " " + toolcall.OneLine(e.Path)
}

// withSpace puts a space before a body's signature. Query parameters follow the path directly.
func withSpace(signature string) string {
	if signature == "" || strings.HasPrefix(signature, "(") {
		return signature
	}
	return " " + signature
}

// Today returns a time of a place with its weekday in a language, which the model needs to resolve «el martes».
func Today(tag locale.Tag, at time.Time, zone *time.Location) string {
	at = at.In(zone)
	return locale.Text(tag, "day."+strings.ToLower(at.Weekday().String())) + " " + local(at)
}

// Now returns a time of a place as a model reads it: Monday 2026-11-30 22:10, Europe/Madrid, UTC+1.
func Now(at time.Time, zone *time.Location) string {
	at = at.In(zone)
	return at.Weekday().String() + " " + local(at)
}

// local returns a time with its zone and offset.
func local(at time.Time) string {
	text := at.Format("2006-01-02 15:04, ") + at.Location().String()
	_, offset := at.Zone()
	if at.Location() == time.UTC {
		return text
	}
	sign, minutes := "+", offset/60
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	text += fmt.Sprintf(", UTC%s%d", sign, minutes/60)
	if minutes%60 != 0 {
		text += fmt.Sprintf(":%02d", minutes%60)
	}
	return text
}

// Search answers a search_tools call. It returns an error when an operation cannot be read.
func Search(ctx context.Context, servers tool.OperationReader, account ids.Account, listed []tool.Listed, raw json.RawMessage) (string, error) {
	query, wrong := searchWords(raw)
	if len(wrong) > 0 {
		return toolcall.Errors(wrong), nil
	}
	type found struct {
		MCPID      string           `json:"mcp_id"`
		Server     string           `json:"server"`
		Tool       string           `json:"tool,omitempty"`
		Method     string           `json:"method,omitempty"`
		Path       string           `json:"path,omitempty"`
		Mark       string           `json:"mark"` // as in the catalogue
		Summary    string           `json:"summary"`
		Parameters []tool.Parameter `json:"parameters,omitempty"`
		Body       json.RawMessage  `json:"body,omitempty"`

		Others    map[string]json.RawMessage `json:"body_by_content_type,omitempty"` // where another type has a schema of its own
		Signature string                     `json:"signature,omitempty"`
		Refused   string                     `json:"cannot_be_called,omitempty"`
	}
	out := struct {
		Tools []found `json:"tools"`
	}{Tools: []found{}}
	for _, h := range tool.Search(listed, query, searchHits) {
		op, err := servers.Operation(ctx, account, h.Server, h.Entry)
		if err != nil {
			return "", err
		}
		f := found{
			MCPID: h.Server.ID, Server: h.Server.Name, Tool: h.Entry.Name, Method: h.Entry.Method, Path: h.Entry.Path,
			Mark: mark(h.Server, h.Entry), Summary: toolcall.Line(whole(h.Entry, op.Description), aboutFound), Parameters: trimSchemas(op.Parameters), Signature: h.Entry.Signature,
		}
		if why := h.Entry.Refused; why != nil {
			f.Refused = toolcall.OneLine(why.Phrase().In(locale.English))
		}
		if op.Body != nil && len(op.Body.Schema) <= schemaBytes {
			f.Body = op.Body.Schema
		}
		for _, b := range op.Others {
			if b.Schema != nil && len(b.Schema) <= schemaBytes {
				if f.Others == nil {
					f.Others = map[string]json.RawMessage{}
				}
				f.Others[b.MediaType] = b.Schema
			}
		}
		out.Tools = append(out.Tools, f)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// whole returns the summary of an operation and all that its service says about it.
func whole(e tool.Entry, description string) string {
	e.About = cmp.Or(clip.Line(description), e.About)
	return e.FullDescription()
}

// trimSchemas empties parameter schemas of more than parameterBytes and keeps parametersShown
// parameters.
func trimSchemas(parameters []tool.Parameter) []tool.Parameter {
	out := slices.Clone(parameters)
	for i := range out {
		if len(out[i].Schema) > parameterBytes {
			out[i].Schema = json.RawMessage("{}")
		}
	}
	return out[:min(len(out), parametersShown)]
}

// searchWords returns the query of search_tools.
func searchWords(raw json.RawMessage) (string, []fault.Field) {
	var in struct {
		Query string `json:"query"`
	}
	wrong := toolcall.Decode(raw, &in, []string{"query"})
	if in.Query = strings.TrimSpace(in.Query); in.Query == "" && len(wrong) == 0 {
		wrong = append(wrong, fault.Field{Loc: []any{"query"}, Msg: "must be a few words", Type: "missing"})
	}
	return in.Query, wrong
}

// Doubts says which steps of a draft send a request again that may have been done, a line each; "" when none does.
func Doubts(r *plan.Run, tag locale.Tag) string {
	var lines []string
	if r != nil {
		for _, s := range r.Plan.Steps {
			if s.Unanswered != nil {
				lines = append(lines, s.ID.String()+": "+s.Unanswered.Phrase().In(tag))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// HasNamedTools reports whether any server has tools with names.
func HasNamedTools(listed []tool.Listed) bool {
	return slices.ContainsFunc(listed, func(l tool.Listed) bool { return l.Server.Kind == tool.KindMCP && len(l.Entries) > 0 })
}
