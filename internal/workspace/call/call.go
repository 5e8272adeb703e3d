// Package call is both halves of a call of the function files by another function: the client of Lambda's Invoke API,
// which is a files.Workspace, and the answer.
//
// The client sends one kind of request (ADR 49). It repeats a call that Lambda
// did not take, and one whose connection was lost, because every operation of files.Workspace may be repeated.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/retry"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

const (
	maxPayload = 6 << 20         // bytes of an event, and of an answer: Lambda's own limit
	patience   = 2 * time.Minute // of a call with its repetitions
	attempts   = 5
	firstPause = 4 // of retry.Pause: below 64 ms
)

// errTooLarge means that an event or an answer is over Lambda's limit.
var errTooLarge = fault.New(fault.TooLarge, "workspace.call_too_large").With("max_mb", "6")

// Lambda sends a request to Lambda's API. It returns the status, the headers and at most most+1 bytes of the answer
// (package signed).
type Lambda interface {
	Do(ctx context.Context, method, path string, body []byte, most int64) (int, http.Header, []byte, error)
}

// Client calls the function files. It is safe for concurrent use.
type Client struct {
	lambda Lambda
	path   string // of the request
}

var _ files.All = (*Client)(nil)

// New returns the client of the function with a name.
func New(l Lambda, function string) *Client {
	return &Client{l, "/2015-03-31/functions/" + url.PathEscape(function) + "/invocations"}
}

// Use implements files.Workspace.
func (c *Client) Use(ctx context.Context, p files.Place, set string, calls []files.Call, o files.Options) (files.Used, error) {
	return invoke[files.Used](ctx, c, request{Op: opUse, Place: p, Set: set, Calls: toolCalls(calls), Options: o})
}

// Tree implements files.Workspace.
func (c *Client) Tree(ctx context.Context, p files.Place, set string) (files.Tree, error) {
	return invoke[files.Tree](ctx, c, request{Op: opTree, Place: p, Set: set})
}

// Show implements files.Workspace.
func (c *Client) Show(ctx context.Context, p files.Place, set string) (files.Shown, error) {
	return invoke[files.Shown](ctx, c, request{Op: opShow, Place: p, Set: set})
}

// Without implements files.Workspace.
func (c *Client) Without(ctx context.Context, p files.Place, set string, names []string) (files.Set, error) {
	return invoke[files.Set](ctx, c, request{Op: opWithout, Place: p, Set: set, Names: names})
}

// Rebase implements files.Workspace.
func (c *Client) Rebase(ctx context.Context, p files.Place, set string) (files.Set, []string, error) {
	out, err := invoke[rebased](ctx, c, request{Op: opRebase, Place: p, Set: set})
	return out.Set, out.Moved, err
}

// Apply implements files.Workspace.
func (c *Client) Apply(ctx context.Context, p files.Place, set string) (files.Applied, error) {
	return c.applied(ctx, request{Op: opApply, Place: p, Set: set})
}

// Undo implements files.Workspace.
func (c *Client) Undo(ctx context.Context, p files.Place, set string, done []overlay.Done) (files.Applied, error) {
	return c.applied(ctx, request{Op: opUndo, Place: p, Set: set, Done: done})
}

// applied makes a call of Apply or Undo.
func (c *Client) applied(ctx context.Context, in request) (out files.Applied, err error) {
	answer, err := c.ask(ctx, in)
	if err != nil {
		return out, err
	}
	out.Gone = answer.Gone
	out.Done, err = resultOf[[]overlay.Done](answer)
	return out, err
}

// Clear implements files.All.
func (c *Client) Clear(ctx context.Context, p files.Place) error {
	_, err := invoke[struct{}](ctx, c, request{Op: opClear, Place: p})
	return err
}

// invoke makes a call and reads its answer.
func invoke[T any](ctx context.Context, c *Client, in request) (out T, err error) {
	answer, err := c.ask(ctx, in)
	if err != nil {
		return out, err
	}
	return resultOf[T](answer)
}

// ask makes a call. A fault is a part of its answer.
func (c *Client) ask(ctx context.Context, in request) (answer response, err error) {
	event, err := encode(in)
	if err != nil {
		return answer, err
	}
	if len(event) > maxPayload {
		return answer, errTooLarge
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raw, err := c.send(ctx, event)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, fmt.Errorf("call: read the answer: %w", err)
	}
	return answer, nil
}

// resultOf reads the result of an answer. The error is also its fault.
func resultOf[T any](answer response) (out T, err error) {
	if answer.Result != nil {
		if err := json.Unmarshal(answer.Result, &out); err != nil {
			return out, fmt.Errorf("call: read the result: %w", err)
		}
	}
	if answer.Fault != nil {
		return out, answer.Fault.fault()
	}
	return out, nil
}

// send sends an event until there is an answer of the function. Where there is none, the error is
// workspace.ErrUnreachable, or one of the deployment.
func (c *Client) send(ctx context.Context, event []byte) ([]byte, error) {
	for attempt := range attempts {
		answer, err := c.once(ctx, event)
		var again *lost
		if !errors.As(err, &again) {
			return answer, err
		}
		if attempt == attempts-1 {
			return nil, workspace.ErrUnreachable.Because(err)
		}
		if waitErr := retry.Wait(ctx, retry.Pause(firstPause+attempt)); waitErr != nil {
			return nil, workspace.ErrUnreachable.Because(errors.Join(err, waitErr))
		}
	}
	panic("call: no attempt was the last one")
}

// lost is the error of a call that is repeated: Lambda did not take it, or nobody knows whether it did.
type lost struct{ error }

func (l *lost) Unwrap() error { return l.error }

// once makes one attempt. The caller's own end is no reason to repeat it.
func (c *Client) once(ctx context.Context, event []byte) ([]byte, error) {
	status, header, body, err := c.lambda.Do(ctx, http.MethodPost, c.path, event, maxPayload)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, workspace.ErrUnreachable.Because(err)
	case err != nil:
		return nil, &lost{err}
	case len(body) > maxPayload:
		return nil, errTooLarge
	case meaning.Passes(status, false):
		return nil, &lost{refusal(status, header, body)}
	case meaning.Of(status, false) != meaning.Done:
		return nil, refusal(status, header, body)
	case header.Get("X-Amz-Function-Error") != "":
		return nil, failed(body)
	}
	return body, nil
}

// report is the body of an error of Lambda, and of a function.
type report struct {
	Message string // also "message"
	Type    string `json:"errorType"`
	Text    string `json:"errorMessage"`
}

func reportOf(body []byte) report {
	var r report
	_ = json.Unmarshal(body, &r) // a body that is none says nothing
	return r
}

// refusal returns the error of an answer that is not the function's.
func refusal(status int, header http.Header, body []byte) error {
	return fmt.Errorf("call: Lambda answered %d %s: %s", status, header.Get("X-Amzn-Errortype"), reportOf(body).Message)
}

// timedOut is the type of the error of a function that took too long.
const timedOut = "Sandbox.Timedout"

// failed returns the error of a function that failed.
func failed(body []byte) error {
	r := reportOf(body)
	err := fmt.Errorf("call: the function failed: %s: %s", r.Type, r.Text)
	if r.Type == timedOut || strings.Contains(r.Text, "Task timed out") {
		return workspace.ErrUnreachable.Because(err)
	}
	return err
}
