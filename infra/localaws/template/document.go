package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The supported types of resource.
const (
	typeFunction     = "AWS::Serverless::Function"
	typeAPI          = "AWS::Serverless::HttpApi"
	typeStateMachine = "AWS::Serverless::StateMachine"
	typeTable        = "AWS::DynamoDB::Table"
	typeSocketAPI    = "AWS::ApiGatewayV2::Api"
	typeIntegration  = "AWS::ApiGatewayV2::Integration"
	typeSocketRoute  = "AWS::ApiGatewayV2::Route"
	typeSocketStage  = "AWS::ApiGatewayV2::Stage"
	typeLogGroup     = "AWS::Logs::LogGroup"
	typeRole         = "AWS::IAM::Role"
	typePolicy       = "AWS::IAM::ManagedPolicy"
	typeBucket       = "AWS::S3::Bucket" // with versioning
)

// The types of resource that have no use in one process.
const (
	typeInvoke = "AWS::Lambda::Permission"
	typeKey    = "AWS::KMS::Key"

	typeAlarm        = "AWS::CloudWatch::Alarm"
	typeDashboard    = "AWS::CloudWatch::Dashboard"
	typeMetricFilter = "AWS::Logs::MetricFilter"
	typeTopic        = "AWS::SNS::Topic"
	typeSubscription = "AWS::SNS::Subscription"
	typeQueue        = "AWS::SQS::Queue"
	typeQueuePolicy  = "AWS::SQS::QueuePolicy"

	typeBucketPolicy = "AWS::S3::BucketPolicy"
	typeSecret       = "AWS::SecretsManager::Secret"
	typeDistribution = "AWS::CloudFront::Distribution"
	typeOriginAccess = "AWS::CloudFront::OriginAccessControl"
)

// noCounterpart gives the reasons.
var noCounterpart = map[string]string{
	typeInvoke: "functions are called directly",
	typeKey:    "what is signed is signed with a key in the data folder",

	typeAlarm:        "nobody is on call for one process",
	typeDashboard:    "GET /metrics tells what there is to see",
	typeMetricFilter: "logs go to standard error, and nothing counts them",
	typeTopic:        "there are no alarms to tell of",
	typeSubscription: "there are no alarms to tell of",
	typeQueue:        "what fails is logged, and looked for again by the next sweep",
	typeQueuePolicy:  "there is no queue",

	typeBucket:       "the process serves the page's files itself", // without versioning
	typeBucketPolicy: "only the process reaches its buckets",
	typeSecret:       "there is no distribution that needs it",
	typeDistribution: "browsers talk to the process",
	typeOriginAccess: "there is no bucket",
}

// reader fills a template from its file.
type reader struct {
	out          *Template
	globals      node              // properties of Globals.Function, if there are some
	integrations map[string]string // of the WebSocket API → the function it calls
}

// document reads the whole file: first the names, so that every reference can be checked, then
// their resources.
func (r *reader) document(root node) {
	root.object(handlers{
		"AWSTemplateFormatVersion": oneOf("2010-09-09"),
		"Transform":                oneOf("AWS::Serverless-2016-10-31"),
		"Description":              acceptUnused("for people"),
		"Metadata":                 acceptUnused("for tools"),
		"Parameters":               r.parameters,
		"Rules":                    acceptUnused("CloudFormation checks parameters that belong together"),
		"Conditions":               r.conditionNames,
		"Globals":                  r.globalSections,
		"Resources":                r.resourceNames,
		"Outputs":                  r.outputs,
	})
	root.below("template").require("Transform", "Resources")
	if len(root.problems.list) > 0 {
		return
	}
	for _, section := range []string{"Conditions", "Globals", "Resources", "Outputs"} {
		if n := member(root.node, section); n != nil {
			r.check(root.at(n, section))
		}
	}
	for _, o := range r.out.outputs {
		if o.condition.node != nil {
			r.checkCondition(node{o.condition, root.problems}, o.condition.node.Value)
		}
	}
	for key, n := range root.at(member(root.node, "Resources"), "Resources").members() {
		r.resource(key.name(), n)
	}
	r.whole(root)
}

// whole checks the rules that concern several resources.
func (r *reader) whole(root node) {
	for i, a := range r.out.API.Routes {
		for _, b := range r.out.API.Routes[:i] {
			if a.Method == b.Method && shape(a.Path) == shape(b.Path) {
				root.at(&yaml.Node{Line: a.Line}, "Resources."+a.Function+".Properties.Events."+a.Event).
					fail("the route %s is already %s's %s", a.Key(), b.Function, b.Key())
			}
		}
	}
	r.wholeSocket(root)
	if r.out.API.ID == "" && len(r.out.API.Routes) > 0 {
		root.below("Resources").fail("there are routes, and no %s", typeAPI)
	}
	if id := r.out.API.Authorizer; id != "" {
		if _, ok := r.out.Function(id); !ok {
			root.below("Resources."+r.out.API.ID).fail("its authorizer %s is not a function of this template", id)
		}
	}
}

