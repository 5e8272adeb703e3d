// Package openapi finds and reads OpenAPI documents: Swagger 2.0, OpenAPI 3.0 and
// 3.1, JSON and YAML, written by anybody.
//
// What stays true: nothing a document says is ever fetched; the work and memory
// it costs are bounded before anything is made of it; and calls go to the origin
// that was registered, whatever servers the document names.
//
// A document goes through three forms. The tree is all of it, compact and
// counted (readJSON, readYAML). The skeleton is what decides which calls there
// are, with every reference followed and every schema replaced by a number; it is
// small and well formed, and kin-openapi loads it. The bundle turns the schemas
// of the tree into self-contained JSON Schema 2020-12. One broken corner of a
// document costs a warning, not the document.
package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"piloto/internal/tools/tool"
)

// parseTime is how long reading one document may take.
const parseTime = 20 * time.Second

// Parse reads a document that was found at documentURL. It returns ErrNoDocument
// for what is not an OpenAPI document and ErrDocument, with Args["reason"], for
// one that cannot be used. The service is taken to be on documentURL's origin.
func Parse(ctx context.Context, document []byte, documentURL string) (tool.Found, error) {
	u, err := url.Parse(documentURL)
	if err != nil || u.Host == "" {
		return tool.Found{}, tool.ErrURL.With("reason", "form")
	}
	return parseWithin(ctx, document, documentURL, u.Scheme+"://"+u.Host)
}

// parseWithin reads a document in a goroutine that is left behind when the
// context ends: it notices soon after, and what it costs until then is bounded.
func parseWithin(ctx context.Context, document []byte, documentURL, registered string) (tool.Found, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, parseTime)
	defer cancel()
	type outcome struct {
		found tool.Found
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil { // in a parser, from what a stranger wrote: one document's end, not the process's
				o = outcome{err: refused("it cannot be read").Because(fmt.Errorf("panic: %v", r))}
			}
			done <- o
		}()
		o.found, o.err = parse(ctx, document, documentURL, registered)
	}()
	select {
	case o := <-done:
		if ctx.Err() == nil {
			return o.found, o.err
		}
	case <-ctx.Done():
	}
	if errors.Is(caller.Err(), context.Canceled) { // nobody waits: that says nothing about the document
		return tool.Found{}, caller.Err()
	}
	return tool.Found{}, refused("it takes too long to read").Because(ctx.Err())
}

func parse(ctx context.Context, raw []byte, documentURL, registered string) (tool.Found, error) {
	b := &builder{ctx: ctx, left: maxNodes}
	root, err := read(b, raw)
	if err != nil {
		return tool.Found{}, err
	}
	d, err := newDocument(ctx, root)
	if err != nil {
		return tool.Found{}, err
	}
	if b.duplicates > 0 {
		d.warn("%d members are there twice in one object: the last of each counts", b.duplicates)
	}
	s := &skeleton{document: d}
	if err := s.build(); err != nil {
		return tool.Found{}, err
	}
	return s.extract(documentURL, registered)
}

// read makes the tree of a document, in JSON or YAML.
func read(b *builder, raw []byte) (*node, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) > maxDocument {
		return nil, refused("more than %d bytes", maxDocument)
	}
	if len(raw) == 0 || raw[0] == '<' {
		return nil, tool.ErrNoDocument
	}
	var root *node
	var err error
	if json.Valid(raw) {
		root, err = readJSON(b, raw)
	} else {
		root, err = readYAML(b, raw)
	}
	switch {
	case err != nil && !claims(raw):
		return nil, tool.ErrNoDocument.Because(err)
	case err != nil:
		return nil, err
	case root.get("openapi").scalar() == "" && root.get("swagger").scalar() == "":
		return nil, tool.ErrNoDocument
	}
	return root, nil
}

// claims reports whether something unreadable was meant to be a document: it says
// so near its beginning, or it is too much to be anything else.
func claims(raw []byte) bool {
	head := raw[:min(len(raw), 4096)]
	return len(raw) > 1<<20 || bytes.Contains(head, []byte("openapi")) || bytes.Contains(head, []byte("swagger"))
}
