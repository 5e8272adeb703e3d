package template_test

import (
	"encoding/json"
	"localaws/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// small is a template with one of everything.
const small = `AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Parameters:
  Model: {Type: String, Default: small}
  Secret: {Type: String}
  Pages: {Type: String, Default: "https://a.example,https://b.example"}
  Hours: {Type: Number, Default: 24, MinValue: 1, MaxValue: 48}
  Level: {Type: String, Default: info, AllowedValues: [debug, info]}
Conditions:
  HasSecret: !Not [!Equals [!Ref Secret, ""]]
  Quiet: !And [!Condition HasSecret, !Equals [!Ref Level, info]]
Globals:
  Function:
    Runtime: provided.al2023
    Timeout: 15
    Environment: {Variables: {TABLE: !Ref Table, LEVEL: !Ref Level}}
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      CorsConfiguration: !If [HasSecret, {AllowOrigins: !Split [",", !Ref Pages], AllowMethods: [GET], AllowHeaders: [authorization], MaxAge: 600}, !Ref AWS::NoValue]
      Auth:
        DefaultAuthorizer: Who
        Authorizers:
          Who:
            FunctionArn: !GetAtt WhoFunction.Arn
            AuthorizerPayloadFormatVersion: "2.0"
            EnableSimpleResponses: true
            Identity: {ReauthorizeEvery: 0}
  WhoFunction:
    Type: AWS::Serverless::Function
    Properties: {Handler: bootstrap}
  ChatFunction:
    Type: AWS::Serverless::Function
    Metadata: {BuildMethod: makefile}
    Properties:
      Timeout: 29
      Role: !GetAtt ChatRole.Arn
      Environment:
        Variables:
          LEVEL: debug
          MODEL: !Sub "${Model}@${AWS::Region}${!not}"
          HOURS: !Ref Hours
          SECRET: !If [HasSecret, !Ref Secret, !Ref AWS::NoValue]
          MACHINE: !Ref Run
      Events:
        Send: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: post, Path: /send}}
        Health: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: /health, Auth: {Authorizer: NONE}}}
        Rest: {Type: HttpApi, Properties: {ApiId: !Ref Api}}
        Tick: {Type: Schedule, Properties: {Schedule: rate(2 hours)}}
        Ended:
          Type: EventBridgeRule
          Properties: {Pattern: {source: [aws.states], detail: {stateMachineArn: [!Ref Run], status: [FAILED, ABORTED]}}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}, {AttributeName: At, AttributeType: N}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
      GlobalSecondaryIndexes:
        - IndexName: byTime
          KeySchema: [{AttributeName: PK, KeyType: HASH}, {AttributeName: At, KeyType: RANGE}]
          Projection: {ProjectionType: INCLUDE, NonKeyAttributes: [title]}
      TimeToLiveSpecification: {AttributeName: ttl, Enabled: true}
  Run:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: run.asl.json
      DefinitionSubstitutions: {Chat: !GetAtt ChatFunction.Arn}
  Logs:
    Type: AWS::Logs::LogGroup
    Properties: {RetentionInDays: 3, LogGroupName: !Sub "/logs/${AWS::StackName}"}
  Topic:
    Type: AWS::SNS::Topic
    Properties: {}
  Rights:
    Type: AWS::IAM::ManagedPolicy
    Properties:
      PolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Deny, Action: "dynamodb:*", Resource: !GetAtt Table.Arn}]}
  ChatRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      ManagedPolicyArns: [!Ref Rights]
      Policies:
        - PolicyName: chat
          PolicyDocument:
            Version: "2012-10-17"
            Statement:
              - {Effect: Allow, Action: dynamodb:GetItem, Resource: !Sub "${Table.Arn}/index/*"}
              - !If [HasSecret, {Effect: Allow, Action: dynamodb:PutItem, Resource: !GetAtt Table.Arn}, !Ref AWS::NoValue]
Outputs:
  Url: {Value: !Sub "https://${Api}.example"}
  Hidden: {Condition: HasSecret, Value: !Ref Secret}
`

func parse(t *testing.T, text string) *template.Template {
	t.Helper()
	tpl, err := template.Parse("template.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func TestParseReadsEveryPart(t *testing.T) {
	tpl := parse(t, small)
	chat, _ := tpl.Function("ChatFunction")
	who, _ := tpl.Function("WhoFunction")
	if chat.Timeout != 29*time.Second || who.Timeout != 15*time.Second {
		t.Errorf("time-outs %v and %v, want 29s of its own and 15s of Globals", chat.Timeout, who.Timeout)
	}
	if diff := cmp.Diff([]template.Schedule{{Event: "Tick", Every: 2 * time.Hour}}, chat.Schedules); diff != "" {
		t.Error(diff)
	}
	api := template.API{ID: "Api", Authorizer: "WhoFunction", Line: tpl.API.Line, Routes: []template.Route{
		{Function: "ChatFunction", Event: "Send", Method: "POST", Path: "/send"},
		{Function: "ChatFunction", Event: "Health", Method: "GET", Path: "/health", Open: true},
		{Function: "ChatFunction", Event: "Rest", Method: "ANY", Path: "$default"},
	}}
	for i := range tpl.API.Routes {
		tpl.API.Routes[i].Line = 0
	}
	if diff := cmp.Diff(api, tpl.API); diff != "" {
		t.Error(diff)
	}
	table := template.Table{
		ID: "Table", TTL: "ttl", Line: tpl.Tables[0].Line,
		Attributes: []template.Attribute{{Name: "PK", Type: "S"}, {Name: "At", Type: "N"}},
		Key:        template.Key{Hash: "PK"},
		Indexes: []template.Index{{
			Name: "byTime", Key: template.Key{Hash: "PK", Range: "At"},
			Projection: "INCLUDE", NonKey: []string{"title"},
		}},
	}
	if diff := cmp.Diff(table, tpl.Tables[0]); diff != "" {
		t.Error(diff)
	}
	if chat.Role != "ChatRole" {
		t.Errorf("role %q", chat.Role)
	}
	if len(tpl.Unused) != 1 || tpl.Unused[0].ID != "Topic" || tpl.Unused[0].Reason == "" {
		t.Errorf("unused: %+v", tpl.Unused)
	}
}

func TestResolveMatchesDeployment(t *testing.T) {
	tpl := parse(t, small)
	values := tpl.Names()
	values["Secret"], values["Run"], values["Table"] = "", "arn:run", "t1"
	d, err := tpl.Resolve(values)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"WhoFunction": {"TABLE": "t1", "LEVEL": "info"},
		"ChatFunction": {
			"TABLE": "t1", "LEVEL": "debug", "MODEL": "small@us-east-1${not}", "HOURS": "24", "MACHINE": "arn:run",
		},
	}
	if diff := cmp.Diff(want, d.Environment); diff != "" {
		t.Error(diff)
	}
	if got := d.Substitutions["Run"]["Chat"]; got != "arn:aws:lambda:us-east-1:123456789012:function:local-ChatFunction" {
		t.Errorf("substitution %q", got)
	}
	if diff := cmp.Diff(map[string]string{"Url": "https://api.example"}, d.Outputs); diff != "" {
		t.Error(diff)
	}
	if d.CORS.Origins != nil {
		t.Errorf("pages of %v may ask", d.CORS.Origins)
	}
	arn := "arn:aws:dynamodb:us-east-1:123456789012:table/local-Table"
	policy := func(statements ...any) any { return map[string]any{"Version": "2012-10-17", "Statement": statements} }
	may := func(effect, action, resource string) any {
		return map[string]any{"Effect": effect, "Action": action, "Resource": resource}
	}
	if diff := cmp.Diff([]any{
		policy(may("Allow", "dynamodb:GetItem", arn+"/index/*")), policy(may("Deny", "dynamodb:*", arn)),
	}, d.Policies["ChatFunction"]); diff != "" {
		t.Error(diff)
	}
	values["Secret"] = "s"
	if d, err = tpl.Resolve(values); err != nil || d.Environment["ChatFunction"]["SECRET"] != "s" || d.Outputs["Hidden"] != "s" || len(d.CORS.Origins) != 2 || d.CORS.MaxAge != 600 {
		t.Errorf("with a secret: %v, %v", d, err)
	}
}

func TestResolveRefusesBadValues(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"a value that is missing":     {nil, "Secret has no value"},
		"a number over its maximum":   {map[string]string{"Secret": "", "Hours": "49"}, "parameter Hours: 49 is more than 48"},
		"a number that is none":       {map[string]string{"Secret": "", "Hours": "x"}, `parameter Hours: "x" is not a number`},
		"a value that is not allowed": {map[string]string{"Secret": "", "Level": "loud"}, `"loud" is not one of debug, info`},
	} {
		t.Run(name, func(t *testing.T) {
			tpl := parse(t, small)
			values := tpl.Names()
			for k, v := range c.change {
				values[k] = v
			}
			if _, err := tpl.Resolve(values); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestRuleMatchesOnlyItsPattern(t *testing.T) {
	tpl := parse(t, small)
	values := tpl.Names()
	values["Secret"], values["Run"] = "", "arn:run"
	d, err := tpl.Resolve(values)
	if err != nil {
		t.Fatal(err)
	}
	for event, want := range map[string]bool{
		`{"source":"aws.states","detail":{"stateMachineArn":"arn:run","status":"FAILED","name":"x"}}`: true,
		`{"source":["aws.states","x"],"detail":{"stateMachineArn":"arn:run","status":"ABORTED"}}`:     true,
		`{"source":"aws.states","detail":{"stateMachineArn":"arn:run","status":"SUCCEEDED"}}`:         false,
		`{"source":"aws.states","detail":{"stateMachineArn":"arn:other","status":"FAILED"}}`:          false,
		`{"source":"aws.states","detail":{"status":"FAILED"}}`:                                        false,
		`{"source":"aws.states","detail":"FAILED"}`:                                                   false,
		`{"source":null,"detail":{"stateMachineArn":"arn:run","status":"FAILED"}}`:                    false,
		`[]`: false,
		``:   false,
	} {
		if got := d.Rules[0].Pattern.Matches(json.RawMessage(event)); got != want {
			t.Errorf("%s: %v, want %v", event, got, want)
		}
	}
}

func TestUnsupportedPartsAreRefusedByLineAndPath(t *testing.T) {
	for name, c := range map[string]struct{ old, with, want string }{
		"resource type":          {"AWS::Logs::LogGroup", "AWS::Kinesis::Stream", "template.yaml:71: Resources.Logs.Type: the one-process deployment has no AWS::Kinesis::Stream"},
		"function property":      {"Timeout: 29", "SnapStart: {ApplyOn: None}", "Resources.ChatFunction.Properties.SnapStart: is not something"},
		"runtime":                {"Runtime: provided.al2023", "Runtime: nodejs22.x", `Globals.Function.Runtime: "nodejs22.x" is not supported`},
		"top-level section":      {"Outputs:", "Mappings:", "Mappings: is not something"},
		"intrinsic":              {"!Ref Hours", "!ImportValue Hours", "Variables.HOURS: the intrinsic function !ImportValue is not understood"},
		"long form":              {"!Ref Hours", "{Ref: Hours}", "Variables.HOURS.Ref: write the short form"},
		"a star for origins":     {`!Split [",", !Ref Pages]`, `["*"]`, `Api.Properties.CorsConfiguration.AllowOrigins: must be !Split`},
		"always some origins":    {"!Ref AWS::NoValue]", "{}]", "Api.Properties.CorsConfiguration: must be !If"},
		"credentials":            {"MaxAge: 600", "AllowCredentials: true", "Api.Properties.CorsConfiguration.AllowCredentials: is not something"},
		"dangling reference":     {"!Ref Hours", "!Ref Days", `Variables.HOURS: "Days" is neither a parameter nor a resource`},
		"dangling attribute":     {"!GetAtt ChatFunction.Arn", "!GetAtt Chat.Arn", `Resources.Run.Properties.DefinitionSubstitutions.Chat: "Chat" is not a resource`},
		"unknown attribute":      {"!GetAtt ChatFunction.Arn", "!GetAtt ChatFunction.Url", `the attribute "Url" of AWS::Serverless::Function`},
		"unknown condition":      {"[HasSecret, !Ref Secret", "[HasSecrets, !Ref Secret", `"HasSecrets" is not a condition`},
		"condition of an output": {"Condition: HasSecret", "Condition: HasSecrets", `Outputs.Hidden.Condition: "HasSecrets" is not a condition`},
		"output of nothing":      {`{Value: !Sub "https://${Api}.example"}`, "{Description: u}", "Outputs.Url: Value is missing"},
		"condition of itself":    {"!Condition HasSecret", "!Condition Quiet", "Conditions.Quiet: depends on itself"},
		"open substitution":      {"${AWS::Region}${!not}", "${AWS::Region", "${ is not closed"},
		"cron":                   {"rate(2 hours)", "cron(0 5)", `"cron(0 5)" cannot be run here`},
		"rate of one plural":     {"rate(2 hours)", "rate(1 hours)", "cannot be run here"},
		"rate of many":           {"rate(2 hours)", "rate(2 hour)", "cannot be run here"},
		"disabled schedule":      {"Schedule: rate(2 hours)", "Schedule: rate(2 hours), Enabled: false", `Enabled: "false" is not supported`},
		"content filter":         {"status: [FAILED, ABORTED]", "status: [{prefix: FAIL}]", "only texts are compared here"},
		"event type":             {"Type: Schedule", "Type: SQS", `nothing here makes events of type "SQS"`},
		"route twice":            {"Method: GET, Path: /health", "Method: POST, Path: /send", "the route POST /send is already ChatFunction's POST /send"},
		"half a route":           {"Method: post, Path: /send", "Path: /send", "a method and a path, or neither"},
		"half a parameter":       {"Path: /send", `Path: "/send{id}"`, "a parameter is a whole segment"},
		"greedy in the middle": {
			"Path: /send", `Path: "/a/{proxy+}/b"`, "only the last segment takes the rest",
		},
		"other authorizer":      {"Authorizer: NONE", "Authorizer: Other", "a route is open (NONE), or has the default authorizer"},
		"authorizer of nothing": {"!GetAtt WhoFunction.Arn", "!GetAtt Table.Arn", "must refer to a AWS::Serverless::Function"},
		"default authorizer":    {"DefaultAuthorizer: Who", "DefaultAuthorizer: Whom", `"Whom" is not one of its authorizers`},
		"cached authorizer":     {"ReauthorizeEvery: 0", "ReauthorizeEvery: 300", `ReauthorizeEvery: "300" is not supported`},
		"express":               {"DefinitionUri:", "Type: EXPRESS\n      DefinitionUri:", `Type: "EXPRESS" is not supported`},
		"key not defined":       {"AttributeName: At, KeyType", "AttributeName: When, KeyType", `the key attribute "When" is not defined`},
		"attribute of no key":   {", {AttributeName: At, KeyType: RANGE}]", "]", `"At" is part of no key`},
		"key said twice":        {"Handler: bootstrap", "Handler: bootstrap, Handler: bootstrap", "Properties.Handler: is said twice"},
		"alias":                 {"Handler: bootstrap", "Handler: &a bootstrap", "no anchors and aliases"},
		"name of a function":    {"WhoFunction:\n", "Who:\n", `a function's logical id ends in "Function"`},
		"default not allowed":   {"Default: info", "Default: loud", `Parameters.Level.Default: "loud" is not one of`},
		"time-out":              {"Timeout: 29", "Timeout: 901", "must be 1 to 900 seconds"},
		"not YAML":              {"Resources:", "Resources: [", "template.yaml: yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(small, c.old) {
				t.Fatalf("the sample has no %q", c.old)
			}
			_, err := template.Parse("/any/where/template.yaml", []byte(strings.Replace(small, c.old, c.with, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error:\n%v\nwant %q", err, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "template.yaml:") {
				t.Errorf("the error does not begin with the file: %v", err)
			}
		})
	}
}

func TestRouteMatchesAPIGateway(t *testing.T) {
	routes := []string{
		"GET /", "GET /pets/dog/1", "GET /pets/dog/{id}", "GET /pets/{proxy+}", "ANY /{proxy+}",
		"POST /chats", "GET /chats/{id}", "ANY /chats/{id}", "GET /chats/{id}/messages", "$default",
	}
	tpl := &template.Template{}
	for _, key := range routes {
		method, path, ok := strings.Cut(key, " ")
		if !ok {
			method, path = "ANY", key
		}
		tpl.API.Routes = append(tpl.API.Routes, template.Route{Method: method, Path: path})
	}
	for request, want := range map[string]string{
		"GET /":                      "GET /",
		"POST /":                     "$default",
		"GET /pets/dog/1":            "GET /pets/dog/1",
		"GET /pets/dog/2":            "GET /pets/dog/{id}",
		"GET /pets/cat/1":            "GET /pets/{proxy+}",
		"POST /pets/cat/1":           "ANY /{proxy+}",
		"GET /chats/9":               "GET /chats/{id}",
		"GET /chats/%2e%2e":          "GET /chats/{id}",
		"GET /chats/a%2Fb":           "GET /chats/{id}",
		"DELETE /chats/9":            "ANY /chats/{id}",
		"GET /chats/9/messages":      "GET /chats/{id}/messages",
		"GET /chats/9/%6Dessages":    "GET /chats/{id}/messages",
		"GET /chats//messages":       "ANY /{proxy+}",
		"POST /chats":                "POST /chats",
		"POST /chats/":               "ANY /{proxy+}",
		"GET /chats/9/messages/more": "ANY /{proxy+}",
		"GET /Chats/9":               "ANY /{proxy+}",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got, ok := tpl.Route(method, path); !ok || got.Key() != want {
			t.Errorf("%s: %q (%v), want %q", request, got.Key(), ok, want)
		}
	}
	none := &template.Template{}
	if _, ok := none.Route("GET", "/"); ok {
		t.Error("a template without routes routed a request")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small)
	f.Add("Transform: AWS::Serverless-2016-10-31\nResources: {A: {Type: AWS::Logs::LogGroup}}")
	f.Add("Resources: &a [*a]")
	f.Add("Conditions: {A: !Condition A}\nTransform: AWS::Serverless-2016-10-31\nResources: {}")
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := template.Parse("template.yaml", []byte(text))
		if err != nil {
			return
		}
		_, _ = tpl.Resolve(tpl.Names())
		tpl.Route("GET", "/a/b")
	})
}
