package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// ErrBusinessMoved is the error when another process wrote the context meanwhile.
var ErrBusinessMoved = errors.New("agent: the business context moved")

// Business holds the stored context of a company. Text is "" where the source has none.
type Business struct {
	Text    string    `json:"text"`
	At      time.Time `json:"at"`       // when the source returned the text; zero: never
	TriedAt time.Time `json:"tried_at"` // when the source was last read
	Failed  string    `json:"failed"`   // why that failed; "" when it did not
}

// BusinessSource returns the context of a company.
type BusinessSource interface {
	// Context reads a URL. An error has a word for the log in Args["reason"]. A company without
	// a context is no error: its text is "".
	Context(ctx context.Context, url string, company int64) (string, error)
}

// BusinessStore stores contexts by account, company and URL.
type BusinessStore interface {
	// Business returns the zero Business when there is none.
	Business(ctx context.Context, account ids.Account, company int64, url string) (Business, error)
	// PutBusiness replaces seen by next. It returns ErrBusinessMoved, and changes nothing, when
	// TriedAt changed since seen was read.
	PutBusiness(ctx context.Context, account ids.Account, company int64, url string, seen, next Business) error
}

// Businesses reads the business contexts of an account's companies, with a cache and one lookup
// at a time for each. A failure is no error: the message is answered without a context.
type Businesses struct {
	Store  BusinessStore
	Source BusinessSource
	Now    func() time.Time
	Log    *slog.Logger

	Limit time.Duration // timeout of the source; 0: 10 s

	mu      sync.Mutex
	held    map[businessKey]Business
	lookups map[businessKey]*lookup
}

const (
	freshFor  = 5 * time.Minute // age from which a text is read again
	usableFor = 24 * time.Hour  // age up to which a text is used when there is no newer one
	failPause = time.Minute     // pause after a failure of the source
	patience  = time.Second     // wait for a slow source when an older text is usable
	storeTime = 2 * time.Second // timeout of one read or write
	maxHeld   = 256             // contexts of at most 16 KB each; a full cache is cleared
)

// lookupPending is the value of Failed while a process asks the source. The process may have
// died since.
const lookupPending = "asked"

// businessKey identifies a context.
type businessKey struct {
	account ids.Account
	company int64
	url     string
}

// lookup is one read of a context that any number of messages wait for.
type lookup struct {
	read  chan struct{} // closed when older is set
	done  chan struct{} // closed when text is set
	older Business
	text  string
}

// Read returns the context of a company, "" when there is none. It waits for the source only
// within ctx, and only for patience when an older text is usable.
func (b *Businesses) Read(ctx context.Context, account ids.Account, company int64, url string) string {
	if url == "" {
		return ""
	}
	of, now := businessKey{account, company, url}, b.Now()
	b.mu.Lock()
	known := b.held[of]
	if known.isFresh(now) {
		b.mu.Unlock()
		return known.usableText(now)
	}
	q := b.lookups[of]
	if q == nil {
		q = &lookup{read: make(chan struct{}), done: make(chan struct{})}
		if b.lookups == nil {
			b.lookups = map[businessKey]*lookup{}
		}
		b.lookups[of] = q
		go b.lookUp(context.WithoutCancel(ctx), of, known, q)
	}
	b.mu.Unlock()
	return b.await(ctx, q, known, now)
}

// await waits for the end of a lookup. It returns an older text when the lookup takes long, or
// when ctx ends first.
func (b *Businesses) await(ctx context.Context, q *lookup, known Business, now time.Time) string {
	select {
	case <-q.done:
		return q.text
	case <-ctx.Done():
		return known.usableText(now)
	case <-q.read:
	}
	var enough <-chan time.Time
	if q.older.usable(now) {
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
	return q.older.usableText(now)
}

// lookUp reads a context from the store, else from its source.
func (b *Businesses) lookUp(ctx context.Context, of businessKey, known Business, q *lookup) {
	var found Business
	defer func() {
		q.text = found.usableText(b.Now())
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.lookups, of)
		if found.Failed != lookupPending { // the result is read from the store later
			if len(b.held) >= maxHeld || b.held == nil {
				b.held = map[businessKey]Business{}
			}
			b.held[of] = found
		}
		close(q.done)
	}()
	stored, err := b.loadStored(ctx, of)
	if err != nil {
		b.Log.WarnContext(ctx, "business.store_failed", "company", of.company, "error", err)
		stored = known
	}
	if found = stored; found.isFresh(b.Now()) {
		return
	}
	q.older = found
	close(q.read)
	claim := stored
	claim.TriedAt, claim.Failed = b.Now(), cmp.Or(stored.Failed, lookupPending)
	err = b.put(ctx, of, stored, claim)
	if errors.Is(err, ErrBusinessMoved) && !stored.TriedAt.IsZero() {
		return // another process asks now
	}
	found = b.fetch(ctx, of, stored)
	_ = b.put(ctx, of, claim, found)
}

func (b *Businesses) loadStored(ctx context.Context, of businessKey) (Business, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return b.Store.Business(ctx, of.account, of.company, of.url)
}

// put stores a context. A failure of the store does not prevent the read of the source.
func (b *Businesses) put(ctx context.Context, of businessKey, seen, next Business) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	err := b.Store.PutBusiness(ctx, of.account, of.company, of.url, seen, next)
	if err != nil && !errors.Is(err, ErrBusinessMoved) {
		b.Log.WarnContext(ctx, "business.store_failed", "company", of.company, "error", err)
	}
	return err
}

// fetch reads the source. After a failure the earlier text stays.
func (b *Businesses) fetch(ctx context.Context, of businessKey, before Business) Business {
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

// BusinessText returns a text in the stored form: without control characters, and at most 16 KB.
func BusinessText(text string) string { return clip.Bytes(cleanText(text), clip.Instructions) }

// isFresh reports whether the source need not be read: it answered or failed recently, or
// another process reads it and an older text is usable.
func (b Business) isFresh(now time.Time) bool {
	if b.Failed == lookupPending && !b.usable(now) {
		return false
	}
	if b.Failed != "" {
		return isNear(b.TriedAt, now, failPause)
	}
	return !b.At.IsZero() && isNear(b.At, now, freshFor)
}

// usable reports whether a stored text exists that may still be used.
func (b Business) usable(now time.Time) bool {
	return !b.At.IsZero() && isNear(b.At, now, usableFor)
}

// usableText returns the stored text when it may still be used, or "".
func (b Business) usableText(now time.Time) string {
	if !b.usable(now) {
		return ""
	}
	return b.Text
}
