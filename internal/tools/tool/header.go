package tool

import (
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/ref"
)

// maxHeaderValue limits one header of a call, in bytes.
const maxHeaderValue = 4 << 10

// addedHeaders lists the headers that a request gets by itself. One that a document asks for is no argument of a call.
var addedHeaders = []string{
	"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent", "x-trace-id",
}

// decidingHeaders lists headers that make a receiver take a request for another one: with another method or path.
var decidingHeaders = []string{"x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"}

// acceptHeader is an argument only where a document of 2.0 says which types it accepts.
const acceptHeader = "Accept"

// addedValues are values of headers that a request gets by itself, as they usually are. The others are those of the request.
var addedValues = map[string]string{
	"accept":     usualAccept,
	"user-agent": UserAgent,
	"x-trace-id": "4bf92f3577b34da6a3ce929d0e0e4736",
}

// UserAgent is the header with which requests say who sends them.
const UserAgent = "piloto/1"

// usualAccept is the Accept of a request whose document asks for no other.
const usualAccept = "application/json, */*;q=0.5"

// AddedValue returns the value that a header usually gets by itself, and "" for one whose value is that of the request.
func AddedValue(name string) string { return addedValues[strings.ToLower(name)] }

// Accepts reports whether a document accepts a text in its header p.
func (p Parameter) Accepts(s Compiler, text string) bool {
	p.Schema = withFormats(p.Schema)
	return p.accepts(s, []string{text})
}

// AddsHeader reports whether requests with a method have a header by themselves.
func AddsHeader(method, name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(addedHeaders, name) || strings.EqualFold(name, KeyHeader) && !IsSafe(method)
}

// MaySetHeader reports whether a call may set a header. It may set none that decides where a request goes, how it is framed,
// who sends it, or its meaning.
func MaySetHeader(name string) bool {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"x-forwarded-", "mcp-", "proxy-", "sec-", "access-control-"} {
		if strings.HasPrefix(lower, prefix) {
			return false
		}
	}
	return headerName(name) && lower != "authorization" && lower != "set-cookie" &&
		!slices.Contains(ownHeaders, lower) && !slices.Contains(addedHeaders, lower) && !slices.Contains(decidingHeaders, lower)
}

// WithHeaders returns a call with its headers in the form that is shown and sent: in the spelling of the document, each value
// as the text that is sent, and those that are filled in: also the type of the body, where the operation takes several and the
// body decides it. A list is joined with commas (RFC 6570, style simple), or as a document of 2.0 says. A name that is no header of
// the operation stays as it is, for Check to report.
func (op Operation) WithHeaders(a Arguments) (Arguments, error) {
	wrong := func(name, typ string, why *fault.Error) error { return wrongArguments(typ, why, "headers", name) }
	given, ok := members(a.Headers)
	if !isAbsent(a.Headers) && !ok {
		return a, wrongArguments("type", Because("problem.object_of_headers"), "headers")
	}
	var list []jcs.Member
	has := func(name string) bool {
		return slices.ContainsFunc(list, func(m jcs.Member) bool { return strings.EqualFold(m.Name, name) })
	}
	for _, m := range given {
		name := m.name
		p, known := op.header(name)
		if known {
			name = p.Name
		}
		switch {
		case has(name):
			return a, wrong(name, "duplicate", Because("problem.twice"))
		case isAbsent(m.value):
			continue
		}
		text, why := headerText(m.value, p.separator())
		if why != nil {
			return a, wrong(name, "type", why)
		}
		if name == contentType {
			text = op.spelled(text)
		}
		raw, err := jcs.Marshal(text)
		if err != nil {
			return a, wrong(name, "type", Because("problem.header_text"))
		}
		list = append(list, jcs.Member{Name: name, Value: raw})
	}
	if len(op.Others) > 0 && !has(contentType) && !isAbsent(a.Body) {
		if media := op.typeFor(a.Body); media != "" {
			raw, _ := jcs.Marshal(media) // a text
			list = append(list, jcs.Member{Name: contentType, Value: raw})
		}
	}
	for _, p := range op.Parameters {
		if fixed, ok := p.fixed(); ok && !has(p.Name) {
			raw, err := jcs.Marshal(fixed)
			if err != nil {
				return a, wrong(p.Name, "type", Because("problem.header_text"))
			}
			list = append(list, jcs.Member{Name: p.Name, Value: raw})
		}
	}
	a.Headers = objectOf(list)
	return a, nil
}

