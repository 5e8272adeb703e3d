package receipt

import (
	"context"
	"errors"
	"fmt"
)

// Swept counts the effects of one sweep.
type Swept struct {
	Placed int `json:"placed"`
	Signed int `json:"signed"`
	Failed int `json:"failed"`
}

// Sweep places and signs the overdue runs and links. A run that cannot be placed does not block the
// others. A signer that fails is tried again at the next sweep.
func (s *Sealer) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	var problems []error
	runs, err := s.Store.Unplaced(ctx, s.Now(), sealLimit)
	if err != nil {
		return swept, err
	}
	var placed []LinkKey
	for _, k := range runs {
		if ctx.Err() != nil {
			break
		}
		l, err := s.place(ctx, k.Account, k.RunID, false)
		if err != nil {
			swept.Failed++
			problems = append(problems, fmt.Errorf("run %s: %w", k.RunID, err))
			continue
		}
		swept.Placed++
		placed = append(placed, LinkKey{l.Account, l.Seq})
	}
	links, err := s.Store.Unsigned(ctx, s.Now(), sealLimit)
	if err != nil {
		return swept, errors.Join(append(problems, err)...)
	}
	for _, k := range append(links, placed...) {
		if ctx.Err() != nil {
			break
		}
		err := s.signOverdue(ctx, k)
		if err == nil {
			swept.Signed++
			continue
		}
		swept.Failed++
		problems = append(problems, fmt.Errorf("link %d of %s: %w", k.Seq, k.Account, err))
		if errors.Is(err, errSigner) {
			break
		}
	}
	return swept, errors.Join(problems...)
}

// signOverdue signs a link that has no signature yet.
func (s *Sealer) signOverdue(ctx context.Context, k LinkKey) error {
	l, err := s.Store.Link(ctx, k.Account, k.Seq)
	if err != nil || l.Signature != nil {
		return err
	}
	return s.sign(ctx, l)
}
