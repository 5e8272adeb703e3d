package secretsmanager

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"
)

// The labels that this engine moves by itself.
const (
	stageCurrent  = "AWSCURRENT"
	stagePrevious = "AWSPREVIOUS"
)

// mostRetired is the number of versions without a label that are kept as digests.
const mostRetired = 100

// opaque is a secret's text. It prints as [secret], or as an address where fmt cannot call its
// methods, which is in unexported fields. Only JSON, for the file and the responses, contains the
// text.
type opaque struct{ text *string }

const printed = "[secret]"

func hide(text string) opaque { return opaque{&text} }

func (o opaque) reveal() string {
	if o.text == nil {
		return ""
	}
	return *o.text
}

// Format implements fmt.Formatter, for every verb.
func (opaque) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, printed) }

// LogValue implements slog.LogValuer.
func (opaque) LogValue() slog.Value { return slog.StringValue(printed) }

// MarshalJSON implements json.Marshaler.
func (o opaque) MarshalJSON() ([]byte, error) { return json.Marshal(o.reveal()) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *opaque) UnmarshalJSON(raw []byte) error {
	o.text = new(string)
	return json.Unmarshal(raw, o.text)
}

// secret is one secret of the file. It is never changed: each edit makes a copy.
type secret struct {
	Name        string    `json:"name"`
	ARN         string    `json:"arn"`
	Description string    `json:"description,omitempty"`
	Created     time.Time `json:"created"`
	Changed     time.Time `json:"changed"`
	Deleted     time.Time `json:"deleted,omitzero"`   // when its deletion was scheduled
	Gone        time.Time `json:"gone,omitzero"`      // when it can no longer be restored
	Versions    []version `json:"versions,omitempty"` // versions with a label
	Retired     []retired `json:"retired,omitempty"`  // the latest last
}

// version is one value of a secret.
type version struct {
	ID      string    `json:"id"`
	Text    opaque    `json:"text"`
	Stages  []string  `json:"stages"`
	Created time.Time `json:"created"`
}

// retired is a version that lost its labels: its id and digest.
type retired struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

func digest(id string, text opaque) string {
	sum := sha256.Sum256([]byte(id + "\x00" + text.reveal())) // the id is its salt
	return hex.EncodeToString(sum[:])
}

func (s *secret) isDeleted() bool          { return !s.Gone.IsZero() }
func (s *secret) isGone(at time.Time) bool { return s.isDeleted() && !at.Before(s.Gone) }

// versionWith returns the version with a label, or nil.
func (s *secret) versionWith(stage string) *version {
	for i, v := range s.Versions {
		if slices.Contains(v.Stages, stage) {
			return &s.Versions[i]
		}
	}
	return nil
}

func (s *secret) version(id string) *version {
	for i, v := range s.Versions {
		if v.ID == id {
			return &s.Versions[i]
		}
	}
	return nil
}

// findUse reports whether an id belongs to a version, and whether that version had this text.
func (s *secret) findUse(id string, text opaque) (used, same bool) {
	if v := s.version(id); v != nil {
		return true, v.Text.reveal() == text.reveal()
	}
	for _, r := range s.Retired {
		if r.ID == id {
			return true, r.Digest == digest(id, text)
		}
	}
	return false, false
}

// withValue returns the secret with a new current version.
func (s *secret) withValue(id string, text opaque, at time.Time) *secret {
	next := *s
	next.Versions, next.Retired = nil, slices.Clone(s.Retired)
	next.Versions = append(next.Versions, version{ID: id, Text: text, Stages: []string{stageCurrent}, Created: at})
	for _, v := range s.Versions {
		if slices.Contains(v.Stages, stageCurrent) {
			v.Stages = []string{stagePrevious}
			next.Versions = append(next.Versions, v)
			continue
		}
		next.Retired = append(next.Retired, retired{v.ID, digest(v.ID, v.Text)})
	}
	next.Retired = next.Retired[max(0, len(next.Retired)-mostRetired):]
	next.Changed = at
	return &next
}
