package bucket_test

import (
	"errors"
	engine "localaws/s3"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
)

func TestObjectsAreKeptUnderTheirKeys(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	o := bucket.Objects{Client: client(serve(t, engine.WithClock(clock))), Name: name, Now: clock}
	keys := []string{"changes/a/c/x/content/1", "changes/a/p/a%2Fb/set/2", "changes/a/p/a+b/set/3"}
	for _, key := range keys {
		if err := o.Put(t.Context(), key, []byte("of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Put(t.Context(), keys[0], []byte("again")); err != nil {
		t.Fatal(err)
	}
	if content, err := o.Get(t.Context(), keys[0]); err != nil || string(content) != "of "+keys[0] {
		t.Errorf("%q, %v: an object that is there stays", content, err)
	}
	now = now.Add(25 * time.Hour)
	if err := o.Put(t.Context(), keys[0], []byte("again")); err != nil {
		t.Fatal(err)
	}
	if content, err := o.Get(t.Context(), keys[0]); err != nil || string(content) != "again" {
		t.Errorf("%q, %v: an old object is written again", content, err)
	}
	if found, err := o.List(t.Context(), "changes/a/p/"); err != nil || !slices.Equal(found, keys[1:]) {
		t.Errorf("%q, %v", found, err)
	}
	for range 2 {
		if err := o.Delete(t.Context(), keys[1]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Get(t.Context(), keys[1]); !errors.Is(err, workspace.ErrNotFound) {
		t.Error(err)
	}
	large := []byte(strings.Repeat("x", workspace.MaxFileBytes))
	if err := o.Put(t.Context(), "large", large); err != nil {
		t.Fatal(err)
	}
	if content, err := o.Get(t.Context(), "large"); err != nil || len(content) != len(large) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}
