package localaws

import (
	"context"
	"errors"
	"io"
	"localaws/stepfunctions"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const functionARN = "arn:aws:lambda:us-east-1:123456789012:function:"

// lambdaRequest is a request to a Lambda API.
type lambdaRequest struct {
	Path, Qualifier, Kind, ClientContext, Body string
	Signed                                     bool
}

// lambdaAPI answers every call with one status, some headers and a body, and stores the calls.
func lambdaAPI(t *testing.T, status int, header map[string]string, body string) (*Functions, *[]lambdaRequest) {
	t.Helper()
	var calls []lambdaRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		calls = append(calls, lambdaRequest{
			r.URL.EscapedPath(), r.URL.Query().Get("Qualifier"), r.Header.Get("X-Amz-Invocation-Type"),
			r.Header.Get("X-Amz-Client-Context"), string(text),
			strings.Contains(r.Header.Get("Authorization"), "/us-east-1/lambda/aws4_request"),
		})
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	f, err := NewFunctions(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return f, &calls
}

func TestFunctionsAreAddressedByNameAndQualifier(t *testing.T) {
	for _, c := range []struct {
		in   stepfunctions.Invocation
		want lambdaRequest
	}{
		{stepfunctions.Invocation{Function: functionARN + "f", Payload: []byte(`{"a":1}`)}, lambdaRequest{Path: "/2015-03-31/functions/f/invocations", Kind: "RequestResponse", Body: `{"a":1}`, Signed: true}},
		{stepfunctions.Invocation{Function: functionARN + "f:live", Manner: stepfunctions.Manner{Type: "Event", ClientContext: "e30="}}, lambdaRequest{Path: "/2015-03-31/functions/f/invocations", Qualifier: "live", Kind: "Event", ClientContext: "e30=", Signed: true}},
		{stepfunctions.Invocation{Function: functionARN + "f:$LATEST"}, lambdaRequest{Path: "/2015-03-31/functions/f/invocations", Qualifier: "$LATEST", Kind: "RequestResponse", Signed: true}},
	} {
		f, calls := lambdaAPI(t, 200, nil, "null")
		if _, failure, err := f.Call(context.Background(), c.in); failure != nil || err != nil {
			t.Fatal(failure, err)
		}
		if diff := cmp.Diff([]lambdaRequest{c.want}, *calls); diff != "" {
			t.Errorf("%s: %s", c.in.Function, diff)
		}
	}
}

func TestFunctionsReadAnswersOfLambdaAPI(t *testing.T) {
	const request = "11111111-2222-4333-8444-555555555555"
	for _, c := range []struct {
		name    string
		status  int
		header  map[string]string
		body    string
		want    stepfunctions.Response
		failure *stepfunctions.FunctionError
		code    string // code of a fault
		text    string // text of the fault
	}{
		{
			name: "a result", status: 200, header: map[string]string{"X-Amz-Executed-Version": "7", "X-Amzn-Requestid": request}, body: `{"ok":true}`,
			want: stepfunctions.Response{Payload: []byte(`{"ok":true}`), Status: 200, Version: "7", RequestID: request},
		},
		{
			name: "an error of the function", status: 200, header: map[string]string{"X-Amz-Function-Error": "Unhandled"},
			body: `{"errorMessage":"m","errorType":"Boom","stackTrace":[]}`,
			want: stepfunctions.Response{Payload: []byte(`{"errorMessage":"m","errorType":"Boom","stackTrace":[]}`), Status: 200},
			failure: &stepfunctions.FunctionError{
				Type: "Boom", Message: "m", Payload: []byte(`{"errorMessage":"m","errorType":"Boom","stackTrace":[]}`),
			},
		},
		{
			name: "an error without a type", status: 200, header: map[string]string{"X-Amz-Function-Error": "Unhandled"}, body: `{"errorMessage":"Task timed out"}`,
			want:    stepfunctions.Response{Payload: []byte(`{"errorMessage":"Task timed out"}`), Status: 200},
			failure: &stepfunctions.FunctionError{Message: "Task timed out", Payload: []byte(`{"errorMessage":"Task timed out"}`)},
		},
		{name: "an event", status: 202, want: stepfunctions.Response{Payload: []byte{}, Status: 202}},
		{
			name: "by header", status: 404, header: map[string]string{"X-Amzn-Errortype": "ResourceNotFoundException:http://x", "X-Amzn-Requestid": request},
			body: `{"Type":"User","Message":"Function not found: f"}`, code: "ResourceNotFoundException",
			text: "Function not found: f (Service: AWSLambda; Status Code: 404; Error Code: ResourceNotFoundException; Request ID: " + request + "; Proxy: null)",
		},
		{name: "by body", status: 400, body: `{"__type":"com.amazonaws#InvalidRequestContentException","message":"no"}`, code: "InvalidRequestContentException"},
		{name: "404", status: 404, code: "ResourceNotFoundException"},
		{name: "429", status: 429, body: `{"Reason":"ReservedFunctionConcurrentInvocationLimitExceeded","Type":"User","message":"Rate Exceeded."}`, code: "TooManyRequestsException"},
		{name: "500", status: 500, body: "oops", code: "ServiceException"},
		{name: "503", status: 503, code: "ServiceException"},
		{name: "413", status: 413, code: "RequestTooLargeException"},
		{name: "403", status: 403, code: "AccessDeniedException"},
		{name: "a redirect is not followed", status: 302, header: map[string]string{"Location": "http://127.0.0.1:1/"}, code: "AWSLambdaException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := lambdaAPI(t, c.status, c.header, c.body)
			got, failure, err := f.Call(context.Background(), stepfunctions.Invocation{Function: functionARN + "f", Payload: []byte("{}")})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("response: %s", diff)
			}
			if diff := cmp.Diff(c.failure, failure); diff != "" {
				t.Errorf("failure: %s", diff)
			}
			var coded interface{ ErrorCode() string }
			if errors.As(err, &coded) != (c.code != "") || c.code != "" && coded.ErrorCode() != c.code {
				t.Errorf("fault %v, want %q", err, c.code)
			}
			if c.text != "" && err.Error() != c.text {
				t.Errorf("fault %q, want %q", err, c.text)
			}
		})
	}
}

func TestUnreachableLambdaAPIIsNoFunctionError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	f, err := NewFunctions(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, failure, err := f.Invoke(context.Background(), functionARN+"f", nil)
	var coded interface{ ErrorCode() string }
	if failure != nil || err == nil || errors.As(err, &coded) {
		t.Errorf("%v, %v", failure, err)
	}
}

func TestNewFunctionsChecksURL(t *testing.T) {
	for _, bad := range []string{"127.0.0.1:3001", "ftp://x", "http://", "http://x/?q=1", "process"} {
		if _, err := NewFunctions(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
