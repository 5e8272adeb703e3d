package openapi

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

var update = flag.Bool("update", false, "write the golden files")

func documents(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"testdata/*.json", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}

func TestParseGolden(t *testing.T) {
	for _, file := range documents(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found, err := parseAt(t.Context(), raw, "https://api.example.com/spec/openapi.json")
			if err != nil {
				t.Fatal(err)
			}
			got := describe(found)
			golden := file + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
			for _, op := range found.Operations {
				for _, s := range schemasOf(op) {
					checkCompiles(t, op, s)
				}
			}
		})
	}
}

func describe(f tool.Found) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s\n", f.Title, f.BaseURL)
	for _, k := range f.KeyPlaces {
		fmt.Fprintf(&b, "key %s %s\n", k.In, k.Name)
	}
	for _, op := range f.Operations {
		fmt.Fprintf(&b, "\n%s %s  %q %q\n", op.Method, op.Path, op.OperationID, op.Summary)
		if op.Refused != nil {
			fmt.Fprintf(&b, "  refused %s %s\n", op.Refused.Reason, op.Refused.What)
		}
		if op.Base != "" {
			fmt.Fprintf(&b, "  at %s\n", op.Base)
		}
		if op.Security != nil {
			fmt.Fprintf(&b, "  security %v\n", op.Security)
		}
		if len(op.Needs) > 0 {
			fmt.Fprintf(&b, "  needs %v\n", op.Needs)
		}
		for _, p := range op.Parameters {
			fmt.Fprintf(&b, "  %s %s required=%v style=%q explode=%v %s\n", p.In, p.Name, p.Required, p.Style, p.Explode, p.Schema)
		}
		if op.Body != nil {
			fmt.Fprintf(&b, "  body required=%v %s %s\n", op.Body.Required, op.Body.MediaType, op.Body.Schema)
			for _, name := range slices.Sorted(maps.Keys(op.Body.Encoding)) {
				e := op.Body.Encoding[name]
				fmt.Fprintf(&b, "    %s {Style:%s Explode:%v Media:%s}\n", name, e.Style, e.Explode, e.Media)
			}
			for _, other := range op.Others {
				fmt.Fprintf(&b, "    or %s %s\n", other.MediaType, other.Schema)
			}
		}
	}
	b.WriteByte('\n')
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "! %s\n", w)
	}
	return b.String()
}

// checkCompiles checks that a schema is valid JSON Schema 2020-12 and self-contained.
func checkCompiles(t rapid.TB, op tool.Operation, schema string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatalf("%s %s: %v in %s", op.Method, op.Path, err, schema)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(denyLoader{})
	if err := c.AddResource("schema:", doc); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("schema:"); err != nil {
		t.Errorf("%s %s: %v in %.300s", op.Method, op.Path, err, schema)
	}
}

type denyLoader struct{}

func (denyLoader) Load(url string) (any, error) { return nil, errors.New("would load " + url) }

