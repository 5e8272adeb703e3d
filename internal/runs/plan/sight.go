package plan

import (
	"time"

	"piloto/internal/ground/ids"
)

// Sight records the plan that a viewer of a chat saw last. A confirmation without a digest applies
// to that plan, and not to one that replaced it.
type Sight struct {
	Viewer string // the viewer's id, from ViewerOf
	RunID  string
	Digest Digest
	At     time.Time // when it was shown
	Until  time.Time // when the plan, and therefore the sight, expires
}

// Viewer is who is shown a chat: a user with one token or web session, in one contract. A client that speaks for several
// people also names the person.
type Viewer struct{ Contract, User, TokenID, Person string }

// ID returns the id of the viewer.
func (v Viewer) ID() string { return ids.Derive("viewer", v.Contract, v.User, v.TokenID, v.Person) }

// Sighted returns the sight of a viewer who is shown the draft r; nil without a viewer.
func (r Run) Sighted(viewer string, at time.Time) *Sight {
	if viewer == "" {
		return nil
	}
	return &Sight{Viewer: viewer, RunID: r.ID, Digest: r.Digest, At: at, Until: r.Plan.ExpiresAt}
}

// StopsToDestroy reports whether a run of the plan waits before a step that destroys something, without a rule: one of
// several steps, unless it undoes a run, whose steps the user confirmed one by one.
func (p Plan) StopsToDestroy() bool { return len(p.Steps) > 1 && p.Undoes == "" }

// Destroys reports whether a step of the plan destroys something. Its undos do not count, because
// they run only when a user stops the run or a step fails.
func (p Plan) Destroys() bool {
	for _, s := range p.Steps {
		if s.Risk == Destructive {
			return true
		}
	}
	return false
}
