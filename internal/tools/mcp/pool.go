package mcp

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"piloto/internal/tools/tool"
)

// pool keeps what is worth keeping between calls: per server and key, an open
// session and what is known of the server's tools. It is bounded, and what nobody
// used for a while is closed.
type pool struct {
	most int
	idle time.Duration
	now  func() time.Time

	mu     sync.Mutex
	slots  map[slotKey]*slot
	closed bool
	quiet  *sync.Cond // signalled when busy is 0
	busy   int        // uses of slots, and sessions that say farewell
}

func newPool(most int, idle time.Duration, now func() time.Time) *pool {
	p := &pool{most: most, idle: idle, now: now, slots: map[slotKey]*slot{}}
	p.quiet = sync.NewCond(&p.mu)
	return p
}

// done ends what was counted in busy.
func (p *pool) done() {
	if p.busy--; p.busy == 0 {
		p.quiet.Broadcast()
	}
}

// part closes a session that nobody uses any more, without waiting for it.
func (p *pool) part(h *held) {
	p.busy++
	go func() {
		h.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done()
	}()
}

// slotKey says whose session it is. It holds a key's hash, not the key.
type slotKey struct {
	server, base string
	via          tool.Transport
	key          [sha256.Size]byte
}

func keyOf(s tool.Server, key *tool.Credential) slotKey {
	k := slotKey{server: s.ID, base: s.BaseURL, via: s.Transport}
	if key != nil {
		p := key.Place
		h := sha256.New()
		for _, part := range []string{p.In, p.Name, p.TokenURL, p.Scope, key.Secret} {
			sum := sha256.Sum256([]byte(part))
			h.Write(sum[:])
		}
		h.Sum(k.key[:0])
	}
	return k
}

// slot is what is kept for one server and key. Whoever opens a session or lists
// the tools holds busy; the rest is guarded by the pool's mutex.
type slot struct {
	key   slotKey
	busy  chan struct{} // of capacity 1
	users int
	used  time.Time
	timer *time.Timer // runs while nobody uses it

	open    *held
	known   map[string]live
	listed  time.Time // when that listing was asked for; zero: never
	changes int       // how often the server said that its tools changed
	seen    int       // changes, when that listing was asked for
}

// held is an open session and how many calls are on it.
type held struct {
	*session
	users int
	gone  bool // nobody new may use it
}

// live is a tool as its server describes it now.
type live struct {
	fingerprint string
	parameters  []parameter
}

// take returns the slot of a key. When there is no room for one more it is one
// that is forgotten after its use.
func (p *pool) take(key slotKey) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.slots[key]
	if s == nil {
		s = &slot{key: key, busy: make(chan struct{}, 1)}
		if p.room() {
			p.slots[key] = s
		}
	}
	s.users++
	p.busy++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	return s
}

// room makes room for one more slot, and reports whether there is any.
func (p *pool) room() bool {
	if p.closed {
		return false
	}
	if len(p.slots) < p.most {
		return true
	}
	var oldest *slot
	for _, s := range p.slots {
		if s.users == 0 && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// remove forgets a slot that nobody uses.
func (p *pool) remove(s *slot) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if p.slots[s.key] == s {
		delete(p.slots, s.key)
	}
	p.discard(s)
}

// discard takes the session out of a slot; it is closed when its last call is over.
func (p *pool) discard(s *slot) {
	h := s.open
	s.open = nil
	if h == nil || h.gone {
		return
	}
	h.gone = true
	if h.users == 0 {
		p.part(h)
	}
}

// give ends a use of a slot.
func (p *pool) give(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.done()
	s.users--
	s.used = p.now()
	switch {
	case s.users > 0:
	case p.closed || p.slots[s.key] != s:
		p.remove(s)
	default:
		s.timer = time.AfterFunc(p.idle, func() { p.expire(s) })
	}
}

// expire forgets a slot whose time is over, unless somebody came for it meanwhile.
func (p *pool) expire(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users == 0 && s.timer != nil {
		p.remove(s)
	}
}

// shared reports whether calls share a session. Where each has its own (a stream
// does not outlive its call) nobody waits for another's.
func (s *slot) shared() bool { return s.key.via != tool.TransportSSE }

// lock waits until nobody else opens a session or lists tools in a slot.
func (s *slot) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slot) unlock() { <-s.busy }

// join returns the slot's open session, nil when there is none. leave ends its use.
func (p *pool) join(s *slot) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.open != nil {
		s.open.users++
	}
	return s.open
}

// keep puts an open session into a slot, and joins it.
func (p *pool) keep(s *slot, opened *session) *held {
	h := &held{session: opened, users: 1}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.shared() {
		h.gone = true
		return h
	}
	s.open = h
	return h
}

// leave ends the use of a session. lost says that it is of no more use to anybody.
func (p *pool) leave(s *slot, h *held, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lost && s.open == h {
		p.discard(s)
	}
	h.users--
	if h.users == 0 && h.gone {
		p.part(h)
	}
}

// recall returns what is known of a tool, and whether that is recent enough.
func (p *pool) recall(s *slot, name string, since time.Time) (live, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.listed.IsZero() || s.listed.Before(since) || s.changes != s.seen {
		return live{}, false
	}
	return s.known[name], true
}

// learn keeps a listing that was asked for at a time, when the server had said so
// often that its tools changed.
func (p *pool) learn(s *slot, known map[string]live, at time.Time, changes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !at.Before(s.listed) { // one that was asked for later can have come first
		s.known, s.listed, s.seen = known, at, changes
	}
}

func (p *pool) changes(s *slot) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.changes
}

// stale notes that a server said that its tools changed.
func (p *pool) stale(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.changes++
}

// close closes every session, and waits until they are and until the calls that
// are under way are over.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.slots {
		if s.users == 0 {
			p.remove(s)
		}
	}
	for p.busy > 0 {
		p.quiet.Wait()
	}
}
