package rule

import "context"

// Reader reads the rules of an account; the empty set when it has none.
type Reader interface {
	Rules(ctx context.Context, account string) (Set, error)
}
