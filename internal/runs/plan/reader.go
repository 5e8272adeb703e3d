package plan

import (
	"context"

	"piloto/internal/ground/ids"
)

// Reader reads a run. A missing one, or one of another account, is ErrRunNotFound.
type Reader interface {
	Run(ctx context.Context, account ids.Account, id string) (Run, error)
}

// BareReader reads a run with only the beginnings of results that are stored apart, however small. Its errors are those of
// Reader.
type BareReader interface {
	Bare(ctx context.Context, account ids.Account, id string) (Run, error)
}

// UnansweredReader reads the requests of a chat to which no answer is known.
type UnansweredReader interface {
	Unanswered(ctx context.Context, account ids.Account, chatID string) ([]Unanswered, error)
}

// StatusReader reads the status of a run. Its errors are those of Reader.
type StatusReader interface {
	Status(ctx context.Context, account ids.Account, id string) (Status, error)
}

// RevisionReader lists the plans of a run, the oldest first and the current one last.
type RevisionReader interface {
	Revisions(ctx context.Context, r Run) ([]Revision, error)
}

// EventReader reads the events of a run with a sequence number above after, in order.
type EventReader interface {
	Events(ctx context.Context, account ids.Account, runID string, after, limit int) ([]Event, error)
}

// ResultReader returns a result with its whole body, which may be stored in pieces.
type ResultReader interface {
	Whole(ctx context.Context, r Run, id EffectID, res Result) (Result, error)
}
