package stepfunctions

import (
	"errors"
	"fmt"
	"slices"
)

// Reserved error names.
const (
	errAll             = "States.ALL"
	errTaskFailed      = "States.TaskFailed"
	errTimeout         = "States.Timeout"
	errHeartbeat       = "States.HeartbeatTimeout"
	errRuntime         = "States.Runtime"
	errDataLimit       = "States.DataLimitExceeded"
	errParameterPath   = "States.ParameterPathFailure"
	errResultPath      = "States.ResultPathMatchFailure"
	errIntrinsic       = "States.IntrinsicFailure"
	errNoChoiceMatched = "States.NoChoiceMatched"
	errPermissions     = "States.Permissions"
	errBranchFailed    = "States.BranchFailed"
)

// A failure is the error of a state: a name, and a cause for people.
//
// Where AWS documents one name and reports another, alias holds the documented name: Retry and
// Catch may use either.
type failure struct {
	name  string
	cause string
	alias string
	// branch failures come from a branch of the state's own Parallel, so States.BranchFailed is
	// another documented name for them.
	branch bool
	// final failures end the execution: neither a wildcard nor their name matches them, only an
	// alias does.
	final bool
	// reported failures have the error text of a function's runtime as their cause.
	reported bool
}

func (f *failure) Error() string { return f.name + ": " + f.cause }

// matches reports whether ErrorEquals covers f.
func (f *failure) matches(names []string) bool {
	for _, name := range names {
		switch {
		case f.alias != "" && name == f.alias:
			return true
		case f.final:
		case f.branch && name == errBranchFailed:
			return true
		case name == f.name || name == errAll:
			return true
		case name == errTaskFailed && f.name != errTimeout:
			return true
		}
	}
	return false
}

// isHandled reports whether the state of th, or one around it, retries or catches f.
func (f *failure) isHandled(th *thread) bool {
	for ; th != nil; th = th.up {
		st := th.scope.states[th.state]
		for i := range st.retry {
			if f.matches(st.retry[i].errors) {
				return true
			}
		}
		if findCatcher(st.catch, f) != nil {
			return true
		}
	}
	return false
}

// withAlias returns f for Retry or Catch entries that use its alias. A failed branch keeps its own
// name, because that name identifies the error.
func (f *failure) withAlias(names []string) *failure {
	if f.alias == "" || slices.Contains(names, f.name) || !slices.Contains(names, f.alias) {
		return f
	}
	g := *f
	g.name = f.alias
	return &g
}

// output is the error output that a Catch passes on; an absent cause is "".
func (f *failure) output() object {
	return object{{"Error", f.name}, {"Cause", f.cause}}
}

// nullInputText is AWS's text for any path into null.
const nullInputText = "Unable to apply Path transformation to null or empty input."

// runtimeFailure ends the execution: States.Runtime cannot be caught.
func runtimeFailure(format string, args ...any) *failure {
	return &failure{name: errRuntime, cause: fmt.Sprintf(format, args...), final: true}
}

// templateFailure describes an error of a payload template over input.
func templateFailure(err error, input *document) *failure {
	var field *fieldError
	var fn *intrinsicError
	var argument *argumentError
	switch {
	case errors.As(err, &field) && errors.Is(err, errNullInput):
		return &failure{name: errRuntime, alias: errParameterPath, final: true, cause: nullInputText}
	case errors.As(err, &field):
		return &failure{
			name: errRuntime, alias: errParameterPath, final: true,
			cause: fmt.Sprintf("%s '%s'", field.Error(), encodeValue(input.Value())),
		}
	case errors.As(err, &argument):
		return &failure{name: errRuntime, alias: errIntrinsic, final: true, cause: err.Error()}
	case errors.As(err, &fn):
		return &failure{name: errIntrinsic, cause: fn.Error()}
	}
	return runtimeFailure("%s", err)
}

// pathFailure describes a path of a field like InputPath that selects nothing.
func pathFailure(p *path, err error) *failure {
	if errors.Is(err, errNullInput) {
		return runtimeFailure("%s", nullInputText)
	}
	text := err.Error()
	if errors.Is(err, errPath) && len(text) > len(errPath.Error())+2 {
		text = text[len(errPath.Error())+2:]
	}
	return runtimeFailure("Invalid path '%s' : %s", p.source, text)
}
