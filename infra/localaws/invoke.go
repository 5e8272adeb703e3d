package localaws

import (
	"encoding/json"
	"fmt"
	"io"
	"localaws/stepfunctions"
	"net/http"
	"net/url"
	"strings"
)

const (
	functionsPath = "/2015-03-31/functions/" // of Lambda's API
	maxEvent      = 6 << 20                  // bytes
	account       = "123456789012"
)

// invokeAPI serves Lambda's Invoke, for functions that are called and answer at once (RequestResponse). It differs from
// Lambda in that a call ends when its client goes away.
type invokeAPI struct {
	functions stepfunctions.Invoker
}

func (a invokeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), functionsPath), "/")
	name, err := url.PathUnescape(name)
	switch kind := r.Header.Get("X-Amz-Invocation-Type"); {
	case err != nil || name == "" || operation != "invocations" || r.Method != http.MethodPost:
		refuseCall(w, http.StatusNotImplemented, "UnsupportedOperationException", "only Invoke is served here")
		return
	case kind != "" && kind != "RequestResponse" || r.URL.RawQuery != "":
		refuseCall(w, http.StatusNotImplemented, "UnsupportedOperationException", "only calls that are answered are served here, of functions without versions")
		return
	}
	event, err := io.ReadAll(io.LimitReader(r.Body, maxEvent+1))
	switch {
	case err != nil:
		refuseCall(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not read the request body")
		return
	case len(event) > maxEvent:
		refuseCall(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", fmt.Sprintf("Request must be smaller than %d bytes for the InvokeFunction operation", maxEvent))
		return
	case len(event) == 0:
		event = []byte("{}")
	case !json.Valid(event):
		refuseCall(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json")
		return
	}
	out, failure, err := a.functions.Invoke(r.Context(), functionARNOf(name), event)
	switch {
	case err != nil:
		refuseCall(w, http.StatusInternalServerError, "ServiceException", "The call was not answered")
		return
	case failure != nil && failure.Type == notFound:
		refuseCall(w, http.StatusNotFound, "ResourceNotFoundException", failure.Message)
		return
	case failure != nil:
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		out = failure.Payload
		if out == nil {
			out, _ = json.Marshal(map[string]string{"errorType": failure.Type, "errorMessage": failure.Message}) // texts
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	_, _ = w.Write(out)
}

// notFound is the error of a task whose function is not there.
const notFound = "Lambda.ResourceNotFoundException"

// functionARNOf returns the ARN of a function, by its name or its ARN.
func functionARNOf(name string) string {
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	return "arn:aws:lambda:" + region + ":" + account + ":function:" + name
}

func refuseCall(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
	body, _ := json.Marshal(map[string]string{"Type": "User", "Message": message}) // texts
	_, _ = w.Write(body)
}
