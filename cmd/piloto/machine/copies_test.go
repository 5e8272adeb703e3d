package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
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

// TestAnEditMakesNoSecretKnown: a change after which the file no longer says that its values are secrets is refused. When the
// person makes it meanwhile, the job does not read them either.
func TestAnEditMakesNoSecretKnown(t *testing.T) {
	const k8s, conf = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  first: golondrina77\n  second: albatros-88\n", "db:\n  password: tortuga-verde9\n"
	m := newMachine(t, Options{Mode: agent.Yolo, AllowDelete: true}, nil)
	m.put(t, "k8s/s.yaml", k8s)
	m.put(t, "conf.yml", conf)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"edit_file", args{"path": "k8s/s.yaml", "old_str": "kind: Secret", "new_str": "kind: ConfigMap"}},
		{"apply_patch", args{"path": "k8s/s.yaml", "patch": "@@ -2 +2 @@\n-kind: Secret\n+kind: ConfigMap\n"}},
		{"edit_file", args{"path": "conf.yml", "old_str": "  password:", "new_str": "  colour:"}},
		{"edit_file", args{"path": "conf.yml", "old_str": "d: ", "new_str": "d: \n  y: "}},
		{"apply_patch", args{"patch": "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n--- a/k8s/s.yaml\n+++ b/k8s/s.yaml\n@@ -2 +2 @@\n-kind: Secret\n+kind: List\n"}},
	} {
		got := m.told(t.Context(), c.tool, jsonOf(c.args))
		if !strings.Contains(got.Output, "that you were not shown could be read") || got.Did[len(got.Did)-1].Refused != job.RefusedHidden ||
			m.content(t, "k8s/s.yaml") != k8s || m.content(t, "conf.yml") != conf {
			t.Errorf("%s %v: %+v", c.tool, c.args, got)
		}
	}
	m.put(t, "k8s/s.yaml", strings.NewReplacer("kind: Secret", "kind: ConfigMap", "stringData", "data").Replace(k8s))
	m.put(t, "conf.yml", strings.Replace(conf, "password", "colour", 1))
	for _, c := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "k8s/s.yaml"}},
		{"read_file", args{"path": "conf.yml"}},
		{"grep", args{"text": "o"}},
		{"edit_file", args{"path": "conf.yml", "old_str": "colour: t", "new_str": "colour: z"}},
		{"edit_file", args{"path": "conf.yml", "old_str": "colour:", "new_str": "color:"}},
	} {
		got := m.one(t.Context(), c.tool, c.args)
		for _, s := range []string{"golondrina", "albatros", "tortuga"} {
			if strings.Contains(got, s) {
				t.Errorf("%s %v tells %s: %s", c.tool, c.args, s, got)
			}
		}
	}
	if is := m.content(t, "conf.yml"); is != "db:\n  color: tortuga-verde9\n" {
		t.Error(is)
	}
}

// TestAGuessOfASecretIsNotAnswered: where nobody can say yes, a part that the file has under a mask is as one that it does not have.
func TestAGuessOfASecretIsNotAnswered(t *testing.T) {
	for _, mode := range []agent.Mode{agent.ConfirmAll, agent.ConfirmSensitive, agent.Yolo} {
		m := newMachine(t, Options{Mode: mode, AllowDelete: true}, nil)
		m.put(t, "conf.yml", "db:\n  password: tortugaverde\n  port: 80\n")
		m.put(t, "notes.md", "use tortugaverde there\n")
		for _, c := range []struct {
			tool      string
			hit, miss args
		}{
			{"edit_file", args{"path": "conf.yml", "old_str": "password: t", "new_str": "x"}, args{"path": "conf.yml", "old_str": "password: a", "new_str": "x"}},
			{"edit_file", args{"path": "notes.md", "old_str": "use t", "new_str": "x"}, args{"path": "notes.md", "old_str": "use a", "new_str": "x"}},
			{
				"apply_patch",
				args{"path": "conf.yml", "patch": "@@ -2 +2 @@\n-  password: tortugaverde\n+  x: 1\n"},
				args{"path": "conf.yml", "patch": "@@ -2 +2 @@\n-  password: tortuganegra\n+  x: 1\n"},
			},
			{
				"write_file",
				args{"path": "conf.yml", "content": "db:\n  password: tortugaverde\n  port: 80\n"},
				args{"path": "conf.yml", "content": "db:\n  password: tortuganegra\n  port: 80\n"},
			},
		} {
			if c.tool == "write_file" && mode == agent.Yolo {
				continue // it is written
			}
			hit, miss := m.told(t.Context(), c.tool, jsonOf(c.hit)), m.told(t.Context(), c.tool, jsonOf(c.miss))
			if strings.ReplaceAll(hit.Output, "verde", "negra") != miss.Output || len(hit.Did) != 1 || len(miss.Did) != 1 || hit.Did[0] != miss.Did[0] {
				t.Errorf("%s: %s %v:\n%+v\n%+v", mode, c.tool, c.hit, hit, miss)
			}
		}
		if is := m.content(t, "conf.yml"); is != "db:\n  password: tortugaverde\n  port: 80\n" {
			t.Errorf("%s: %q", mode, is)
		}
	}
}

// TestWhatThePersonShowedCanBeChanged: who let the model read a file with its secrets confirms a change of them.
func TestWhatThePersonShowedCanBeChanged(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.ConfirmSensitive}, &person{says: true})
	for _, name := range []string{"conf.yml", "other.yml"} {
		m.put(t, name, "db:\n  password: tortugaverde\n  port: 80\n")
	}
	m.one(t.Context(), "read_file", args{"path": "./conf.yml"})
	for name, want := range map[string]string{"conf.yml": "db:\n  password: elefante\n  port: 80\n", "other.yml": "db:\n  password: tortugaverde\n  port: 80\n"} {
		got := m.one(t.Context(), "edit_file", args{"path": name, "old_str": "password: tortugaverde\n", "new_str": "password: elefante\n"})
		if is := m.content(t, name); is != want || strings.Contains(got, `"error"`) != (name == "other.yml") {
			t.Errorf("%s: %q: %s", name, is, got)
		}
	}
}

// TestAVanishedFileMakesNoSecretKnown: its secrets stay those of the job when it was renamed or deleted.
func TestAVanishedFileMakesNoSecretKnown(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, AllowDelete: true, Tell: func(string) {}}, nil)
	m.put(t, "zap.yml", "db:\n  password: tortuga-verde9\n")
	m.put(t, "secrets/db", "golondrina77\n")
	m.put(t, "zap.log", "connects with tortuga-verde9\n")
	m.one(t.Context(), "read_file", args{"path": "zap.log"})
	if err := errors.Join(os.Rename(filepath.Join(m.Root, "secrets"), filepath.Join(m.Root, "old")), os.Remove(filepath.Join(m.Root, "zap.yml"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"zap.log", "old/db"} {
		if got := m.one(t.Context(), "read_file", args{"path": name}); strings.Contains(got, "tortuga") || strings.Contains(got, "golondrina") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
