package plan

import (
	"time"

	"piloto/internal/ground/ids"
)

// Sight is the plan that a viewer of a chat was shown last. A confirmation without a digest is
// to that plan, and not to one that replaced it.
type Sight struct {
	Viewer string // whose it is: ViewerOf
	RunID  string
	Digest Digest
	At     time.Time // when it was shown
	Until  time.Time // when the plan expires, and the sight with it
}

// ViewerOf names a viewer of a chat: a user with one token or web session, in one contract. A
// client that speaks for several people names the person too.
func ViewerOf(contract, user, tokenID, person string) string {
	return ids.Derive("viewer", contract, user, tokenID, person)
}

// Sighted returns what a viewer has seen once they are shown the draft r.
func (r Run) Sighted(viewer string, at time.Time) *Sight {
	if viewer == "" {
		return nil
	}
	return &Sight{Viewer: viewer, RunID: r.ID, Digest: r.Digest, At: at, Until: r.Plan.ExpiresAt}
}

// Destroys reports whether a step of the plan destroys something. Its undos do not count,
// because they run only when somebody stops the run or a step fails.
func (p Plan) Destroys() bool {
	for _, s := range p.Steps {
		if s.Risk == Destructive {
			return true
		}
	}
	return false
}
