package secretsmanager

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
)

// arnPrefix is the prefix of the ARN of every stored secret, with the region and account of this
// engine.
const arnPrefix = "arn:aws:secretsmanager:us-east-1:123456789012:secret:"

// suffixLength is the number of random characters that end an ARN, after a hyphen.
const suffixLength = 6

// Engine holds the secrets of one file and those that were given in memory. It is an http.Handler
// and safe for concurrent use.
type Engine struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	writing sync.Mutex // held by the one writer, also while the file is written

	mu    sync.RWMutex
	kept  map[string]*secret // by name; the map and its secrets are never changed, only replaced
	given map[string]*secret // by name; set by Open
}

// An Option changes how an Engine is opened.
type Option func(*Engine) error

// WithClock sets the clock.
func WithClock(now func() time.Time) Option {
	return func(e *Engine) error { e.now = now; return nil }
}

// WithLogger sets the logger for failures.
func WithLogger(log *slog.Logger) Option {
	return func(e *Engine) error { e.log = log; return nil }
}

// WithGiven adds a secret that is in memory only: text under a complete ARN, which contains its
// name. It can be read but not written.
func WithGiven(arn, text string) Option {
	return func(e *Engine) error {
		name, ok := nameOf(arn)
		if !ok {
			return fmt.Errorf("secretsmanager: %s is not the complete ARN of a secret", arn)
		}
		if e.given[name] != nil {
			return fmt.Errorf("secretsmanager: %s was given twice", arn)
		}
		s := &secret{Name: name, ARN: arn, Description: "Given to the process by its environment"}
		e.given[name] = s.withValue(rand.Text()+rand.Text(), hide(text), time.Time{})
		return nil
	}
}

// Open opens the secrets in the file at path, which the first write creates. It fails when the file
// is damaged, is not a plain file, or others than its owner can read it.
func Open(path string, options ...Option) (*Engine, error) {
	e := &Engine{path: path, now: time.Now, log: slog.New(slog.DiscardHandler), given: map[string]*secret{}}
	for _, option := range options {
		if err := option(e); err != nil {
			return nil, err
		}
	}
	at := e.now()
	for _, s := range e.given {
		s.Created, s.Changed, s.Versions[0].Created = at, at, at
	}
	if err := sweep(path); err != nil {
		return nil, err
	}
	var err error
	if e.kept, err = load(path); err != nil {
		return nil, err
	}
	before := len(e.kept)
	if purge(e.kept, at); len(e.kept) < before {
		if err := save(path, e.kept); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// nameOf returns the name in a complete ARN.
func nameOf(arn string) (string, bool) {
	parts := strings.SplitN(arn, ":", 7)
	if len(parts) != 7 || parts[0] != "arn" || parts[2] != "secretsmanager" || parts[5] != "secret" {
		return "", false
	}
	hyphen := len(parts[6]) - suffixLength - 1
	if hyphen < 1 || parts[6][hyphen] != '-' || !validName(parts[6][:hyphen]) || !validName(parts[6][hyphen:]) {
		return "", false
	}
	return parts[6][:hyphen], true
}

// find returns the secret of an id: a name, a complete ARN, or an ARN without its last seven
// characters. given reports whether it was given in memory. A secret whose recovery window is over
// is not found.
func (e *Engine) find(id string) (s *secret, given bool, err error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	at := e.now()
	for _, all := range []map[string]*secret{e.given, e.kept} {
		if s := lookup(all, id); s != nil && !s.isGone(at) {
			return s, e.given[s.Name] == s, nil
		}
	}
	return nil, false, errNotFound
}

func lookup(all map[string]*secret, id string) *secret {
	if !strings.HasPrefix(id, "arn:") {
		return all[id]
	}
	for _, s := range all {
		if s.ARN == id {
			return s
		}
	}
	for _, s := range all { // last, because a name may equal the end of another secret's ARN
		if s.ARN[:len(s.ARN)-suffixLength-1] == id {
			return s
		}
	}
	return nil
}

// all returns every secret that can be found, by name.
func (e *Engine) all() map[string]*secret {
	e.mu.RLock()
	defer e.mu.RUnlock()
	all := maps.Clone(e.kept)
	purge(all, e.now())
	maps.Copy(all, e.given)
	return all
}

// change replaces the secret of an id by the result of edit, nil to remove it, on the disk and then
// in memory. edit must not change its argument; returning the same secret changes nothing.
func (e *Engine) change(id string, edit func(*secret) (*secret, error)) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	s, given, err := e.find(id)
	if err != nil {
		return err
	}
	if given {
		return errGiven
	}
	next, err := edit(s)
	if err != nil || next == s {
		return err
	}
	return e.replace(s.Name, next)
}

// replace stores a secret under its name; writing must be held.
func (e *Engine) replace(name string, s *secret) error {
	e.mu.RLock()
	kept := maps.Clone(e.kept)
	e.mu.RUnlock()
	purge(kept, e.now())
	delete(kept, name)
	if s != nil {
		kept[name] = s
	}
	err := save(e.path, kept)
	if err != nil && !errors.Is(err, errUnsure) {
		return err
	}
	// Once the new file has the name, a restart would read it, whether or not the folder could be
	// flushed. So memory changes too, and the caller retries.
	e.mu.Lock()
	e.kept = kept
	e.mu.Unlock()
	return err
}

// purge removes the secrets whose recovery window is over.
func purge(all map[string]*secret, at time.Time) {
	maps.DeleteFunc(all, func(_ string, s *secret) bool { return s.isGone(at) })
}
