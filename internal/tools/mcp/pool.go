package mcp

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"piloto/internal/tools/tool"
)

// pool caches, per server and key, an open session and the server's tools. Its size is limited, and an idle slot is
// closed.
type pool struct {
	most int
	idle time.Duration
	now  func() time.Time

	mu     sync.Mutex
	slots  map[slotKey]*slot
	closed bool
	quiet  *sync.Cond // signalled when busy is 0
	busy   int        // uses of slots, and sessions that are being closed
}

func newPool(most int, idle time.Duration, now func() time.Time) *pool {
	p := &pool{most: most, idle: idle, now: now, slots: map[slotKey]*slot{}}
	p.quiet = sync.NewCond(&p.mu)
	return p
}

// done ends one use that busy counts.
func (p *pool) done() {
	if p.busy--; p.busy == 0 {
		p.quiet.Broadcast()
	}
}

// closeSession closes an unused session, without waiting for it.
func (p *pool) closeSession(h *sharedSession) {
	p.busy++
	go func() {
		h.close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done()
	}()
}

// slotKey identifies a slot. It holds a hash of the keys, not the keys.
type slotKey struct {
	server, base string
	via          tool.Transport
	key          [sha256.Size]byte
}

func keyOf(s tool.Server, keys tool.Keys) slotKey {
	k := slotKey{server: s.ID, base: s.BaseURL, via: s.Transport}
	h := sha256.New()
	for _, key := range keys {
		p := key.Place
		for _, part := range []string{p.In, p.Name, p.TokenURL, p.Scope, key.Secret} {
			sum := sha256.Sum256([]byte(part))
			h.Write(sum[:])
		}
	}
	h.Sum(k.key[:0])
	return k
}

// slot holds the session and the tools for one server and key. A goroutine that opens a session or lists the tools
// holds busy; the pool's mutex guards the other fields.
type slot struct {
	key   slotKey
	busy  chan struct{} // of capacity 1
	users int
	used  time.Time
	timer *time.Timer // runs while the slot is unused

	open    *sharedSession
	known   map[string]liveTool
	listed  time.Time // when that listing was requested; zero: never
	changes int       // number of notifications that the tools changed
	seen    int       // the value of changes when that listing was requested
}

// sharedSession is an open session with the number of calls on it.
type sharedSession struct {
	*session
	users int
	gone  bool // no new call may use it
}

// liveTool is the current definition of a tool.
type liveTool struct {
	fingerprint string
	parameters  []parameter
}

// acquire returns the slot of a key. When the pool is full, the slot is a temporary one, which is dropped after its
// use.
func (p *pool) acquire(key slotKey) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.slots[key]
	if s == nil {
		s = &slot{key: key, busy: make(chan struct{}, 1)}
		if p.makeRoom() {
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

// makeRoom makes room for one more slot, and reports whether there is room.
func (p *pool) makeRoom() bool {
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

// remove drops an unused slot.
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

// discard removes the session from a slot. The session is closed when its last call ends.
func (p *pool) discard(s *slot) {
	h := s.open
	s.open = nil
	if h == nil || h.gone {
		return
	}
	h.gone = true
	if h.users == 0 {
		p.closeSession(h)
	}
}

// release ends a use of a slot.
func (p *pool) release(s *slot) {
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

// expire drops a slot after its idle time, unless it was acquired meanwhile.
func (p *pool) expire(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users == 0 && s.timer != nil {
		p.remove(s)
	}
}

// isShared reports whether calls share a session. With TransportSSE each call opens its own, because a stream does
// not outlive its call; then no call waits for another.
func (s *slot) isShared() bool { return s.key.via != tool.TransportSSE }

// lock waits until no other goroutine opens a session or lists tools in the slot.
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

// joinSession returns the slot's open session, nil when there is none. leaveSession ends its use.
func (p *pool) joinSession(s *slot) *sharedSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.open != nil {
		s.open.users++
	}
	return s.open
}

// addSession puts an open session into a slot, and joins it.
func (p *pool) addSession(s *slot, opened *session) *sharedSession {
	h := &sharedSession{session: opened, users: 1}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.isShared() {
		h.gone = true
		return h
	}
	s.open = h
	return h
}

// leaveSession ends the use of a session. lost means that the session cannot be used again.
func (p *pool) leaveSession(s *slot, h *sharedSession, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lost && s.open == h {
		p.discard(s)
	}
	h.users--
	if h.users == 0 && h.gone {
		p.closeSession(h)
	}
}

// knownTool returns the cached definition of a tool, and whether it is recent enough.
func (p *pool) knownTool(s *slot, name string, since time.Time) (liveTool, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.listed.IsZero() || s.listed.Before(since) || s.changes != s.seen {
		return liveTool{}, false
	}
	return s.known[name], true
}

// storeListing caches a listing. at is the time of its request, and changes the number of change notifications at
// that time.
func (p *pool) storeListing(s *slot, known map[string]liveTool, at time.Time, changes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !at.Before(s.listed) { // a listing that was requested later can have arrived first
		s.known, s.listed, s.seen = known, at, changes
	}
}

func (p *pool) changes(s *slot) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.changes
}

// noteChange counts a notification that the tools changed.
func (p *pool) noteChange(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.changes++
}

// close closes every session, and waits until all are closed and the calls in progress end.
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
