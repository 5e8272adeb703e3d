package stepfunctions

import (
	"slices"
	"strings"
	"time"
)

// stateFields lists, for each type, the supported fields other than Type, Comment and
// QueryLanguage.
var stateFields = map[stateType][]string{
	typePass:    {"InputPath", "OutputPath", "Next", "End", "Result", "ResultPath", "Parameters"},
	typeChoice:  {"InputPath", "OutputPath", "Choices", "Default"},
	typeWait:    {"InputPath", "OutputPath", "Next", "End", "Seconds", "Timestamp", "SecondsPath", "TimestampPath"},
	typeSucceed: {"InputPath", "OutputPath"},
	typeFail:    {"Error", "Cause", "ErrorPath", "CausePath"},
	typeTask: {
		"InputPath", "OutputPath", "Next", "End", "Resource", "Parameters", "ResultSelector", "ResultPath",
		"Retry", "Catch", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath",
	},
	typeParallel: {
		"InputPath", "OutputPath", "Next", "End", "Branches", "Parameters", "ResultSelector", "ResultPath",
		"Retry", "Catch",
	},
	typeMap: {
		"InputPath", "OutputPath", "Next", "End", "ItemProcessor", "Iterator", "ItemsPath", "ItemSelector",
		"Parameters", "MaxConcurrency", "MaxConcurrencyPath", "ResultSelector", "ResultPath", "Retry", "Catch",
	},
}

func (r *reader) state(name string, obj object, at string, depth int) *state {
	kind := stateType(r.requiredText(obj, "Type", at))
	fields, known := stateFields[kind]
	if !known {
		if kind != "" {
			r.schema(at+"/Type", "Value '%s' is not a supported state type", kind)
		}
		return nil
	}
	r.onlyFields(obj, at, append([]string{"Type", "Comment", "QueryLanguage"}, fields...)...)
	r.queryLanguage(obj, at)
	st := &state{name: name, kind: kind}
	if slices.Contains(fields, "InputPath") {
		st.input = r.selection(obj, "InputPath", at)
		st.output = r.selection(obj, "OutputPath", at)
	}
	if slices.Contains(fields, "Next") {
		r.transition(st, obj, at)
	}
	if slices.Contains(fields, "ResultPath") {
		r.resultPath(st, obj, at)
	}
	if kind != typeMap {
		st.parameters = r.template(obj, "Parameters", at)
	}
	st.resultSelector = r.template(obj, "ResultSelector", at)
	if slices.Contains(fields, "Retry") {
		st.retry = r.retriers(obj, at)
		st.catch = r.catchers(obj, at)
	}
	switch kind {
	case typePass:
		st.result, st.literal = obj.get("Result") // which wins over Parameters
	case typeTask:
		r.task(st, obj, at)
	case typeChoice:
		r.choice(st, obj, at)
	case typeWait:
		r.wait(st, obj, at)
	case typeFail:
		r.fail(st, obj, at)
	case typeParallel:
		for i, branch := range r.list(obj, "Branches", at, true) {
			here := pointer(at+"/Branches", i)
			r.onlyFields(branch, here, scopeFields()...)
			st.branches = append(st.branches, r.scope(branch, here, depth+1))
		}
	case typeMap:
		r.mapState(st, obj, at, depth)
	}
	return st
}

// selection reads InputPath or OutputPath, which default to "$".
func (r *reader) selection(obj object, field, at string) selection {
	v, ok := obj.get(field)
	if ok && v == nil {
		return selection{null: true}
	}
	if !ok {
		return selection{path: rootPath}
	}
	return selection{path: r.path(obj, field, at, false)}
}

var rootPath = &path{source: "$", definite: true}

func (r *reader) transition(st *state, obj object, at string) {
	next, hasNext := r.text(obj, "Next", at)
	end, hasEnd := obj.get("End")
	switch {
	case hasEnd && end != true:
		r.schema(at+"/End", "The value of 'End' must be true")
	case hasEnd && hasNext:
		r.onlyOne(at, "Next", "End")
	case !hasEnd && !hasNext:
		r.needOne(at, "Next", "End")
	case hasNext && next == "":
		r.schema(at+"/Next", "The value must not be empty")
	}
	st.next = next
}

