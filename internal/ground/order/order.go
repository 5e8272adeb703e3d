// Package order sorts with one copy of the algorithm.
//
// slices.SortFunc and slices.SortStableFunc are compiled anew for each type of element, 6 to 20 KB each in an executable.
// A short list does not need that.
package order

import "sort"

// By sorts list by compare, which returns less than zero where a comes before b. Equal elements stay in their order.
func By[T any](list []T, compare func(a, b T) int) { sort.Stable(sorter[T]{list, compare}) }

type sorter[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s sorter[T]) Len() int           { return len(s.list) }
func (s sorter[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }
func (s sorter[T]) Swap(i, j int)      { s.list[i], s.list[j] = s.list[j], s.list[i] }
