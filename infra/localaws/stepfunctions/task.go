package stepfunctions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A FunctionError is a failure that a function reported itself.
type FunctionError struct {
	Type    string // errorType
	Message string // errorMessage
	// Payload is the error object of the function's runtime; when empty, one is made of Type and
	// Message.
	Payload []byte
}

// Error returns the type and the message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// task computes the task's payload and schedules it.
func (t *transition) task(th *thread, st *state, input *document) {
	if st.task.waitsToken {
		th.token = newToken(t.x.seq, th.id)
	}
	params, f := th.applyTemplate(st.parameters, input)
	if f == nil {
		f = th.taskDeadlines(st, input, t.now)
	}
	if f == nil && len(params.Text()) > maxPayload {
		f = &failure{name: errDataLimit, cause: fmt.Sprintf(
			"The state/task '%s' tried to send an input with a size exceeding the maximum number of bytes service limit.", st.name)}
	}
	if f == nil {
		f = th.target(st, params)
	}
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.schedule(th, st, params)
}

// taskDeadlines sets the absolute time-out of a task that starts now. Its heartbeat counts from the
// answer of the function, and only with a token, because a heartbeat needs a token.
func (th *thread) taskDeadlines(st *state, input *document, now time.Time) *failure {
	timeout, f := th.secondsOf("TimeoutSecondsPath", st.task.timeout, input, 1)
	if f != nil {
		return th.withLocation(f)
	}
	beat, f := th.secondsOf("HeartbeatSecondsPath", st.task.heartbeat, input, 1)
	if f != nil {
		return th.withLocation(f)
	}
	th.timeout, th.heartbeat, th.beat = zeroTime, zeroTime, time.Duration(beat)*time.Second
	if timeout > 0 {
		th.timeout = now.Add(time.Duration(timeout) * time.Second)
	}
	return nil
}

// target finds the function's ARN and its payload.
func (th *thread) target(st *state, params *document) (f *failure) {
	if st.task.function != "" {
		th.function, th.payload = st.task.function, params.Text()
		return nil
	}
	obj, _ := params.Value().(object)
	v, _ := obj.get("FunctionName")
	name, ok := v.(string)
	if !ok || name == "" {
		return th.withLocation(runtimeFailure("The field 'FunctionName' must be a non-empty string"))
	}
	if !strings.HasPrefix(name, "arn:") {
		account := th.x.eng.account.id
		if other, rest, partial := strings.Cut(name, ":function:"); partial { // ACCOUNT:function:NAME
			account, name = other, rest
		}
		name = fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", th.x.eng.account.region, account, name)
	}
	if q, ok := obj.get("Qualifier"); ok {
		if q, ok := q.(string); ok && q != "" {
			name += ":" + q
		}
	}
	if !isFunctionARN(name) {
		return th.withLocation(runtimeFailure("The function name '%s' is not valid", name))
	}
	th.function, th.payload = name, []byte("{}")
	if payload, _ := obj.get("Payload"); payload != nil {
		th.payload = payloadText(payload)
	}
	th.manner, f = mannerOf(obj)
	if f != nil {
		return th.withLocation(f)
	}
	return nil
}

// payloadText returns the payload of the function. A string that is a JSON document is passed as
// that document, as recorded; null, like nothing, is {}.
func payloadText(payload any) []byte {
	if s, ok := payload.(string); ok {
		if v, err := parseValue([]byte(s)); err == nil {
			return encodeValue(v)
		}
	}
	return encodeValue(payload)
}

// schedule records the task as scheduled and started, and the thread waits for it. The task is
// dispatched once the record is durable.
func (t *transition) schedule(th *thread, st *state, params *document) {
	limits := object{}
	if !th.timeout.IsZero() {
		limits = append(limits, member{"timeoutInSeconds", number(int(th.timeout.Sub(t.now) / time.Second))})
	}
	if th.beat > 0 {
		limits = append(limits, member{"heartbeatInSeconds", number(int(th.beat / time.Second))})
	}
	if st.task.function != "" {
		body := append(object{{"resource", st.task.function}}, inputDetail("input", params.Text())...)
		if len(limits) > 0 && limits[0].key == "timeoutInSeconds" {
			body = append(body, limits[0])
		}
		t.step(th, "LambdaFunctionScheduled", detail{"lambdaFunctionScheduledEventDetails", body})
		t.step(th, "LambdaFunctionStarted", detail{})
	} else {
		body := append(st.task.kind(), member{"region", t.x.eng.account.region}, member{"parameters", string(params.Text())})
		t.step(th, "TaskScheduled", detail{"taskScheduledEventDetails", append(body, limits...)})
		t.step(th, "TaskStarted", detail{"taskStartedEventDetails", st.task.kind()})
	}
	t.block(th, phaseTask)
}

// kind returns resourceType and resource, as events of integrations have them.
func (f *taskFields) kind() object {
	return object{{"resourceType", "lambda"}, {"resource", strings.TrimPrefix(f.resource, "arn:aws:states:::lambda:")}}
}

// taskEvent records a task event. Its name depends on the kind of the task: "Failed" is
// LambdaFunctionFailed or TaskFailed.
func (t *transition) taskEvent(th *thread, st *state, suffix string, body object) {
	if st.task.function != "" {
		t.step(th, "LambdaFunction"+suffix, detail{"lambdaFunction" + suffix + "EventDetails", body})
		return
	}
	t.step(th, "Task"+suffix, detail{"task" + suffix + "EventDetails", append(st.task.kind(), body...)})
}

