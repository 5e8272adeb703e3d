package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/plan"
)

// Errors of taking a conclusion.
var (
	ErrConcluded  = errors.New("run: no conclusion is due") // there is none to be written, or it was
	ErrConcluding = errors.New("run: another process may be writing the conclusion")
)

// Conclusion is the lease on the one conclusion of a run.
type Conclusion struct {
	Key
	Tries int       // how often it was taken, with this time
	Until time.Time // when another may take it
}

// Concluder stores the conclusions of runs. One is due from the end of its run on, by the transaction that ended it.
type Concluder interface {
	// TakeConclusion takes the lease at a time, for a while. It returns ErrConcluded or ErrConcluding.
	TakeConclusion(ctx context.Context, account ids.Account, runID string, at time.Time, lease time.Duration) (Conclusion, error)
	// EndConclusion ends a conclusion, with its outcome, and adds messages to the chat: both or neither. It returns
	// ErrConcluding when another process has the lease, and conversation.ErrChatNotFound.
	EndConclusion(ctx context.Context, c Conclusion, chat conversation.Key, outcome string, at time.Time, messages ...conversation.Message) error
	// LeftConclusions lists runs whose conclusion is due by a time, the oldest first.
	LeftConclusions(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Key], error)
}

// ConclusionGrace is the time after the end of a run from which on the sweep concludes it.
const ConclusionGrace = 2 * time.Minute

// concludes reports whether the model writes the conclusion of a run that ends. It does only where something was begun.
func concludes(r plan.Run, chat conversation.Chat) bool {
	wanted := r.Conclude == plan.ConcludeWanted && chat.Conclude != conversation.ConcludeOff ||
		r.Question != "" && chat.Conclude == conversation.ConcludeOn
	return wanted && chat.ID != "" && slices.ContainsFunc(r.Steps, func(st plan.StepState) bool {
		return st.Reused == "" && (st.Attempts > 0 || st.Status == plan.StepDone || st.Status == plan.StepFailed || st.Status == plan.StepInDoubt)
	})
}

// wantedAgain returns the Conclude of a run that continues another.
func wantedAgain(c plan.Conclude) plan.Conclude {
	if c != "" {
		return plan.ConcludeWanted
	}
	return ""
}
