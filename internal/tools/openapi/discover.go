package openapi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/neterr"
	"piloto/internal/ground/origin"
	"piloto/internal/tools/tool"
)

// Limits of a discovery.
const (
	totalTime   = 60 * time.Second
	requestTime = 10 * time.Second
	maxPage     = 512 << 10 // bytes of an HTML page that may name the document
	maxTimeouts = 2         // after this number the service counts as unreachable
)

// usualPaths lists the usual paths of documents, the most usual first.
var usualPaths = []string{
	"/openapi.json", "/swagger.json", "/openapi.yaml", "/v3/api-docs", "/v2/api-docs", "/api/openapi.json",
	"/swagger/v1/swagger.json", "/api-docs", "/docs/openapi.json", "/api/swagger.json", "/swagger.yaml", "/openapi.yml",
	"/api/v3/openapi.json", "/api/v1/openapi.json", "/v1/openapi.json", "/api-docs.json", "/docs/swagger.json", "/.well-known/openapi.json",
}

// pages lists the usual paths of documentation pages; they link the document.
var pages = []string{"", "/docs", "/swagger-ui/index.html", "/redoc"}

// Discoverer finds a service's document. Client must be guarded and must follow no redirect. Each limits one
// request (default 10 s), Total a discovery (default 60 s).
type Discoverer struct {
	Client *http.Client
	Each   time.Duration
	Total  time.Duration
}

// Discover finds the document of the service at base: at its last known address, at base itself when that has the name
// of a document, at the usual paths below base and then below its origin, and at the addresses that an HTML page there
// links. When a person gave an address, only that address is read.
func (d Discoverer) Discover(ctx context.Context, t tool.Target) (tool.Found, error) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(d.Total, totalTime))
	defer cancel()
	found, err := d.find(within, t)
	if err != nil && ctx.Err() != nil { // the caller left: it proves nothing about the service
		return tool.Found{}, ctx.Err()
	}
	return found, err
}

func (d Discoverer) find(ctx context.Context, t tool.Target) (tool.Found, error) {
	u, err := url.Parse(t.Base)
	if err != nil || u.Host == "" {
		return tool.Found{}, tool.ErrURL.With("reason", "form")
	}
	q := search{client: d.Client, each: cmp.Or(d.Each, requestTime), base: t.Base, keys: t.Keys, origin: origin.Of(t.Base), why: tool.ErrNoDocument}
	if t.Given != "" {
		return q.readSaid(ctx, t.Given)
	}
	known := t.Known
	if isDocumentName(u.Path) {
		q.base = q.origin
		known = t.Base
	}
	for _, at := range q.candidates(known) {
		if found, done, err := q.try(ctx, at); done {
			return found, err
		}
	}
	for _, page := range pages {
		for _, at := range q.linkedFrom(ctx, strings.TrimSuffix(q.base, "/")+page) {
			if found, done, err := q.try(ctx, at); done {
				return found, err
			}
		}
	}
	return tool.Found{}, q.why
}

// readSaid reads the document at the address that a person gave. Relative servers in the document are below base,
// and the prefix of base is kept.
func (q *search) readSaid(ctx context.Context, at string) (tool.Found, error) {
	if !origin.Same(at, q.origin) {
		q.keys = nil // they belong to the service
	}
	q.origin, q.said = origin.Of(at), true
	raw, err := q.fetch(ctx, at, maxDocument)
	switch {
	case err != nil:
		q.noteFailure(ctx, err)
		return tool.Found{}, q.why
	case raw == "":
		return tool.Found{}, q.why
	}
	found, err := parseWithin(ctx, raw, q.base, q.base, at)
	if err != nil {
		return tool.Found{}, err
	}
	found.DocumentURL = at
	if u, err := url.Parse(q.base); err == nil && u.Path != "" {
		found.BaseURL = q.base
	}
	return found, nil
}

func isDocumentName(p string) bool {
	switch path.Ext(p) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return strings.HasSuffix(p, "/api-docs")
}

// search is one search for a document.
type search struct {
	client       *http.Client
	each         time.Duration
	base, origin string
	keys         tool.Keys
	tried        []string
	timeouts     int
	answered     bool
	said         bool         // a person said where the document is
	why          *fault.Error // the most useful reason so far why nothing was found
}

