package template

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CORS holds the permissions for pages of other origins; without origins there are none.
type CORS struct {
	Origins []string // of a Deployment: scheme://host[:port]
	Methods []string
	Headers []string // of requests
	Expose  []string // of responses, that a page may read
	MaxAge  int      // seconds for which a preflight's response is valid
}

// allowance is CORS in its form in the template.
type allowance struct {
	condition, parameter string // the condition, and the parameter with the origins, separated by commas
	CORS
}

// cors reads the form of SAM under a condition: !If [condition, permissions, no value]. The origins
// are those of a parameter, by !Split [",", !Ref parameter].
func (r *reader) cors(n *yaml.Node, path string) {
	if n.Tag != tagIf || len(n.Content) != 3 || n.Content[2].Tag != tagRef || n.Content[2].Value != "AWS::NoValue" {
		r.fail(n, path, "must be !If [a condition, what is allowed, !Ref AWS::NoValue]")
		return
	}
	c := &allowance{condition: n.Content[0].Value}
	list := func(to *[]string) handler {
		return func(n *yaml.Node, at string) {
			for _, item := range r.items(n, at) {
				*to = append(*to, r.text(item, at))
			}
		}
	}
	r.object(n.Content[1], path, handlers{
		"AllowOrigins": func(n *yaml.Node, at string) {
			if n.Tag != tagSplit || len(n.Content) != 2 || n.Content[0].Value != "," || n.Content[1].Tag != tagRef {
				r.fail(n, at, `must be !Split [",", !Ref parameter]`)
				return
			}
			c.parameter = n.Content[1].Value
		},
		"AllowMethods":  list(&c.Methods),
		"AllowHeaders":  list(&c.Headers),
		"ExposeHeaders": list(&c.Expose),
		"MaxAge": func(n *yaml.Node, at string) {
			var err error
			if c.MaxAge, err = strconv.Atoi(r.text(n, at)); err != nil || c.MaxAge < 0 || c.MaxAge > 86400 {
				r.fail(n, at, "must be 0 to 86400 seconds")
			}
		},
	})
	r.require(n.Content[1], path, "AllowOrigins", "AllowMethods", "AllowHeaders")
	r.out.cors = c
}

// cors returns the permissions of the deployment; none without origins.
func (s *scope) cors() CORS {
	c := s.template.cors
	if c == nil || !s.holds(s.template.conditions[c.condition], "Api.CorsConfiguration") {
		return CORS{}
	}
	is := c.CORS
	is.Origins = strings.Split(s.values[c.parameter], ",")
	return is
}
