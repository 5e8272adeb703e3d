package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"piloto/internal/ground/fault"
)

// ErrBusinessMoved is a context that another process wrote meanwhile.
var ErrBusinessMoved = errors.New("agent: the business context moved")

// MaxBusiness is how much of a business context is kept, in bytes.
const MaxBusiness = 16 << 10

// Business is what is known of a company, as its source told it. Text is "" where
// the source has nothing to tell.
type Business struct {
	Text    string    `json:"text"`
	At      time.Time `json:"at"`       // when the source told it; zero: never
	TriedAt time.Time `json:"tried_at"` // when it was last asked
	Failed  string    `json:"failed"`   // why that brought nothing; "" when it did
}

// BusinessSource tells what there is to know of a company.
type BusinessSource interface {
	// Context asks a URL. An error has a word for the log in Args["reason"]; a
	// company without a context is none, and has the text "".
	Context(ctx context.Context, url string, company int64) (string, error)
}

// BusinessStore keeps what sources told, by account, company and URL.
type BusinessStore interface {
	// Business returns the zero Business when there is none.
	Business(ctx context.Context, account string, company int64, url string) (Business, error)
	// PutBusiness replaces what was seen; ErrBusinessMoved, changing nothing, when
	// it was tried again since.
	PutBusiness(ctx context.Context, account string, company int64, url string, seen, next Business) error
}

// Businesses are the business contexts of an account's companies: asked for at
// most once at a time, and kept. Nothing that goes wrong with them is an error: a
// message is answered without.
type Businesses struct {
	Store  BusinessStore
	Source BusinessSource
	Now    func() time.Time
	Log    *slog.Logger

	Fresh time.Duration // a text is not asked for again; 0: 5 min
	Stale time.Duration // it is still told, when there is no newer one; 0: 24 h
	Again time.Duration // a source that failed is left alone; 0: 1 min
	Limit time.Duration // of asking; 0: 10 s

	mu     sync.Mutex
	held   map[subject]Business
	asking map[subject]*inquest
}

const (
	patience  = time.Second     // with a source that is slow, where an older text can be told
	storeTime = 2 * time.Second // of one read or write
	maxHeld   = 256             // of 16 KB each at most; when it is full it begins anew
)

// asked stands for a reason while a process asks. It may have died since.
const asked = "asked"

// subject is what a context is known of.
type subject struct {
	account string
	company int64
	url     string
}

// inquest is one asking that any number of messages wait for.
type inquest struct {
	read  chan struct{} // closed when before is known
	done  chan struct{} // closed when text is
	older Business
	text  string
}

// Read returns what is known of a company, "" when nothing is. It waits for the
// source only as long as that may take, and hardly where there is an older text.
func (b *Businesses) Read(ctx context.Context, account string, company int64, url string) string {
	if url == "" {
		return ""
	}
	of, now := subject{account, company, url}, b.Now()
	b.mu.Lock()
	known := b.held[of]
	if b.settled(known, now) {
		b.mu.Unlock()
		return b.told(known, now)
	}
	q := b.asking[of]
	if q == nil {
		q = &inquest{read: make(chan struct{}), done: make(chan struct{})}
		if b.asking == nil {
			b.asking = map[subject]*inquest{}
		}
		b.asking[of] = q
		go b.inquire(context.WithoutCancel(ctx), of, known, q)
	}
	b.mu.Unlock()
	return b.await(ctx, q, known, now)
}

// await waits for an inquest to end. An older text is told instead when that takes
// long, or when whoever asks can wait no longer.
func (b *Businesses) await(ctx context.Context, q *inquest, known Business, now time.Time) string {
	select {
	case <-q.done:
		return q.text
	case <-ctx.Done():
		return b.told(known, now)
	case <-q.read:
	}
	var enough <-chan time.Time
	if b.usable(q.older, now) {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-q.done:
		return q.text
	case <-ctx.Done():
	case <-enough:
	}
	return b.told(q.older, now)
}

// inquire finds out what is known of a subject: from the store, else from its
// source.
func (b *Businesses) inquire(ctx context.Context, of subject, known Business, q *inquest) {
	var found Business
	defer func() {
		q.text = b.told(found, b.Now())
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.asking, of)
		if found.Failed != asked { // what comes of that is read from the store
			if len(b.held) >= maxHeld || b.held == nil {
				b.held = map[subject]Business{}
			}
			b.held[of] = found
		}
		close(q.done)
	}()
	stored, err := b.stored(ctx, of)
	if err != nil {
		b.Log.WarnContext(ctx, "business.store_failed", "company", of.company, "error", err)
		stored = known
	}
	if found = stored; b.settled(found, b.Now()) {
		return
	}
	q.older = found
	close(q.read)
	claim := stored
	claim.TriedAt, claim.Failed = b.Now(), cmp.Or(stored.Failed, asked)
	err = b.put(ctx, of, stored, claim)
	if errors.Is(err, ErrBusinessMoved) && !stored.TriedAt.IsZero() {
		return // another process asks now
	}
	found = b.ask(ctx, of, stored)
	_ = b.put(ctx, of, claim, found)
}

func (b *Businesses) stored(ctx context.Context, of subject) (Business, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return b.Store.Business(ctx, of.account, of.company, of.url)
}

// put writes what is known. A store that does not answer keeps nobody from asking.
func (b *Businesses) put(ctx context.Context, of subject, seen, next Business) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := b.Store.PutBusiness(ctx, of.account, of.company, of.url, seen, next)
	if err != nil && !errors.Is(err, ErrBusinessMoved) {
		b.Log.WarnContext(ctx, "business.store_failed", "company", of.company, "error", err)
	}
	return err
}

// ask asks the source. When it fails, what it told before stays.
func (b *Businesses) ask(ctx context.Context, of subject, before Business) Business {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(b.Limit, 10*time.Second))
	defer cancel()
	text, err := b.Source.Context(ctx, of.url, of.company)
	now := b.Now()
	if err != nil {
		f := fault.Of(err)
		before.TriedAt, before.Failed = now, cmp.Or(f.Args["reason"], f.Code)
		b.Log.WarnContext(ctx, "business.unread", "company", of.company, "reason", before.Failed, "error", err)
		return before
	}
	return Business{Text: BusinessText(text), At: now, TriedAt: now}
}

// BusinessText is a text as a business context is kept: readable, and 16 KB at most.
func BusinessText(text string) string { return ended(legible(text), MaxBusiness) }

// settled reports whether the source need not be asked: it told lately, or failed
// lately, or somebody asks it while there is something to tell.
func (b *Businesses) settled(known Business, now time.Time) bool {
	if known.Failed == asked && !b.usable(known, now) {
		return false
	}
	if known.Failed != "" {
		return near(known.TriedAt, now, cmp.Or(b.Again, time.Minute))
	}
	return !known.At.IsZero() && near(known.At, now, cmp.Or(b.Fresh, 5*time.Minute))
}

// usable reports whether the source ever told what may still be told.
func (b *Businesses) usable(known Business, now time.Time) bool {
	return !known.At.IsZero() && near(known.At, now, cmp.Or(b.Stale, 24*time.Hour))
}

// told is what may still be told.
func (b *Businesses) told(known Business, now time.Time) string {
	if !b.usable(known, now) {
		return ""
	}
	return known.Text
}
