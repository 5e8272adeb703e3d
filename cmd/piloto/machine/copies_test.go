package machine

import (
	"strings"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/workspace/mask"
)

// TestACopyOfASecretIsMaskedInWhateverFile: the file tools know the secrets of the files that have some, as the outputs of commands do.
func TestACopyOfASecretIsMaskedInWhateverFile(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo}, nil)
	for name, text := range map[string]string{
		".pgpass":                 "db.example.com:5432:app:ana:zorro-del-mar9\n",
		"conf/prod.env":           "DB_PASSWORD=albatros77\nPORT=8080\n",
		"secrets/db_admin":        "golondrina\n",
		"old/access.txt":          "db.example.com:5432:app:ana:zorro-del-mar9\nsee the wiki\n",
		"notes.md":                "The server of ana is up.\nUse albatros77 there, port 8080.\nlast line\n",
		"main.go":                 "package main\n\nvar dsn = \"user=ana password=golondrina port=8080\"\n",
		"url.txt":                 "https://h/?p=zorro-del-mar9&x=1\n",
		".ssh/x":                  "s\n",
		"node_modules/a/index.js": "f(\"albatros77\")\n",
		"plain.txt":               "port 8080 of ana, DB_PASSWORD is in conf\n",
	} {
		m.put(t, name, text)
	}
	secrets := []string{"zorro-del", "albatros", "golondrina"}
	for _, c := range []struct {
		tool string
		args args
		has  string
	}{
		{"read_file", args{"path": "old/access.txt"}, "see the wiki"},
		{"read_file", args{"path": "notes.md"}, "port 8080"},
		{"read_file", args{"path": "main.go"}, "var dsn"},
		{"read_file", args{"path": "url.txt"}, "https://h/"},
		{"read_file", args{"path": "node_modules/a/index.js"}, "f("},
		{"grep", args{"text": "there"}, "port 8080"},
		{"search_code", args{"pattern": "albatros\\d+"}, ""},
		{"edit_file", args{"path": "notes.md", "old_str": "last line", "new_str": "last"}, "Edited"},
	} {
		got := m.one(t.Context(), c.tool, c.args)
		for _, s := range secrets {
			if strings.Contains(got, s) {
				t.Errorf("%s %v tells %s: %s", c.tool, c.args, s, got)
			}
		}
		if !strings.Contains(got, c.has) || c.tool == "read_file" && !strings.Contains(got, mask.Mark) {
			t.Errorf("%s %v: %s", c.tool, c.args, got)
		}
	}
	if got := m.one(t.Context(), "read_file", args{"path": "plain.txt"}); strings.Contains(got, mask.Mark) {
		t.Errorf("it has a mask for no secret: %s", got)
	}
	if got := m.one(t.Context(), "write_file", args{"path": "notes.md", "content": "Use " + mask.Mark + " there.\n"}); !strings.Contains(got, "Nothing was changed") {
		t.Errorf("a mask is written over a secret: %s", got)
	}
	m.put(t, "conf/prod.env", "DB_PASSWORD=pelicano88\n")
	m.put(t, "notes.md", "now pelicano88\n")
	if got := m.one(t.Context(), "read_file", args{"path": "notes.md"}); strings.Contains(got, "pelicano") {
		t.Errorf("what changed meanwhile is not known: %s", got)
	}
}

// TestAnEditMakesNoSecretKnown: the file no longer says that its values are secrets.
func TestAnEditMakesNoSecretKnown(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, AllowDelete: true}, nil)
	m.put(t, "k8s/s.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  first: golondrina77\n  second: albatros-88\n")
	m.put(t, "conf.yml", "db:\n  password: tortuga-verde9\n")
	for _, c := range []struct {
		tool string
		args args
	}{
		{"edit_file", args{"path": "k8s/s.yaml", "old_str": "kind: Secret", "new_str": "kind: ConfigMap"}},
		{"edit_file", args{"path": "k8s/s.yaml", "old_str": "stringData", "new_str": "data"}},
		{"read_file", args{"path": "k8s/s.yaml"}},
		{"edit_file", args{"path": "conf.yml", "old_str": "  password:", "new_str": "  colour:"}},
		{"read_file", args{"path": "conf.yml"}},
		{"grep", args{"text": "o"}},
	} {
		got := m.one(t.Context(), c.tool, c.args)
		for _, s := range []string{"golondrina", "albatros", "tortuga"} {
			if strings.Contains(got, s) {
				t.Errorf("%s %v tells %s: %s", c.tool, c.args, s, got)
			}
		}
	}
}
