package machine

import (
	"encoding/base64"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// byContent are files in no usual place that have the secret tortugaverde, or a key.
var byContent = map[string]string{
	"conf.yml":               "db:\n  password: tortugaverde\n  port: 80\n",
	"k8s/deploy.yaml":        "kind: Secret\nstringData:\n  admin: tortugaverde\n",
	"application.properties": "spring.datasource.password=tortugaverde\n",
	"ci.yml":                 "env:\n  PGPASSWORD: tortugaverde\n",
	"src/x.py":               "key = 'sk_live_51H8x2eZvKYlo2C0aBcDeFgHi'\n",
	"run.sh":                 "export GITHUB_TOKEN=ghp_Zq55Tr7Kp9wLm4Xv55Zq55Tr7Kp9wLm4Xv55\n",
	"pg.txt":                 "db.example.org:5432:shop:ana:tortuganegra\n",
}

// pieces are parts of the secrets, as encoded outputs have them.
func pieces() (list []string) {
	for _, secret := range []string{"tortugaverde", "sk_live_51H8x2eZvKYlo2C0aBcDeFgHi", "ghp_Zq55Tr7Kp9wLm4Xv55", "tortuganegra"} {
		back := []byte(secret)
		slices.Reverse(back)
		list = append(list, secret[:8], string(back[:8]), secret[len(secret)-8:], strings.ReplaceAll(secret, "e", "3")[:8])
		for i := range 3 {
			list = append(list, base64.StdEncoding.EncodeToString([]byte(secret)[i:i+6]))
		}
		list = append(list, strings.Join(strings.Split(secret[:6], ""), "   "))
	}
	return list
}

// TestASafeCommandEncodesNoSecret: a program that encodes a file shows no secret that read_file asks for, in the mode
// that asks for sensitive calls.
func TestASafeCommandEncodesNoSecret(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive, Commands: true}, nil)
	m.put(t, ".pgpass", "db.example.org:5432:shop:ana:tortuganegra\n")
	for name, text := range byContent {
		m.put(t, name, text)
	}
	for name := range byContent {
		folder, base := "", name
		if at := strings.LastIndexByte(name, '/'); at > 0 {
			folder, base = name[:at], name[at+1:]
		}
		for _, line := range []string{
			"base64 F", "rev F", "head -c 22 F", "head -c 40 F | tail -c 12", "cat F | tr e 3", "cut -c1-28 F", "cut -c 30- F", "fold -w 8 F", "od -c F", "cat < F | rev", "base64 ./F",
			"rev F | rev | base64", "cd D && rev B", "rev D/*", "rev $PWD/F", "grep -rh . . | rev", "grep -o 'tort.....' F", "for f in D/*; do rev $f; done",
		} {
			dir := folder
			if dir == "" {
				dir = "."
			}
			line = strings.NewReplacer("F", name, "D", dir, "B", base).Replace(line)
			got := m.one(t.Context(), "run_command", args{"command": line})
			for _, piece := range pieces() {
				if strings.Contains(got, piece) {
					t.Errorf("%s tells %q: %s", line, piece, got)
				}
			}
		}
		if got := m.one(t.Context(), "run_command", args{"command": "rev " + name}); !strings.Contains(got, "]detcader[") && !strings.Contains(got, "confirm") {
			t.Errorf("rev %s: %s", name, got)
		}
	}
	if got := m.one(t.Context(), "run_command", args{"command": "wc -l conf.yml"}); !strings.Contains(got, "3 conf.yml") {
		t.Error(got)
	}
}

// TestGitShowsWhatWasChanged: a masked copy, and an empty key store, are no changes.
func TestGitShowsWhatWasChanged(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Dev: []string{"git"}}, nil)
	m.put(t, ".pgpass", "db.example.org:5432:shop:ana:tortuganegra\n")
	m.put(t, "debug.keystore", "\x00\x01binary")
	m.put(t, "zz.txt", "one\n")
	for name, text := range byContent {
		m.put(t, name, text)
	}
	for _, line := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", m.Root}, line...)...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v", out, err)
		}
	}
	for _, line := range []string{"git status --short", "git diff", "git diff --stat | head -20", "git --no-pager diff HEAD"} {
		if got := m.one(t.Context(), "run_command", args{"command": line}); !strings.Contains(got, "exit code 0") || strings.Contains(got, "conf.yml") || strings.Contains(got, "keystore") || strings.Contains(got, "pgpass") {
			t.Errorf("%s: %s", line, got)
		}
	}
	m.put(t, "zz.txt", "two\n")
	m.put(t, "conf.yml", "db:\n  password: tortugaverde\n  port: 81\n")
	for _, line := range []string{"git diff", "git diff --word-diff-regex=.", "git diff --no-index /dev/null conf.yml"} {
		got := m.one(t.Context(), "run_command", args{"command": line})
		if strings.Contains(got, "tortugav") || strings.Contains(got, "edrevagu") || strings.Contains(got, "exit code 128") || line == "git diff" && !(strings.Contains(got, "+two") && strings.Contains(got, "+  port: 81")) {
			t.Errorf("%s: %s", line, got)
		}
	}
	m.put(t, "cert.pem", "x\n") // hidden, and not tracked
	if got := m.one(t.Context(), "run_command", args{"command": "git status; git diff --stat"}); !strings.Contains(got, "exit code 0") {
		t.Error(got)
	}
}

// TestAMaskedCopyHasNoCopyOfASecret: neither of its own, in a comment, nor of that of another file.
func TestAMaskedCopyHasNoCopyOfASecret(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Dev: []string{"python3"}}, nil)
	files := map[string]string{
		"a.yml":            "password: tortuganegra\nport: 80\n",
		"one.yml":          "password: tortugaverde\n# old: tortugaverde\n",
		"two.ini":          "password = tortugaverde ; not tortugaverde\nx = 1\n",
		"compose.yml":      "token: gaviota77azul\nNOTE: tortuganegra\n",
		"sub/.npmrc":       "//r.example.org/:_authToken=npm-tok-Zk4481aa\n; tortuganegra, tortugaverde\n",
		"sub/terra.tfvars": "x = \"gaviota77azul\"\n// tortuganegra\n",
	}
	for name, text := range files {
		m.put(t, name, text)
	}
	for range 2 {
		for name := range files {
			for _, line := range []string{"rev " + name, "base64 -w 0 " + name, "python3 -c \"print(open('" + name + "').read()[::-1])\""} {
				got := m.one(t.Context(), "run_command", args{"command": line})
				for _, piece := range pieces() {
					if strings.Contains(got, piece) {
						t.Errorf("%s tells %q: %s", line, piece, got)
					}
				}
			}
		}
		m.put(t, "later/b.yml", "password: tortuganegra\n") // read later
		m.put(t, "a.yml", "port: 80\n")
	}
	if got := m.one(t.Context(), "run_command", args{"command": "python3 -c \"print(open('compose.yml').read()[::-1])\""}); !strings.Contains(got, "ETON") {
		t.Error(got)
	}
}
