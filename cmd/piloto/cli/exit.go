package cli

import (
	"context"
	"errors"
	"net/http"
	"os"
	"syscall"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
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

// exitError ends the command with a code. Its text is told on stderr; an empty one is not.
type exitError struct {
	code  Code
	text  string
	cause error // of the text; nil: the text is already what a person reads
}

func (e *exitError) Error() string { return e.text }

func (e *exitError) Unwrap() error { return e.cause }

// exit returns the end with a code and without a text. Success is no error.
func exit(code Code) error {
	if code == Success {
		return nil
	}
	return &exitError{code: code}
}

// usage returns the end of a command that was written wrong.
func usage(err error) error { return &exitError{Usage, err.Error(), err} }

// codeOf returns the exit code of an error.
func codeOf(err error) Code {
	var ended *exitError
	var refused *client.Problem
	var lost *client.UnreachableError
	var signal *signalError
	switch {
	case err == nil:
		return Success
	case errors.As(err, &ended):
		return ended.code
	case errors.As(err, &signal):
		return signal.code()
	case errors.As(err, &refused):
		return codeOfProblem(refused)
	case errors.As(err, &lost): // also if no answer came in time
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Failed
	}
}

// codeOfProblem returns the exit code of a refusal.
func codeOfProblem(p *client.Problem) Code {
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

// codeOfRun returns the exit code of what became of a run. done is the number of steps that were done.
func codeOfRun(status plan.Status, done int) Code {
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

// codeOfJob returns the exit code of a job. acted says that something was changed, or may have been.
func codeOfJob(status job.Status, why conversation.StopReason, acted bool) Code {
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

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return e.signal.String() }

func (e *signalError) code() Code {
	if number, ok := e.signal.(syscall.Signal); ok {
		return Code(128 + int(number))
	}
	return Interrupted
}
