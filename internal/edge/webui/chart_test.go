package webui

import (
	"fmt"
	"testing"

	"piloto/internal/models/credit"
)

func TestChartsShowTheRowsOldestFirst(t *testing.T) {
	row := func(name string, turns int, micros int64) usageRow {
		return usageRow{Name: name, Sum: credit.Sum{Turns: turns, Micros: micros}}
	}
	bars, costs := chartOf([]usageRow{row("new", 9, 3_000_000), row("mid", 1, 0), row("old", 1, 1)})
	if got := fmt.Sprint(bars, costs); got != "[{0 63 1 old} {20 64 0 mid} {40 4 60 new}] true" {
		t.Error(got)
	}
	if bars, costs = chartOf([]usageRow{row("b", 2, 0), row("a", 1, 0)}); costs || bars[0].Height != 30 || bars[1].Height != 60 {
		t.Error(bars, costs)
	}
	if bars, _ := chartOf([]usageRow{row("b", 0, 0), row("a", 0, 0)}); bars[0].Height != 0 {
		t.Error(bars)
	}
}
