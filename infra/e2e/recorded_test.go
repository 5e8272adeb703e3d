package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// recorded is the session of docs/terminal.md, which is replayed in a real terminal (tmux). «…» stands for any text, and
// a line of it for any lines. An id or a digest of the page stands for the one that appears in its place.
type recorded struct {
	name  string            // of the tmux session
	lines []string          // of the page
	next  int               // the line to be played
	known map[string]string // what an id or a digest of the page is here
}

// sample matches the ids and the short digests of the page.
var sample = regexp.MustCompile(`01[0-9A-HJKMNP-TV-Z]{24}|\b[0-9a-f]{8}\b`)

// TestRecordedSessionNeedsTmux says why the script recorded.txtar plays nothing here.
func TestRecordedSessionNeedsTmux(t *testing.T) {
	_ = os.Getenv("PILOTO_MACHINE") // tmux's version is part of it
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("skipped: no tmux on this machine, so docs/terminal.md is not replayed")
	}
}

// session plays the next N commands of the recorded session, or all that are left, and compares the screen: session [N].
func (s *stage) session(args []string) error {
	if s.played == nil {
		if err := s.openTerminal(); err != nil {
			return err
		}
	}
	most := -1
	if len(args) == 1 {
		var err error
		if most, err = strconv.Atoi(args[0]); err != nil {
			return usage("session [N]")
		}
	}
	p := s.played
	for ; p.next < len(p.lines); p.next++ {
		if strings.HasPrefix(p.lines[p.next], "$ ") {
			if most == 0 {
				break
			}
			most--
		}
		if err := p.play(p.lines[p.next]); err != nil {
			return err
		}
	}
	return p.reaches(`^\$$`)
}

// reaches waits until the last line matches and what was played so far is on the screen. Before that, the last line may
// be the prompt at which the line before was typed.
func (p *recorded) reaches(prompt string) error {
	before := ""
	return eventually(patience, func() error {
		if err := p.shows(prompt); err != nil {
			return err
		}
		lines, err := p.screen()
		if now := strings.Join(lines, "\n"); err == nil && now != before {
			before, err = now, errors.New("the screen still changes")
		}
		if err != nil {
			return err
		}
		return p.compare()
	})
}

// play types what a line of the page has a person type, if anything.
func (p *recorded) play(line string) error {
	if command, ok := strings.CutPrefix(line, "$ "); ok {
		return p.typeAt(`^\$$`, command)
	}
	if said, ok := strings.CutPrefix(line, "> "); ok {
		return p.typeAt(`^>$`, said)
	}
	if question, answered, ok := strings.Cut(line, "esperando: "); ok {
		return p.typeAt("^"+regexp.QuoteMeta(question+"esperando:")+"$", answered)
	}
	return nil
}

// openTerminal starts a terminal in the folder of the script, with the command in its PATH.
func (s *stage) openTerminal() error {
	page, err := os.ReadFile(filepath.Join(root, "docs", "terminal.md"))
	if err != nil {
		return err
	}
	block := shown.FindSubmatch(page)
	if block == nil {
		return errors.New("docs/terminal.md has no session")
	}
	work := s.ts.Getenv("WORK")
	p := &recorded{
		name:  "piloto-" + filepath.Base(s.d.data) + strconv.Itoa(os.Getpid()) + strings.TrimPrefix(s.d.addr, "127.0.0.1:"),
		lines: strings.Split(strings.TrimSpace(string(block[1])), "\n"), known: map[string]string{"http://127.0.0.1:9000": s.ts.Getenv("SHOP_URL")},
	}
	start := exec.Command("tmux", "-L", p.name, "-f", "/dev/null", "new-session", "-d", "-x", "130", "-y", "50", "bash", "--norc", "--noprofile")
	start.Dir = work
	start.Env = []string{
		"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=" + work, "XDG_CONFIG_HOME=" + work, "LANG=es_ES.UTF-8", "LC_CTYPE=C.UTF-8", "TERM=xterm",
		"PS1=$ ", "GORACE=" + os.Getenv("GORACE"), "PILOTO_AT=" + s.d.url(), "PILOTO_TOKEN=" + testToken,
	}
	if out, err := start.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux: %w\n%s", err, out)
	}
	s.played = p
	return nil
}

func (p *recorded) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-L", p.name}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w\n%s", args[0], err, out)
	}
	return string(out), nil
}

// screen returns everything that was written, with long lines as one, and without blank lines at the end.
func (p *recorded) screen() ([]string, error) {
	text, err := p.tmux("capture-pane", "-p", "-J", "-S", "-")
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines, err
}

// shows returns nil when the last line of the screen matches.
func (p *recorded) shows(pattern string) error {
	lines, err := p.screen()
	if err != nil {
		return err
	}
	if last := lines[len(lines)-1]; !regexp.MustCompile(pattern).MatchString(last) {
		return fmt.Errorf("the terminal waits at %q, not at %q\n%s", last, pattern, strings.Join(lines, "\n"))
	}
	return nil
}

// typeAt types a line at a prompt.
func (p *recorded) typeAt(prompt, line string) error {
	if err := p.reaches(prompt); err != nil {
		return err
	}
	if _, err := p.tmux("send-keys", "-l", p.here(line)); err != nil {
		return err
	}
	_, err := p.tmux("send-keys", "Enter")
	return err
}

// here returns a line of the page with what its ids and digests are here.
func (p *recorded) here(line string) string {
	for there, is := range p.known {
		line = strings.ReplaceAll(line, there, is)
	}
	return line
}

// compare holds the screen to the page as far as it was played, and learns the ids.
func (p *recorded) compare() error {
	lines, err := p.screen()
	if err != nil {
		return err
	}
	at, skips := 0, false
	for _, want := range p.lines[:p.next] {
		if want == "…" {
			skips = true
			continue
		}
		found := false
		for ; at < len(lines) && !found; at++ {
			if found = p.isLine(want, lines[at]); !found && !skips {
				return fmt.Errorf("the page has\n%s\nand the terminal\n%s\nin\n%s", p.here(want), lines[at], strings.Join(lines, "\n"))
			}
		}
		if !found {
			return fmt.Errorf("%q is not in the terminal\n%s", p.here(want), strings.Join(lines, "\n"))
		}
		skips = false
	}
	return nil
}

// isLine reports whether a line of the terminal is that of the page, and learns the ids and digests in it.
func (p *recorded) isLine(want, got string) bool {
	want = p.here(want)
	var unknown []string
	pattern := sample.ReplaceAllStringFunc(strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*"), func(id string) string {
		for _, is := range p.known {
			if is == id {
				return id
			}
		}
		unknown = append(unknown, id)
		return "(" + sample.String() + ")"
	})
	found := regexp.MustCompile("^" + pattern + "$").FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, id := range unknown {
		p.known[id] = found[i+1]
	}
	return true
}
