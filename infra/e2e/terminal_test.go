package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// cli runs the command as a person does who has no terminal: cli CODE ARG…, with stdin from the file stdin when the
// script has one. Its stdout is the answer, for json and body, and its stderr is for said.
func (s *stage) cli(args []string) error {
	if len(args) < 2 {
		return usage("cli CODE ARG…")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return usage("cli CODE ARG…")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args[1:]...)
	cmd.Dir = s.ts.Getenv("WORK")
	cmd.Env = slices.Concat(passed, []string{
		"HOME=" + cmd.Dir, "XDG_CONFIG_HOME=" + cmd.Dir, "LANG=es_ES.UTF-8", "PILOTO_DATA=" + s.d.data,
		"PILOTO_AT=" + s.ts.Getenv("AT"), "PILOTO_TOKEN=" + s.ts.Getenv("CLI_TOKEN"), "EDITOR=" + s.ts.Getenv("EDITOR"),
	})
	if text, err := os.ReadFile(s.ts.MkAbs("stdin")); err == nil {
		cmd.Stdin = bytes.NewReader(text)
	}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	s.last, s.told = answer{body: []byte(out.String())}, errOut.String()
	s.ts.Logf("%s%s", out.String(), errOut.String())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		return fmt.Errorf("it ended with %d, not %d", got, want)
	}
	if strings.ContainsAny(out.String()+errOut.String(), "\x1b🔧✅🔄🔍📦⚡❌🌐") {
		return errors.New("colours or icons are written without a terminal")
	}
	return nil
}

// hasSaid looks at stderr of the last command.
func (s *stage) hasSaid(args []string) error {
	if len(args) != 1 {
		return usage("said RE")
	}
	return matches(args[0], s.told)
}

// store keeps the stdout of the last command in a file: store FILE.
func (s *stage) store(args []string) error {
	if len(args) != 1 {
		return usage("store FILE")
	}
	return os.WriteFile(s.ts.MkAbs(args[0]), s.last.body, 0o600)
}

// write writes a text to a file, with its variables replaced: write FILE TEXT.
func (s *stage) write(args []string) error {
	if len(args) != 2 {
		return usage("write FILE TEXT")
	}
	return os.WriteFile(s.ts.MkAbs(args[0]), []byte(args[1]+"\n"), 0o600)
}

// hasMode looks at the permissions of a file: mode 600 FILE.
func (s *stage) hasMode(args []string) error {
	if len(args) != 2 {
		return usage("mode OCTAL FILE")
	}
	info, err := os.Stat(s.ts.MkAbs(args[1]))
	if err != nil {
		return err
	}
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[0] {
		return fmt.Errorf("%s has mode %s", args[1], got)
	}
	return nil
}
