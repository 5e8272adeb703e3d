// Package ids creates identifiers: ULIDs for stored rows, trace ids for requests, and secrets for tokens. Time and
// entropy are parameters. It has the type of those that must not be mistaken for another.
package ids

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Account identifies an account, whose data no other account sees. It is a type of its own, because a caller that swaps
// it with another id would show one account the data of another. A text becomes an Account where it arrives: with a token,
// in a stored key, on a command line.
type Account string

// Source creates ULIDs. They sort by the time given, and strictly increase within one Source even inside a
// millisecond. It is safe for concurrent use.
type Source struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	last    uint64
}

// NewSource returns a Source that reads from entropy; nil means crypto/rand.
func NewSource(entropy io.Reader) *Source {
	if entropy == nil {
		entropy = rand.Reader
	}
	return &Source{entropy: ulid.Monotonic(entropy, 0)}
}

// New returns the next ULID at the given time. When the clock goes backwards, later ids still sort later.
func (s *Source) New(at time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(ulid.Timestamp(at), s.last)
	s.last = ms
	id, err := ulid.New(ms, s.entropy)
	if err != nil { // the low bits of this millisecond are exhausted
		s.last++
		id = ulid.MustNew(s.last, s.entropy)
	}
	return id.String()
}

// Valid reports whether id is a ULID in the form that this package writes.
func Valid(id string) bool {
	u, err := ulid.ParseStrict(id)
	return err == nil && u.String() == id
}

// Time returns the time in a ULID, to the millisecond, and false for a text that is none.
func Time(id string) (time.Time, bool) {
	u, err := ulid.ParseStrict(id)
	return ulid.Time(u.Time()), err == nil
}

// First returns a lower bound: it sorts before every ULID created at that time or later, and after every one
// created before.
func First(at time.Time) string {
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(at)) // it fails in the year 10889
	return u.String()
}

// Derive returns the same ULID for the same parts. Its time has no meaning. It identifies a thing that a client
// names in its own words.
func Derive(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s,", len(p), p)
	}
	var u ulid.ULID
	copy(u[:], h.Sum(nil))
	return u.String()
}

// Following returns a ULID that sorts after another, the same for the same parts. It identifies a record that follows that one.
func Following(id string, parts ...string) string {
	at, _ := Time(id[:min(len(id), ulid.EncodedSize)])
	u := ulid.MustParseStrict(Derive(append(parts, id)...))
	_ = u.SetTime(ulid.Timestamp(at) + 1) // it fails in the year 10889
	return u.String()
}

// Secret returns 256 random bits as 43 URL-safe characters.
func Secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it aborts the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash returns the lower-case hex SHA-256 of a secret. Only the hash is stored.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewTrace returns a new trace id: 32 hex digits, as in W3C trace context.
func NewTrace() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ValidTrace reports whether an incoming trace id is accepted: 1 to 128 letters, digits, and "-_.:=;", so that it
// can split neither a log line nor a header. The header form of X-Ray is accepted too.
func ValidTrace(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '=', c == ';':
		default:
			return false
		}
	}
	return true
}

// DeriveAt is Derive with a time by which the ULID sorts.
func DeriveAt(at time.Time, parts ...string) string {
	u := ulid.MustParse(Derive(parts...))
	_ = u.SetTime(ulid.Timestamp(at)) // it fails in the year 10889
	return u.String()
}
