package openapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// expandingDocuments returns documents in which one part stands for very many. They are a few bytes long, or at most as large
// as is allowed. Each once took minutes of work, or gigabytes.
func expandingDocuments() map[string][]byte {
	list := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	post := func(schema string) string {
		return `"paths":{"/x":{"post":{"requestBody":{"content":{"application/json":{"schema":` + schema + `}}}}}}`
	}
	alias := "openapi: 3.0.0\npaths: {}\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'f'; c++ {
		alias += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	merged := "openapi: 3.0.0\npaths: {}\nm: &m {" + list(1000, "k%d: 1") + "}\nl:\n" + strings.Repeat("  - {<<: *m}\n", 900)
	mergedLists := "openapi: 3.0.0\npaths: {}\nm: &m {" + list(1000, "k%d: 1") + "}\nl: {<<: [" + strings.Repeat("*m,", 900) + "*m]}\n"
	long := "openapi: 3.0.0\npaths: {}\nt: &t \"" + strings.Repeat("x", 1<<20) + "\"\nl: [" + strings.Repeat("*t,", 100_000) + "*t]\n"
	keys := "openapi: 3.0.0\npaths: {}\n? &t \"" + strings.Repeat("x", 1<<20) + "\"\n: 1\nl:\n" + strings.Repeat("  - {*t : 1}\n", 50_000)
	item := `{"parameters":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/p"},`, 500), ",") + `],` + `"get":{},"put":{},"post":{},"delete":{},"options":{},"head":{},"patch":{},"trace":{}}`
	different := `{"parameters":[` + list(500, `{"name":"p%d","in":"query"}`) + `],"get":{},"put":{},"post":{},"delete":{},"options":{},"head":{},"patch":{},"trace":{}}`
	paths := `"paths":{` + list(1200, `"/p%d":{"$ref":"#/item"}`) + `}`
	prose := `{"get":{"description":"` + strings.Repeat("x", 2000) + `"},"put":{"$ref":"#/item/get","description":"` + strings.Repeat("x", 2000) + `"}}`
	equal := strings.Repeat("x", 3000)
	var chain strings.Builder
	chain.WriteString(`"s0":{}`)
	for i := range 120_000 {
		fmt.Fprintf(&chain, `,"s%d":{"$ref":"#/d/s%d"}`, i+1, i)
	}
	var closed strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&closed, `,{"additionalProperties":false,"properties":{%s}}`, strings.ReplaceAll(list(100, `"pX%d":{}`), "X", fmt.Sprint(i, "_")))
	}
	wide := `"d":{"w":{"additionalProperties":false,"properties":{` + list(10_000, `"p%d":{}`) + `}}},`
	deep := "#" + strings.Repeat("/a", 500_000)
	return map[string][]byte{
		"aliases of aliases":               []byte(alias),
		"merged aliases":                   []byte(merged),
		"merged lists of aliases":          []byte(mergedLists),
		"a long text by alias":             []byte(long),
		"a long name by alias":             []byte(keys),
		"one path item under many names":   head(`"p":{"name":"a","in":"query"},"item":` + item + `,` + paths),
		"many parameters under many names": head(`"item":` + different + `,` + paths),
		"prose under many names":           head(`"item":` + prose + `,"paths":{` + list(9000, `"/p%d":{"$ref":"#/item"}`) + `}`),
		"one name for many definitions":    head(`"d":{` + list(30_000, `"d%d":{"x":{}}`) + `},` + post(`{"allOf":[`+list(30_000, `{"$ref":"#/d/d%d/x"}`)+`]}`)),
		"values that begin alike":          head(post(`{"enum":[` + list(5000, `"`+equal+`%05d"`) + `]}`)),
		"names that begin alike":           head(post(`{"required":[` + list(1000, `"`+equal+`%05d"`) + `]}`)),
		"read-only, required often":        head(`"a":{"readOnly":true},` + post(`{"properties":{"x":{"$ref":"`+deep+`"}},"required":[`+strings.TrimSuffix(strings.Repeat(`"x",`, 2000), ",")+`]}`)),
		"a long reference, used often":     head(`"a":{"$ref":"` + deep + `"},"paths":{"/x":{"get":{"parameters":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/a"},`, 2000), ",") + `]}}}`),
		"a variable used often":            head(`"servers":[{"url":"/` + strings.Repeat("{v}", 100_000) + `","variables":{"v":{"default":"` + strings.Repeat("x", 100_000) + `"}}}],"paths":{}`),
		"closed parts, each of its own":    head(post(`{"allOf":[` + closed.String()[1:] + `]}`)),
		"a wide schema, often combined":    head(wide + post(`{"properties":{`+list(20_000, `"x%[1]d":{"allOf":[{"$ref":"#/d/w"},{"properties":{"y%[1]d":{}}}]}`)+`}}`)),
		"children of one parent":           head(`"components":{"schemas":{"a":{"discriminator":{"propertyName":"k"}},` + list(20_000, `"c%d":{"allOf":[{"$ref":"#/components/schemas/a"}]}`) + `}},` + post(`{"$ref":"#/components/schemas/a"}`)),
		"a chain of references":            head(`"d":{` + chain.String() + `},` + post(`{"$ref":"#/d/s120000"}`)),
		"as many ways to give a key":       head(`"components":{"securitySchemes":{` + list(100_000, `"k%[1]d":{"type":"apiKey","in":"query","name":"k%[1]d"}`) + `}},` + post(`{}`)),
		"patterns that count":              head(post(`{"allOf":[` + list(5000, `{"pattern":"%05d`+strings.Repeat("x{999}", 100)+`"}`) + `]}`)),
	}
}

// A document costs no more than its size allows: it is read or refused within seconds and a memory limit, and the
// error names the limit.
func TestExpandingDocumentsAreLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	for name, document := range expandingDocuments() {
		var err error
		var found tool.Found
		took, peak := measure(t, func() { found, err = parseAt(t.Context(), document, "https://a.example/openapi.json") })
		if err != nil && (!errors.Is(err, tool.ErrDocument) || strings.Contains(fault.Of(err).Error(), "too long")) {
			t.Errorf("%s: %v, want ErrDocument", name, err)
		}
		if took > 2*time.Second*slow || peak > 128<<20 {
			t.Errorf("%s: took %v and %d MB (%v)", name, took, peak>>20, err)
		}
		t.Logf("%-34s %7d bytes %8v %4d MB, %d operations, %d warnings, %v", name, len(document), took.Round(time.Millisecond), peak>>20, len(found.Operations), len(found.Warnings), err)
	}
}
