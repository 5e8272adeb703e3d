package credit

import (
	"context"
	"time"

	"piloto/internal/ground/ids"
)

// StandingReader reads the credit and the spending of an account, consistently.
type StandingReader interface {
	Standing(ctx context.Context, account ids.Account, at time.Time) (Standing, error)
}

// LedgerReader lists ledger entries, the newest first.
type LedgerReader interface {
	Ledger(ctx context.Context, account ids.Account, cursor string, limit int) ([]Entry, string, error)
}

// TurnReader calls f for each turn of a period, the newest first, until f returns false.
type TurnReader interface {
	Turns(ctx context.Context, account ids.Account, from, to time.Time, f func(Turn) bool) error
}
