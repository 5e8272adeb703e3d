package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"piloto/internal/ground/ids"
)

// Wake is the reason why the sweep runs: its schedule (Execution is nil), or a status change of an execution.
type Wake struct {
	Execution *Execution
}

// Execution is EventBridge's report about an execution. Name is the id of the run. Account is empty when the event
// does not include the execution's input.
type Execution struct {
	Name    string
	Account ids.Account
	Status  string // RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE
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
	*w = Wake{}
	switch e.DetailType {
	case scheduled:
		return nil
	case statusChanged:
	default:
		return fmt.Errorf("gateway: event of type %q does not wake the sweep", e.DetailType)
	}
	var d struct {
		Name   string `json:"name"`
		Status string `json:"status"`
		Input  string `json:"input"`
	}
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return fmt.Errorf("gateway: read status change: %w", err)
	}
	w.Execution = &Execution{Name: d.Name, Status: d.Status}
	var in struct {
		Account ids.Account `json:"account_id"`
	}
	if json.Unmarshal([]byte(d.Input), &in) == nil { // large inputs are not included
		w.Execution.Account = in.Account
	}
	return nil
}
