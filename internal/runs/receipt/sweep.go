package receipt

import (
	"context"
	"errors"
	"time"

	"piloto/internal/ground/sweep"
	"piloto/internal/runs/run"
)

// Swept counts the effects of one sweep.
type Swept struct {
	Placed int `json:"placed"`
	Signed int `json:"signed"`
	Failed int `json:"failed"`
}

// Sweep appends and signs the links of overdue runs, and signs overdue links.
func (s *Sealer) Sweep(ctx context.Context) (Swept, error) {
	var placed []sweep.Row[LinkKey]
	runs := sweep.List[run.Key]{Name: "unplaced", Due: s.Store.Unplaced, Most: sealLimit, Within: sealWithin, Now: s.Now, Log: s.Log, Do: func(ctx context.Context, k run.Key) error {
		l, err := s.link(ctx, k, false)
		if err == nil {
			placed = append(placed, sweep.Row[LinkKey]{Key: LinkKey{l.Account, l.Seq}, Name: k.RunID})
		}
		return err
	}}
	first, err := runs.Sweep(ctx)
	links := sweep.List[LinkKey]{
		Name: "unsigned", Most: sealLimit, Within: sealWithin, Longest: longestDelay, Now: s.Now, Log: s.Log, Do: s.signOverdue,
		Due: func(ctx context.Context, at time.Time, limit int) ([]sweep.Row[LinkKey], error) {
			list, err := s.Store.Unsigned(ctx, at, limit)
			return append(list, placed...), err
		},
	}
	second, problem := links.Sweep(ctx)
	return Swept{Placed: first.Done, Signed: second.Done, Failed: first.Failed + second.Failed}, errors.Join(err, problem)
}

// Each of the two lists has its time, and a signer that was away for long is asked again soon after.
const (
	sealWithin   = 20 * time.Second
	longestDelay = 10 * time.Minute
)

// signOverdue signs a link that has no signature yet.
func (s *Sealer) signOverdue(ctx context.Context, k LinkKey) error {
	l, err := s.Store.Link(ctx, k.Account, k.Seq)
	if err != nil || l.Signature != nil {
		return err
	}
	return s.sign(ctx, l)
}
