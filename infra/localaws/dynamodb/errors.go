package dynamodb

import (
	"fmt"
	"net/http"
	"strings"
)

// failure is an error with a type of AWS.
type failure struct {
	status  int
	kind    string // with its namespace, as in __type
	message string
	item    item     // ConditionalCheckFailedException: the item, when asked for
	reasons []reason // TransactionCanceledException
}

// reason is the cause of the failure of one action of a cancelled transaction.
type reason struct {
	code    string
	message string
	item    item
}

func (f *failure) Error() string { return f.kind + ": " + f.message }

const (
	serviceNamespace  = "com.amazonaws.dynamodb.v20120810#"
	coralNamespace    = "com.amazon.coral.service#"
	validateNamespace = "com.amazon.coral.validate#"
)

func clientError(kind, message string) *failure {
	return &failure{status: http.StatusBadRequest, kind: kind, message: message}
}

// invalid returns a ValidationException.
func invalid(format string, args ...any) error {
	return clientError(validateNamespace+"ValidationException", fmt.Sprintf(format, args...))
}

// invalidValue returns the ValidationException that most bad values get.
func invalidValue(format string, args ...any) error {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

// unreadable returns a SerializationException: the body does not have the operation's shape.
func unreadable(format string, args ...any) error {
	return clientError(coralNamespace+"SerializationException", fmt.Sprintf(format, args...))
}

func notFound(message string) error {
	return clientError(serviceNamespace+"ResourceNotFoundException", message)
}

func tableNotFound(name string) error {
	return notFound("Requested resource not found: Table: " + name + " not found")
}

func inUse(message string) error {
	return clientError(serviceNamespace+"ResourceInUseException", message)
}

func conditionError(found item) error {
	f := clientError(serviceNamespace+"ConditionalCheckFailedException", "The conditional request failed")
	f.item = found
	return f
}

// Codes of cancellation reasons.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonInvalid   = "ValidationError"
	reasonConflict  = "TransactionConflict"
)

func cancelledError(reasons []reason) error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.code
	}
	f := clientError(serviceNamespace+"TransactionCanceledException",
		"Transaction cancelled, please refer cancellation reasons for specific reasons ["+strings.Join(codes, ", ")+"]")
	f.reasons = reasons
	return f
}

// appendFailure writes the body of an error response.
func appendFailure(dst []byte, f *failure) []byte {
	dst = append(dst, `{"__type":`...)
	dst = appendString(dst, f.kind)
	name := `,"message":`
	if strings.HasPrefix(f.kind, coralNamespace) || f.reasons != nil {
		name = `,"Message":`
	}
	dst = append(dst, name...)
	dst = appendString(dst, f.message)
	if f.item != nil {
		dst = append(dst, `,"Item":`...)
		dst = appendItem(dst, f.item)
	}
	if f.reasons != nil {
		dst = append(dst, `,"CancellationReasons":[`...)
		for i, r := range f.reasons {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"Code":`...)
			dst = appendString(dst, r.code)
			if r.message != "" {
				dst = append(dst, `,"Message":`...)
				dst = appendString(dst, r.message)
			}
			if r.item != nil {
				dst = append(dst, `,"Item":`...)
				dst = appendItem(dst, r.item)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// code returns the error's type without its namespace.
func (f *failure) code() string { return f.kind[strings.LastIndexByte(f.kind, '#')+1:] }
