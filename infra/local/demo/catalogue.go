package demo

import (
	"regexp"
	"slices"
	"strings"
)

// operation is one operation of the catalogue.
type operation struct {
	Server, Method, Path, Summary string
	Service, Base                 string // the name and the address of the server
	Query, Body                   []parameter
	Look                          bool // it may be read at once
}

type parameter struct {
	Name, Type string
	Required   bool
}

var (
	serverLine    = regexp.MustCompile(`^server (\S+).*$`)
	operationLine = regexp.MustCompile(`^- (reads|asks|destroys) (GET|POST|PUT|PATCH|DELETE) (\S.*)$`)
	bodyMark      = regexp.MustCompile(` body\??(?:\{(.*)\}|:.*)?$`)
	elements      = regexp.MustCompile(`\[\{[^{}]*\}\]`)
	placeholder   = regexp.MustCompile(`\{([^{}]+)\}`)
)

// readCatalogue returns the operations between <catalogue> and </catalogue>, in order. Lines of
// another form are skipped.
func readCatalogue(prompt string) []operation {
	var out []operation
	server, service, base := "", "", ""
	newest := prompt[max(0, strings.LastIndex(prompt, "<matches>\n")):] // what an earlier turn found is no more than that
	lines := textBetween(prompt, "<catalogue>\n", "</catalogue>") + textBetween(newest, "<matches>\n", "</matches>")
	for line := range strings.SplitSeq(lines, "\n") {
		line = strings.TrimSpace(line)
		if m := serverLine.FindStringSubmatch(line); m != nil {
			words := strings.Fields(line)
			server, base = m[1], words[len(words)-1]
			service = strings.Trim(strings.Join(words[2:max(2, len(words)-1)], " "), `"`)
		} else if m := operationLine.FindStringSubmatch(line); m != nil && server != "" {
			signature, about, _ := strings.Cut(m[3], " — ")
			summary, _, _ := strings.Cut(about, ". ")
			out = append(out, readOperation(operation{Server: server, Service: service, Base: base, Method: m[2], Summary: summary, Look: m[1] == "reads"}, signature))
		}
	}
	return out
}

// textBetween returns the text between two marks; "" when the first is missing.
func textBetween(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	inside, _, _ := strings.Cut(rest, to)
	return inside
}

// readOperation reads `/path(a:integer) body{b:string*}`. A star marks a required value.
func readOperation(op operation, signature string) operation {
	signature = elements.ReplaceAllString(strings.TrimSpace(signature), "object[]")
	if at := bodyMark.FindStringSubmatchIndex(signature); at != nil {
		if at[2] >= 0 {
			op.Body = readParameters(signature[at[2]:at[3]])
		}
		signature = signature[:at[0]]
	}
	path, query, _ := strings.Cut(signature, "(")
	op.Path, op.Query = strings.TrimSpace(path), readParameters(strings.TrimSuffix(strings.TrimSpace(query), ")"))
	return op
}

func readParameters(text string) []parameter {
	var out []parameter
	for part := range strings.SplitSeq(text, ",") {
		part, required := strings.CutSuffix(strings.TrimSpace(part), "*")
		if name, kind, _ := strings.Cut(part, ":"); name != "" && name != "…" {
			out = append(out, parameter{name, kind, required})
		}
	}
	return out
}

// placeholders returns the path's parameters, in order; all are required.
func (op operation) placeholders() []parameter {
	var out []parameter
	for _, m := range placeholder.FindAllStringSubmatch(op.Path, -1) {
		out = append(out, parameter{m[1], "string", true})
	}
	return out
}

func (op operation) parameters() []parameter {
	return slices.Concat(op.placeholders(), op.Query, op.Body)
}

// pattern matches the paths of the operation, with the values of its placeholders.
func (op operation) pattern() *regexp.Regexp {
	return regexp.MustCompile("^" + escapedPlaceholder.ReplaceAllString(regexp.QuoteMeta(op.Path), "([^/]+)") + "$")
}

// title returns the name of the operation in sentences.
func (op operation) title() string {
	if op.Summary != "" {
		return op.Summary
	}
	return op.address()
}

func (op operation) address() string { return op.Method + " " + op.Path }

// pathConcepts returns the concepts of the fixed segments of the path.
func (op operation) pathConcepts() []string {
	return concepts(placeholder.ReplaceAllString(op.Path, " "))
}

// owner returns the concept of the thing that a parameter identifies: room for room_id, and the
// previous segment of the path for a plain id.
func (op operation) owner(name string) string {
	base := name
	if slices.Contains([]string{"id", "uuid", "code"}, fold(name)) {
		before, _, _ := strings.Cut(op.Path, "{"+name+"}")
		base = before[strings.LastIndex(strings.Trim(before, "/"), "/")+1:]
	}
	found := slices.DeleteFunc(concepts(base), func(c string) bool { return c == "uuid" || c == "code" })
	if len(found) == 0 {
		return fold(base)
	}
	return found[len(found)-1]
}
