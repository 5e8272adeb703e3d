package main

import (
	"io"
	"strings"
	"testing"
)

func TestServesOnLoopbackOnly(t *testing.T) {
	for line, says := range map[string]string{
		"": "", "-listen [::1]:0": "", "-listen localhost:8000 -data d": "", "-lambda http://127.0.0.1:3001": "",
		"-listen :8000":            "loopback only",
		"-listen 0.0.0.0:8000":     "loopback only",
		"-listen example.org:8000": "loopback only",
		"-listen 127.0.0.1":        "loopback only",
		"more":                     `unknown argument "more"`,
		"-aws 127.0.0.1:8000":      "-aws",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
