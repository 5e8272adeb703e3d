package openapi

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/tools/tool"
)

// corpus names the environment variable with a folder of documents. Its MANIFEST.tsv (file, bytes, spec, paths,
// operations, …) holds the number of operations in each.
const corpus = "PILOTO_OPENAPI_CORPUS"

func TestParseFindsOperationsOfCorpus(t *testing.T) {
	folder := os.Getenv(corpus)
	if folder == "" {
		t.Skip(corpus + " is not set")
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		f := strings.Split(line, "\t")
		t.Run(f[0], func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(folder, f[0]))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			found, err := parseAt(context.Background(), raw, "https://api.example.com/openapi.json")
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			paths, compiled := map[string]bool{}, map[string]bool{}
			schemas, largest := 0, 0
			var refused []string
			for _, op := range found.Operations {
				paths[op.Path] = true
				if op.Refused != nil {
					refused = append(refused, fmt.Sprint(op, ": ", *op.Refused))
				}
				for _, s := range schemasOf(op) {
					schemas += len(s)
					largest = max(largest, len(s))
					if !compiled[s] {
						compiled[s] = true
						checkCompiles(t, op, s)
					}
				}
			}
			if got, want := len(found.Operations), atoi(t, f[4]); got != want {
				t.Errorf("%d operations, want %d", got, want)
			}
			if got, want := len(paths), atoi(t, f[3]); got != want {
				t.Errorf("%d paths, want %d", got, want)
			}
			t.Logf("%v, %d MB allocated, %d KB of schemas, largest %d KB, base %s, keys %v, %d warnings %.2q, %d refused %q", took,
				(after.TotalAlloc-before.TotalAlloc)>>20, schemas>>10, largest>>10, found.BaseURL, found.KeyPlaces, len(found.Warnings), found.Warnings, len(refused), refused)
		})
	}
}

func schemasOf(op tool.Operation) (list []string) {
	for _, p := range op.Parameters {
		list = append(list, string(p.Schema))
	}
	if op.Body != nil {
		list = append(list, string(op.Body.Schema))
	}
	return list
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkParse(b *testing.B) {
	folder := os.Getenv(corpus)
	if folder == "" {
		b.Skip(corpus + " is not set")
	}
	for _, name := range []string{"stripe-30.json", "kubernetes-20.json", "docker-engine-20.yaml", "figma-31.yaml"} {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := parseAt(b.Context(), raw, "https://api.example.com/openapi.json"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
