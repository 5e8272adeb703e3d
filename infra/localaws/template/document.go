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

// document reads the whole file: first the names, so that every reference can be checked, then
// their resources.
func (r *reader) document(root *yaml.Node) {
	r.object(root, "", handlers{
		"AWSTemplateFormatVersion": r.oneOf("2010-09-09"),
		"Transform":                r.oneOf("AWS::Serverless-2016-10-31"),
		"Description":              acceptUnused("for people"),
		"Metadata":                 acceptUnused("for tools"),
		"Parameters":               r.parameters,
		"Rules":                    acceptUnused("CloudFormation checks parameters that belong together"),
		"Conditions":               r.conditionNames,
		"Globals":                  r.globalSections,
		"Resources":                r.resourceNames,
		"Outputs":                  r.outputs,
	})
	r.require(root, "template", "Transform", "Resources")
	if len(r.problems) > 0 {
		return
	}
	for _, section := range []string{"Conditions", "Globals", "Resources", "Outputs"} {
		if n := member(root, section); n != nil {
			r.check(n, section)
		}
	}
	for _, o := range r.out.outputs {
		if o.condition != nil {
			r.checkCondition(o.condition, join(join("Outputs", o.Name), "Condition"), o.condition.Value)
		}
	}
	for key, n := range r.members(member(root, "Resources"), "Resources") {
		r.resource(key.Value, n)
	}
	r.whole(root)
}

// whole checks the rules that concern several resources.
func (r *reader) whole(root *yaml.Node) {
	for i, a := range r.out.API.Routes {
		for _, b := range r.out.API.Routes[:i] {
			if a.Method == b.Method && shape(a.Path) == shape(b.Path) {
				r.problems = append(r.problems, problem{
					r.file, a.Line, "Resources." + a.Function + ".Properties.Events." + a.Event,
					"the route " + a.Key() + " is already " + b.Function + "'s " + b.Key(),
				})
			}
		}
	}
	r.wholeSocket(root)
	if r.out.API.ID == "" && len(r.out.API.Routes) > 0 {
		r.fail(root, "Resources", "there are routes, and no %s", typeAPI)
	}
	if id := r.out.API.Authorizer; id != "" {
		if _, ok := r.out.Function(id); !ok {
			r.fail(root, "Resources."+r.out.API.ID, "its authorizer %s is not a function of this template", id)
		}
	}
}

func (r *reader) parameters(n *yaml.Node, path string) {
	for key, body := range r.members(n, path) {
		p := Parameter{Name: key.Value, Line: key.Line}
		kind := ""
		r.object(body, join(path, key.Value), handlers{
			"Type":           r.into(&kind),
			"Default":        func(n *yaml.Node, at string) { p.Has = true; p.Default = r.text(n, at) },
			"AllowedPattern": r.into(&p.Pattern),
			"AllowedValues": func(n *yaml.Node, at string) {
				for _, item := range r.items(n, at) {
					p.Allowed = append(p.Allowed, r.text(item, at))
				}
			},
			"MinValue":              r.into(&p.Min),
			"MaxValue":              r.into(&p.Max),
			"Description":           acceptUnused("for people"),
			"ConstraintDescription": acceptUnused("for people"),
			"NoEcho":                acceptUnused("for the console"),
		})
		switch kind {
		case "String":
		case "Number":
			p.Number = true
		default:
			r.fail(body, join(path, key.Value)+".Type", "%q is not supported here: only String, Number", kind)
		}
		if p.Has {
			if err := p.Accept(p.Default); err != nil {
				r.fail(body, join(path, key.Value)+".Default", "%v", err)
			}
		}
		r.out.Parameters = append(r.out.Parameters, p)
	}
}

func (r *reader) conditionNames(n *yaml.Node, path string) {
	for key, body := range r.members(n, path) {
		if !slices.Contains([]string{tagEquals, tagNot, tagAnd, tagOr, tagCondition}, body.Tag) {
			r.fail(body, join(path, key.Value), "must be a condition function")
		}
		r.out.conditions[key.Value] = body
	}
	for name, body := range r.out.conditions {
		if r.dependsOn(body, name, len(r.out.conditions)) {
			r.fail(body, join(path, name), "depends on itself")
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

func (r *reader) globalSections(n *yaml.Node, path string) {
	r.object(n, path, handlers{
		"Function": func(n *yaml.Node, _ string) { r.globals["Function"] = n },
	})
}

func (r *reader) resourceNames(n *yaml.Node, path string) {
	for key, body := range r.members(n, path) {
		if kind := member(body, "Type"); kind != nil {
			r.out.resources[key.Value] = kind.Value
		} else {
			r.fail(key, join(path, key.Value), "Type is missing")
		}
	}
}

func (r *reader) outputs(n *yaml.Node, path string) {
	for key, body := range r.members(n, path) {
		o := Output{Name: key.Value}
		r.object(body, join(path, key.Value), handlers{
			"Description": acceptUnused("for people"),
			"Export":      acceptUnused("there are no other stacks"),
			"Condition":   func(n *yaml.Node, _ string) { o.condition = n },
			"Value":       func(n *yaml.Node, at string) { o.Value = Value{n, at} },
		})
		r.require(body, join(path, key.Value), "Value")
		r.out.outputs = append(r.out.outputs, o)
	}
}

// resource reads one resource by its type.
func (r *reader) resource(id string, n *yaml.Node) {
	path, kind := join("Resources", id), r.out.resources[id]
	if reason, ok := noCounterpart[kind]; ok && !r.isKept(kind, n) {
		r.out.Unused = append(r.out.Unused, Unused{id, kind, reason})
		return
	}
	reading := map[string]func(id string, n *yaml.Node, path string){
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
		r.fail(member(n, "Type"), path+".Type", "the one-process deployment has no %s, and no reason to do without it", kind)
		return
	}
	r.object(n, path, handlers{
		"Type":                acceptUnused("read already"),
		"Metadata":            r.objectHandler(handlers{"BuildMethod": r.oneOf("makefile")}),
		"DeletionPolicy":      acceptUnused("nothing is deployed over"),
		"UpdateReplacePolicy": acceptUnused("nothing is deployed over"),
		"DependsOn":           acceptUnused("everything is there before the first request"),
		"Properties":          func(n *yaml.Node, at string) { read(id, n, at) },
	})
	r.require(n, path, "Properties")
}

// objectHandler returns object as a handler.
func (r *reader) objectHandler(known handlers) handler {
	return func(n *yaml.Node, path string) { r.object(n, path, known) }
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