func TestParseRefuses(t *testing.T) {
	cases := []struct {
		name, document string
		want           error
	}{
		{"nothing", "", tool.ErrNoDocument},
		{"HTML", "<!doctype html><html></html>", tool.ErrNoDocument},
		{"text", "hello", tool.ErrNoDocument},
		{"JSON of another kind", `{"detail":"Not Found"}`, tool.ErrNoDocument},
		{"a list", `[1,2]`, tool.ErrNoDocument},
		{"a manifest", "apiVersion: v1\nkind: Pod\n", tool.ErrNoDocument},
		{"broken JSON", `{"openapi":"3.0.0","paths":{`, tool.ErrDocument},
		{"broken YAML", "openapi: 3.0.0\npaths: {\n", tool.ErrDocument},
		{"Swagger 1.2", `{"swagger":"1.2","paths":{}}`, tool.ErrDocument},
		{"OpenAPI 4", `{"openapi":"4.0.0","paths":{}}`, tool.ErrDocument},
		{"paths is a list", `{"openapi":"3.0.0","paths":[]}`, tool.ErrDocument},
		{"not UTF-8", "{\"openapi\":\"3.0.0\",\"x\":\"\xff\"}", tool.ErrDocument},
		{"UTF-16", "\xff\xfe{\x00}\x00", tool.ErrNoDocument},
		{"an alias that holds itself", "openapi: 3.0.0\npaths: &a\n  /x: *a\n", tool.ErrDocument},
	}
	for _, c := range cases {
		if _, err := parseAt(t.Context(), []byte(c.document), "https://a.example/openapi.json"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func head(rest string) []byte { return []byte(`{"openapi":"3.0.0","info":{"title":"x"},` + rest + `}`) }

// bombs returns documents that cost more than their size suggests.
func bombs() map[string][]byte {
	alias := "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'k'; c++ {
		alias += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	comments := "openapi: 3.0.0\nx:\n" + strings.Repeat("  # c\n", 390_000) + "  a: [\n"
	keys := "openapi: 3.0.0\nx:\n" + strings.Repeat("  a: *a\n", 100_000)
	anchors := "openapi: 3.0.0\nx:\n" + strings.Repeat("  - &a b\n", 390_000) + "  - [\n"
	var paths strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&paths, `"/p%d":{"get":{"operationId":"o%d"}},`, i, i)
	}
	return map[string][]byte{
		"YAML aliases":         []byte(alias + "paths: {}\n"),
		"50 MB":                append(head(`"paths":{}`), bytes.Repeat([]byte(" x"), 25<<20)...),
		"nested lists":         head(`"paths":{},"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),
		"nested objects":       head(`"paths":{},"x":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)),
		"nested a little":      head(`"paths":{},"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)),
		"nested YAML flow":     []byte("openapi: 3.0.0\nx: " + strings.Repeat("[", 100_000)),
		"nested YAML sequence": []byte("openapi: 3.0.0\nx:\n  " + strings.Repeat("- ", 100_000) + "a\n"),
		"nested YAML mapping":  nestedMapping(2000),
		"YAML comments":        []byte(comments),
		"YAML unknown aliases": []byte(keys),
		"YAML anchors":         []byte(anchors),
		"YAML one long text":   []byte("openapi: 3.0.0\nx: \"" + strings.Repeat("\\u0041", 2<<20) + "\n"),
		"YAML folded text":     []byte("openapi: 3.0.0\nx: " + strings.Repeat("word ", 3<<20) + "\n: ]"),
		"empty lists":          head(`"paths":{},"x":[` + strings.Repeat("[],", 2_000_000) + `[]]`),
		"many numbers":         head(`"paths":{},"x":[` + strings.Repeat("1,", 3_000_000) + `1]`),
		"many YAML values":     []byte("openapi: 3.0.0\nx: [" + strings.Repeat("a,", 5_000_000) + "a]\n"),
		"100,000 paths":        head(`"paths":{` + strings.TrimSuffix(paths.String(), ",") + `}`),
	}
}

func nestedMapping(n int) []byte {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return []byte(b.String())
}

// measure runs f with a low memory limit. It returns the processor time of f, because other load on the machine
// must not count, and the peak of memory above the level before.
func measure(t *testing.T, f func()) (took time.Duration, peak uint64) {
	t.Helper()
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				if now.HeapAlloc > before.HeapAlloc {
					peak = max(peak, now.HeapAlloc-before.HeapAlloc)
				}
			}
		}
	}()
	start := usedTime(t)
	f()
	took = usedTime(t) - start
	close(stop)
	<-stopped
	return took, peak
}

func TestBombsAreRefusedWithinTimeAndMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	for name, document := range bombs() {
		var err error
		took, peak := measure(t, func() {
			_, err = parseAt(t.Context(), document, "https://a.example/openapi.json")
		})
		if !errors.Is(err, tool.ErrDocument) {
			t.Errorf("%s: %v, want ErrDocument", name, err)
		}
		if took > 2*time.Second*slow || peak > 128<<20 {
			t.Errorf("%s: took %v and %d MB (%v)", name, took, peak>>20, err)
		}
		t.Logf("%-22s %8v %4d MB  %v", name, took.Round(time.Millisecond), peak>>20, fault.Of(err).Args)
	}
}

// TestLargeSchemasAreOmitted: a document that is large or twisted only in its schemas is read, with warnings for
// the schemas that are not checked.
func TestLargeSchemasAreOmitted(t *testing.T) {
	ring := func(n int, form string) string { // n definitions, each built from the next two
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"s%d":`+form+`,`, i, (i+1)%n, (i+7)%n)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	body := `{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/s0"}}}}}}`
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `"/p%d":`+strings.Replace(body, "s0", "s%d", 1)+`,`, i, i)
	}
	var parameters strings.Builder
	for i := range 8 {
		fmt.Fprintf(&parameters, `{"name":"q%d","in":"query","schema":{"enum":["%s"]}},`, i, strings.Repeat("x", 60<<10))
	}
	documents := map[string][]byte{
		"many parameters": head(`"paths":{"/x":{"get":{"parameters":[` + strings.TrimSuffix(parameters.String(), ",") + `]}}}`),
		"cyclic allOf":    head(`"paths":{"/x":` + body + `},"components":{"schemas":{` + ring(8000, `{"allOf":[{"$ref":"#/components/schemas/s%d"},{"$ref":"#/components/schemas/s%d"}]}`) + `}}`),
		"large closure":   head(`"paths":{"/x":` + body + `},"components":{"schemas":{` + ring(8000, `{"type":"object","properties":{"a":{"$ref":"#/components/schemas/s%d"},"b":{"$ref":"#/components/schemas/s%d"}}}`) + `}}`),
		"many closures":   head(`"paths":{` + strings.TrimSuffix(many.String(), ",") + `},"components":{"schemas":{` + ring(3000, `{"type":"object","properties":{"a":{"$ref":"#/components/schemas/s%d"},"b":{"$ref":"#/components/schemas/s%d"}}}`) + `}}`),
		"1 MB enum":       head(`"paths":{"/x":` + body + `},"components":{"schemas":{"s0":{"enum":["` + strings.Repeat("x", 1<<20) + `"]}}}`),
		"ReDoS patterns":  head(`"paths":{"/x":` + body + `},"components":{"schemas":{"s0":{"type":"string","pattern":"^(?=(a+)+$)","allOf":[{"pattern":"(x{1000}){1000}"},{"pattern":"` + strings.Repeat("(a|", 5000) + `"}]}}}`),
	}
	for name, document := range documents {
		var found tool.Found
		var err error
		took, peak := measure(t, func() { found, err = parseAt(t.Context(), document, "https://a.example/openapi.json") })
		if err != nil || len(found.Operations) == 0 || len(found.Warnings) == 0 {
			t.Errorf("%s: %d operations, %d warnings, %v", name, len(found.Operations), len(found.Warnings), err)
			continue
		}
		if took > 2*time.Second*slow || peak > 128<<20 {
			t.Errorf("%s: took %v and %d MB", name, took, peak>>20)
		}
		total := 0
		for _, op := range found.Operations {
			size := 0
			for _, s := range schemasOf(op) {
				size += len(s)
			}
			if size > schemaSize+1000 {
				t.Errorf("%s: %d bytes of schemas for one operation", name, size)
			}
			total += size
		}
		checkCompiles(t, found.Operations[0], schemasOf(found.Operations[0])[0])
		t.Logf("%-15s %8v %4d MB, schemas %d KB, %.120q", name, took.Round(time.Millisecond), peak>>20, total>>10, found.Warnings[0])
	}
}

func TestParseStopsWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parseAt(ctx, head(`"paths":{}`), "https://a.example/openapi.json"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want cancelled", err)
	}
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	if _, err := parseAt(late, head(`"paths":{}`), "https://a.example/openapi.json"); !errors.Is(err, tool.ErrDocument) {
		t.Errorf("%v, want ErrDocument", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range documents(f) {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		found, err := parse(t.Context(), string(raw), "https://a.example/openapi.json", "https://a.example") // the test must see a panic here
		if err != nil {
			if k := fault.KindOf(err); k == fault.Internal {
				t.Fatalf("an error nobody classified: %v", err)
			}
			return
		}
		checkFound(t, found)
	})
}

// parseAt reads a document that was found at documentURL, as of a service on that origin.
func parseAt(ctx context.Context, document []byte, documentURL string) (tool.Found, error) {
	u, err := url.Parse(documentURL)
	if err != nil {
		return tool.Found{}, err
	}
	return parseWithin(ctx, string(document), documentURL, u.Scheme+"://"+u.Host)
}

// TestParametersKeepTheirDescriptions, which stand beside the schema in 3.x, unless the schema has its own.
func TestParametersKeepTheirDescriptions(t *testing.T) {
	raw := `{"openapi":"3.0.0","info":{"title":"x"},"paths":{"/x":{"get":{"parameters":[
		{"name":"a","in":"query","description":"Plazas","schema":{"type":"integer"}},{"name":"b","in":"query","description":"De fuera","schema":{"type":"string","description":"Propia"}},
		{"name":"c","in":"query","description":"Sin esquema"}],"responses":{}}}}}`
	found, err := parseWithin(t.Context(), raw, "https://a.example/openapi.json", "https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found.Operations[0].Parameters {
		got = append(got, string(p.Schema))
	}
	if want := `{"type":"integer","description":"Plazas"} {"type":"string","description":"Propia"} {}`; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}
