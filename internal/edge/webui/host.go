package webui

import (
	"piloto/internal/ground/render"
	"piloto/internal/ground/visible"
)

// target is the visible target of a request.
type target struct {
	Origin render.HTML // scheme, host in punycode, port
	Also   render.HTML // the host in its own letters, when they cannot mislead
	Prefix string      // path of the base URL, if any
	Marked bool
}

// targetOf parses a server's base URL. The host is shown as it is resolved: an international one in punycode, and
// in its own letters only when they are all of one alphabet.
func targetOf(base string) target {
	a, ok := visible.AddressOf(base)
	if !ok {
		return target{Origin: display(base)}
	}
	t := target{Origin: display(a.Origin), Prefix: a.Prefix, Marked: a.Marked}
	if a.Own != "" {
		t.Also = display(a.Own)
	}
	return t
}
