// Package openapi finds and reads OpenAPI documents from any author: Swagger 2.0, OpenAPI 3.0 and 3.1, in JSON and
// YAML.
//
// These invariants hold. No reference of a document is ever fetched. The work and memory for a document are limited
// before it is processed. Calls go to the registered origin only: an operation that the document sends to another one is
// refused. A part that a call cannot send is never left out silently: the operation that requires it is refused.
//
// A document takes three forms. The tree is the whole document, compact and counted (readJSON, readYAML). The
// skeleton lists the operations, with every reference followed. The bundle turns their schemas into self-contained
// JSON Schema 2020-12. A broken part of a document causes a warning; the rest is used.
package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"piloto/internal/tools/tool"
)

// parseTime limits the time for reading one document.
const parseTime = 20 * time.Second

// parseWithin reads a document that was found at documentURL, in its own goroutine. at is its address where relative servers are not
// below it. It returns ErrNoDocument for a text that is no OpenAPI document, and ErrDocument, with Args["reason"], for a document that
// cannot be used. When the context ends, the goroutine is left to end by itself: it checks the context often, and its work is limited.
func parseWithin(ctx context.Context, document, documentURL, registered string, at ...string) (tool.Found, error) {
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
			if r := recover(); r != nil { // a parser panicked on a foreign document: this refuses one document, and the process goes on
				o = outcome{err: documentError("it cannot be read").Because(fmt.Errorf("panic: %v", r))}
			}
			done <- o
		}()
		o.found, o.err = parse(ctx, document, documentURL, registered, at...)
	}()
	select {
	case o := <-done:
		if ctx.Err() == nil {
			return o.found, o.err
		}
	case <-ctx.Done():
	}
	if errors.Is(caller.Err(), context.Canceled) { // the caller left: it proves nothing about the document
		return tool.Found{}, caller.Err()
	}
	return tool.Found{}, documentError("it takes too long to read").Because(ctx.Err())
}

func parse(ctx context.Context, raw, documentURL, registered string, at ...string) (tool.Found, error) {
	b := &builder{ctx: ctx, left: maxNodes}
	root, err := read(b, raw)
	if err != nil {
		return tool.Found{}, err
	}
	d, err := newDocument(ctx, root)
	if err != nil {
		return tool.Found{}, err
	}
	if len(at) == 0 {
		at = []string{documentURL}
	}
	d.knownAt(at...)
	if b.duplicates > 0 {
		d.warn("%d members are there twice in one object: the last of each counts", b.duplicates)
	}
	s := newSkeleton(d)
	if err := s.build(); err != nil {
		return tool.Found{}, err
	}
	return s.extract(documentURL, registered)
}

// read builds the tree of a document, in JSON or YAML.
func read(b *builder, raw string) (*node, error) {
	raw = strings.TrimSpace(strings.TrimPrefix(raw, "\xef\xbb\xbf"))
	if len(raw) > maxDocument {
		return nil, documentError("more than %d bytes", maxDocument)
	}
	if len(raw) == 0 || raw[0] == '<' {
		return nil, tool.ErrNoDocument
	}
	var root *node
	var err error
	if json.Valid([]byte(raw)) {
		root, err = readJSON(b, raw)
	} else {
		root, err = readYAML(b, []byte(raw))
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

// claims reports whether an unreadable text was meant to be a document: it says so near its beginning, or it is
// very large.
func claims(raw string) bool {
	head := raw[:min(len(raw), 4096)]
	return len(raw) > 1<<20 || strings.Contains(head, "openapi") || strings.Contains(head, "swagger")
}
