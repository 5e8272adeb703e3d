package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// The limits that the README promises for a function.
const (
	mostCold = 1.3        // times the floor's cold start
	mostSize = 15_000_000 // bytes of its executable
)

// coldReport is the result of a round of cold starts.
type coldReport struct {
	Starts    int       `json:"starts"` // of each function
	Functions []coldRow `json:"functions"`
}

// coldRow is one function beside the floor that was started alternately with it. Durations are medians, from the
// start of the process.
type coldRow struct {
	Function   string        `json:"function"`
	Size       int64         `json:"size_bytes"`
	Asks       time.Duration `json:"asks_ns"`
	AsksHello  time.Duration `json:"asks_hello_ns"`
	First      time.Duration `json:"first_response_ns"`
	FirstHello time.Duration `json:"first_response_hello_ns"`
	CPU        time.Duration `json:"cpu_ns"`       // of the whole process; a busy machine changes it less than the times
	CPUHello   time.Duration `json:"cpu_hello_ns"` // medians, too
	Peak       int64         `json:"peak_rss_bytes"`
	PeakHello  int64         `json:"peak_rss_hello_bytes"`
	Calls      int64         `json:"calls"` // to the engines, before the first response; hello makes one
	Ratio      float64       `json:"ratio"` // of first responses
	Met        bool          `json:"met"`
}

func newColdRow(name string, size int64, floor, own []start) coldRow {
	asks := func(s start) time.Duration { return s.asks }
	answers := func(s start) time.Duration { return s.answers }
	cpus := func(s start) time.Duration { return s.cpu }
	peaks := func(s start) int64 { return s.peak }
	calls := func(s start) int64 { return s.calls }
	r := coldRow{
		Function: name, Size: size, Asks: middle(own, asks), AsksHello: middle(floor, asks),
		First: middle(own, answers), FirstHello: middle(floor, answers), CPU: middle(own, cpus), CPUHello: middle(floor, cpus), Peak: middle(own, peaks), PeakHello: middle(floor, peaks), Calls: middle(own, calls),
	}
	r.Ratio = float64(r.First) / float64(max(r.FirstHello, 1))
	r.Met = r.Ratio <= mostCold && r.Size <= mostSize
	return r
}

// middle returns the median of one number of each start.
func middle[N int64 | time.Duration](list []start, of func(start) N) N {
	var all []N
	for _, s := range list {
		all = append(all, of(s))
	}
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}

func (r coldReport) table(out io.Writer) error {
	fmt.Fprintf(out, "Cold starts, medians of %d each, by turns with a hello-world function that has the same SDK clients.\n", r.Starts)
	fmt.Fprintf(out, "Aim: first response at most %.1f × hello's; no executable above %s.\n\n", mostCold, megabytes(mostSize))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "function\tMB\tasks ms\thello\t×\tanswers ms\thello\t×\tCPU ms\thello\t×\tcalls\tRSS MB\thello\t\t")
	for _, f := range r.Functions {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%d\t%s\t%s\t%s\t\n", f.Function, megabytes(f.Size),
			ms(micros(f.Asks)), ms(micros(f.AsksHello)), float64(f.Asks)/float64(max(f.AsksHello, 1)),
			ms(micros(f.First)), ms(micros(f.FirstHello)), f.Ratio,
			ms(micros(f.CPU)), ms(micros(f.CPUHello)), float64(f.CPU)/float64(max(f.CPUHello, 1)), f.Calls, megabytes(f.Peak), megabytes(f.PeakHello), aimText(f.Met))
	}
	return w.Flush()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }
