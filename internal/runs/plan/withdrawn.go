package plan

import "encoding/json"

// Withdrawal is the withdrawal of a draft by the model. No person decided it.
type Withdrawal struct {
	Message  string `json:"message_id" doc:"the message in answer to which the model did it"`
	Reason   string `json:"reason" doc:"of the model, on one line"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Data returns the data of its event.
func (w Withdrawal) Data() map[string]any {
	return map[string]any{"withdrawn": true, "message_id": w.Message, "reason": w.Reason, "provider": w.Provider, "model": w.Model}
}

// IsWithdrawal reports whether an event is that a model took a draft back.
func IsWithdrawal(e Event) bool {
	var data struct {
		Withdrawn bool `json:"withdrawn"`
	}
	return e.Type == EventCancelled && json.Unmarshal(e.Data, &data) == nil && data.Withdrawn
}

// MaxWithdrawalReason bounds the reason of a withdrawal, in characters.
const MaxWithdrawalReason = 500
