package openapi

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	cut "piloto/internal/ground/clip"
)

// version is the specification that a document follows.
type version int

const (
	swagger2 version = iota
	openapi30
	openapi31
)

// maxWarnings limits the warnings about one document; the rest is counted.
const maxWarnings = 100

// document is a parsed document, with the warnings about it.
type document struct {
	ctx        context.Context
	root       *node
	version    version
	warnings   []string
	reported   map[string]bool
	unreported int
	addresses  []*url.URL       // its own
	found      map[string]*node // the targets of references
	named      named
	visited    int // see maxFamily
	families   map[*node]family
	children   map[*node][]string // references to the schemas that extend one; nil: not read yet
	broken     map[*node]string   // see brokenIn
}

func newDocument(ctx context.Context, root *node) (*document, error) {
	d := &document{ctx: ctx, root: root, reported: map[string]bool{}, found: map[string]*node{}, families: map[*node]family{}, broken: map[*node]string{}}
	if v := root.get("swagger").scalar(); v != "" {
		if v != "2.0" && v != "2" {
			return nil, documentError("Swagger %s is not supported", clip(v, 20))
		}
		d.version = swagger2
		return d, nil
	}
	switch v := root.get("openapi").scalar(); {
	case strings.HasPrefix(v, "3.0"):
		d.version = openapi30
	case strings.HasPrefix(v, "3.1"):
		d.version = openapi31
	case strings.HasPrefix(v, "3."):
		d.version = openapi31
		d.warn("OpenAPI %s is read as 3.1", clip(v, 20))
	default:
		return nil, documentError("OpenAPI %s is not supported", clip(v, 20))
	}
	return d, nil
}

// warn records a warning for the person who registers the service, once.
func (d *document) warn(format string, args ...any) {
	s := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	switch {
	case d.reported[s]:
	case len(d.warnings) >= maxWarnings:
		d.unreported++
	default:
		d.reported[s] = true
		d.warnings = append(d.warnings, s)
	}
}

func (d *document) allWarnings() []string {
	if d.unreported > 0 {
		return append(d.warnings, fmt.Sprintf("and %d more", d.unreported))
	}
	return d.warnings
}

// resolve follows an object's $ref, and the $ref found there, as long as they stay in the document. It returns nil, and the
// reference that cannot be followed, when a target is outside the document or missing, or when references form a cycle.
func (d *document) resolve(n *node) (target *node, broken string) {
	for range 32 {
		r := n.get("$ref")
		if r == nil || r.kind == null {
			return n, ""
		}
		broken = cmp.Or(clip(r.scalar(), 150), "$ref")
		if n = d.at(r.str()); n == nil {
			break
		}
	}
	return nil, broken
}

func clip(s string, most int) string { return cut.Bytes(strings.ToValidUTF8(s, ""), most) }

func clipLine(s string, most int) string { return clip(cut.Line(s), most) }
