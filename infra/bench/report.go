package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"
)

// report holds all measurements. Times are in microseconds; ratios compare the system with the floor.
type report struct {
	Machine machine      `json:"machine"`
	Latency []latency    `json:"latency"`
	Load    []throughput `json:"throughput"`
	Looks   []looked     `json:"looks,omitempty"`
	Took    float64      `json:"seconds"`
}

type machine struct {
	CPUs  int     `json:"cpus"`
	Go    string  `json:"go"`
	Write float64 `json:"write_us"` // median of one write of 1 KiB with its fdatasync
	Post  float64 `json:"post_us"`  // median of one POST over loopback
}

type latency struct {
	Name        string  `json:"name"`
	Operations  int     `json:"operations"`
	P50         float64 `json:"p50_us"`
	P95         float64 `json:"p95_us"`
	FloorP50    float64 `json:"floor_p50_us"`
	FloorP95    float64 `json:"floor_p95_us"`
	EqualP50    float64 `json:"equal_p50_us"`
	Commits     float64 `json:"commits"`
	FloorWrites int     `json:"floor_writes"`
	Ratio       float64 `json:"ratio"`
	RatioEqual  float64 `json:"ratio_equal"`
	Aim         float64 `json:"aim,omitempty"` // at most
}

type throughput struct {
	Name       string  `json:"name"`
	Clients    int     `json:"clients"`
	Operations int     `json:"operations"`
	Rate       float64 `json:"per_second"`
	FloorRate  float64 `json:"floor_per_second"`
	ApartRate  float64 `json:"apart_per_second"`
	CPU        float64 `json:"cpu_us"` // of the whole process, for each operation
	FloorCPU   float64 `json:"floor_cpu_us"`
	Ratio      float64 `json:"ratio"`
	RatioApart float64 `json:"ratio_apart"`
	Aim        float64 `json:"aim,omitempty"` // at least
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// ratio returns 0 when there is nothing to compare with.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func newMachine(write, post time.Duration) machine {
	return machine{runtime.NumCPU(), runtime.Version(), micros(write), micros(post)}
}

// aimText returns a word that reports whether an aim is met.
func aimText(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

func (l latency) verdict() string {
	if l.Aim == 0 || l.Ratio == 0 {
		return ""
	}
	return fmt.Sprintf("≤ %g×: %s", l.Aim, aimText(l.Ratio <= l.Aim))
}

func (t throughput) verdict() string {
	if t.Aim == 0 || t.Ratio == 0 {
		return ""
	}
	return fmt.Sprintf("≥ %g×: %s", t.Aim, aimText(t.Ratio >= t.Aim))
}

func (r report) json(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r report) table(out io.Writer) error {
	fmt.Fprintf(out, "%d CPUs, %s; here one write of 1 KiB with fdatasync takes %s, one loopback POST %s\n\n",
		r.Machine.CPUs, r.Machine.Go, ms(r.Machine.Write), ms(r.Machine.Post))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "one client, ms\tn\tp50\tp95\tfloor p50\tp95\tequal p50\twrites\tfloor\tp50 / floor\t/ equal\taim\t")
	for _, l := range r.Latency {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%.3g\t%d\t%.2f\t%.2f\t%s\t\n", l.Name, l.Operations, ms(l.P50), ms(l.P95),
			ms(l.FloorP50), ms(l.FloorP95), ms(l.EqualP50), l.Commits, l.FloorWrites, l.Ratio, l.RatioEqual, l.verdict())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "per second\tclients\tn\tsystem\tfloor\tapart\tCPU ms\tfloor\t/ floor\t/ apart\taim\t")
	for _, t := range r.Load {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%s\t%s\t%.3f\t%.3f\t%s\t\n", t.Name, t.Clients, t.Operations, t.Rate,
			t.FloorRate, t.ApartRate, ms(t.CPU), ms(t.FloorCPU), t.Ratio, t.RatioApart, t.verdict())
	}
	if err := errors.Join(w.Flush(), r.lookTable(out)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%.0f s. floor: the same POSTs and the writes that must follow one another; equal: as many writes as the system makes;\n"+
		"apart: the floor, with an fdatasync for each write instead of one for all that wait.\n", r.Took)
	return err
}

func ms(us float64) string { return fmt.Sprintf("%.2f", us/1000) }
