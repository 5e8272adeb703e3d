package plan

import (
	"time"

	"piloto/internal/ident"
)

// Sight is the plan that a viewer of a chat was shown last. A confirmation that names
// no digest is to what its viewer saw, and to nothing that was put in its place.
type Sight struct {
	Viewer string // whose it is: ViewerOf
	RunID  string
	Digest Digest
	At     time.Time // when it was shown
	Until  time.Time // when the plan expires, and the sight with it
}

// ViewerOf names a viewer of a chat: a user, by one token or web session, through one
// contract; and, where a client speaks for several people, the one that it names.
func ViewerOf(contract, user, tokenID, person string) string {
	return ident.Derive("viewer", contract, user, tokenID, person)
}

// Sighted is what a viewer sees who is shown a draft.
func (r Run) Sighted(viewer string, at time.Time) *Sight {
	if viewer == "" {
		return nil
	}
	return &Sight{Viewer: viewer, RunID: r.ID, Digest: r.Digest, At: at, Until: r.Plan.ExpiresAt}
}

// Destroys reports whether a step of the plan destroys something. What its undos would
// take back does not count: they run only when somebody stops it, or a step fails.
func (p Plan) Destroys() bool {
	for _, s := range p.Steps {
		if s.Risk == Destructive {
			return true
		}
	}
	return false
}
