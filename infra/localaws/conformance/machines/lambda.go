package machines

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// lambda is a Lambda API that serves the functions of the running cases, which the suffix of a name
// identifies.
type lambda struct {
	mu    sync.Mutex
	cases map[string]*Functions // by suffix
}

func (l *lambda) serve(suffix string, f *Functions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cases[suffix] = f
}

func (l *lambda) forget(suffix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.cases, suffix)
}

// find returns the functions of a deployed name, and the name in the case.
func (l *lambda) find(deployed string) (*Functions, string) {
	at := strings.LastIndexByte(deployed, '-')
	if at < 0 {
		return nil, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cases[deployed[at:]], deployed[:at]
}

// faultStatus maps the API's errors to their statuses.
var faultStatus = map[string]int{
	"ResourceNotFoundException":      http.StatusNotFound,
	"TooManyRequestsException":       http.StatusTooManyRequests,
	"InvalidParameterValueException": http.StatusBadRequest,
	"RequestTooLargeException":       http.StatusRequestEntityTooLarge,
	"ServiceException":               http.StatusInternalServerError,
	"AccessDeniedException":          http.StatusForbidden,
	"ExpiredTokenException":          http.StatusForbidden,
}

func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(faultStatus[code])
	_, _ = fmt.Fprintf(w, `{"Type":"User","Message":%q}`, message)
}

// ServeHTTP serves POST /2015-03-31/functions/NAME/invocations, where NAME may be
// an ARN.
func (l *lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, found := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	name, last := strings.CutSuffix(name, "/invocations")
	if r.Method != http.MethodPost || !found || !last {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Requestid", "00000000-0000-4000-8000-000000000000")
	if _, tail, ok := strings.Cut(name, ":function:"); ok {
		name = tail
	}
	name, qualifier, _ := strings.Cut(name, ":")
	if q := r.URL.Query().Get("Qualifier"); q != "" {
		qualifier = q
	}
	functions, name := l.find(name)
	payload, err := io.ReadAll(r.Body)
	if functions == nil || err != nil {
		refuse(w, "ResourceNotFoundException", "Function not found: "+name)
		return
	}
	call := Call{Function: name, Qualifier: qualifier, Payload: payload}
	if len(payload) == 0 {
		call.Payload = []byte("{}") // the function gets this payload
	}
	if r.Header.Get("X-Amz-Invocation-Type") == "Event" {
		call.Kind = "Event"
	}
	reply, err := functions.Call(r.Context(), call)
	if err != nil {
		return // the caller is gone
	}
	answer(w, call, reply)
}

func answer(w http.ResponseWriter, call Call, reply Reply) {
	switch {
	case reply.Fault != "":
		refuse(w, reply.Fault, reply.Message)
		return
	case call.Kind == "Event":
		w.WriteHeader(http.StatusAccepted)
		return
	case reply.Failed:
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
	}
	version := reply.Version
	if version == "" {
		version = "$LATEST"
	}
	w.Header().Set("X-Amz-Executed-Version", version)
	_, _ = w.Write(reply.Payload)
}
