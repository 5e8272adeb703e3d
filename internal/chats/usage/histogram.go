package usage

import (
	"slices"
	"time"
)

// bounds are the upper ends of the buckets of latencies, each included. What
// took longer is in one more. Changing them changes what stored days mean: a
// bucket is stored by its number.
var bounds = []time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, 60 * time.Second,
}

// Bounds returns the upper ends of the buckets of latencies, in order.
func Bounds() []time.Duration { return slices.Clone(bounds) }

// bucketOf is the number of the bucket that a latency falls into.
func bucketOf(d time.Duration) int {
	i, _ := slices.BinarySearch(bounds, d)
	return i
}

// Histogram is how long turns took.
type Histogram struct {
	Counts [15]int64 // by bucket, not added up; the last is what took longer than every bound
	Sum    time.Duration
}

// Count is how many there are.
func (h Histogram) Count() int64 {
	var n int64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Plus returns both together.
func (h Histogram) Plus(o Histogram) Histogram {
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.Sum += o.Sum
	return h
}

// Quantile estimates below which latency a share q (0 to 1) of the turns lies: it
// takes those of one bucket to lie evenly in it. What is above the last bound is
// told as the last bound. Without any turn there is no answer.
func (h Histogram) Quantile(q float64) (time.Duration, bool) {
	total := h.Count()
	if total == 0 {
		return 0, false
	}
	rank := min(max(q, 0), 1) * float64(total)
	below := 0.0
	for i, n := range h.Counts {
		if below+float64(n) < rank || n == 0 {
			below += float64(n)
			continue
		}
		if i == len(bounds) {
			break
		}
		from := time.Duration(0)
		if i > 0 {
			from = bounds[i-1]
		}
		share := (rank - below) / float64(n)
		return from + time.Duration(share*float64(bounds[i]-from)), true
	}
	return bounds[len(bounds)-1], true
}
