package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// growthReport holds how operations grow. In each pair the first is small and the second grown.
type growthReport struct {
	Rows      []growthRow     `json:"operations"`
	Processes []growthProcess `json:"processes"`
	Took      float64         `json:"seconds"`
}

type growthRow struct {
	Name      string          `json:"grows"`
	Operation string          `json:"operation"`
	Small     int             `json:"small"`
	Grown     int             `json:"grown"`
	Moves     bool            `json:"moves,omitempty"`
	Of        [2]operationUse `json:"of"`
}

// operationUse is what one operation uses: medians of times, means of the rest, and the least units.
type operationUse struct {
	N         int     `json:"n"`
	P50       float64 `json:"p50_us"`
	CPU       float64 `json:"cpu_us"` // of the process of the deployment
	Allocated float64 `json:"allocated_bytes"`
	Written   float64 `json:"written_bytes"` // pages of files, as the system counts them
	Writes    float64 `json:"write_units"`
	Reads     float64 `json:"read_units"`
	Prompt    int     `json:"prompt_bytes"` // of the request to the model
}

// growthProcess is what the processes were like when they were filled.
type growthProcess struct {
	Name string    `json:"grows"`
	Of   [2]filled `json:"of"`
}

type filled struct {
	Ready    float64 `json:"ready_s"` // from the start of the process
	Took     float64 `json:"filled_s"`
	Resident int64   `json:"rss_bytes"`
	Peak     int64   `json:"peak_rss_bytes"`
}

func (r growthReport) json(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// verdict reports whether an operation is flat, in time and in CPU.
func (r growthRow) verdict() string {
	if r.Moves {
		return ""
	}
	flat := ratio(r.Of[1].P50, r.Of[0].P50) <= mostGrowth && ratio(r.Of[1].CPU, r.Of[0].CPU) <= mostGrowth
	return fmt.Sprintf("≤ %g×: %s", mostGrowth, aimText(flat))
}

func (r growthReport) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "what grows\t\toperation\tn\tms\t\t×\tCPU ms\t\t×\tKB allocated\t\t×\tKB written\t\tread units\t\twrite units\t\tprompt, B\t\taim\t")
	for _, l := range r.Rows {
		a, b := l.Of[0], l.Of[1]
		fmt.Fprintf(w, "%s\t%d → %d\t%s\t%d\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t%d\t%s\t\n",
			l.Name, l.Small, l.Grown, l.Operation, a.N, ms(a.P50), ms(b.P50), ratio(b.P50, a.P50), ms(a.CPU), ms(b.CPU), ratio(b.CPU, a.CPU),
			a.Allocated/1024, b.Allocated/1024, ratio(b.Allocated, a.Allocated), a.Written/1024, b.Written/1024,
			a.Reads, b.Reads, a.Writes, b.Writes, a.Prompt, b.Prompt, l.verdict())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "its process\tready, s\t\tfilled, s\t\tMB resident\t\tat most\t\taim\t")
	for _, p := range r.Processes {
		a, b := p.Of[0], p.Of[1]
		aim := ""
		if most := mostResident[p.Name]; most > 0 {
			aim = fmt.Sprintf("≤ %s MB: %s", megabytes(most), aimText(b.Resident <= most))
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%s\t\n", p.Name, a.Ready, b.Ready, a.Took, b.Took,
			megabytes(a.Resident), megabytes(b.Resident), megabytes(a.Peak), megabytes(b.Peak), aim)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%.0f s. Small and grown alternate; CPU, allocations and writes are those of the deployment's process.\n", r.Took)
	return err
}
