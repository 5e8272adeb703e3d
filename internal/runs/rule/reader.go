package rule

import (
	"context"

	"piloto/internal/ground/ids"
)

// Reader reads the rules of an account; the empty set when it has none.
type Reader interface {
	Rules(ctx context.Context, account ids.Account) (Set, error)
}
