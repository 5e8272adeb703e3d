package proposal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// boundCall holds the tool that a call resolves to.
type boundCall struct {
	binding plan.Binding
	op      tool.Operation
}

// bind finds the tool of a call, checks its arguments against the tool and brings them into the
// form that is shown and sent.
func (d Drafter) bind(ctx context.Context, c *plan.Call, to *boundCall) ([]fault.Field, error) {
	one := func(loc, typ, msg string) ([]fault.Field, error) {
		return []fault.Field{{Loc: []any{loc}, Type: typ, Msg: msg}}, nil
	}
	if c.MCPID == tool.FilesID {
		return d.bindFiles(c, to), nil
	}
	at := slices.IndexFunc(d.Listed, func(l tool.Listed) bool { return l.Server.ID == c.MCPID })
	if at < 0 {
		var ids []string
		for _, l := range d.Listed {
			ids = append(ids, fmt.Sprintf("%s (%s)", l.Server.ID, toolcall.OneLine(l.Server.Name)))
		}
		return one("mcp_id", "unknown", "is no server of the catalogue; there are: "+strings.Join(ids, ", "))
	}
	listed := d.Listed[at]
	entry, args, where, err := matchEntry(listed, *c)
	if err != nil {
		return []fault.Field{{Loc: []any{where}, Type: "not_allowed", Msg: explain(err), Why: whyNoCall(err)}}, nil
	}
	op, err := d.Operations.Operation(ctx, d.Account, listed.Server, entry)
	if err != nil {
		return nil, err
	}
	if missing := listed.Server.MissingKeys(op); len(missing) > 0 {
		return one("headers", "key", fmt.Sprintf("%s needs keys of the service that are not stored (%s): tell the person to store them on the page of the service", entry, tool.Auth(missing)))
	}
	if args, err = op.WithHeaders(args); err != nil {
		return fault.Of(err).Fields, nil
	}
	args.Body = op.WithoutAbsent(d.Schemas, args.Body, true)
	var wrong []fault.Field
	for _, p := range op.Check(d.Schemas, args) {
		wrong = append(wrong, p.Field())
	}
	query := ""
	if op.Name == "" && len(wrong) == 0 {
		if args.Path, query, err = tool.Written(listed.Server, op, args); err != nil {
			wrong = append(wrong, fault.Of(err).Fields...)
		}
	}
	c.Path, c.Query, c.Headers, c.Body = args.Path, args.Query, args.Headers, args.Body
	*to = boundCall{op: op, binding: plan.Binding{
		MCPID: listed.Server.ID, ServerName: listed.Server.Name, BaseURL: listed.Server.At(op), Query: query,
		Template: entry.Path, Fingerprint: entry.Fingerprint, Auth: tool.Auth(listed.Server.KeysOf(op)),
		Media: op.Media(args), Summary: toolcall.OneLine(entry.Summary), About: about(entry), Names: op.Labels(args),
		AnswerNames: op.AnswerNames,
	}}
	return wrong, nil
}

// about returns what a server says about its tool, for the card. An operation of a document is described by its summary.
func about(e tool.Entry) string {
	if e.Name == "" {
		return ""
	}
	return toolcall.Line(e.About, maxAbout)
}

// matchEntry finds the entry of a call, and the arguments in the canonical form that is shown
// and sent. With an error it returns the name of the call's member at fault.
func matchEntry(l tool.Listed, s plan.Call) (e tool.Entry, args tool.Arguments, where string, err error) {
	if l.Server.Kind == tool.KindMCP {
		var names []string
		for _, e := range l.Entries {
			if e.Name == s.Tool {
				return e, tool.Arguments{Body: json.RawMessage(cmp.Or(string(s.Body), "{}"))}, "", nil
			}
			names = append(names, e.Name)
		}
		const most = 20
		if len(names) > most {
			names = append(names[:most], "…")
		}
		return e, args, "tool", fmt.Errorf("the server has no tool %q; it has %s", s.Tool, strings.Join(names, ", "))
	}
	if s.Tool != "" {
		return e, args, "tool", errors.New("the server has operations: give a method and a path in its place")
	}
	args, err = tool.SplitQuery(tool.Arguments{
		Method: s.Method, Path: relativePath(s.Path, l.Server.BaseURL), Query: s.Query, Headers: s.Headers, Body: s.Body,
	})
	if err != nil {
		return e, args, "path", err
	}
	if e, _, err = tool.Match(l.Entries, args.Method, args.Path); err == nil {
		err = tool.Selects(e, tool.Siblings(l.Entries, e), args.Path, args.Path)
	}
	return e, args, "path", err
}

