package tool

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
)

// ErrReads is a setting of reads that the server cannot have. Its field says why.
var ErrReads = fault.New(fault.Invalid, "mcp.reads")

// ReadMode says when operations of a server that change nothing may be called without a confirmation.
type ReadMode string

// The modes of reads.
const (
	ReadsOff     ReadMode = "off"     // never
	ReadsPreview ReadMode = "preview" // for the card of a plan, to show the data that it concerns
	ReadsOn      ReadMode = "on"      // also by a turn, to answer
)

// Reads are the calls that a person allowed without a confirmation. Only a person can know that a call changes nothing,
// so no server declares it. The zero value allows nothing.
type Reads struct {
	Mode ReadMode
	// Zone is a trust zone: the result of a read from one of its services may go into the request of a read from
	// another. Each server is a zone of its own when it is "".
	Zone string
	// Tools are, of a server of KindMCP, the tools that a person named, with the fingerprints that they had. A tool
	// whose fingerprint changed is no longer named.
	Tools map[string]string
}

// WantedReads is a person's setting of Reads. Tools are names of tools. The zero Mode is ReadsOff. A tool of which its
// server says that it changes something is refused, unless Although.
type WantedReads struct {
	Mode     ReadMode
	Zone     string
	Tools    []string
	Although bool
}

// MaxZone is the greatest length of a zone's name, in bytes.
const MaxZone = 64

// Previews reports whether reads may be made for the card of a plan.
func (s Server) Previews() bool { return s.Reads.Mode == ReadsPreview || s.Reads.Mode == ReadsOn }

// MayRead reports whether a turn may call an operation of the server without a confirmation.
func (s Server) MayRead(e Entry) bool {
	if s.Reads.Mode != ReadsOn || s.IsAgent() {
		return false
	}
	if e.Name != "" {
		return s.Names(e)
	}
	return IsSafe(e.Method)
}

// IsSafe reports whether a method only reads (RFC 9110 §9.2.1).
func IsSafe(method string) bool { return method == "GET" || method == "HEAD" || method == "OPTIONS" }

// Names reports whether a person named a tool as it is now. One that is frozen is another by now.
func (s Server) Names(e Entry) bool {
	print, named := s.Reads.Tools[e.Name]
	return named && print == e.Fingerprint && !slices.Contains(s.Frozen, e.Name)
}

// NamedTools returns the tools that a person named, sorted: those that are as they were, and those that changed or are
// gone since, and so are not read until a person names them again. The entries are the server's allowlist.
func (s Server) NamedTools(entries []Entry) (same, changed []string) {
	for _, e := range entries {
		if s.Names(e) {
			same = append(same, e.Name)
		}
	}
	slices.Sort(same)
	for _, name := range slices.Sorted(maps.Keys(s.Reads.Tools)) {
		if !slices.Contains(same, name) {
			changed = append(changed, name)
		}
	}
	return same, changed
}

// Zone is the name of the trust zone of a server. No server is in the zone of another by its id alone.
func (s Server) Zone() string {
	if s.Reads.Zone == "" {
		return "server:" + s.ID
	}
	return "circle:" + s.Reads.Zone
}

// SetReads sets which calls of a server need no confirmation. It returns ErrReads for a setting that the server cannot
// have.
func (r Registry) SetReads(ctx context.Context, account ids.Account, id string, want WantedReads) (Server, error) {
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, err
	}
	var entries []Entry
	if len(want.Tools) > 0 {
		if entries, err = r.Store.Entries(ctx, account, s); err != nil {
			return Server{}, err
		}
	}
	reads, err := readsOf(s, entries, want, "body")
	if err != nil {
		return Server{}, err
	}
	return r.Store.SetServerReads(ctx, account, id, reads)
}

// readsOf checks a setting against a server and its operations, and gives the named tools their fingerprints. at is the
// place of the setting in the request.
func readsOf(s Server, entries []Entry, want WantedReads, at ...any) (Reads, error) {
	wrong := func(kind string, place ...any) error {
		return ErrReads.At(fault.Field{Loc: slices.Concat(at, place), Type: kind})
	}
	r := Reads{Mode: cmp.Or(want.Mode, ReadsOff), Zone: strings.TrimSpace(want.Zone)}
	switch {
	case r.Mode != ReadsOff && s.IsAgent():
		return Reads{}, wrong("agent", "mode")
	case r.Mode == ReadsPreview && s.Kind != KindOpenAPI:
		return Reads{}, wrong("no_get", "mode")
	case len(r.Zone) > MaxZone:
		return Reads{}, wrong("long", "circle")
	case len(want.Tools) > 0 && s.Kind != KindMCP:
		return Reads{}, wrong("no_tools", "tools")
	}
	for i, name := range want.Tools {
		known := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
		if known < 0 {
			return Reads{}, wrong("unknown", "tools", i)
		}
		if entries[known].Hints.Writes() && !want.Although {
			return Reads{}, wrong("writes", "tools", i)
		}
		if r.Tools == nil {
			r.Tools = map[string]string{}
		}
		r.Tools[name] = entries[known].Fingerprint
	}
	return r, nil
}
