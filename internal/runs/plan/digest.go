package plan

import (
	"crypto/sha256"
	"fmt"
	"time"

	"piloto/internal/ground/jcs"
)

// Digest identifies the exact content of a plan: the lower-case hex SHA-256 of its canonical form.
type Digest string

// Valid reports whether d has the form of a digest: 64 lower-case hex digits.
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

// Digest returns the plan's digest: SHA-256 over the canonical form of all its fields (goal, steps,
// bindings, ceiling, expiry, revision, the digest it replaces, the results it reuses). Two plans
// that would send different digits have different digests (see jcs).
func (p Plan) Digest() (Digest, error) {
	sum, err := jcs.Sum(p.digestForm())
	if err != nil {
		return "", fmt.Errorf("plan: digest: %w", err)
	}
	return Digest(sum), nil
}

// wholeSeconds returns the time in UTC, truncated to seconds.
func wholeSeconds(at time.Time) time.Time { return at.UTC().Truncate(time.Second) }
