package run_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain bounds the lifecycle model, each of whose checks is dozens of
// durable writes; -rapid.checks asks for more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
