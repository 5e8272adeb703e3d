//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"testing"
)

type store struct{}

func (s *store) Confirm() { s.commit() }

func (*store) commit() { func() { Verb("", "(*store)", "before") }() }

func TestVerbCountsByNameOfMethod(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	if err := Arm("", trace, 0); err != nil {
		t.Fatal(err)
	}
	(&store{}).Confirm()
	Here("x")
	(&store{}).Confirm()
	got, err := os.ReadFile(trace)
	if want := "failpoint.Confirm.before#1\nx#1\nfailpoint.Confirm.before#2\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
