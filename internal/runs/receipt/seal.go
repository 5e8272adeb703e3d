package receipt

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"piloto/internal/runs/run"
)

// Signer signs with the key that is in force.
type Signer interface {
	// Key is the public half of that key; its times are zero.
	Key(ctx context.Context) (Key, error)
	// Sign signs a message as the algorithm of the key says.
	Sign(ctx context.Context, message []byte) ([]byte, error)
}

// LinkKey names a link.
type LinkKey struct {
	Account string
	Seq     int
}

// Store keeps the chains of accounts, and the public halves of keys.
type Store interface {
	// Ended returns what is to be told of a run that ended: its link, when it has one for
	// the events it has, or else one without a place (Seq 0). plan.ErrRunNotFound;
	// plan.ErrAlreadyRunning of a run that goes on.
	Ended(ctx context.Context, account, runID string) (Link, error)
	// Tip returns the last link of an account's chain; the zero Link when it has none.
	Tip(ctx context.Context, account string) (Link, error)
	// Place puts a link at the end of the chain of its account, and notes it in its run.
	// plan.ErrMoved when the chain or the run went on meanwhile.
	Place(ctx context.Context, l Link, due time.Time) error
	// Link returns a link; ErrNoLink.
	Link(ctx context.Context, account string, seq int) (Link, error)
	// Sign keeps the signature of a link. One that has a signature keeps it.
	Sign(ctx context.Context, l Link) error
	// KeepKey keeps the public half of a key, once, and notes that those before it are
	// not in force any more.
	KeepKey(ctx context.Context, k Key) error

	// Unplaced lists runs that ended and have no place yet, and Unsigned links without a
	// signature, that are due by a time: the oldest first, at most limit.
	Unplaced(ctx context.Context, at time.Time, limit int) ([]run.Key, error)
	Unsigned(ctx context.Context, at time.Time, limit int) ([]LinkKey, error)
}

// errSigner marks what the signer did not do: it would not do the next one either.
var errSigner = errors.New("receipt: the signer")

// ErrNoLink means that a chain has no such link.
var ErrNoLink = errors.New("receipt: no such link")

// Sealer gives what ended its place in its account's chain, and signs it. The place is
// written first, in a write that fails when another took it; the signature is of the
// place, and is written after that: two that end at once never wait for the signer of
// each other, and a signer that fails leaves a place that the sweep has signed later.
type Sealer struct {
	Store  Store
	Signer Signer
	Now    func() time.Time

	mu   sync.Mutex
	kept map[string]bool // keys that the store has
}

// SealGrace is how long whoever ends a run has to seal it, before the sweep does.
const SealGrace = 2 * time.Second

// sealMost bounds one sweep; what is left is due at the next one.
const sealMost = 5000

// Seal places and signs what there is of a run that ended. Doing it twice is doing it
// once.
func (s *Sealer) Seal(ctx context.Context, account, runID string) error {
	l, err := s.place(ctx, account, runID)
	if err != nil || l.Signature != nil {
		return err
	}
	return s.sign(ctx, l)
}

// place returns the link of a run, which it puts at the end of the chain when it has
// none.
func (s *Sealer) place(ctx context.Context, account, runID string) (Link, error) {
	var l Link
	err := run.Retry(ctx, func() (err error) {
		if l, err = s.Store.Ended(ctx, account, runID); err != nil || l.Seq > 0 {
			return err
		}
		tip, err := s.Store.Tip(ctx, account)
		if err != nil {
			return err
		}
		at := s.Now()
		if l, err = l.Chained(tip, at); err != nil {
			return err
		}
		return s.Store.Place(ctx, l, at.Add(SealGrace))
	})
	return l, err
}

// sign signs a link, after the key that does is known to whoever asks for keys.
func (s *Sealer) sign(ctx context.Context, l Link) error {
	key, err := s.Signer.Key(ctx)
	if err != nil {
		return fmt.Errorf("%w has no key: %w", errSigner, err)
	}
	if err := s.keep(ctx, key); err != nil {
		return err
	}
	if l, err = l.Signed(ctx, s.Signer, key); err != nil {
		return err
	}
	return s.Store.Sign(ctx, l)
}

// Signed returns the link with the signature of a signer that signs with a key.
func (l Link) Signed(ctx context.Context, s Signer, key Key) (Link, error) {
	message, err := l.message()
	if err != nil {
		return l, err
	}
	value, err := s.Sign(ctx, message)
	if err != nil {
		return l, fmt.Errorf("%w did not sign: %w", errSigner, err)
	}
	l.Signature = &Signature{KeyID: key.ID, Alg: key.Alg, Value: base64.StdEncoding.EncodeToString(value)}
	if err := l.SignedBy([]Key{key}); err != nil { // nobody could verify it
		return l, fmt.Errorf("%w signed as nobody can verify: %w", errSigner, err)
	}
	return l, nil
}

// keep has the store keep a key, once in a process.
func (s *Sealer) keep(ctx context.Context, key Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[key.ID] {
		return nil
	}
	key.From = s.Now()
	if err := s.Store.KeepKey(ctx, key); err != nil {
		return err
	}
	if s.kept == nil {
		s.kept = map[string]bool{}
	}
	s.kept[key.ID] = true
	return nil
}

// Swept counts what one sweep did.
type Swept struct {
	Placed int `json:"placed"`
	Signed int `json:"signed"`
	Failed int `json:"failed"`
}

// Sweep places and signs what nobody did in time. One run that cannot be placed does
// not keep the others from it; a signer that fails is asked again at the next sweep.
func (s *Sealer) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	var problems []error
	runs, err := s.Store.Unplaced(ctx, s.Now(), sealMost)
	if err != nil {
		return swept, err
	}
	var placed []LinkKey
	for _, k := range runs {
		if ctx.Err() != nil {
			break
		}
		l, err := s.place(ctx, k.Account, k.RunID)
		if err != nil {
			swept.Failed++
			problems = append(problems, fmt.Errorf("run %s: %w", k.RunID, err))
			continue
		}
		swept.Placed++
		placed = append(placed, LinkKey{l.Account, l.Seq})
	}
	links, err := s.Store.Unsigned(ctx, s.Now(), sealMost)
	if err != nil {
		return swept, errors.Join(append(problems, err)...)
	}
	for _, k := range append(links, placed...) {
		if ctx.Err() != nil {
			break
		}
		err := s.resign(ctx, k)
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

// resign signs a link that was left without a signature.
func (s *Sealer) resign(ctx context.Context, k LinkKey) error {
	l, err := s.Store.Link(ctx, k.Account, k.Seq)
	if err != nil || l.Signature != nil {
		return err
	}
	return s.sign(ctx, l)
}

var _ run.Sealer = (*Sealer)(nil)
