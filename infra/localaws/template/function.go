package template

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// suffix ends every function's logical id: ChatFunction is functions/chat.
const suffix = "Function"

// function reads a function: the properties of Globals, then its own.
func (r *reader) function(id string, n *yaml.Node, path string) {
	name, ok := strings.CutSuffix(id, suffix)
	if !ok || name == "" {
		r.fail(n, path, "a function's logical id ends in %q, and begins with the name of its folder", suffix)
		return
	}
	f := Function{
		ID:          id,
		Name:        strings.ToLower(name),
		Folder:      "functions/" + strings.ToLower(name),
		Timeout:     3 * time.Second, // Lambda's own default
		Memory:      defaultMemory,
		Environment: map[string]Value{},
		Line:        n.Line,
	}
	known := handlers{
		"Runtime":                      r.oneOf("provided.al2023"),
		"Handler":                      r.oneOf("bootstrap"),
		"CodeUri":                      r.oneOf("."),
		"Architectures":                acceptUnused("the process runs where it is"),
		"MemorySize":                   func(n *yaml.Node, at string) { f.Memory = r.megabytes(n, at) },
		"ReservedConcurrentExecutions": acceptUnused("the process serves what it is asked"),
		"Tracing":                      acceptUnused("there is no X-Ray"),
		"LoggingConfig": r.objectHandler(handlers{
			"LogGroup":            func(n *yaml.Node, at string) { f.LogGroup = Value{n, at} },
			"LogFormat":           acceptUnused("lines are as the function writes them"),
			"ApplicationLogLevel": acceptUnused("LOG_LEVEL says it"),
			"SystemLogLevel":      acceptUnused("Lambda's own lines are not written"),
		}),
		"Description":       acceptUnused("for people"),
		"Role":              func(n *yaml.Node, at string) { f.Role = r.roleOf(n, at) },
		"EventInvokeConfig": acceptUnused("what fails is logged, and looked for again by the next sweep"),
		"Timeout":           func(n *yaml.Node, at string) { f.Timeout = r.seconds(n, at) },
		"Environment":       r.objectHandler(handlers{"Variables": r.values(f.Environment)}),
		"Events":            func(n *yaml.Node, at string) { r.events(&f, n, at) },
	}
	if global := r.globals["Function"]; global != nil {
		r.object(global, "Globals.Function", known)
	}
	r.object(n, path, known)
	r.out.Functions = append(r.out.Functions, f)
}

// seconds reads a whole number of seconds, at most Lambda's 900.
func (r *reader) seconds(n *yaml.Node, path string) time.Duration {
	s, err := strconv.Atoi(r.text(n, path))
	if err != nil || s < 1 || s > 900 {
		r.fail(n, path, "must be 1 to 900 seconds")
		return 0
	}
	return time.Duration(s) * time.Second
}

// events reads the events that call a function.
func (r *reader) events(f *Function, n *yaml.Node, path string) {
	for key, body := range r.members(n, path) {
		at, kind := join(path, key.Value), ""
		var properties handler
		switch t := member(body, "Type"); {
		case t == nil:
			r.fail(key, at, "Type is missing")
			continue
		case t.Value == "HttpApi":
			properties = func(n *yaml.Node, at string) { r.httpEvent(f.ID, key, n, at) }
		case t.Value == "Schedule":
			properties = func(n *yaml.Node, at string) { r.scheduleEvent(f, key.Value, n, at) }
		case t.Value == "EventBridgeRule":
			properties = func(n *yaml.Node, at string) { r.ruleEvent(f, key.Value, n, at) }
		default:
			r.fail(t, at+".Type", "nothing here makes events of type %q", t.Value)
			continue
		}
		r.object(body, at, handlers{"Type": r.into(&kind), "Properties": properties})
		r.require(body, at, "Properties")
	}
}

// httpEvent reads a route. Without path and method it is the $default route.
func (r *reader) httpEvent(function string, event, n *yaml.Node, path string) {
	route := Route{Function: function, Event: event.Value, Line: event.Line}
	r.object(n, path, handlers{
		"ApiId":  func(n *yaml.Node, at string) { r.refTo(n, at, typeAPI) },
		"Method": r.into(&route.Method),
		"Path":   r.into(&route.Path),
		"Auth": r.objectHandler(handlers{"Authorizer": func(n *yaml.Node, at string) {
			if r.text(n, at) != "NONE" {
				r.fail(n, at, "a route is open (NONE), or has the default authorizer")
			}
			route.Open = true
		}}),
	})
	route.Method = strings.ToUpper(route.Method)
	switch {
	case route.Method == "" && route.Path == "":
		route.Method, route.Path = anyMethod, defaultPath
	case route.Method == "" || route.Path == "":
		r.fail(n, path, "a route has a method and a path, or neither")
		return
	}
	if err := checkPath(route.Path); err != nil {
		r.fail(n, path+".Path", "%v", err)
		return
	}
	r.out.API.Routes = append(r.out.API.Routes, route)
}

func (r *reader) scheduleEvent(f *Function, event string, n *yaml.Node, path string) {
	s := Schedule{Event: event}
	r.object(n, path, handlers{
		"Schedule": func(n *yaml.Node, at string) {
			every, err := parseRate(r.text(n, at))
			if err != nil {
				r.fail(n, at, "%v", err)
			}
			s.Every = every
		},
		"Enabled":          r.oneOf("true"),
		"DeadLetterConfig": acceptUnused("functions are called directly"),
		"Description":      acceptUnused("for people"),
	})
	r.require(n, path, "Schedule")
	f.Schedules = append(f.Schedules, s)
}

func (r *reader) ruleEvent(f *Function, event string, n *yaml.Node, path string) {
	rule := Rule{Event: event}
	r.object(n, path, handlers{
		"Pattern": func(n *yaml.Node, at string) {
			r.pattern(n, at)
			rule.Pattern = Value{n, at}
		},
		"DeadLetterConfig": acceptUnused("functions are called directly"),
		"Description":      acceptUnused("for people"),
	})
	r.require(n, path, "Pattern")
	f.Rules = append(f.Rules, rule)
}

// refTo returns the resource of one type that a !Ref or a !GetAtt ….Arn names.
func (r *reader) refTo(n *yaml.Node, path, kind string) string {
	id := n.Value
	if n.Tag == tagGetAtt {
		id = strings.TrimSuffix(id, ".Arn")
	}
	if (n.Tag != tagRef && n.Tag != tagGetAtt) || r.out.resources[id] != kind {
		r.fail(n, path, "must refer to a %s of this template", kind)
		return ""
	}
	return id
}

// parseRate reads "rate(5 minutes)". Cron expressions are not run here.
func parseRate(text string) (time.Duration, error) {
	inner, ok := strings.CutPrefix(text, "rate(")
	inner, closed := strings.CutSuffix(inner, ")")
	count, unit, two := strings.Cut(inner, " ")
	n, err := strconv.Atoi(count)
	if !ok || !closed || !two || err != nil || n < 1 || strconv.Itoa(n) != count {
		return 0, errRate(text)
	}
	singular, plural := strings.CutSuffix(unit, "s")
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	each, ok := units[singular]
	if !ok || plural != (n > 1) || n > int(366*24*time.Hour/each) {
		return 0, errRate(text)
	}
	return time.Duration(n) * each, nil
}
