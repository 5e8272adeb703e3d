package dynamodb_test

import (
	"os"
	"slices"
	"testing"
)

var suiteDir string

func TestMain(m *testing.M) {
	var err error
	if suiteDir, err = os.MkdirTemp("", "dynamodb-suite-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(suiteDir)
	os.Exit(code)
}

func inOrder(texts []string) []string {
	out := slices.Clone(texts)
	slices.Sort(out)
	return out
}