func (r *reader) parameters(n node) {
	for key, body := range n.members() {
		p := Parameter{Name: key.name(), Line: key.node.Line}
		kind := ""
		body.object(handlers{
			"Type":                  into(&kind),
			"Default":               func(n node) { p.Has = true; p.Default = n.text() },
			"AllowedPattern":        into(&p.Pattern),
			"AllowedValues":         list(&p.Allowed),
			"MinValue":              into(&p.Min),
			"MaxValue":              into(&p.Max),
			"Description":           acceptUnused("for people"),
			"ConstraintDescription": acceptUnused("for people"),
			"NoEcho":                acceptUnused("for the console"),
		})
		switch kind {
		case "String":
		case "Number":
			p.Number = true
		default:
			body.below("Type").fail("%q is not supported here: only String, Number", kind)
		}
		if p.Has {
			if err := p.Accept(p.Default); err != nil {
				body.below("Default").fail("%v", err)
			}
		}
		r.out.Parameters = append(r.out.Parameters, p)
	}
}

func (r *reader) conditionNames(n node) {
	for key, body := range n.members() {
		if !slices.Contains([]string{tagEquals, tagNot, tagAnd, tagOr, tagCondition}, body.node.Tag) {
			body.fail("must be a condition function")
		}
		r.out.conditions[key.name()] = body.node
	}
	for name, body := range r.out.conditions {
		if r.dependsOn(body, name, len(r.out.conditions)) {
			n.at(body, join(n.path, name)).fail("depends on itself")
		}
	}
}

// dependsOn reports whether a condition refers to the condition called name, in at most depth
// steps.
func (r *reader) dependsOn(n *yaml.Node, name string, depth int) bool {
	if n == nil || depth < 0 {
		return false
	}
	if n.Tag == tagCondition {
		return n.Value == name || r.dependsOn(r.out.conditions[n.Value], name, depth-1)
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return r.dependsOn(c, name, depth) })
}

func (r *reader) globalSections(n node) {
	n.object(handlers{
		"Function": func(n node) { r.globals = n },
	})
}

func (r *reader) resourceNames(n node) {
	for key, body := range n.members() {
		if kind := member(body.node, "Type"); kind != nil {
			r.out.resources[key.name()] = kind.Value
		} else {
			key.fail("Type is missing")
		}
	}
}

func (r *reader) outputs(n node) {
	for key, body := range n.members() {
		o := Output{Name: key.name()}
		body.object(handlers{
			"Description": acceptUnused("for people"),
			"Export":      acceptUnused("there are no other stacks"),
			"Condition":   value(&o.condition),
			"Value":       value(&o.Value),
		})
		body.require("Value")
		r.out.outputs = append(r.out.outputs, o)
	}
}

// resource reads one resource by its type.
func (r *reader) resource(id string, n node) {
	kind := r.out.resources[id]
	if reason, ok := noCounterpart[kind]; ok && !isKept(kind, n) {
		r.out.Unused = append(r.out.Unused, Unused{id, kind, reason})
		return
	}
	reading := map[string]func(id string, n node){
		typeFunction:     r.function,
		typeAPI:          r.api,
		typeStateMachine: r.stateMachine,
		typeTable:        r.table,
		typeBucket:       r.bucket,
		typeLogGroup:     r.logGroup,
		typeRole:         r.role,
		typePolicy:       r.policy,
		typeSocketAPI:    r.socketAPI,
		typeIntegration:  r.socketIntegration,
		typeSocketRoute:  r.socketRoute,
		typeSocketStage:  r.socketStage,
	}
	read, ok := reading[kind]
	if !ok {
		n.at(member(n.node, "Type"), join(n.path, "Type")).fail("the one-process deployment has no %s, and no reason to do without it", kind)
		return
	}
	n.object(handlers{
		"Type":                acceptUnused("read already"),
		"Metadata":            object(handlers{"BuildMethod": oneOf("makefile")}),
		"DeletionPolicy":      acceptUnused("nothing is deployed over"),
		"UpdateReplacePolicy": acceptUnused("nothing is deployed over"),
		"DependsOn":           acceptUnused("everything is there before the first request"),
		"Properties":          func(n node) { read(id, n) },
	})
	n.require("Properties")
}

// shape returns a path with its parameters unnamed: two routes of one shape cannot be
// distinguished.
func shape(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch {
		case isGreedy(s):
			segments[i] = "{+}"
		case isParameter(s):
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}
