package gateway

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Wake is why the sweep runs: its schedule (Ended is nil), or an execution that
// changed its status.
type Wake struct {
	At    time.Time
	Ended *Ended
}

// Ended is what EventBridge says of an execution. Name is the run's id; Account
// is known when the event includes the execution's input.
type Ended struct {
	ExecutionARN string
	Name         string
	Account      string
	Status       string // RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE
	Error        string
	Cause        string
}

// Over reports whether the event says that a known run's execution ended
// without success. (One that succeeded has settled its run itself.)
func (e *Ended) Over() bool {
	return e != nil && e.Account != "" && (e.Status == "FAILED" || e.Status == "TIMED_OUT" || e.Status == "ABORTED")
}

// The detail types of the events that wake the sweep.
const (
	scheduled     = "Scheduled Event"
	statusChanged = "Step Functions Execution Status Change"
)

// UnmarshalJSON reads an EventBridge event; one of another type is an error.
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
	w.Ended = &Ended{ExecutionARN: d.ExecutionARN, Name: d.Name, Status: d.Status, Error: text(d.Error), Cause: text(d.Cause)}
	var in struct {
		Account string `json:"account_id"`
	}
	if json.Unmarshal([]byte(text(d.Input)), &in) == nil { // not included when it is large
		w.Ended.Account = in.Account
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