// objectOf writes members as an object; nil for none.
func objectOf(list []jcs.Member) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	parts := make([]string, len(list))
	for i, m := range list {
		name, _ := jcs.Marshal(m.Name) // a text
		parts[i] = string(name) + ":" + string(m.Value)
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// header returns the header parameter with a name, in any spelling.
func (op Operation) header(name string) (Parameter, bool) {
	for _, p := range op.Parameters {
		if p.In == "header" && strings.EqualFold(p.Name, name) {
			return p, true
		}
	}
	return Parameter{}, false
}

// separator returns the separator of the elements of a list in a header.
func (p Parameter) separator() string {
	switch p.Style {
	case "spaceDelimited":
		return " "
	case "pipeDelimited":
		return "|"
	}
	return ","
}

// headerText returns the text of a header's value, with a separator between the elements of a list, or the reason why it has none.
func headerText(raw json.RawMessage, by string) (string, *fault.Error) {
	if text, ok := scalarText(raw); ok {
		return text, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return "", Because("problem.header_form")
	}
	texts := make([]string, len(items))
	for i, item := range items {
		text, ok := scalarText(item)
		if !ok {
			return "", Because("problem.header_list")
		}
		if strings.Contains(text, by) && !ref.Contains(text) {
			return "", Because("problem.header_separator", "by", by)
		}
		texts[i] = text
	}
	return strings.Join(texts, by), nil
}

// headerProblem returns the reason why a text is no value of a header, or nil. A receiver would read such a text as another one.
func headerProblem(text string) *fault.Error {
	switch {
	case text == "":
		return Because("problem.header_empty")
	case len(text) > maxHeaderValue:
		return Because("problem.header_long", "most", maxHeaderValue)
	case strings.TrimSpace(text) != text:
		return Because("problem.header_blank")
	case strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }):
		return Because("problem.header_ascii")
	}
	return nil
}

// headers checks the headers of a call.
func (c *checker) headers(op Operation, raw json.RawMessage) {
	given, ok := members(raw)
	if !isAbsent(raw) && !ok {
		c.report("/headers", "type", "problem.object_of_headers")
		return
	}
	var known []string
	for _, p := range op.Parameters {
		if p.In == "header" {
			known = append(known, p.Name)
		}
	}
	seen := map[string]bool{}
	for _, m := range given {
		loc := "/headers/" + Token(m.name)
		p, is := op.header(m.name)
		text, why := headerText(m.value, p.separator())
		switch {
		case !is:
			c.report(loc, "unknown", "problem.no_header", "known", Known(known))
			continue
		case seen[p.Name]:
			c.report(loc, "duplicate", "problem.twice")
			continue
		case p.Name == contentType: // see types
		case why != nil:
			c.problems = append(c.problems, Problem{loc, "type", why})
		case c.refs && ref.Contains(text):
			c.references(loc, text)
		default:
			if why := headerProblem(text); why != nil {
				c.problems = append(c.problems, Problem{loc, "header.refused", why})
			} else {
				c.text(loc, p, text)
			}
		}
		seen[p.Name] = true
	}
	for _, p := range op.Parameters {
		if p.In == "header" && p.Required && !seen[p.Name] && p.Name != contentType {
			c.report("/headers/"+Token(p.Name), "missing", "problem.header_required")
		}
	}
}

// addHeaders adds the headers of a call to its request.
func addHeaders(r *Request, op Operation, raw json.RawMessage) error {
	if isAbsent(raw) {
		return nil
	}
	list, ok := members(raw)
	if !ok {
		return wrongArguments("type", Because("problem.object_of_headers"), "headers")
	}
	for _, m := range list {
		p, is := op.header(m.name)
		text, scalar := scalarText(m.value)
		switch {
		case is && p.Name == contentType: // the body writes it
			continue
		case !is || !MaySetHeader(m.name) && !strings.EqualFold(p.Name, acceptHeader):
			return wrongArguments("unknown", Because("problem.header_not_set"), "headers", m.name)
		case !scalar:
			return wrongArguments("type", Because("problem.header_text"), "headers", m.name)
		case headerProblem(text) != nil:
			return wrongArguments("header.refused", headerProblem(text), "headers", m.name)
		}
		if strings.EqualFold(p.Name, acceptHeader) {
			r.Header[acceptHeader] = text
			continue
		}
		if _, twice := r.Header[p.Name]; twice {
			return wrongArguments("duplicate", Because("problem.twice"), "headers", m.name)
		}
		r.Header[p.Name] = text
	}
	return nil
}
