package template_test

import (
	"localaws/template"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sockets is a template with a WebSocket API.
const sockets = `AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Resources:
  Sockets:
    Type: AWS::ApiGatewayV2::Api
    Properties: {Name: sockets, ProtocolType: WEBSOCKET, RouteSelectionExpression: $request.body.action}
  Call:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref Sockets
      IntegrationType: AWS_PROXY
      IntegrationUri: !Sub arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${TalkFunction.Arn}/invocations
  Connect:
    Type: AWS::ApiGatewayV2::Route
    Properties: {ApiId: !Ref Sockets, RouteKey: $connect, AuthorizationType: NONE, Target: !Sub "integrations/${Call}"}
  Disconnect:
    Type: AWS::ApiGatewayV2::Route
    Properties: {ApiId: !Ref Sockets, RouteKey: $disconnect, Target: !Sub "integrations/${Call}"}
  Default:
    Type: AWS::ApiGatewayV2::Route
    Properties: {ApiId: !Ref Sockets, RouteKey: $default, Target: !Sub "integrations/${Call}"}
  Stage:
    Type: AWS::ApiGatewayV2::Stage
    DependsOn: [Connect, Disconnect, Default]
    Properties: {ApiId: !Ref Sockets, StageName: live, AutoDeploy: true}
  Allow:
    Type: AWS::Lambda::Permission
    Properties: {Action: "lambda:InvokeFunction", FunctionName: !Ref TalkFunction, Principal: apigateway.amazonaws.com}
  TalkFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: bootstrap
      Environment: {Variables: {ENDPOINT: !Sub "https://${Sockets}.execute-api/${Stage}"}}
Outputs:
  Url: {Value: !Sub "wss://${Sockets}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${Stage}"}
`

func TestWebSocketAPIIsRead(t *testing.T) {
	tpl, err := template.Parse("t.yaml", []byte(sockets))
	if err != nil {
		t.Fatal(err)
	}
	want := template.SocketAPI{ID: "Sockets", Stage: "live", Routes: []template.SocketRoute{
		{Key: "$connect", Function: "TalkFunction"}, {Key: "$disconnect", Function: "TalkFunction"}, {Key: "$default", Function: "TalkFunction"},
	}}
	if d := cmp.Diff(want, tpl.Socket, cmpopts.IgnoreFields(template.SocketAPI{}, "Line"), cmpopts.IgnoreFields(template.SocketRoute{}, "Line"), cmpopts.IgnoreUnexported(template.SocketRoute{})); d != "" {
		t.Error(d)
	}
	d, err := tpl.Resolve(tpl.Names())
	if err != nil || d.Environment["TalkFunction"]["ENDPOINT"] != "https://sockets.execute-api/live" {
		t.Error(d.Environment, err)
	}
	for key, want := range map[string]string{"$connect": "TalkFunction", "anything": "TalkFunction"} {
		if got := tpl.Socket.Route(key); got != want {
			t.Errorf("%s is answered by %q", key, got)
		}
	}
}

func TestUnsupportedWebSocketAPIIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"another protocol":     {"ProtocolType: WEBSOCKET", "ProtocolType: HTTP", "ProtocolType"},
		"another selection":    {"$request.body.action", "$request.body.verb", "RouteSelectionExpression"},
		"another integration":  {"AWS_PROXY", "HTTP_PROXY", "IntegrationType"},
		"a foreign function":   {"${TalkFunction.Arn}/invocations", "${Sockets.Arn}/invocations", "Resources.Call"},
		"an authorizer":        {"AuthorizationType: NONE", "AuthorizationType: AWS_IAM", "AuthorizationType"},
		"no such integration":  {`"integrations/${Call}"}` + "\n  Disconnect", `"integrations/${Stage}"}` + "\n  Disconnect", "Target"},
		"a route of no kind":   {"RouteKey: $default", "RouteKey: $other", "RouteKey"},
		"a route twice":        {"RouteKey: $default", "RouteKey: $connect", "said twice"},
		"no default":           {"RouteKey: $default", "RouteKey: ping", "no route $default"},
		"no deployment":        {"AutoDeploy: true", "AutoDeploy: false", "AutoDeploy"},
		"no stage":             {"StageName: live", "Description: live", "Resources.Stage"},
		"a response":           {"RouteKey: $default,", "RouteKey: $default, RouteResponseSelectionExpression: $default,", "RouteResponseSelectionExpression"},
		"routes of no API":     {"ApiId: !Ref Sockets, RouteKey: $default", "ApiId: !Ref TalkFunction, RouteKey: $default", "AWS::ApiGatewayV2::Api"},
		"a second API":         {"  Call:\n", "  More:\n    Type: AWS::ApiGatewayV2::Api\n    Properties: {ProtocolType: WEBSOCKET, RouteSelectionExpression: $request.body.action}\n  Call:\n", "one WebSocket API"},
		"a second stage":       {"  Allow:\n", "  More:\n    Type: AWS::ApiGatewayV2::Stage\n    Properties: {ApiId: !Ref Sockets, StageName: test, AutoDeploy: true}\n  Allow:\n", "one stage"},
		"a deployment by hand": {"  Allow:\n", "  More:\n    Type: AWS::ApiGatewayV2::Deployment\n    Properties: {ApiId: !Ref Sockets}\n  Allow:\n", "AWS::ApiGatewayV2::Deployment"},
	} {
		text := strings.Replace(sockets, c.from, c.to, 1)
		if text == sockets {
			t.Fatalf("%s: nothing is changed", name)
		}
		if _, err := template.Parse("t.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
}
