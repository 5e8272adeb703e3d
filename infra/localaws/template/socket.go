package template

import (
	"regexp"
	"slices"
	"strings"
)

// SocketAPI is the WebSocket API: the function of each of its routes.
type SocketAPI struct {
	ID     string
	Stage  string
	Routes []SocketRoute
	Line   int
}

// SocketRoute is one route: "$connect", "$disconnect", "$default", or a value of "action" in a
// message.
type SocketRoute struct {
	Key      string
	Function string // logical id
	Line     int

	integration string
}

// The routes that a WebSocket API must have here: without one of them, API Gateway would accept
// every client, or answer clients itself.
var socketRoutes = []string{"$connect", "$disconnect", "$default"}

// Route returns the function of a route; an action without a route has that of $default.
func (s SocketAPI) Route(key string) string {
	otherwise := ""
	for _, r := range s.Routes {
		if r.Key == key {
			return r.Function
		}
		if r.Key == "$default" {
			otherwise = r.Function
		}
	}
	return otherwise
}

// The exact texts of the references of an integration and of a route.
var (
	invocationOf  = regexp.MustCompile(`^arn:\$\{AWS::Partition\}:apigateway:\$\{AWS::Region\}:lambda:path/2015-03-31/functions/\$\{([A-Za-z0-9]+)\.Arn\}/invocations$`)
	integrationOf = regexp.MustCompile(`^integrations/\$\{([A-Za-z0-9]+)\}$`)
)

// socketAPI reads the WebSocket API itself.
func (r *reader) socketAPI(id string, n node) {
	if r.out.Socket.ID != "" {
		n.fail("one process serves one WebSocket API, and %s is there already", r.out.Socket.ID)
		return
	}
	r.out.Socket.ID, r.out.Socket.Line = id, n.node.Line
	n.object(handlers{
		"Name":                     acceptUnused("one process has one"),
		"Description":              acceptUnused("for people"),
		"ProtocolType":             oneOf("WEBSOCKET"),
		"RouteSelectionExpression": oneOf("$request.body.action"),
	})
	n.require("ProtocolType", "RouteSelectionExpression")
}

// socketIntegration reads the function of an integration, and the form of its call.
func (r *reader) socketIntegration(id string, n node) {
	n.object(handlers{
		"ApiId":           r.socketRef(),
		"IntegrationType": oneOf("AWS_PROXY"),
		"IntegrationUri": func(n node) {
			found := invocationOf.FindStringSubmatch(n.name())
			if n.node.Tag != tagSub || found == nil || r.out.resources[found[1]] != typeFunction {
				n.fail("must be the invocation of a function of this template")
				return
			}
			r.integrations[id] = found[1]
		},
	})
	n.require("ApiId", "IntegrationType", "IntegrationUri")
}

// socketRoute reads one route. The function decides who may connect.
func (r *reader) socketRoute(_ string, n node) {
	route := SocketRoute{Line: n.node.Line}
	n.object(handlers{
		"ApiId":             r.socketRef(),
		"RouteKey":          into(&route.Key),
		"AuthorizationType": oneOf("NONE"),
		"Target": func(n node) {
			found := integrationOf.FindStringSubmatch(n.name())
			if n.node.Tag != tagSub || found == nil || r.out.resources[found[1]] != typeIntegration {
				n.fail("must be an integration of this template")
				return
			}
			route.integration = found[1]
		},
	})
	n.require("ApiId", "RouteKey", "Target")
	if strings.HasPrefix(route.Key, "$") && !slices.Contains(socketRoutes, route.Key) {
		n.below("RouteKey").fail("%q is none of %s", route.Key, strings.Join(socketRoutes, ", "))
	}
	if r.hasSocketRoute(route.Key) {
		n.below("RouteKey").fail("%q is said twice", route.Key)
	}
	r.out.Socket.Routes = append(r.out.Socket.Routes, route)
}

// socketStage reads the one stage. Changes are deployed automatically.
func (r *reader) socketStage(_ string, n node) {
	if r.out.Socket.Stage != "" {
		n.fail("one process has one stage, and %q is there already", r.out.Socket.Stage)
		return
	}
	n.object(handlers{
		"ApiId":                r.socketRef(),
		"StageName":            into(&r.out.Socket.Stage),
		"AutoDeploy":           oneOf("true"),
		"DefaultRouteSettings": acceptUnused("one machine is not throttled for its owner"),
	})
	n.require("ApiId", "StageName", "AutoDeploy")
}

func (r *reader) socketRef() handler {
	return func(n node) { r.refTo(n, typeSocketAPI) }
}

// wholeSocket checks the WebSocket API together with its parts.
func (r *reader) wholeSocket(root node) {
	s := &r.out.Socket
	if s.ID == "" {
		return
	}
	api := root.below("Resources." + s.ID)
	if s.Stage == "" {
		api.fail("it has no stage")
	}
	for i, route := range s.Routes {
		s.Routes[i].Function = r.integrations[route.integration]
	}
	for _, key := range socketRoutes {
		if !r.hasSocketRoute(key) {
			api.fail("it has no route %s", key)
		}
	}
}

func (r *reader) hasSocketRoute(key string) bool {
	return slices.ContainsFunc(r.out.Socket.Routes, func(route SocketRoute) bool { return route.Key == key })
}
