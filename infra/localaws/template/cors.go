package template

import "strings"

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
func (r *reader) cors(n node) {
	args := n.node.Content
	if n.node.Tag != tagIf || len(args) != 3 || args[2].Tag != tagRef || args[2].Value != noValue {
		n.fail("must be !If [a condition, what is allowed, !Ref AWS::NoValue]")
		return
	}
	c := &allowance{condition: args[0].Value}
	permissions := n.at(args[1], n.path)
	permissions.object(handlers{
		"AllowOrigins": func(n node) {
			args := n.node.Content
			if n.node.Tag != tagSplit || len(args) != 2 || args[0].Value != "," || args[1].Tag != tagRef {
				n.fail(`must be !Split [",", !Ref parameter]`)
				return
			}
			c.parameter = args[1].Value
		},
		"AllowMethods":  list(&c.Methods),
		"AllowHeaders":  list(&c.Headers),
		"ExposeHeaders": list(&c.Expose),
		"MaxAge":        func(n node) { c.MaxAge = n.number(0, 86400, "seconds") },
	})
	permissions.require("AllowOrigins", "AllowMethods", "AllowHeaders")
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
