package store_test

import (
	"errors"
	"sync"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/tools/tool"
)

// catalogue is one revision with one operation.
func catalogue(w *fixture.World, summary string) tool.Catalogue {
	op := tool.Operation{Entry: tool.Entry{Method: "GET", Path: "/rooms", Summary: summary}}
	return tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{op}}
}

func TestRefreshAndDeletionOfAllowlistAreReadAtOnce(t *testing.T) {
	w := fixture.NewWorld(t)
	ctx, s := t.Context(), w.Server
	for _, summary := range []string{"one", "two", "three"} {
		c := catalogue(w, summary)
		if err := w.Store.Registry.ReplaceCatalogue(ctx, fixture.Account, s, s.Catalogue, c); err != nil {
			t.Fatal(err)
		}
		before := s
		var err error
		if s, err = w.Store.Registry.Server(ctx, fixture.Account, s.ID); err != nil {
			t.Fatal(err)
		}
		if s.Catalogue == before.Catalogue {
			t.Fatal("the revision stayed")
		}
		for range 2 { // read, and read again from memory
			entries, err := w.Store.Registry.Entries(ctx, fixture.Account, s)
			if err != nil || len(entries) != 1 || entries[0].Summary != summary {
				t.Fatalf("%+v, %v; want %s", entries, err, summary)
			}
			op, err := w.Store.Registry.Operation(ctx, fixture.Account, s, entries[0])
			if err != nil || op.Summary != summary {
				t.Fatalf("%+v, %v; want %s", op, err, summary)
			}
		}
		gone := tool.Entry{Method: "GET", Path: "/gone"}
		if _, err := w.Store.Registry.Operation(ctx, fixture.Account, s, gone); !errors.Is(err, tool.ErrNotAllowed) {
			t.Errorf("an operation that is not there: %v", err)
		}
	}
	if err := w.Store.Registry.DeleteServer(ctx, fixture.Account, s.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Registry.Server(ctx, fixture.Account, s.ID); !errors.Is(err, tool.ErrServerNotFound) {
		t.Errorf("a deleted server: %v", err)
	}
}

// TestAllowlistOfARevisionIsReadOnce counts: a turn neither reads nor copies a large allowlist again.
func TestAllowlistOfARevisionIsReadOnce(t *testing.T) {
	w := fixture.NewWorld(t)
	first, err := w.Store.Registry.Allowlist(t.Context(), fixture.Account, w.Server)
	if err != nil || len(first.Entries()) == 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := w.Store.Registry.Allowlist(t.Context(), fixture.Account, w.Server)
	if err != nil || again != first {
		t.Errorf("it was read again: %v", err)
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			entries, err := w.Store.Registry.Entries(t.Context(), fixture.Account, w.Server)
			if err != nil || &entries[0] != &first.Entries()[0] || cap(entries) != len(entries) {
				t.Errorf("%d entries, %v", len(entries), err)
			}
		})
	}
	readers.Wait()
}
