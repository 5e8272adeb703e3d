package receipt

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/ground/sweep"
	"piloto/internal/runs/run"
)

// Signer signs with its current key.
type Signer interface {
	// Key returns the public half of that key; its times are zero.
	Key(ctx context.Context) (Key, error)
	// Sign signs a message with the algorithm of the key.
	Sign(ctx context.Context, message []byte) ([]byte, error)
}

// LinkKey identifies a link.
type LinkKey struct {
	Account ids.Account
	Seq     int
}

// LinkReader reads one link of an account's chain; ErrNoLink.
type LinkReader interface {
	Link(ctx context.Context, account ids.Account, seq int) (Link, error)
}

// Reader reads the links of chains, and the public keys that ever signed one.
type Reader interface {
	LinkReader
	SigningKeys(ctx context.Context) ([]Key, error)
}

// Store stores the chains of accounts, and the public halves of keys.
type Store interface {
	// Ended returns the link of a run that ended, if it has one for its present events, else a link without a position
	// (Seq 0). It returns plan.ErrRunNotFound, or plan.ErrAlreadyRunning for an active run.
	Ended(ctx context.Context, account ids.Account, runID string) (Link, error)
	// Tip returns the last link of an account's chain; the zero Link when it has none.
	Tip(ctx context.Context, account ids.Account) (Link, error)
	// Place appends a link to the chain of its account, with its signature if it has one, and records
	// it in its run. It returns fault.ErrMoved when the chain or the run changed in the meantime.
	Place(ctx context.Context, l Link, due time.Time) error
	LinkReader
	// Sign stores the signature of a link. An existing signature is not replaced.
	Sign(ctx context.Context, l Link) error
	// KeepKey stores the public half of a key, once, and marks the earlier keys as no longer in
	// use.
	KeepKey(ctx context.Context, k Key) error

	// Unplaced lists runs that ended and have no link yet, and Unsigned lists links without a signature, if they are due at
	// the given time: the oldest first, at most limit.
	Unplaced(ctx context.Context, at time.Time, limit int) ([]sweep.Row[run.Key], error)
	Unsigned(ctx context.Context, at time.Time, limit int) ([]sweep.Row[LinkKey], error)
}

// errSigner marks an error of the signer.
var errSigner = errors.New("receipt: the signer")

// ErrNoLink means that the chain has no such link.
var ErrNoLink = errors.New("receipt: no such link")

// Sealer appends ended runs to their account's chain and signs them, in one write that fails when another link took the
// position. Then the link is written first, and the signature, which covers its position, afterwards: so processes whose runs
// end at once never wait for the signatures of each other. The same is done when the signer fails, and the sweep signs the
// link later. Runs of one account that end at once in one process queue for their positions, because only one of them can
// have the next one.
type Sealer struct {
	Store  Store
	Signer Signer
	Now    func() time.Time
	Log    *slog.Logger // of the sweep

	mu     sync.Mutex
	stored map[string]bool // ids of keys that are already stored

	queues [64]sync.Mutex // of the accounts, by a hash: each serializes the links of its accounts
}

// queue returns the queue of an account.
func (s *Sealer) queue(account ids.Account) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(account))
	return &s.queues[h.Sum32()%uint32(len(s.queues))]
}

// SealGrace is the time in which the end of a run must seal it, before the sweep does.
const SealGrace = 2 * time.Second

// sealLimit is the greatest number of runs of one sweep; the others stay due.
const sealLimit = 5000

// Seal appends and signs the link of a run that ended. It is idempotent.
func (s *Sealer) Seal(ctx context.Context, k run.Key) error {
	l, err := s.link(ctx, k, true)
	if err != nil || l.Signature != nil {
		return err
	}
	return s.sign(ctx, l)
}

// link returns the link of a run. If the run has none, it appends one to the chain, at the first attempt with its signature if
// that is wanted.
func (s *Sealer) link(ctx context.Context, k run.Key, signed bool) (Link, error) {
	queue := s.queue(k.Account)
	queue.Lock()
	defer queue.Unlock()
	var l Link
	err := retry.Do(ctx, func() (err error) {
		if l, err = s.Store.Ended(ctx, k.Account, k.RunID); err != nil || l.Seq > 0 {
			return err
		}
		tip, err := s.Store.Tip(ctx, k.Account)
		if err != nil {
			return err
		}
		at := s.Now()
		if l, err = l.Chained(tip, at); err != nil {
			return err
		}
		if signed {
			signed = false
			if with, err := s.signature(ctx, l); err == nil { // an error is reported when the link is signed
				l = with
			}
		}
		return s.Store.Place(ctx, l, at.Add(SealGrace))
	})
	return l, err
}

// sign signs a link of the chain.
func (s *Sealer) sign(ctx context.Context, l Link) error {
	l, err := s.signature(ctx, l)
	if err != nil {
		return err
	}
	return s.Store.Sign(ctx, l)
}

// signature returns a link with its signature, after the public half of the signing key is stored.
func (s *Sealer) signature(ctx context.Context, l Link) (Link, error) {
	key, err := s.Signer.Key(ctx)
	if err != nil {
		return l, fmt.Errorf("%w has no key: %w", errSigner, err)
	}
	if err := s.storeKey(ctx, key); err != nil {
		return l, err
	}
	return l.Signed(ctx, s.Signer, key)
}

// Signed returns the link with a signature by the signer's key.
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
	if err := l.SignedBy([]Key{key}); err != nil { // the signature cannot be verified
		return l, fmt.Errorf("%w signed as nobody can verify: %w", errSigner, err)
	}
	return l, nil
}

// storeKey stores a key, once in a process.
func (s *Sealer) storeKey(ctx context.Context, key Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored[key.ID] {
		return nil
	}
	key.From = s.Now()
	if err := s.Store.KeepKey(ctx, key); err != nil {
		return err
	}
	if s.stored == nil {
		s.stored = map[string]bool{}
	}
	s.stored[key.ID] = true
	return nil
}

var _ run.Sealer = (*Sealer)(nil)
