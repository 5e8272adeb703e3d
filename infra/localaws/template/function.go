package template

import (
	"strconv"
	"strings"
	"time"
)

// suffix ends every function's logical id: ChatFunction is functions/chat.
const suffix = "Function"

// function reads a function: the properties of Globals, then its own.
func (r *reader) function(id string, n node) {
	name, ok := strings.CutSuffix(id, suffix)
	if !ok || name == "" {
		n.fail("a function's logical id ends in %q, and begins with the name of its folder", suffix)
		return
	}
	f := Function{
		ID:          id,
		Name:        strings.ToLower(name),
		Folder:      "functions/" + strings.ToLower(name),
		Timeout:     3 * time.Second, // Lambda's own default
		Memory:      defaultMemory,
		Environment: map[string]Value{},
		Line:        n.node.Line,
	}
	known := handlers{
		"Runtime":                      oneOf("provided.al2023"),
		"Handler":                      oneOf("bootstrap"),
		"CodeUri":                      oneOf("."),
		"Architectures":                acceptUnused("the process runs where it is"),
		"MemorySize":                   func(n node) { f.Memory = n.number(leastMemory, mostMemory, "MB") },
		"ReservedConcurrentExecutions": acceptUnused("the process serves what it is asked"),
		"Tracing":                      acceptUnused("there is no X-Ray"),
		"LoggingConfig": object(handlers{
			"LogGroup":            value(&f.LogGroup),
			"LogFormat":           acceptUnused("lines are as the function writes them"),
			"ApplicationLogLevel": acceptUnused("LOG_LEVEL says it"),
			"SystemLogLevel":      acceptUnused("Lambda's own lines are not written"),
		}),
		"Description":       acceptUnused("for people"),
		"Role":              func(n node) { f.Role = r.roleOf(n) },
		"EventInvokeConfig": acceptUnused("what fails is logged, and looked for again by the next sweep"),
		"Timeout":           func(n node) { f.Timeout = time.Duration(n.number(1, 900, "seconds")) * time.Second },
		"Environment":       object(handlers{"Variables": values(f.Environment)}),
		"Events":            func(n node) { r.events(&f, n) },
	}
	if r.globals.node != nil {
		r.globals.object(known)
	}
	n.object(known)
	r.out.Functions = append(r.out.Functions, f)
}

// events reads the events that call a function.
func (r *reader) events(f *Function, n node) {
	for key, body := range n.members() {
		kind := ""
		var properties handler
		switch t := member(body.node, "Type"); {
		case t == nil:
			key.fail("Type is missing")
			continue
		case t.Value == "HttpApi":
			properties = func(n node) { r.httpEvent(f.ID, key, n) }
		case t.Value == "Schedule":
			properties = func(n node) { scheduleEvent(f, key.name(), n) }
		case t.Value == "EventBridgeRule":
			properties = func(n node) { ruleEvent(f, key.name(), n) }
		default:
			body.at(t, join(body.path, "Type")).fail("nothing here makes events of type %q", t.Value)
			continue
		}
		body.object(handlers{"Type": into(&kind), "Properties": properties})
		body.require("Properties")
	}
}

// httpEvent reads a route. Without path and method it is the $default route.
func (r *reader) httpEvent(function string, event, n node) {
	route := Route{Function: function, Event: event.name(), Line: event.node.Line}
	n.object(handlers{
		"ApiId":  func(n node) { r.refTo(n, typeAPI) },
		"Method": into(&route.Method),
		"Path":   into(&route.Path),
		"Auth": object(handlers{"Authorizer": func(n node) {
			if n.text() != "NONE" {
				n.fail("a route is open (NONE), or has the default authorizer")
			}
			route.Open = true
		}}),
	})
	route.Method = strings.ToUpper(route.Method)
	switch {
	case route.Method == "" && route.Path == "":
		route.Method, route.Path = anyMethod, defaultPath
	case route.Method == "" || route.Path == "":
		n.fail("a route has a method and a path, or neither")
		return
	}
	if err := checkPath(route.Path); err != nil {
		n.below("Path").fail("%v", err)
		return
	}
	r.out.API.Routes = append(r.out.API.Routes, route)
}

func scheduleEvent(f *Function, event string, n node) {
	s := Schedule{Event: event}
	n.object(handlers{
		"Schedule": func(n node) {
			every, err := parseRate(n.text())
			if err != nil {
				n.fail("%v", err)
			}
			s.Every = every
		},
		"Enabled":          oneOf("true"),
		"DeadLetterConfig": acceptUnused("functions are called directly"),
		"Description":      acceptUnused("for people"),
	})
	n.require("Schedule")
	f.Schedules = append(f.Schedules, s)
}

func ruleEvent(f *Function, event string, n node) {
	rule := Rule{Event: event}
	n.object(handlers{
		"Pattern": func(n node) {
			checkPattern(n)
			rule.Pattern = n.Value
		},
		"DeadLetterConfig": acceptUnused("functions are called directly"),
		"Description":      acceptUnused("for people"),
	})
	n.require("Pattern")
	f.Rules = append(f.Rules, rule)
}

// refTo returns the resource of one type that a !Ref or a !GetAtt ….Arn names.
func (r *reader) refTo(n node, kind string) string {
	id := n.name()
	if n.node.Tag == tagGetAtt {
		id = strings.TrimSuffix(id, ".Arn")
	}
	if (n.node.Tag != tagRef && n.node.Tag != tagGetAtt) || r.out.resources[id] != kind {
		n.fail("must refer to a %s of this template", kind)
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
