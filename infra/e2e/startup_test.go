package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFailedStartReportsReason: it fails at once, with one line, without a stack trace and without creating a data
// folder.
func TestFailedStartReportsReason(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	broken := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(broken, []byte("Transform: AWS::Serverless-2016-10-31\nResources:\n  Queue: {Type: AWS::Kinesis::Stream}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "piloto.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, start := range []struct {
		name string
		args []string
		env  []string
		says []string
	}{
		{"an address in use", []string{"-addr", taken.Addr().String()}, nil, []string{taken.Addr().String(), "-addr"}},
		{"services for everybody", []string{"-aws", "0.0.0.0:8000"}, nil, []string{"--aws 0.0.0.0:8000", "127.0.0.1:8000"}},
		{"a command that is none", []string{"serve"}, nil, []string{"serve", "--help"}},
		{"a flag that is none", []string{"-port", "80"}, nil, []string{"-port"}},
		{"no template", []string{"-template", "/nowhere/template.yaml"}, nil, []string{"/nowhere/template.yaml"}},
		{"a template that it does not understand", []string{"-template", broken}, nil, []string{"AWS::Kinesis::Stream", "template.yaml:3"}},
		{"a level that is none", nil, []string{"LOG_LEVEL=loud"}, []string{"LOG_LEVEL", "loud"}},
		{"a token that is too short", nil, []string{"PILOTO_TOKEN=short"}, []string{"PILOTO_TOKEN", "24", "openssl rand -hex 24"}},
		{"a token of one character", nil, []string{"PILOTO_TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}, []string{"PILOTO_TOKEN", "distintos"}},
		{"a token with a blank behind it", nil, []string{"PILOTO_TOKEN=0123456789abcdef0123456789abcdef "}, []string{"PILOTO_TOKEN", "espacios"}},
		{"an address for everybody", []string{"-addr", "0.0.0.0:0"}, nil, []string{"0.0.0.0:0", "-expose", "-host", "TLS"}},
		{"an address for everybody, by no host", []string{"-addr", ":0"}, nil, []string{"-expose"}},
		{"a host that is an address of the web", []string{"-host", "https://piloto.example"}, nil, []string{"-host", "https://"}},
		{"an address that signs in to nobody", []string{"open", "--data", filepath.Join(damaged, "none")}, nil, []string{"Ningún proceso tiene", "--data"}},
		{"a token that no header carries", nil, []string{"PILOTO_TOKEN=ñandú-en-la-pampa"}, []string{"PILOTO_TOKEN", "ASCII"}},
		{"another way to run functions", []string{"-lambda", "docker"}, nil, []string{"-lambda=docker", "inprocess", "process"}},
		{"functions that nobody built", []string{"-lambda", "process", "-functions", "/nowhere"}, nil, []string{"/nowhere", "bootstrap"}},
		{"a data file that is damaged", []string{"-data", damaged}, nil, []string{"piloto.db", "damaged"}},
	} {
		t.Run(start.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			data := filepath.Join(t.TempDir(), "data")
			args := start.args
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				args = append([]string{"up", "--addr", "127.0.0.1:0", "--data", data}, args...)
			}
			cmd := exec.CommandContext(ctx, binary, args...)
			cmd.Dir, cmd.Env = root, slices.Concat(passed, []string{"PILOTO_TOKEN=" + testToken}, start.env)
			attach(cmd)
			said, err := cmd.CombinedOutput()
			if err == nil || ctx.Err() != nil {
				t.Fatalf("it started, or hung: %v\n%s", err, said)
			}
			for _, want := range start.says {
				if !strings.Contains(string(said), want) {
					t.Errorf("it does not say %q:\n%s", want, said)
				}
			}
			if strings.Contains(string(said), "goroutine ") {
				t.Errorf("a stack is not an explanation:\n%s", said)
			}
		})
	}
}
