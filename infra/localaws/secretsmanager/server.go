package secretsmanager

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// target is the prefix of X-Amz-Target in the service's calls.
const target = "secretsmanager."

// operation is one call: its members and its handler.
type operation struct {
	members []string
	run     func(*Engine, request) (any, error)
}

var operations = map[string]operation{
	"CreateSecret":   {[]string{"Name", "ClientRequestToken", "Description", "SecretString"}, (*Engine).create},
	"PutSecretValue": {[]string{"SecretId", "ClientRequestToken", "SecretString", "VersionStages"}, (*Engine).put},
	"UpdateSecret":   {[]string{"SecretId", "ClientRequestToken", "Description", "SecretString"}, (*Engine).update},
	"GetSecretValue": {[]string{"SecretId", "VersionId", "VersionStage"}, (*Engine).get},
	"DescribeSecret": {[]string{"SecretId"}, (*Engine).describe},
	"DeleteSecret":   {[]string{"SecretId", "ForceDeleteWithoutRecovery", "RecoveryWindowInDays"}, (*Engine).remove},
	"RestoreSecret":  {[]string{"SecretId"}, (*Engine).restore},
	"ListSecrets":    {[]string{"IncludePlannedDeletion", "MaxResults", "NextToken"}, (*Engine).list},
}

// ServeHTTP serves one request of the protocol, on any path.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, out, err := e.serve(r)
	status := http.StatusOK
	if err != nil {
		var f *failure
		if !errors.As(err, &f) { // an error of the file system, which names files and not their contents
			e.log.ErrorContext(r.Context(), "secretsmanager.failed", "operation", name, "error", err)
			f = &failure{http.StatusInsufficientStorage, "InternalServiceError", "The secrets could not be written"} // SDKs do not retry this status
		}
		status, out = f.status, map[string]string{"__type": f.kind, "Message": f.message}
		w.Header().Set("X-Amzn-Errortype", f.kind)
	}
	body, err := json.Marshal(out)
	if err != nil {
		e.log.ErrorContext(r.Context(), "secretsmanager.failed", "operation", name)
		status, body = http.StatusInternalServerError, []byte(`{"__type":"InternalServiceError"}`)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Requestid", rand.Text())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// serve returns the name of a known operation, and its response.
func (e *Engine) serve(r *http.Request) (name string, out any, err error) {
	asked, ours := strings.CutPrefix(r.Header.Get("X-Amz-Target"), target)
	op, known := operations[asked]
	if r.Method != http.MethodPost || !ours || !known {
		return "", nil, refuse("UnknownOperationException", "This engine has no such operation")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return asked, nil, refuse("SerializationException", "The request could not be read")
	}
	if len(body) > maxRequest {
		return asked, nil, &failure{http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", "The request is too large"}
	}
	in, err := parse(body, op.members...)
	if err != nil {
		return asked, nil, err
	}
	out, err = op.run(e, in)
	return asked, out, err
}
