package machine

import (
	"path"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// TestALargeFileTellsNoSecret: a command shows no more of a file of any size than read_file, and nothing of settings that
// have no masked copy.
func TestALargeFileTellsNoSecret(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	const mb = 1 << 20
	key := "ghp_Zq55Tr7Kp9wLm4Xv55Zq55Tr7Kp9wLm4Xv55"
	files := map[string]string{
		"big.yml":          "password: tortugaverde\n" + strings.Repeat("x: 1\n", mb/5),
		"big.log":          "token=" + key + "\n" + strings.Repeat("INFO nothing\n", mb/13),
		"nul.yml":          "password: tortugaverde\nx: \"\x00\"\n",
		"huge.ini":         "password = tortugaverde\n" + strings.Repeat("x = 1\n", 10*mb/6),
		"secret.tfvars":    "db = \"tortugaverde\"\n\x00\n",
		"utf16.json":       "{\x00\"\x00p\x00\"\x00:\x00",
		"plain.md":         strings.Repeat("no secret\n", 100),
		"image.png":        "\x89PNG\x00\x00tortugaverd\n",
		"certs/nul.tfvars": "db = \"tortugaverde\"\nx = \"\x00\"\n",
	}
	for mode, lines := range map[agent.Mode][]string{
		agent.ConfirmSensitive: {
			"head -c 60 F", "head -c 60 F | base64", "head -2 F | rev", "cat F | head -c 60 | rev", "tac F | tail -1 | rev", "for f in F; do head -1 $f | rev; done",
			"grep -rh -m1 . . | rev", "cd D && head -1 B | rev",
		},
		agent.Yolo: {"python3 -c \"print(open('F').read(70)[::-1])\"", "cat F | head -1"},
	} {
		m := newMachine(t, Options{Mode: mode, Commands: true, Dev: []string{"python3"}}, nil)
		for name, text := range files {
			m.put(t, name, text)
		}
		for _, line := range lines {
			for name := range files {
				if name == "image.png" || name == "plain.md" || name == "big.log" && strings.Contains(line, "python3") {
					continue
				}
				line := strings.NewReplacer("F", name, "D", path.Dir(name), "B", path.Base(name)).Replace(line)
				got := m.one(t.Context(), "run_command", args{"command": line})
				for _, piece := range pieces() {
					if strings.Contains(got, piece) {
						t.Errorf("%s: %s tells %q: %s", mode, line, piece, got)
					}
				}
			}
		}
		for line, want := range map[string]string{
			"head -1 plain.md": "no secret", "head -c 17 image.png": "tortugaverd", "sed -n 2p big.yml": "x: 1", "head -1 big.yml | rev": "]detcader[", "wc -c nul.yml": "nul.yml",
		} {
			if got := m.one(t.Context(), "run_command", args{"command": line}); !strings.Contains(got, want) {
				t.Errorf("%s: %s: %s", mode, line, got)
			}
		}
	}
}
