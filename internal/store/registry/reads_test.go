package registry

import (
	"testing"

	"piloto/internal/tools/tool"
)

// A row of an earlier version has only a switch for previews, or nothing.
func TestEarlierRowsOfServersSayWhatIsRead(t *testing.T) {
	for _, c := range []struct {
		row  serverRow
		want tool.ReadMode
	}{{serverRow{}, tool.ReadsOff}, {serverRow{Preview: true}, tool.ReadsPreview}, {serverRow{Reads: "on", Preview: true}, tool.ReadsOn}} {
		got := c.row.server()
		if got.Reads.Mode != c.want || got.Reads.Circle != "" || len(got.Reads.Tools) != 0 {
			t.Errorf("%+v is read as %+v", c.row, got.Reads)
		}
		if again := rowOfServer("a", got).server(); again.Reads.Mode != c.want {
			t.Errorf("%s is written and read as %s", c.want, again.Reads.Mode)
		}
	}
}

// A row of an earlier version says nothing of errors.
func TestRowsOfServersSayWhatAnErrorMeans(t *testing.T) {
	for _, c := range []struct {
		row  serverRow
		want tool.Errors
	}{{serverRow{}, ""}, {serverRow{Errors: "rejected"}, tool.ErrorsRejected}} {
		if got := rowOfServer("a", c.row.server()).server().Errors; got != c.want {
			t.Errorf("%+v is read, written and read as %q", c.row, got)
		}
	}
}
