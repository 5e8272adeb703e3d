package localaws

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"localaws/stepfunctions"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxFunctionAnswer bounds the result of a function: Lambda's own 6 MB, in base64.
const maxFunctionAnswer = 9 << 20

// Functions calls functions through a Lambda API at a URL, for tasks of state machines whose
// functions run elsewhere.
//
// A call is made once. It is never repeated here, since the function may have run; a task's own
// Retry says whether it may run again. There is no time-out but the task's.
type Functions struct {
	base   string // without a trailing slash
	client *http.Client
}

// NewFunctions checks the URL of a Lambda API, such as http://127.0.0.1:3001.
func NewFunctions(at string) (*Functions, error) {
	u, err := url.Parse(at)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: expected the URL of a Lambda API, such as http://127.0.0.1:3001", at)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	// Each call has a connection of its own, because a call on a connection that the server just
	// closed would fail without a known result.
	transport.DisableKeepAlives = true
	return &Functions{
		base: strings.TrimRight(at, "/"),
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// serviceFault is an error of the Lambda API itself. Its code names the task's error: Lambda.CODE.
type serviceFault struct {
	code, message string
	status        int
	request       string
}

func (f *serviceFault) ErrorCode() string { return f.code }

// Error returns the cause of such a task, as recorded.
func (f *serviceFault) Error() string {
	return fmt.Sprintf("%s (Service: AWSLambda; Status Code: %d; Error Code: %s; Request ID: %s; Proxy: null)",
		f.message, f.status, f.code, f.request)
}

// Invoke implements stepfunctions.Invoker.
func (f *Functions) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	res, failure, err := f.Call(ctx, stepfunctions.Invocation{Function: arn, Payload: payload})
	return res.Payload, failure, err
}

// Call implements stepfunctions.Caller.
func (f *Functions) Call(ctx context.Context, in stepfunctions.Invocation) (stepfunctions.Response, *stepfunctions.FunctionError, error) {
	req, err := f.request(ctx, in)
	if err != nil {
		return stepfunctions.Response{}, nil, err
	}
	res, err := f.client.Do(req)
	if err != nil {
		return stepfunctions.Response{}, nil, fmt.Errorf("unable to execute the HTTP request: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFunctionAnswer+1))
	switch {
	case err != nil:
		return stepfunctions.Response{}, nil, fmt.Errorf("unable to read the answer: %w", err)
	case len(body) > maxFunctionAnswer:
		return stepfunctions.Response{}, nil, fmt.Errorf("the answer is larger than %d bytes", maxFunctionAnswer)
	case res.StatusCode/100 != 2:
		return stepfunctions.Response{}, nil, faultOf(res, body)
	}
	out := stepfunctions.Response{
		Payload: body, Status: res.StatusCode,
		Version: res.Header.Get("X-Amz-Executed-Version"), RequestID: res.Header.Get("X-Amzn-Requestid"),
		LogResult: res.Header.Get("X-Amz-Log-Result"),
	}
	if res.Header.Get("X-Amz-Function-Error") != "" {
		return out, functionError(body), nil
	}
	return out, nil, nil
}

// request addresses the function by its plain name, which every server of this API accepts, in any
// account; the qualifier is a parameter.
func (f *Functions) request(ctx context.Context, in stepfunctions.Invocation) (*http.Request, error) {
	name, qualifier := functionName(in.Function)
	target := f.base + "/2015-03-31/functions/" + url.PathEscape(name) + "/invocations"
	if qualifier != "" {
		target += "?Qualifier=" + url.QueryEscape(qualifier)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(in.Payload))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for header, value := range map[string]string{
		"X-Amz-Invocation-Type": cmp.Or(in.Type, "RequestResponse"),
		"X-Amz-Client-Context":  in.ClientContext,
		"X-Amz-Log-Type":        in.LogType,
	} {
		if value != "" {
			req.Header.Set(header, value)
		}
	}
	// Local servers read the service and the region from the signature; none of them verifies it.
	sum := sha256.Sum256(in.Payload)
	err = v4.NewSigner().SignHTTP(ctx, aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"},
		req, hex.EncodeToString(sum[:]), "lambda", region, time.Now())
	return req, err
}

// functionName splits an ARN: arn:aws:lambda:REGION:ACCOUNT:function:NAME[:QUALIFIER].
func functionName(arn string) (name, qualifier string) {
	parts := strings.SplitN(arn, ":", 8)
	if len(parts) < 7 {
		return arn, ""
	}
	if len(parts) == 8 {
		qualifier = parts[7]
	}
	return parts[6], qualifier
}

// functionError reads the error report of a function's runtime. A payload without an error type has
// none: the engine then sets it.
func functionError(payload []byte) *stepfunctions.FunctionError {
	var report struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	_ = json.Unmarshal(payload, &report) // anything else has no type
	return &stepfunctions.FunctionError{Type: report.Type, Message: report.Message, Payload: payload}
}

// faultOf returns the error of a response that does not come from the function.
func faultOf(res *http.Response, body []byte) error {
	var report struct {
		Code    string `json:"__type"`
		Type    string // "User" or "Server"
		Message string `json:"message"`
		Reason  string
	}
	_ = json.Unmarshal(body, &report) // the status is sufficient
	out := &serviceFault{
		code: errorCode(res.Header.Get("X-Amzn-Errortype")), message: report.Message,
		status: res.StatusCode, request: res.Header.Get("X-Amzn-Requestid"),
	}
	if out.code == "" {
		out.code = errorCode(report.Code)
	}
	if out.code == "" {
		out.code = codeOf(res.StatusCode)
	}
	if out.message == "" {
		out.message = http.StatusText(res.StatusCode)
	}
	return out
}

// errorCode removes additions of services to the name of an error: a namespace before it, an
// address after it.
func errorCode(s string) string {
	s, _, _ = strings.Cut(s, ":")
	return s[strings.LastIndex(s, "#")+1:]
}

// codeOf returns the error code for a status without an error.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "InvalidParameterValueException"
	case http.StatusForbidden:
		return "AccessDeniedException"
	case http.StatusNotFound:
		return "ResourceNotFoundException"
	case http.StatusConflict:
		return "ResourceConflictException"
	case http.StatusRequestEntityTooLarge:
		return "RequestTooLargeException"
	case http.StatusTooManyRequests:
		return "TooManyRequestsException"
	}
	if status >= http.StatusInternalServerError {
		return "ServiceException"
	}
	return "AWSLambdaException"
}
