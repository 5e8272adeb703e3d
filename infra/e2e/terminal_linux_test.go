package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal starts a command in a pseudo-terminal, in a folder, and returns what is on the screen. It is killed at the end of
// the test.
func terminal(t *testing.T, folder string, env []string, args ...string) (*transcript, chan struct{}) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skipped: no pseudo-terminals on this machine")
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slave.Close() }()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = folder, env, slave, slave, slave
	attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	screen, exited := newTranscript(), make(chan struct{})
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			_, _ = screen.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	return screen, exited
}

var printedURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/signin\?code=[\w-]+`)

// TestTerminalPrintsAddressThatSignsIn: the address is printed to a terminal, with advice that works as it is written, and
// the page opens with a code of its own, where there is a display.
func TestTerminalPrintsAddressThatSignsIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env    []string
		args   []string
		opens  bool
		try    string
		advice string
	}{
		"the usual folder": {[]string{"PILOTO_OPEN=1"}, nil, true, "bin/piloto send '¿Qué salas libres hay mañana para 6?'", "bin/piloto open imprime otra"},
		"another folder":   {[]string{"LANG=en_GB.UTF-8", "PILOTO_OPEN=1"}, []string{"--data", "my data"}, true, "bin/piloto send --data 'my data' 'Which rooms are free tomorrow for 6?'", "bin/piloto open --data 'my data' prints another"},
		"switched off":     {[]string{"PILOTO_OPEN=0"}, nil, false, "bin/piloto send", "bin/piloto open"},
		"over ssh":         {[]string{"SSH_CONNECTION=10.0.0.2 50000 10.0.0.1 22"}, nil, false, "bin/piloto send", "bin/piloto open"},
		"a real model":     {[]string{"OPENAI_BASE_URL=http://127.0.0.1:9/v1", "LANG=en_US.UTF-8", "PILOTO_OPEN=1"}, nil, true, "bin/piloto send 'What can you do?'", "bin/piloto open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(binary, filepath.Join(folder, "bin", "piloto")); err != nil {
				t.Fatal(err)
			}
			opened := filepath.Join(folder, "opened")
			browser := "#!/bin/sh\nprintf %s \"$1\" > opened.part && mv opened.part opened\n"
			if err := os.WriteFile(filepath.Join(folder, "bin", "xdg-open"), []byte(browser), 0o700); err != nil {
				t.Fatal(err)
			}
			env := append([]string{"HOME=" + folder, "DISPLAY=:99", "TERM=xterm", "PATH=" + filepath.Join(folder, "bin") + ":/usr/bin:/bin"}, c.env...)
			screen, exited := terminal(t, folder, env, append([]string{"bin/piloto", "up", "--addr", "127.0.0.1:0"}, c.args...)...)
			if !screen.wait(startLimit, regexp.QuoteMeta(c.try), exited) {
				t.Fatalf("the screen does not say %q:\n%s", c.try, screen)
			}
			if said := screen.String(); !strings.Contains(said, c.advice) {
				t.Errorf("the screen does not say %q:\n%s", c.advice, said)
			}
			address := printedURL.FindString(screen.String())
			if address == "" {
				t.Fatalf("no address that signs in:\n%s", screen)
			}
			addresses := []string{address}
			if c.opens {
				var text []byte
				if err := eventually(patience, func() (err error) { text, err = os.ReadFile(opened); return err }); err != nil {
					t.Fatal(err)
				}
				if printedURL.FindString(string(text)) != string(text) || string(text) == address {
					t.Errorf("the browser was given %q", text)
				}
				addresses = append(addresses, string(text))
			} else if _, err := os.Stat(opened); err == nil {
				t.Error("a browser was started")
			}
			for _, a := range addresses {
				origin, path, _ := strings.Cut(strings.TrimPrefix(a, "http://"), "/")
				for _, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} { // once
					newClient("http://"+origin, "").must(t, want, "GET", "/"+path, "")
				}
			}
		})
	}
}
