package gateway

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Wake is the reason why the sweep runs: its schedule (Execution is nil), or a status change of an execution.
type Wake struct {
	At        time.Time
	Execution *Execution
}

// Execution is EventBridge's report about an execution. Name is the id of the run. Account is empty when the event
// does not include the execution's input.
type Execution struct {
	ExecutionARN string
	Name         string
	Account      string
	Status       string // RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE
	Error        string
	Cause        string
}

// Failed reports whether the execution of a known run ended without success. (A successful one has finished its run
// itself.)
func (e *Execution) Failed() bool {
	return e != nil && e.Account != "" && (e.Status == "FAILED" || e.Status == "TIMED_OUT" || e.Status == "ABORTED")
}

// Detail types of the events that start the sweep.
const (
	scheduled     = "Scheduled Event"
	statusChanged = "Step Functions Execution Status Change"
)

// UnmarshalJSON decodes an EventBridge event. It returns an error for another type.
func (w *Wake) UnmarshalJSON(raw []byte) error {
	var e events.EventBridgeEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("gateway: read event: %w", err)
	}
	*w = Wake{At: e.Time}
	switch e.DetailType {
	case scheduled:
		return nil
	case statusChanged:
	default:
		return fmt.Errorf("gateway: event of type %q does not wake the sweep", e.DetailType)
	}
	var d struct {
		ExecutionARN string  `json:"executionArn"`
		Name         string  `json:"name"`
		Status       string  `json:"status"`
		Input        *string `json:"input"`
		Error        *string `json:"error"`
		Cause        *string `json:"cause"`
	}
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return fmt.Errorf("gateway: read status change: %w", err)
	}
	w.Execution = &Execution{ExecutionARN: d.ExecutionARN, Name: d.Name, Status: d.Status, Error: text(d.Error), Cause: text(d.Cause)}
	var in struct {
		Account string `json:"account_id"`
	}
	if json.Unmarshal([]byte(text(d.Input)), &in) == nil { // large inputs are not included
		w.Execution.Account = in.Account
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