func (r *reader) resultPath(st *state, obj object, at string) {
	v, ok := obj.get("ResultPath")
	switch {
	case !ok:
		st.resultPath = rootPath
	case v != nil:
		st.resultPath = r.path(obj, "ResultPath", at, true)
		if st.resultPath != nil && st.resultPath.context {
			r.schema(at+"/ResultPath", "ResultPath cannot write to the context object")
		}
	}
}

const (
	resourceInvoke      = "arn:aws:states:::lambda:invoke"
	resourceInvokeToken = resourceInvoke + ".waitForTaskToken"
)

// invokeFields are the supported members of Parameters for lambda:invoke.
var invokeFields = []string{"FunctionName", "Payload", "Qualifier", "InvocationType", "ClientContext", "LogType"}

func (r *reader) task(st *state, obj object, at string) {
	t := &taskFields{resource: r.requiredText(obj, "Resource", at)}
	st.task = t
	t.timeout = r.secondsField(obj, "TimeoutSeconds", at, 1)
	t.heartbeat = r.secondsField(obj, "HeartbeatSeconds", at, 1)
	if t.timeout.value > 0 && t.heartbeat.value >= t.timeout.value {
		r.schema(at+"/HeartbeatSeconds", "'HeartbeatSeconds' must be smaller than 'TimeoutSeconds'")
	}
	switch {
	case t.resource == resourceInvoke || t.resource == resourceInvokeToken:
		t.waitsToken = t.resource == resourceInvokeToken
		r.invokeParameters(obj, t.resource, at)
	case isFunctionARN(t.resource):
		t.function = t.resource
	case t.resource != "":
		r.schema(at+"/Resource", "The resource provided %s is not recognized. Supported are function ARNs, %s and %s",
			t.resource, resourceInvoke, resourceInvokeToken)
	}
}

// isFunctionARN matches arn:PARTITION:lambda:REGION:ACCOUNT:function:NAME[:QUALIFIER].
func isFunctionARN(s string) bool {
	parts := strings.Split(s, ":")
	return (len(parts) == 7 || len(parts) == 8) && parts[0] == "arn" && parts[2] == "lambda" &&
		parts[5] == "function" && parts[6] != ""
}

func (r *reader) invokeParameters(obj object, resource, at string) {
	v, _ := obj.get("Parameters")
	params, ok := v.(object)
	if !ok {
		r.schema(at, "Parameters field is required for resource ARN: %s", resource)
		return
	}
	named := false
	for _, m := range params {
		here := pointer(at+"/Parameters", m.key)
		name, dynamic := strings.CutSuffix(m.key, ".$")
		named = named || name == "FunctionName"
		switch {
		case !slices.Contains(invokeFields, name):
			r.schema(here, "The field '%s' is not supported by Step Functions", name)
		case name == "InvocationType" && !dynamic && !knownInvocation(m.val):
			r.schema(here, "The value must be 'RequestResponse', 'Event' or 'DryRun'")
		}
	}
	if !named {
		r.schema(at+"/Parameters", "The field 'FunctionName' is required but was missing")
	}
}

func (r *reader) wait(st *state, obj object, at string) {
	given := 0
	ends := []string{"SecondsPath", "Seconds", "TimestampPath", "Timestamp"}
	for _, field := range ends {
		if _, ok := obj.get(field); ok {
			given++
		}
	}
	switch {
	case given == 0:
		r.needOne(at, ends...)
		return
	case given > 1:
		r.onlyOne(at, ends...)
		return
	}
	w := &waitFields{}
	st.wait = w
	w.seconds = r.secondsField(obj, "Seconds", at, 0)
	w.path = r.path(obj, "TimestampPath", at, true)
	if text, ok := r.text(obj, "Timestamp", at); ok {
		when, err := parseTimestamp(text)
		if err != nil {
			r.schema(at+"/Timestamp", "The value is not a valid ISO-8601 timestamp")
		}
		w.timestamp = when
	}
}

