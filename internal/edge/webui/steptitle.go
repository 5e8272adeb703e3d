package webui

import (
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

// stepTitle returns the title of a step in a language. A step of which neither the document nor the model says anything has
// its call as its title ("POST /rooms"), which the digest has too. Instead, a title is made from the method and the path.
func stepTitle(p plan.Plan, s plan.Step, tag locale.Tag) string {
	b, _ := p.Binding(s.ID)
	title := clip.Line(s.Title)
	if s.Tool != "" || title != s.Called() && title != s.Method+" "+b.Template {
		return s.Title
	}
	if name, one := resource(b.Template); name != "" {
		what := name
		if one {
			what = locale.Text(tag, "page.made.one", "name", name)
		}
		return locale.Text(tag, madeTitle(s.Method, name, one), "what", what)
	}
	return s.Title
}

// madeTitle returns the sentence for a method. A POST creates when the path ends in the name of several things, because that
// is where REST has it; else nothing is known of it but that it sends.
func madeTitle(method, name string, one bool) string {
	switch method {
	case "GET", "HEAD":
		return "page.made.read"
	case "PUT", "PATCH":
		return "page.made.change"
	case "DELETE":
		return "page.made.delete"
	case "POST":
		if !one && strings.HasSuffix(name, "s") {
			return "page.made.create"
		}
	}
	return "page.made.send"
}

// prefixes are the parts of a path that name no thing.
var prefixes = regexp.MustCompile(`^(api|rest|v\d+(\.\d+)?)$`)

// resource returns the resource that a path names, from the outside in, and whether it is one of several.
func resource(template string) (name string, one bool) {
	parts := strings.FieldsFunc(template, func(r rune) bool { return r == '/' })
	one = len(parts) > 0 && strings.Contains(parts[len(parts)-1], "{")
	parts = slices.DeleteFunc(parts, func(part string) bool { return strings.Contains(part, "{") || prefixes.MatchString(part) })
	for i := range parts {
		parts[i] = ref.Words(parts[i])
	}
	return strings.Join(parts, " › "), one
}