// relativePath removes the server's base URL from a full URL.
func relativePath(path, base string) string {
	if rest, ok := strings.CutPrefix(path, base); ok && (rest == "" || strings.ContainsAny(rest[:1], "/?")) {
		path = rest
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

// explain describes a fault of the catalogue for a model, which corrects its call.
func explain(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	if errors.Is(f, tool.ErrRefused) {
		return fmt.Sprintf("%s cannot be called from here, and no other call takes its place: tell the person. %s", f.Args["operation"],
			locale.Say("fault.tool.refused."+f.Args["reason"], "what", toolcall.OneLine(f.Args["what"])).In(locale.English))
	}
	if errors.Is(f, tool.ErrNotAllowed) {
		text := fmt.Sprintf("the server has no operation %s %s", f.Args["method"], f.Args["path"])
		if nearest := f.Args["nearest"]; nearest != "" {
			return text + "; the nearest are " + nearest
		}
		return text + "; look in the catalogue, or call search_tools"
	}
	var parts []string
	for _, field := range f.Fields {
		parts = append(parts, field.Msg)
	}
	if len(parts) == 0 {
		return f.Error()
	}
	return strings.Join(parts, "; ")
}

// whyNoCall returns the reason of such a fault for a person; nil where there is none but that for a model.
func whyNoCall(err error) *fault.Error {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return nil
	case errors.Is(f, tool.ErrRefused):
		return tool.Because("fault.tool.refused."+f.Args["reason"], "what", toolcall.OneLine(f.Args["what"]))
	case errors.Is(f, tool.ErrNotAllowed):
		return tool.Because("problem.no_operation", "operation", f.Args["method"]+" "+f.Args["path"])
	case len(f.Fields) > 0:
		return f.Fields[0].Why
	}
	return nil
}

// suggestUndo returns the call that undoes a POST, where the server's document declares it:
// DELETE /things/{id} beside POST /things whose response has an id. It returns nil where the
// document does not declare all of it.
func (d Drafter) suggestUndo(ctx context.Context, s plan.Step, own boundCall) (*plan.Undo, boundCall, error) {
	at := slices.IndexFunc(d.Listed, func(l tool.Listed) bool { return l.Server.ID == s.MCPID })
	if s.Method != "POST" || s.Tool != "" || s.NoUndo || at < 0 {
		return nil, boundCall{}, nil
	}
	for _, e := range d.Listed[at].Entries {
		if e.Method != "DELETE" {
			continue
		}
		name, ok := childParameter(own.binding.Template, e.Path)
		if !ok {
			continue
		}
		if name = declaredProperty(own.op.Output, name, "id"); name == "" {
			return nil, boundCall{}, nil
		}
		id := ref.Reference{Step: s.ID.Step(), Part: "body", Path: []ref.Segment{{Name: name}}}
		undo := &plan.Undo{Suggested: true, Call: plan.Call{
			MCPID: s.MCPID, Method: e.Method, Path: strings.TrimSuffix(s.Path, "/") + "/${" + id.String() + "}",
		}}
		var to boundCall
		wrong, err := d.bind(ctx, &undo.Call, &to)
		if err != nil || len(wrong) > 0 || to.op.Path != e.Path { // the call needs more arguments
			return nil, boundCall{}, err
		}
		return undo, to, nil
	}
	return nil, boundCall{}, nil
}

// childParameter reports whether below is template plus one parameter, and returns its name.
func childParameter(template, below string) (string, bool) {
	rest, ok := strings.CutPrefix(below, strings.TrimSuffix(template, "/")+"/{")
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(strings.TrimSuffix(rest, "/"), "}")
	return name, ok && name != "" && !strings.ContainsAny(name, "{}/")
}

// declaredProperty returns the first name that a schema declares as a string or an integer, or
// "".
func declaredProperty(schema json.RawMessage, names ...string) string {
	var s struct {
		Properties map[string]struct{ Type string }
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	for _, name := range names {
		if t := s.Properties[name].Type; t == "string" || t == "integer" {
			return name
		}
	}
	return ""
}

// sameCall reports whether two calls are the same call.
func sameCall(a, b plan.Call) bool {
	return a.MCPID == b.MCPID && a.Tool == b.Tool && a.Method == b.Method && a.Path == b.Path &&
		string(a.Query) == string(b.Query) && string(a.Headers) == string(b.Headers) && string(a.Body) == string(b.Body)
}
