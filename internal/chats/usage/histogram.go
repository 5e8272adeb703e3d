package usage

import (
	"slices"
	"time"
)

// bounds are the inclusive upper bounds of the latency buckets. One more bucket holds longer
// latencies. A change of the bounds changes the meaning of stored days, because a bucket is
// stored by its number.
var bounds = []time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 15 * time.Second,
	30 * time.Second, 60 * time.Second,
}

// Bounds returns the upper bounds of the latency buckets, in order.
func Bounds() []time.Duration { return slices.Clone(bounds) }

// bucketOf returns the number of a latency's bucket.
func bucketOf(d time.Duration) int {
	i, _ := slices.BinarySearch(bounds, d)
	return i
}

// Histogram counts turns by latency.
type Histogram struct {
	Counts [15]int64 // by bucket, not cumulative; the last holds latencies above every bound
	Sum    time.Duration
}

// Count returns the number of turns.
func (h Histogram) Count() int64 {
	var n int64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Plus returns the sum of two histograms.
func (h Histogram) Plus(o Histogram) Histogram {
	for i, n := range o.Counts {
		h.Counts[i] += n
	}
	h.Sum += o.Sum
	return h
}

// Quantile estimates the latency below which a share q (0 to 1) of the turns lies. It
// interpolates linearly within a bucket, and returns the last bound for latencies above it. It
// returns false when there is no turn.
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