// handleResponse handles the function's answer.
func (t *transition) handleResponse(th *thread, st *state, res Response, f *failure) {
	if f != nil {
		t.failTask(th, st, f)
		return
	}
	output, err := parseResult(res.Payload)
	if err != nil {
		t.failTask(th, st, &failure{name: "Lambda.Unknown", cause: "The function returned a result that is not valid JSON: " + err.Error()})
		return
	}
	if st.task.function == "" {
		result := output.Value()
		if len(res.Payload) == 0 && th.manner.Type != "" {
			result = "" // the result was not requested
		}
		output = valueDocument(res.envelope(result))
	}
	if len(output.Text()) > maxPayload {
		t.failTask(th, st, oversizeFailure(st))
		return
	}
	if st.task.waitsToken {
		t.taskEvent(th, st, "Submitted", inputDetail("output", output.Text()))
		if th.beat > 0 {
			th.heartbeat = t.now.Add(th.beat)
		}
		t.block(th, phaseSubmitted)
		return
	}
	t.endTask(th, st, "Succeeded", inputDetail("output", output.Text()))
	t.succeed(th, st, output)
}

// parseResult parses a function's result; an empty result is null.
func parseResult(result []byte) (*document, error) {
	if len(result) == 0 {
		return textDocument([]byte("null")), nil
	}
	v, err := parseValue(result)
	if err != nil {
		return nil, err
	}
	doc := valueDocument(v)
	if len(result) <= maxPayload && isCompact(result) {
		doc.text = result
	}
	return doc, nil
}

// isCompact reports whether JSON text has no whitespace outside of strings.
func isCompact(text []byte) bool {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			return false
		}
	}
	return true
}

func oversizeFailure(st *state) *failure {
	name := st.task.function
	if name == "" {
		name = "lambda"
	}
	return &failure{name: errDataLimit, cause: fmt.Sprintf(
		"The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", name)}
}

func (t *transition) failTask(th *thread, st *state, f *failure) {
	if f.reported && st.task.function == "" { // integrations parse the report and write it again
		if v, err := parseValue([]byte(f.cause)); err == nil {
			g := *f
			g.cause = string(encodeValue(v))
			f = &g
		}
	}
	t.endTask(th, st, "Failed", errorDetail(f.name, f.cause))
	t.handleFailure(th, st, f)
}

// timeOutTask fails a task whose time-out or heartbeat has passed. AWS reports
// both as States.Timeout and documents States.HeartbeatTimeout for the second.
func (t *transition) timeOutTask(th *thread, st *state) {
	f := &failure{name: errTimeout}
	if !th.heartbeat.IsZero() && !th.heartbeat.After(t.now) {
		f.alias = errHeartbeat
	}
	t.endTask(th, st, "TimedOut", errorDetail(f.name, ""))
	t.handleFailure(th, st, f)
}

// endTask records the end of a task, and stops the call and its timer, so that no late result arrives.
func (t *transition) endTask(th *thread, st *state, suffix string, body object) {
	t.taskEvent(th, st, suffix, body)
	th.halt()
	t.block(th, phaseReady)
}

// callFailure converts the errors of an Invoker into the failure of the task.
func callFailure(fe *FunctionError, err error) *failure {
	if fe == nil {
		return faultFailure(err)
	}
	payload := fe.Payload
	if len(payload) == 0 {
		payload = encodeValue(object{{"errorMessage", fe.Message}, {"errorType", fe.Type}})
	}
	if fe.Type == "" {
		return &failure{name: "Lambda.Unknown", cause: "The cause could not be determined because Lambda did not return an error type. Returned payload: " + string(payload)}
	}
	return &failure{name: fe.Type, cause: string(payload), reported: true}
}

// modelled are the errors that Lambda's API documents for Invoke. Step Functions
// names a task's error after them; all others are Lambda.AWSLambdaException, as
// recorded for calls that are not authorised.
var modelled = []string{
	"CodeArtifactUserDeletedException", "CodeArtifactUserFailedException", "CodeArtifactUserPendingException",
	"EC2AccessDeniedException", "EC2ThrottledException", "EC2UnexpectedException",
	"EFSIOException", "EFSMountConnectivityException", "EFSMountFailureException", "EFSMountTimeoutException",
	"ENILimitReachedException", "InvalidParameterValueException", "InvalidRequestContentException",
	"InvalidRuntimeException", "InvalidSecurityGroupIDException", "InvalidSubnetIDException",
	"InvalidZipFileException", "KMSAccessDeniedException", "KMSDisabledException", "KMSInvalidStateException",
	"KMSNotFoundException", "RecursiveInvocationException", "RequestTooLargeException",
	"ResourceConflictException", "ResourceNotFoundException", "ResourceNotReadyException", "ServiceException",
	"SnapStartException", "SnapStartNotReadyException", "SnapStartTimeoutException",
	"SubnetIPAddressLimitReachedException", "TooManyRequestsException", "UnsupportedMediaTypeException",
}

// faultFailure names a fault of the service: errors with an ErrorCode (as SDK
// errors have) become Lambda.CODE where the code is modelled.
func faultFailure(err error) *failure {
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) {
		return &failure{name: "Lambda.SdkClientException", cause: err.Error()}
	}
	f := &failure{name: "Lambda.AWSLambdaException", cause: err.Error()}
	switch code := coded.ErrorCode(); {
	case slices.Contains(modelled, code):
		f.name = "Lambda." + code
	case code == "AccessDeniedException":
		f.alias = errPermissions
	}
	return f
}
