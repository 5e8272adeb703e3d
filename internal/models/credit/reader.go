package credit

import (
	"context"
	"time"
)

// StandingReader reads the credit and the spending of an account, consistently.
type StandingReader interface {
	Standing(ctx context.Context, account string, at time.Time) (Standing, error)
}

// LedgerReader lists ledger entries, the newest first.
type LedgerReader interface {
	Ledger(ctx context.Context, account, cursor string, limit int) ([]Entry, string, error)
}

// TurnReader calls f for each turn of a period, the newest first, until f returns false.
type TurnReader interface {
	Turns(ctx context.Context, account string, from, to time.Time, f func(Turn) bool) error
}
