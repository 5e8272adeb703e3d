package registry

import (
	"testing"

	"piloto/internal/tools/tool"
)

// A service that is not read, or whose errors mean nothing, has a row that says nothing of it.
func TestRowsOfServersSayWhatIsReadAndWhatAnErrorMeans(t *testing.T) {
	for _, mode := range []tool.ReadMode{tool.ReadsOff, tool.ReadsPreview, tool.ReadsOn} {
		for _, errors := range []tool.Errors{"", tool.ErrorsRejected} {
			row := rowOfServer("a", tool.Server{Reads: tool.Reads{Mode: mode}, Errors: errors})
			if got := row.server(); got.Reads.Mode != mode || got.Errors != errors || (row.Reads == "") != (mode == tool.ReadsOff) {
				t.Errorf("%s, %q is written as %+v, and read as %+v", mode, errors, row, got)
			}
		}
	}
}
