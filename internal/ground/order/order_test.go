package order_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/ground/order"
)

// TestByIsSlicesSortStableFunc compares with the library, also in the order of equal elements.
func TestByIsSlicesSortStableFunc(t *testing.T) {
	type pair struct{ Key, Place int }
	rapid.Check(t, func(t *rapid.T) {
		var list []pair
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "keys") {
			list = append(list, pair{key, i})
		}
		byKey := func(a, b pair) int { return a.Key - b.Key }
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		if order.By(list, byKey); !slices.Equal(list, want) {
			t.Fatalf("%v, want %v", list, want)
		}
	})
}
