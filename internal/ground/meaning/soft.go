package meaning

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// SoftError reports whether a body says that the request failed, at any status: an object with an error that is not empty,
// with a success that is not, with a status of JSend or of HTTP that is one of failure, or with a message instead of its data.
func SoftError(body []byte) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return false
	}
	if fails(object) {
		return true
	}
	for _, name := range envelopes {
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[name], &inner) == nil && fails(inner) {
			return true
		}
	}
	return false
}

// envelopes are the members in which services put the requested data.
var envelopes = []string{"data", "result", "response"}

var (
	errorMembers   = []string{"error", "errors", "errorcode", "errorcodes", "errcode", "errno", "errormessage", "retcode", "fault", "exception"}
	successMembers = []string{"ok", "success", "succeeded", "issuccess"}
	statusMembers  = []string{"code", "status", "statuscode", "httpstatus"}
	messageMembers = []string{"message", "msg"}
)

func fails(object map[string]json.RawMessage) bool {
	says, without := false, false
	for name, raw := range object {
		value := strings.ToLower(strings.Trim(strings.TrimSpace(string(raw)), `"`))
		nothing := slices.Contains([]string{"", "null", "false", "[]", "{}", "0", "none"}, value)
		without = without || slices.Contains(envelopes, name) && value == "null"
		switch name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)); {
		case slices.Contains(errorMembers, name) && !nothing && value != "ok" && value != "success" && value != "200",
			slices.Contains(successMembers, name) && nothing && value != "null",
			slices.Contains(statusMembers, name) && isFailure(value):
			return true
		case slices.Contains(messageMembers, name) && !nothing:
			says = true
		}
	}
	return says && without
}

// isFailure reports whether a value is a status of failure: of JSend, or of HTTP.
func isFailure(value string) bool {
	n, err := strconv.Atoi(value)
	return value == "error" || value == "fail" || err == nil && (n < 0 || n >= badRequest && n < 600)
}
