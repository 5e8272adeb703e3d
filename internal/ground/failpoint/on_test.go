//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"testing"
)

type table struct{}

func (t *table) Confirm() { t.commit() }

func (*table) commit() { func() { Verb("dynamo", "failpoint.(*table)", "before") }() }

func TestMomentsAreCountedByTheNameOfTheVerb(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace")
	if err := Arm("", trace, 0); err != nil {
		t.Fatal(err)
	}
	(&table{}).Confirm()
	Here("x")
	(&table{}).Confirm()
	got, err := os.ReadFile(trace)
	if want := "dynamo.Confirm.before#1\nx#1\ndynamo.Confirm.before#2\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
