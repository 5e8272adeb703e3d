package lambda

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

func (r *Runtime) serveResponse(w http.ResponseWriter, req *http.Request) {
	id := req.PathValue("id")
	if mode := req.Header.Get("Lambda-Runtime-Function-Response-Mode"); mode != "" {
		text := "response mode " + strconv.Quote(mode) + " is not served: answers are whole here, as API Gateway takes them"
		r.end(id, ending{failed: functionError("Runtime.StreamingNotSupported", text)})
		refuse(w, http.StatusBadRequest, "InvalidResponseMode", text)
		return
	}
	answer, err := io.ReadAll(io.LimitReader(req.Body, maxAnswer+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestContent", "the answer did not arrive whole")
		return
	}
	if len(answer) > maxAnswer {
		text := fmt.Sprintf("Response payload size exceeded maximum allowed payload size (%d bytes).", maxAnswer)
		r.end(id, ending{failed: functionError(ErrorTooLarge, text)})
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", text)
		return
	}
	if kind := req.Trailer.Get(typeHeader); kind != "" { // it failed during its answer
		r.finish(w, id, ending{failed: trailerError(kind, req.Trailer.Get("Lambda-Runtime-Function-Error-Body"))})
		return
	}
	r.finish(w, id, ending{answer: answer})
}

// typeHeader is the header with the type of a function's error.
const typeHeader = "Lambda-Runtime-Function-Error-Type"

// trailerError returns the error that a function reported after it had begun to answer: the error's
// JSON, in base64.
func trailerError(kind, body string) *FunctionError {
	text, err := base64.StdEncoding.DecodeString(body)
	if err != nil || !json.Valid(text) {
		return functionError(kind, "it failed while it was answering")
	}
	return failure(text, kind)
}

func (r *Runtime) serveError(w http.ResponseWriter, req *http.Request) {
	failed, err := readError(req)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	r.finish(w, req.PathValue("id"), ending{failed: failed})
}

func (r *Runtime) serveInitError(w http.ResponseWriter, req *http.Request) {
	failed, err := readError(req)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidErrorShape", err.Error())
		return
	}
	r.mu.Lock()
	r.failed = failed
	r.mu.Unlock()
	respondAccepted(w)
}

func (r *Runtime) finish(w http.ResponseWriter, id string, e ending) {
	if !r.end(id, e) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "no invocation "+id+" is under way")
		return
	}
	respondAccepted(w)
}

// readError reads the error report of a function: {"errorMessage", "errorType", …}.
func readError(req *http.Request) (*FunctionError, error) {
	payload, err := io.ReadAll(io.LimitReader(req.Body, maxAnswer))
	if err != nil {
		return nil, errors.New("the error did not arrive whole")
	}
	if !json.Valid(payload) {
		return nil, errors.New("an error is a JSON object")
	}
	return failure(payload, req.Header.Get(typeHeader)), nil
}

// failure reads an error's JSON. kind is the type in the header, for a body without a type; both
// may be absent.
func failure(payload []byte, kind string) *FunctionError {
	var body struct {
		Message string `json:"errorMessage"`
		Type    string `json:"errorType"`
	}
	_ = json.Unmarshal(payload, &body) // a value that is no object has no type and no message
	failed := &FunctionError{Type: cmp.Or(body.Type, kind, ErrorUnknown), Message: body.Message, Payload: payload}
	if body.Type == "" {
		failed.Payload = functionError(failed.Type, failed.Message).Payload
	}
	return failed
}

func respondAccepted(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(functionError(kind, message).Payload)
}
