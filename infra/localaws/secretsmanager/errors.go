package secretsmanager

import (
	"fmt"
	"net/http"
)

// failure is an error with a type of AWS. Its message never holds any part of a secret: it is made
// of fixed words, names, ids and labels.
type failure struct {
	status  int
	kind    string
	message string
}

func (f *failure) Error() string { return f.kind + ": " + f.message }

func refuse(kind, format string, args ...any) *failure {
	return &failure{http.StatusBadRequest, kind, fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *failure {
	return refuse("ResourceNotFoundException", format, args...)
}

func badRequest(message string) *failure {
	return refuse("InvalidRequestException", "%s", message)
}

func badParameter(format string, args ...any) *failure {
	return refuse("InvalidParameterException", format, args...)
}

// invalid returns the ValidationException about a member. Unlike AWS it does not quote the value,
// because a caller may have put a secret in the wrong place.
func invalid(member, constraint string) *failure {
	return refuse("ValidationException", "1 validation error detected: Value at '%s' failed to satisfy constraint: %s", member, constraint)
}

var (
	errNotFound   = notFound("Secrets Manager can't find the specified secret.")
	errMarked     = badRequest("You can't perform this operation on the secret because it was marked for deletion.")
	errScheduled  = badRequest("You can't create this secret because a secret with this name is already scheduled for deletion.")
	errNoToken    = badRequest("You must provide a ClientRequestToken value. We recommend a UUID-type value.")
	errGiven      = badRequest("You can't change this secret: the process was given it by its environment. Change it there.")
	errMismatch   = badRequest("You provided a VersionStage that is not associated to the provided VersionId.")
	errName       = refuse("ValidationException", "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	errNextToken  = refuse("InvalidNextTokenException", "The NextToken value is invalid.")
	errUnreadable = refuse("SerializationException", "The request is not a JSON object of this operation's members")
)
