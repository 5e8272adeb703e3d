package plan

import (
	"crypto/sha256"
	"fmt"
	"time"

	"piloto/internal/ground/jcs"
)

// Digest names a plan exactly: the lower-case hex SHA-256 of its canonical form.
type Digest string

// Valid reports whether d could be a digest: 64 lower-case hex digits.
func (d Digest) Valid() bool {
	if len(d) != 2*sha256.Size {
		return false
	}
	for _, c := range []byte(d) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Digest returns the plan's digest: SHA-256 over the canonical form of all of it
// (goal, steps, bindings, ceiling, expiry, revision, the digest it replaces, what it
// reuses). Two plans that would send different
// digits have different digests (see canon).
func (p Plan) Digest() (Digest, error) {
	sum, err := jcs.Sum(p.itself())
	if err != nil {
		return "", fmt.Errorf("plan: digest: %w", err)
	}
	return Digest(sum), nil
}

// second is a time in whole seconds, UTC.
func second(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }
