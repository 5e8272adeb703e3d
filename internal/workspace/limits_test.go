package workspace_test

import (
	"errors"
	"testing"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
)

func TestLimitsRefuseWhatIsOverThem(t *testing.T) {
	own := workspace.Limits{Files: 3, Bytes: 5 << 20}
	for _, c := range []struct {
		limits workspace.Limits
		files  int
		bytes  int64
		full   bool
	}{
		{workspace.Limits{}, workspace.MaxFiles, workspace.MaxBytes, false},
		{workspace.Limits{}, workspace.MaxFiles + 1, 0, true},
		{workspace.Limits{}, 0, workspace.MaxBytes + 1, true},
		{own, 3, 5 << 20, false},
		{own, 4, 0, true},
		{own, 0, 5<<20 + 1, true},
	} {
		if err := c.limits.Check(c.files, c.bytes); errors.Is(err, workspace.ErrFull) != c.full {
			t.Errorf("%+v: %v", c, err)
		}
	}
	full := fault.Of(own.Check(1, 5<<20+1))
	if got, want := locale.OfFault(full).In(locale.English), "1 file and 6 MB are over the limits of the project: 3 files and 5 MB."; got != want {
		t.Error(got)
	}
	large := fault.Of(workspace.CheckSize("a", workspace.MaxFileBytes+1))
	if got, want := locale.OfFault(large).In(locale.Spanish), "El archivo «a» pasa de 10 MB."; got != want {
		t.Error(got)
	}
	if err := workspace.CheckSize("a", workspace.MaxFileBytes); err != nil {
		t.Error(err)
	}
}
