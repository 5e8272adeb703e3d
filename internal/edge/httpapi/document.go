package httpapi

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
)

// document is the OpenAPI 3.1 document of every route of this package, and docsPage the same as a page. Both are
// generated files, which a test compares with the code: generating them at run time would link the code of all
// functions into each one.
//
//go:embed openapi.json
var document []byte

//go:embed docs.html
var docsPage []byte

// Document returns the OpenAPI 3.1 document of every route of this package.
func Document() []byte { return document }

// page is a response that is not JSON.
type page struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

func (a *api) documents() {
	register(a, operation{
		method: http.MethodGet, path: "/openapi.json", id: "openapi", access: withChat, summary: "This document",
	}, func(context.Context, *nothing) (*page, error) {
		return &page{ContentType: "application/openapi+json", Policy: "default-src 'none'", Body: document}, nil
	})
	register(a, operation{
		method: http.MethodGet, path: "/docs", id: "docs", access: withChat, page: true, summary: "This document, to be read",
	}, func(context.Context, *nothing) (*page, error) {
		return &page{ContentType: "text/html; charset=utf-8", Policy: docsPolicy(), Body: docsPage}, nil
	})
}

//go:embed docs.css
var docsStyle string

// docsPolicy allows the page its own style and nothing else, in particular no script.
func docsPolicy() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
