// Package ending owns the ends of a command: its exit codes, its refusals and its signals.
package ending

import (
	"context"
	"errors"
	"net/http"
	"os"
	"syscall"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/runs/plan"
)

// Code is the exit code of the command.
type Code int

// The exit codes.
const (
	Success         Code = 0
	Failed          Code = 1
	Partial         Code = 2
	Usage           Code = 3 // of the command, or of its configuration
	Unauthenticated Code = 4
	TimedOut        Code = 5
	Waits           Code = 6 // for a person
	InDoubt         Code = 7
	Blocked         Code = 8 // credits, or a policy
	Unreachable     Code = 9
	Interrupted     Code = 130 // by the first SIGINT
)

// Error ends the command with a code. Its text is written to stderr, if it has one.
type Error struct {
	Code  Code
	Text  string
	Cause error // of the text; nil: the text is already a sentence for a person
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Exit returns the end with a code and without a text. Success is no error.
func Exit(code Code) error {
	if code == Success {
		return nil
	}
	return &Error{Code: code}
}

// Miswritten returns the end of a command that was written wrong.
func Miswritten(err error) error { return &Error{Usage, err.Error(), err} }

// CodeOf returns the exit code of an error.
func CodeOf(err error) Code {
	var ended *Error
	var refused *client.Problem
	var lost *client.UnreachableError
	var signal *Signal
	switch {
	case err == nil:
		return Success
	case errors.As(err, &ended):
		return ended.Code
	case errors.As(err, &signal):
		return signal.Code()
	case errors.As(err, &refused):
		return CodeOfProblem(refused)
	case errors.As(err, &lost): // also if no answer came in time
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Failed
	}
}

// CodeOfProblem returns the exit code of a refusal.
func CodeOfProblem(p *client.Problem) Code {
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthenticated
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusMethodNotAllowed:
		return Usage
	case http.StatusPaymentRequired:
		return Blocked
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return Unreachable
	case http.StatusGatewayTimeout:
		return TimedOut
	default:
		return Failed
	}
}

// CodeOfRun returns the exit code of the end of a run. done is the number of steps that were done.
func CodeOfRun(status plan.Status, done int) Code {
	switch status {
	case plan.Done, plan.Queued, plan.Running:
		return Success
	case plan.Draft, plan.Waiting:
		return Waits
	case plan.InDoubt:
		return InDoubt
	case plan.Failed, plan.Cancelled:
		if done > 0 {
			return Partial
		}
		return Failed
	default:
		return Failed
	}
}

// CodeOfJob returns the exit code of a job. acted says that something was changed, or may have been.
func CodeOfJob(status job.Status, why conversation.StopReason, acted bool) Code {
	switch {
	case status == job.Waiting:
		return Waits
	case status == job.Partial && acted:
		return Partial
	case why == conversation.StopBlocked:
		return Blocked
	case why == conversation.StopTime:
		return TimedOut
	case status == job.Success, status == job.Running:
		return Success
	case status == job.Partial:
		return Partial
	default:
		return Failed
	}
}

// Signal is the cause of a context that a signal ended.
type Signal struct{ Signal os.Signal }

// Error implements error.
func (e *Signal) Error() string { return e.Signal.String() }

// Code returns the exit code of the signal: 128 and its number.
func (e *Signal) Code() Code {
	if number, ok := e.Signal.(syscall.Signal); ok {
		return Code(128 + int(number))
	}
	return Interrupted
}

// Refusal returns an error with a sentence of this command: a key, and pairs of names and values. It is worded where it is
// printed.
func Refusal(key string, pairs ...string) *fault.Error {
	f := fault.New(fault.Invalid, key)
	for i := 0; i+1 < len(pairs); i += 2 {
		f = f.With(pairs[i], pairs[i+1])
	}
	return f
}
