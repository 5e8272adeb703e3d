package run_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain bounds the lifecycle model, because each of its checks makes dozens of durable writes;
// -rapid.checks asks for more.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "20", "rapid.steps": "60"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
