package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// Bounds of the catalogue in the prompt. A server of a thousand operations takes no more prompt
// than one of forty.
const (
	catalogueWhole = 40 // operations that are listed without a selection
	catalogueBest  = 24 // of a larger catalogue, the best matches for the message
	searchHits     = 6
	aboutListed    = 400     // characters of what a service says of an operation; a search result has all
	schemaBytes    = 8 << 10 // of a body's schema in a search result

	parameterBytes  = 1 << 10 // of a parameter's schema
	parametersShown = 40
)

// prompt writes what begins every prompt of a chat. It depends on nothing that differs between two turns, because a
// provider takes from its cache what begins as an earlier prompt: now has the rest.
func (l *loop) prompt() (string, error) {
	shown, total := l.listed, count(l.listed)
	if total <= catalogueWhole {
		total = 0 // it is listed whole
	} else {
		shown = onlyServers(shown)
	}
	acting, err := l.agent.section(l.req.Locale, l.query.tools)
	if err != nil {
		return "", err
	}
	return locale.Prompt(l.req.Locale, "turn", map[string]any{
		"Persona":   escapeTags(l.persona),
		"Agent":     acting,
		"Project":   escapeTags(l.project.Context),
		"Workspace": escapeTags(l.terms.workspace),
		"Session":   escapeTags(l.chat.Summary),
		"Catalogue": catalogue(shown),
		"Total":     total,
		"Named":     hasNamedTools(l.listed),
		"Look":      mayLook(l.listed) && l.agent.MayUse(toolLook),
		"Asks":      slices.ContainsFunc(l.query.tools, func(t llm.Tool) bool { return t.Name == toolAsk }),
		"Files":     l.files.Offered,
		"Writes":    l.files.Offered && l.files.MayWrite(),
	})
}

// now writes what is true of this turn: the time, the draft that waits, what was read and run, the files, and the best matches
// of a large catalogue. It stands before the person's message.
func (l *loop) now() (string, error) {
	ended := slices.DeleteFunc(slices.Clone(l.past.Runs), func(r plan.Run) bool {
		return l.pending != nil && r.ID == l.pending.ID || l.terms.jobID != "" && r.JobID == l.terms.jobID // those are results of its calls
	})
	runs, err := outcomes(ended, l.service.Now())
	if err != nil {
		return "", err
	}
	runID := ""
	if l.pending != nil {
		runID = l.pending.ID
	}
	draft, err := proposal.Encode(l.pending)
	if err != nil {
		return "", err
	}
	return locale.Prompt(l.req.Locale, "now", map[string]any{
		"Today":   today(l.req.Locale, l.service.Now()),
		"Matches": catalogue(bestMatches(l.listed, l.req.Message)),
		"Reads":   earlierReads(l.past.Reads),
		"Runs":    strings.TrimSpace(runs),
		"Draft":   draft,
		"RunID":   runID,
		"Doubts":  doubtsIn(l.pending, l.req.Locale),
		"Pending": goalOf(draftIn(l.past.Runs, l.chat), l.service.Now()),
		"Files":   escapeTags(l.files.Tree),
		"Unread":  l.files.Down,
		"Lost":    l.files.Lost,

		"Withdraws": l.offers(toolWithdraw),
	})
}

// goalOf returns the goal of a draft that waits; "" when none does.
func goalOf(draft *plan.Run, at time.Time) string {
	if draft == nil || !at.Before(draft.Plan.ExpiresAt) {
		return ""
	}
	return toolcall.OneLine(draft.Plan.Goal)
}

// onlyServers returns a catalogue without its operations.
func onlyServers(listed []tool.Listed) []tool.Listed {
	var servers []tool.Listed
	for _, l := range listed {
		servers = append(servers, tool.Listed{Server: l.Server})
	}
	return servers
}

// bestMatches returns the part of a large catalogue that is most like the message; nil of one that is listed whole.
func bestMatches(listed []tool.Listed, message string) []tool.Listed {
	if count(listed) <= catalogueWhole {
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

func count(listed []tool.Listed) int {
	n := 0
	for _, l := range listed {
		n += len(l.Entries)
	}
	return n
}

// catalogue writes servers and operations, a line each.
func catalogue(listed []tool.Listed) string {
	var b strings.Builder
	for _, l := range listed {
		fmt.Fprintf(&b, "server %s %q %s%s\n", l.Server.ID, toolcall.OneLine(l.Server.Name), l.Server.BaseURL, mark(l.Server.MayRead(tool.Entry{Method: "GET"})))
		for _, e := range l.Entries {
			b.WriteString("- " + operation(e) + mark(e.Name != "" && l.Server.MayRead(e)) + withSpace(toolcall.OneLine(e.Signature)))
			if e.Refused != nil {
				b.WriteString(" (cannot be called)")
			}
			if told := toolcall.Line(e.Told(), aboutListed); told != "" {
				fmt.Fprintf(&b, " — %s", told)
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimSpace(b.String())
}

// mark marks what a turn may read.
func mark(look bool) string {
	if look {
		return " (look)"
	}
	return ""
}

// earlierReads writes the reads of earlier answers, a JSON line each, in which no character can end a tag.
func earlierReads(list []conversation.Source) string {
	var lines []string
	for _, s := range list {
		s.Answer = strings.ReplaceAll(s.Answer, ": "+toolResult+" "+s.ID+"]", "]") // the rest of it is not kept
		s.ID = ""
		lines = append(lines, tags.Replace(reads.Text(s)))
	}
	return strings.Join(lines, "\n")
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

// escapeTags makes a text safe between two tags of the prompt.
func escapeTags(s string) string {
	return tags.Replace(strings.TrimSpace(s))
}

var tags = strings.NewReplacer("<", "‹", ">", "›")

// today returns a date with its weekday, which the model needs to resolve «el martes».
func today(tag locale.Tag, at time.Time) string {
	day := locale.Text(tag, "day."+strings.ToLower(at.Weekday().String()))
	return fmt.Sprintf("%s %s (UTC %s)", day, at.UTC().Format(time.DateOnly), at.UTC().Format("15:04"))
}

// search answers a search_tools call.
func (l *loop) search(ctx context.Context, raw json.RawMessage) (string, error) {
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
	for _, h := range tool.Search(l.listed, query, searchHits) {
		op, err := l.service.Servers.Operation(ctx, l.req.Principal.Account, h.Server, h.Entry)
		if err != nil {
			return "", err
		}
		f := found{
			MCPID: h.Server.ID, Server: h.Server.Name, Tool: h.Entry.Name, Method: h.Entry.Method, Path: h.Entry.Path,
			Summary: toolcall.Line(h.Entry.Told(), tool.MaxAbout), Parameters: trimSchemas(op.Parameters), Signature: h.Entry.Signature,
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
