package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"piloto/infra/local/process"
)

// TestUnitsDoNotGrow holds the units of operations in a deployment that has grown. A turn reads at most the newest 60
// messages of its chat, and so it reads more in a chat that has as many.
func TestUnitsDoNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts twelve deployments")
	}
	type most struct{ reads, writes float64 }
	for name, grown := range map[string]struct {
		to    int
		limit map[string]most
	}{
		"messages of the chat": {100, map[string]most{"turn, text": {10, 9}, "turn, plan of 1": {12, 24}}},
		"chats":                {100, map[string]most{"turn, text": {4, 9}, "turn, plan of 1": {9, 27}, "list of 10 chats": {2, 0}}},
		"operations":           {300, map[string]most{"turn, text": {4, 9}, "turn, plan of 1": {9, 27}, "run of 5": {32, 78}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := growthNamed(t, name)
			for _, n := range []int{g.small, grown.to} {
				for _, row := range countedRows(t, g, n) {
					limit, used := grown.limit[row.Operation], row.Of[0]
					if used.Reads == 0 || used.Reads > limit.reads || used.Writes > limit.writes {
						t.Errorf("%s with %d %s: %.1f read and %.0f write units, at most %+v", row.Operation, n, name, used.Reads, used.Writes, limit)
					}
				}
			}
		})
	}
}

func growthNamed(t *testing.T, name string) growth {
	t.Helper()
	for _, g := range growths {
		if g.name == name {
			return g
		}
	}
	t.Fatalf("nothing called %q grows", name)
	return growth{}
}

// countedRows fills a deployment and counts what its operations use.
func countedRows(t *testing.T, g growth, n int) []growthRow {
	t.Helper()
	o := options{template: "../../template.yaml"}
	rows := make([]growthRow, len(g.operations))
	for i, op := range g.operations {
		rows[i] = growthRow{Name: g.name, Operation: op.of.name}
	}
	err := withSystem(t.Context(), func(sys *system) error {
		s := &side{sys: sys, n: n, folder: filepath.Join(t.TempDir(), fmt.Sprint(n))}
		if err := os.Mkdir(s.folder, 0o700); err != nil {
			return err
		}
		if g.parts != nil {
			g.parts(sys, n)
		}
		err := sys.deploy(s.folder, o.template, process.Unlimited(), false)
		if err != nil {
			return err
		}
		if s.sys.mcp, err = sys.register(); err != nil {
			return err
		}
		if g.fill != nil {
			if err := g.fill(sys, n); err != nil {
				return err
			}
		}
		if err := sys.undeploy(); err != nil {
			return err
		}
		return o.count(g, s, 0, rows)
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