func (q *search) candidates(known string) []string {
	var list []string
	add := func(at string) {
		if at != "" && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	if known != "" && origin.Same(known, q.origin) {
		add(known)
	}
	for _, p := range usualPaths {
		add(q.base + p)
	}
	if q.base != q.origin {
		for _, p := range usualPaths[:8] {
			add(q.origin + p)
		}
	}
	return list
}

// try reads one address. done means that the search ends.
func (q *search) try(ctx context.Context, at string) (found tool.Found, done bool, err error) {
	if slices.Contains(q.tried, at) || !origin.Same(at, q.origin) {
		return tool.Found{}, false, nil
	}
	q.tried = append(q.tried, at)
	raw, err := q.fetch(ctx, at, maxDocument)
	if err != nil {
		done := q.noteFailure(ctx, err)
		return tool.Found{}, done, q.why
	}
	if raw == "" {
		return tool.Found{}, false, nil
	}
	found, err = parseWithin(ctx, raw, at, q.base)
	var f *fault.Error
	switch {
	case err == nil:
		return found, true, nil
	case errors.As(err, &f) && errors.Is(f, tool.ErrDocument):
		q.why = f.With("at", at)
	case ctx.Err() != nil:
		return tool.Found{}, true, ctx.Err()
	}
	return tool.Found{}, false, nil
}

// noteFailure records why an address could not be reached, and reports whether the search must end, because all
// addresses are on one host.
func (q *search) noteFailure(ctx context.Context, err error) bool {
	var f *fault.Error
	switch {
	case errors.Is(err, tool.ErrDocument) && errors.As(err, &f):
		q.why = f
		return false
	case errors.Is(err, tool.ErrTarget):
		q.why = tool.ErrTarget.Because(err)
		return true
	case !q.answered:
		q.why = tool.ErrUnreachable.With("reason", neterr.Reason(err)).Because(withoutURL(err))
	}
	if isTimeout(err) {
		q.timeouts++
		return q.timeouts >= maxTimeouts || ctx.Err() != nil
	}
	return !q.answered
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// withoutURL removes the URL that net/http puts before an error.
func withoutURL(err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return inURL.Err
	}
	return err
}

// fetch returns the body at an address, and "" for any status but 2xx. One that may pass counts as unreachable for now.
func (q *search) fetch(ctx context.Context, at string, most int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, q.each)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", tool.UserAgent)
	res, err := q.send(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if meaning.Passes(res.StatusCode, false) {
		if !q.answered && errors.Is(q.why, tool.ErrNoDocument) {
			q.why = tool.ErrUnreachable.With("reason", "status").With("status", strconv.Itoa(res.StatusCode))
		}
		return "", nil
	}
	if !q.answered && errors.Is(q.why, tool.ErrUnreachable) {
		q.why = tool.ErrNoDocument
	}
	q.answered = true
	if to, err := res.Location(); err == nil && !origin.Same(to.String(), q.origin) && errors.Is(q.why, tool.ErrNoDocument) {
		q.why = tool.ErrNoDocument.With("reason", "redirect").With("redirect", origin.Of(to.String())) // reported, never followed
	}
	if meaning.WantsKey(res.StatusCode) && errors.Is(q.why, tool.ErrNoDocument) {
		q.why = tool.ErrNoDocument.With("reason", "locked").With("at", at).With("status", strconv.Itoa(res.StatusCode)) // above the address
		if below := strings.TrimSuffix(q.base, "/") + "/"; q.said || at == q.base || strings.HasPrefix(at, below) {
			q.why = tool.ErrUnauthorized.With("reason", "document").With("at", at).With("status", strconv.Itoa(res.StatusCode))
		}
	}
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		return "", nil
	}
	return readText(res.Body, most, at)
}

// readText returns the body of an answer. Pieces are joined once: a text that grows is copied again and again.
func readText(body io.Reader, most int64, at string) (string, error) {
	body = io.LimitReader(body, most+1)
	var pieces [][]byte
	whole := 0
	for size, more := 32<<10, true; more; size = min(2*size, 1<<20) {
		piece := make([]byte, 0, size)
		for more && len(piece) < size {
			n, err := body.Read(piece[len(piece):size])
			piece = piece[:len(piece)+n]
			if more = err == nil; err != nil && !errors.Is(err, io.EOF) {
				return "", err
			}
		}
		pieces, whole = append(pieces, piece), whole+len(piece)
	}
	if int64(whole) > most {
		return "", documentError("more than %d bytes", most).With("at", at)
	}
	var text strings.Builder
	text.Grow(whole)
	for _, piece := range pieces {
		text.Write(piece)
	}
	return text.String(), nil
}

// links matches the address of the document in an HTML page: url: "…" of Swagger UI and FastAPI, spec-url="…" of
// ReDoc, data-url="…" of Scalar.
var links = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\burl['"]?\s*:\s*|spec-?url\s*=\s*|data-url\s*=\s*)["']([^"'<>\s]{1,500})["']`)
})

// linkedFrom returns the addresses, on the same origin, that a page links.
func (q *search) linkedFrom(ctx context.Context, page string) []string {
	raw, err := q.fetch(ctx, page, maxPage)
	if err != nil || len(raw) == 0 {
		return nil
	}
	at, err := url.Parse(page)
	if err != nil {
		return nil
	}
	var list []string
	for _, m := range links().FindAllStringSubmatch(raw, 5) {
		if u, err := at.Parse(m[1]); err == nil && u.User == nil && origin.Same(u.String(), q.origin) {
			u.Fragment = ""
			list = append(list, u.String())
		}
	}
	return list
}
