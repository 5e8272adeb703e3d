package main

import (
	"io"
	"strings"
	"testing"
)

func TestParseRefusesTwoTasks(t *testing.T) {
	for line, says := range map[string]string{
		"-backup b": "", "-restore b": "", "-accept-older": "", "-open": "", "-host a,b -host c": "", "-aws 127.0.0.1:8000": "",
		"-backup b -restore c":      "one by one",
		"-rotate-key":               "",
		"-rotate-key -accept-older": "one by one",
		"-rotate-key -backup b":     "one by one",
		"-backup b -accept-older":   "one by one",
		"-accept-older -restore b":  "one by one",
		"-open -backup b":           "one by one",
		"-backup b c":               `unknown argument "c"`,
		"engines":                   `unknown argument "engines"`,
		"-aws 0.0.0.0:8000":         "loopback only",
		"-aws example.org:8000":     "loopback only",
	} {
		_, _, err := parse(strings.Fields(line), io.Discard)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