func (r *reader) fail(st *state, obj object, at string) {
	f := &failFields{}
	st.fail = f
	f.err, _ = r.text(obj, "Error", at)
	f.cause, _ = r.text(obj, "Cause", at)
	f.errPath = r.expression(obj, "ErrorPath", "Error", at)
	f.causePath = r.expression(obj, "CausePath", "Cause", at)
}

// expression reads a field that is a reference path or an intrinsic call and
// that excludes the field other.
func (r *reader) expression(obj object, field, other, at string) *expression {
	source, ok := r.text(obj, field, at)
	if !ok {
		return nil
	}
	if _, both := obj.get(other); both {
		r.onlyOne(at, other, field)
	}
	e, err := parseExpression(source)
	switch {
	case err != nil:
		r.schema(pointer(at, field), "The value for the field '%s' must be a valid JSONPath or a valid intrinsic function call: %s", field, err)
	case e.path != nil && !e.path.isReference():
		r.schema(pointer(at, field), "Value is not a Reference Path")
	}
	return &e
}

func (r *reader) mapState(st *state, obj object, at string, depth int) {
	m := &mapFields{itemsPath: rootPath}
	st.mapping = m
	processor, hasProcessor := obj.get("ItemProcessor")
	iterator, hasIterator := obj.get("Iterator")
	field := "ItemProcessor"
	if hasIterator {
		processor, field = iterator, "Iterator"
	}
	switch {
	case hasProcessor && hasIterator:
		r.onlyOne(at, "ItemProcessor", "Iterator")
		return
	case !hasProcessor && !hasIterator:
		r.needOne(at, "ItemProcessor", "Iterator")
		return
	}
	if body, ok := processor.(object); ok {
		here := at + "/" + field
		r.processor(body, here, field)
		m.processor = r.scope(body, here, depth+1)
	} else {
		r.schema(at+"/"+field, "Expected value of type Object")
	}
	if _, ok := obj.get("ItemsPath"); ok {
		m.itemsPath = r.itemsPath(obj, at)
	}
	m.itemSelector = r.template(obj, "ItemSelector", at)
	if legacy := r.template(obj, "Parameters", at); legacy != nil {
		if m.itemSelector != nil {
			r.onlyOne(at, "ItemSelector", "Parameters")
		}
		m.itemSelector = legacy
	}
	m.maxConcurrency, _ = r.count(obj, "MaxConcurrency", at, 0, maxSeconds)
	m.concurrencyPath = r.path(obj, "MaxConcurrencyPath", at, true)
	if _, both := obj.get("MaxConcurrency"); both && m.concurrencyPath != nil {
		r.onlyOne(at, "MaxConcurrency", "MaxConcurrencyPath")
	}
}

// processor checks ProcessorConfig: only inline maps are supported.
func (r *reader) processor(body object, at, field string) {
	allowed := scopeFields()
	if field == "ItemProcessor" {
		allowed = append(allowed, "ProcessorConfig")
	}
	r.onlyFields(body, at, allowed...)
	v, ok := body.get("ProcessorConfig")
	if !ok {
		return
	}
	config, ok := v.(object)
	if !ok {
		r.schema(at+"/ProcessorConfig", "Expected value of type Object")
		return
	}
	r.onlyFields(config, at+"/ProcessorConfig", "Mode")
	if mode, ok := config.get("Mode"); ok && mode != "INLINE" {
		r.schema(at+"/ProcessorConfig/Mode", "Only the mode 'INLINE' is supported")
	}
}

// parseTimestamp reads the RFC 3339 profile of the language: an upper-case T,
// and Z or an offset.
func parseTimestamp(s string) (time.Time, error) { return time.Parse(time.RFC3339Nano, s) }
