package sandbox

import (
	"fmt"
	"testing"

	"piloto/internal/runs/command"
)

// The lines of each class, and the verdicts on them: the table of the package's documentation.
func TestPolicyHasEveryCellOfTheTable(t *testing.T) {
	lines := map[string]string{"safe": "ls", "dev": "npm run lint", "sensitive": "git push", "destructive": "rm -rf build"}
	table := map[Mode]map[string]Verdict{
		ConfirmAll:       {"safe": Ask, "dev": Ask, "sensitive": Ask, "destructive": Ask},
		ConfirmSensitive: {"safe": Allow, "dev": Ask, "sensitive": Ask, "destructive": Ask},
		Yolo:             {"safe": Allow, "dev": Allow, "sensitive": Ask, "destructive": Ask},
		"":               {"safe": Ask, "dev": Ask, "sensitive": Ask, "destructive": Ask},
		"Yolo":           {"safe": Ask, "dev": Ask, "sensitive": Ask, "destructive": Ask},
	}
	for mode, row := range table {
		for class, want := range row {
			for _, allowedOnly := range []bool{false, true} {
				if allowedOnly && (class == "sensitive" || class == "destructive") {
					want = Refuse
				}
				t.Run(fmt.Sprint(mode, " ", class, " ", allowedOnly), func(t *testing.T) {
					d := Policy{Mode: mode, AllowedOnly: allowedOnly, Dev: []string{"npm run", "go test"}}.Judge(lines[class])
					if d.Verdict != want {
						t.Errorf("the verdict is %v, want %v", d.Verdict, want)
					}
					if d.Dev != (class == "dev") || (d.Class == command.Safe) != (len(d.Findings) == 0) {
						t.Errorf("it is judged as %+v", d)
					}
				})
			}
		}
	}
}

func TestDevCommandsMatchWholeWords(t *testing.T) {
	p := Policy{Mode: Yolo, Dev: []string{"npm run", "pytest", "make  check", ""}}
	for line, dev := range map[string]bool{
		"npm run lint":                    true,
		"cd web && npm run lint 2>&1":     true,
		"'npm' run \"lint\"":              true,
		"pytest -q | tail -5":             true,
		"npm run a && pytest; make check": true,
		"npm running":                     false,
		"npm":                             false,
		"npm install":                     false,
		"make checks":                     false,
		"./npm run lint":                  false,
		"pytest; rm -rf /":                false,
		"pytest; git push":                false,
		"pytest && curl example.com":      false,
		"pytest > conftest.py":            false,
		"pytest $(git push)":              false,
		"pytest `git push`":               false,
		"pytest $X":                       false,
		"PATH=. pytest":                   false,
		"pytest & git push":               false,
		"pytest\ngit push":                false,
		"pytest() { git push; }; pytest":  false,
		"alias pytest='git push'; pytest": false,
		"echo pytest":                     false,
		"git push pytest":                 false,
		"sudo pytest":                     false,
		"":                                false,
	} {
		if d := p.Judge(line); d.Dev != dev {
			t.Errorf("%q is judged as %+v", line, d)
		} else if dev != (d.Verdict == Allow) && d.Class != command.Safe {
			t.Errorf("%q has the verdict %v", line, d.Verdict)
		}
	}
}

// TestGoAndGitAreNeverSafe: a test runs the code of the workspace, and a repository remembers secrets.
func TestGoAndGitAreNeverSafe(t *testing.T) {
	for line, want := range map[string]Verdict{
		"go test ./...": Ask, "go vet ./...": Ask, "git log -p": Ask, "git remote -v": Ask, "ls | git diff --stat": Ask, "/usr/bin/git status": Ask,
		"ls": Allow, "cat a.txt | sort": Allow,
	} {
		if got := (Policy{Mode: ConfirmSensitive}).Judge(line).Verdict; got != want {
			t.Errorf("%s: %d, not %d", line, got, want)
		}
	}
	if got := (Policy{Mode: Yolo, Dev: []string{"go test"}}).Judge("go test ./... && ls").Verdict; got != Allow {
		t.Errorf("a dev command: %d", got)
	}
	if got := (Policy{Mode: ConfirmSensitive, Unconfined: true}).Judge("ls").Verdict; got != Ask {
		t.Errorf("without a sandbox: %d", got)
	}
}
