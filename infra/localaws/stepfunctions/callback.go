package stepfunctions

import (
	"errors"
	"localaws/disk"
)

type taskSuccessInput struct {
	Token  string  `json:"taskToken"`
	Output *string `json:"output"`
}

func (e *Engine) sendTaskSuccess(in *taskSuccessInput) (any, error) {
	if in.Output == nil {
		return nil, refuse("InvalidOutput", "Invalid Output: 'Invalid task output.'")
	}
	if len(*in.Output) > maxPayload {
		return nil, invalid("output", "output", "Member must have length less than or equal to 262144")
	}
	v, err := parseValue([]byte(*in.Output))
	if err != nil {
		return nil, refuse("InvalidOutput", "Invalid Output: '%s'", err)
	}
	return e.callback(in.Token, signal{kind: signalSuccess, result: encodeValue(v)})
}

type taskFailureInput struct {
	Token string `json:"taskToken"`
	Error string `json:"error"`
	Cause string `json:"cause"`
}

func (e *Engine) sendTaskFailure(in *taskFailureInput) (any, error) {
	if err := checkErrorText(in.Error, in.Cause); err != nil {
		return nil, err
	}
	return e.callback(in.Token, signal{kind: signalFailure, fail: &failure{name: in.Error, cause: in.Cause}})
}

type taskHeartbeatInput struct {
	Token string `json:"taskToken"`
}

func (e *Engine) sendTaskHeartbeat(in *taskHeartbeatInput) (any, error) {
	return e.callback(in.Token, signal{kind: signalHeartbeat})
}

// callback posts a signal to the task that waits for the token. The error is InvalidToken for a
// token of another form, TaskDoesNotExist for an unknown execution, and TaskTimedOut when no task
// waits for the token any more.
func (e *Engine) callback(token string, s signal) (any, error) {
	if token == "" || len(token) > maxTokenText {
		return nil, invalid(token, "taskToken", "Member must have length between 1 and 2048")
	}
	seq, thread, ok := parseToken(token)
	if !ok {
		return nil, refuse("InvalidToken", "Invalid Token: 'Invalid token'")
	}
	x := e.find(seq)
	if x == nil {
		return nil, e.noTask(seq)
	}
	s.thread, s.token = thread, token
	err := e.signal(x, s)
	if errors.Is(err, errNoToken) || errors.Is(err, errOver) {
		return nil, taskTimedOutError()
	}
	if err != nil {
		return nil, err
	}
	return object{}, nil
}

// MachineOf returns the ARN of the state machine whose execution has the task of a token; "" when no open execution has
// it.
func (e *Engine) MachineOf(token string) string {
	seq, _, ok := parseToken(token)
	if !ok {
		return ""
	}
	x := e.find(seq)
	if x == nil {
		return ""
	}
	return x.record.MachineARN
}

func taskTimedOutError() error {
	return refuse("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
}

// noTask returns the error for a token whose task no open execution has.
func (e *Engine) noTask(seq uint64) error {
	var rec *executionRecord
	err := e.journal.read(func(tx *disk.Tx) (err error) {
		rec, err = readRecord(tx, seq)
		return err
	})
	switch {
	case err != nil:
		return err
	case rec == nil:
		return refuse("TaskDoesNotExist", "Task Does Not Exist: 'Provided task does not exist'")
	case rec.Status == statusRunning:
		return errStopping // the engine was not started yet
	}
	return taskTimedOutError()
}
