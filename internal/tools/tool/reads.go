package tool

import (
	"context"
	"strings"

	"piloto/internal/ground/fault"
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

// Reads is what a person allowed to be read without a confirmation. Only a person can know that a call changes
// nothing, so no server declares it. The zero value allows nothing.
type Reads struct {
	Mode ReadMode
	// Circle joins services: what was read from one of them may go into the request of a read from another. Each
	// server is a circle of its own when it is "".
	Circle string
	// Tools are, of a server of KindMCP, the tools that a person named, with the fingerprints that they had. A tool
	// whose fingerprint changed is no longer named.
	Tools map[string]string
}

// MaxCircle is the greatest length of a circle's name, in bytes.
const MaxCircle = 64

// Previews reports whether reads may be made for the card of a plan.
func (s Server) Previews() bool { return s.Reads.Mode == ReadsPreview || s.Reads.Mode == ReadsOn }

// MayRead reports whether a turn may call an operation of the server without a confirmation.
func (s Server) MayRead(e Entry) bool {
	if s.Reads.Mode != ReadsOn || s.IsAgent() {
		return false
	}
	if e.Name != "" {
		print, named := s.Reads.Tools[e.Name]
		return named && print == e.Fingerprint
	}
	return e.Method == "GET" || e.Method == "HEAD"
}

// Circle is the name of the circle of a server. No server is in the circle of another by its id alone.
func (s Server) Circle() string {
	if s.Reads.Circle == "" {
		return "server:" + s.ID
	}
	return "circle:" + s.Reads.Circle
}

// SetReads sets what may be read from a server without a confirmation. The names are those of
// tools, for a server of KindMCP. It returns ErrReads for a setting that the server cannot have.
func (r Registry) SetReads(ctx context.Context, account, id string, mode ReadMode, circle string, names []string) (Server, error) {
	s, err := r.Store.Server(ctx, account, id)
	if err != nil {
		return Server{}, err
	}
	var entries []Entry
	if len(names) > 0 {
		if entries, err = r.Store.Entries(ctx, account, s); err != nil {
			return Server{}, err
		}
	}
	reads, err := readsOf(s, entries, mode, circle, names)
	if err != nil {
		return Server{}, err
	}
	return r.Store.SetServerReads(ctx, account, id, reads)
}

// readsOf checks a setting against a server and its operations, and gives the named tools their fingerprints.
func readsOf(s Server, entries []Entry, mode ReadMode, circle string, names []string) (Reads, error) {
	wrong := func(field, msg string) (Reads, error) {
		return Reads{}, ErrReads.At(fault.Field{Loc: []any{"body", field}, Type: "value", Msg: msg})
	}
	circle = strings.TrimSpace(circle)
	r := Reads{Mode: mode, Circle: circle}
	switch {
	case mode != ReadsOff && s.IsAgent():
		return wrong("mode", "an agent is not read: turns are delegated to it")
	case mode == ReadsPreview && s.Kind != KindOpenAPI:
		return wrong("mode", "a tool has no GET, so it cannot be read for a card: use on, and name the tools")
	case len(circle) > MaxCircle:
		return wrong("circle", "a name of at most 64 bytes")
	case len(names) > 0 && s.Kind != KindMCP:
		return wrong("tools", "only a server of tools has them: of this one every GET is read")
	}
	for _, name := range names {
		print := ""
		for _, e := range entries {
			if e.Name == name {
				print = e.Fingerprint
			}
		}
		if print == "" {
			return wrong("tools", "there is no tool "+name)
		}
		if r.Tools == nil {
			r.Tools = map[string]string{}
		}
		r.Tools[name] = print
	}
	return r, nil
}
