package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// TestServerIsAbsentUntilDiscoverySucceeds: it is looked for while it is active and has
// no allowlist, by one at a time.
func TestServerIsAbsentUntilDiscoverySucceeds(t *testing.T) {
	table := fixture.Table(t)
	newID := ids.NewSource(nil).New
	absent := func(at time.Time) []tool.Absent {
		t.Helper()
		rows, err := table.Registry.Absent(ctx, at, 10)
		if err != nil {
			t.Fatal(err)
		}
		var list []tool.Absent
		for _, r := range rows {
			list = append(list, r.Key)
		}
		return list
	}
	one := tool.Server{ID: newID(now), Name: "one", Kind: tool.KindOpenAPI, Active: true, Status: tool.Offline, CreatedAt: now, UpdatedAt: now}
	known := tool.Server{ID: newID(now), Name: "known", Kind: tool.KindOpenAPI, Active: true, Status: tool.Online, Catalogue: newID(now), CreatedAt: now, UpdatedAt: now}
	for _, s := range []tool.Server{one, known} {
		if err := table.Registry.CreateServer(ctx, "acme", s, tool.Catalogue{Revision: s.Catalogue}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if list := absent(now.Add(-time.Second)); len(list) != 0 {
		t.Errorf("before it was registered: %+v", list)
	}
	list := absent(now)
	if len(list) != 1 || list[0].Account != "acme" || list[0].ID != one.ID || list[0].Tries != 0 {
		t.Fatalf("%+v", list)
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := table.Registry.PutOffServer(ctx, list[0], now.Add(time.Minute))
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, tool.ErrServerMoved) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || len(absent(now)) != 0 {
		t.Errorf("%d look for it, and %+v are due", won.Load(), absent(now))
	}
	later := now.Add(time.Minute)
	if list := absent(later); len(list) != 1 || list[0].Tries != 1 {
		t.Errorf("a minute later: %+v", list)
	}
	for _, active := range []bool{false, true} {
		if s, err := table.Registry.SetServerActive(ctx, "acme", one.ID, active, later); err != nil || s.Active != active || (len(absent(later)) == 1) != active {
			t.Errorf("active %v: %+v %v, absent %+v", active, s, err, absent(later))
		}
	}
	seen := absent(later)[0]
	one.Status = tool.Online
	if err := table.Registry.ReplaceCatalogue(ctx, "acme", one, "", tool.Catalogue{Revision: newID(later)}); err != nil {
		t.Fatal(err)
	}
	if list := absent(later); len(list) != 0 {
		t.Errorf("once it is known: %+v", list)
	}
	if err := table.Registry.PutOffServer(ctx, seen, later); !errors.Is(err, tool.ErrServerMoved) {
		t.Errorf("whoever saw it before: %v", err)
	}
	for _, active := range []bool{false, true} {
		if _, err := table.Registry.SetServerActive(ctx, "acme", one.ID, active, later); err != nil || len(absent(later)) != 0 {
			t.Errorf("one that is known is switched, and looked for: %v %+v", err, absent(later))
		}
	}
}
