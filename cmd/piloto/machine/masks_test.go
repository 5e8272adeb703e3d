package machine

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/locale"
)

// TestMasksInFilesAreTold: a command that copies a masked copy writes masks into a file, and one that writes the copy fails.
// The model and the person hear why.
func TestMasksInFilesAreTold(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	const secret = "//registry.npmjs.org/:_authToken=npm-tok-Zk4481aa\nalways-auth=true\n"
	for _, c := range []struct {
		line string
		file string // that has masks; "": none
		busy bool   // the masked copy could not be written
	}{
		{line: "cp .npmrc npmrc.new", file: "npmrc.new"},
		{line: "cp -p .npmrc npmrc.new", file: "npmrc.new"},
		{line: "mkdir -p b/c; cat .npmrc > b/c/x.txt", file: "b/c/x.txt"},
		{line: "sed 's/always/never/' .npmrc > out", file: "out"},
		{line: "cut -d= -f2 .npmrc > out", file: "out"},
		{line: "cat .npmrc >> a.txt", file: "a.txt"},
		{line: "(echo start; sed 's/^/# /' .npmrc) > .hold", file: ".hold"},
		{line: "grep always .npmrc > out"},
		{line: "cp mask.go mask2.go; touch mask.go"},
		{line: "sed -i s/true/false/ .npmrc", busy: true},
		{line: "mv .npmrc x", busy: true},
		{line: "rm -f .npmrc", busy: true},
		{line: "cp a.txt .npmrc", busy: true},
		{line: "touch b.txt; false"},
	} {
		var told []string
		m := newMachine(t, Options{
			Mode: agent.Yolo, Commands: true, Tag: locale.Spanish, Tell: func(text string) { told = append(told, text) },
			Dev: []string{"cp", "cat", "sed", "cut", "mkdir", "echo", "grep", "mv", "rm", "touch", "false"},
		}, &person{says: true})
		m.put(t, ".npmrc", secret)
		m.put(t, "mask.go", "const Mark = \"[redacted]\" // it stands for a secret\n")
		got := m.one(t.Context(), "run_command", args{"command": c.line})
		if c.file != "" && (!strings.Contains(got, c.file+" has masks") || len(told) != 1 || !strings.Contains(told[0], c.file+" tiene máscaras")) {
			t.Errorf("%s: told %q: %s", c.line, told, got)
		}
		if busy := strings.Contains(got, "cannot replace, rename or remove") || strings.Contains(got, ".npmrc stays as it was"); busy != c.busy || busy && !strings.Contains(got, "edit_file") {
			t.Errorf("%s: %s", c.line, got)
		}
		if c.file == "" && (strings.Contains(strings.Join(told, ""), "máscaras") || strings.Contains(got, "has masks")) {
			t.Errorf("%s: told %q: %s", c.line, told, got)
		}
		if m.content(t, ".npmrc") != secret {
			t.Errorf("%s: it was changed", c.line)
		}
	}
}

// TestMasksOfAHookAreTold: the person hears of what a hook wrote, too.
func TestMasksOfAHookAreTold(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	told := ""
	hooks := []sandbox.Hook{{Name: "copy", Command: "cp .npmrc copy.txt", FilePatterns: []string{"*"}}}
	m := newMachine(t, Options{Mode: agent.Yolo, Hooks: hooks, Tag: locale.Spanish, Tell: func(text string) { told += text }}, nil)
	m.put(t, ".npmrc", "//r/:_authToken=npm-tok-Zk4481aa\n")
	if m.one(t.Context(), "write_file", args{"path": "b.txt", "content": "x"}); !strings.Contains(told, "copy.txt tiene máscaras") {
		t.Errorf("told %q", told)
	}
}

// TestWhatACommandWritesIntoACopyIsCarriedOver: with the secrets, or not at all, which is told.
func TestWhatACommandWritesIntoACopyIsCarriedOver(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	const was = "db:\n  password: tortugaverde\n  port: 80\n"
	const more = "password: elefanterojo\n# old: elefanterojo\nNOTE: tortugaverde\n" // it repeats its secret, and has that of another file
	for _, c := range []struct{ line, name, is, says string }{
		{line: `echo 'x: 1' >> conf/db.yml`, is: was + "x: 1\n"},
		{line: `sed 's/80/81/' conf/db.yml > /tmp/x; cat /tmp/x > conf/db.yml`, is: strings.Replace(was, "80", "81", 1)},
		{line: `printf 'a:\n' > /tmp/x; sed 's/^/  /' conf/db.yml >> /tmp/x; cat /tmp/x > conf/db.yml`, is: "a:\n  db:\n    password: tortugaverde\n    port: 80\n"},
		{line: `echo 'jwt_secret: nueva77clave' >> conf/db.yml`, is: was + "jwt_secret: nueva77clave\n"}, // a secret more
		{line: `printf '# url: https://u:p4ssw0rdX1@h/x\n' >> conf/db.yml`, is: was + "# url: https://u:p4ssw0rdX1@h/x\n"},
		{line: `printf 'x: 1\napi_token: otra66clave\n' >> conf/more.yml`, name: "conf/more.yml", is: more + "x: 1\napi_token: otra66clave\n"},
		{line: `cd conf && cat db.yml`, is: was},
		{line: `touch conf/db.yml; chmod 777 conf/db.yml`, is: was},
		{line: `grep -v pass conf/db.yml > /tmp/x; cat /tmp/x > conf/db.yml`, says: "stays as it was"},
		{line: `sed 's/: \[/: "[/;s/]/]"/' conf/db.yml > /tmp/x; cat /tmp/x > conf/db.yml`, says: "stays as it was"},
		{line: `cat conf/db.yml conf/db.yml > /tmp/x; cat /tmp/x > conf/db.yml`, says: "stays as it was"},
		{line: `: > conf/db.yml`, says: "stays as it was"},
		{line: `head -c 2000000 /dev/zero > conf/db.yml`, says: "stays as it was"},
		{line: `printf 'x: \0\n' >> conf/db.yml`, says: "stays as it was"}, // a binary or large file has no copy
		{line: fmt.Sprintf(`(head -c %d /dev/zero | tr '\0' '#'; echo; cat conf/db.yml) > /tmp/x; cat /tmp/x > conf/db.yml`, 1<<20-len(was)+1), says: "stays as it was"},
		{line: `sed -i s/80/81/ conf/db.yml`, says: "cannot replace, rename or remove"},
		{line: `echo 'x: 1' >> conf/db.yml; mv conf old; mkdir conf; ln -s ../b.yml conf/db.yml`, says: "stays as it was"},
		{line: `echo 'x: 1' >> conf/db.yml; mv conf old; ln -s old conf`, says: "stays as it was"},
	} {
		told := ""
		m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Tag: locale.Spanish, Tell: func(text string) { told += text }}, &person{says: true})
		m.put(t, "conf/db.yml", was)
		m.put(t, "conf/more.yml", more)
		m.put(t, "b.yml", "password: tortugaverde\n")
		got := m.one(t.Context(), "run_command", args{"command": c.line})
		name := cmp.Or(c.name, "conf/db.yml")
		if strings.Contains(c.line, "mv conf old") {
			name = "old/db.yml"
		}
		if c.is == "" {
			c.is = was
		}
		if is := m.content(t, name); is != c.is || !strings.Contains(got, c.says) || c.says == "" && strings.Contains(got, "db.yml ") {
			t.Errorf("%s: %.200q\n%s", c.line, is, got)
		}
		if left := strings.Contains(got, "stays as it was"); left != strings.Contains(told, "db.yml queda como estaba") {
			t.Errorf("%s: told %q", c.line, told)
		}
		if is := m.content(t, "b.yml"); is != "password: tortugaverde\n" {
			t.Errorf("%s: %q", c.line, is)
		}
	}
	// A content that would be shown without its mask is not carried over.
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true}, &person{says: true})
	m.put(t, "s.yaml", "kind: Secret\ndata:\n  admin: tortugaverde\n")
	up := args{"command": "sed s/Secret/ConfigMap/ s.yaml > /tmp/x; cat /tmp/x > s.yaml"}
	got := m.one(t.Context(), "run_command", up)
	if is := m.content(t, "s.yaml"); !strings.Contains(is, "Secret") || !strings.Contains(got, "s.yaml stays as it was") {
		t.Errorf("%q: %s", is, got)
	}
	for _, line := range []string{"cp a.txt c.txt", "tar cf b.tar s.yaml", "mkdir k && tar czf k/b.tgz ."} {
		if got := m.one(t.Context(), "run_command", args{"command": line}); strings.Contains(got, "is an archive") != strings.Contains(line, "tar") {
			t.Errorf("%s: %s", line, got)
		}
	}
	if did := m.deeds(t, "run_command", up); !strings.HasSuffix(did, " 0, change s.yaml +0 -0 (+0 -0) failed") {
		t.Errorf("it is on record: %s", did)
	}
}

// TestALostSecretIsPutBack: a script that writes a mask in the place of a secret fails, or the secret is put back, or it is told
// that it is lost.
func TestALostSecretIsPutBack(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		if !unconfined && sandbox.Check(t.Context()) != nil {
			continue
		}
		var told []string
		m := newMachine(t, Options{
			Mode: agent.Yolo, Commands: true, Unconfined: unconfined, Dev: []string{"bash", "cat"}, Tag: locale.Spanish, Tell: func(text string) { told = append(told, text) },
		}, nil)
		const two = "A = 'ghp_Zq55Tr7Kp9wLm4Xv55Zq55Tr7Kp9wLm4Xv55'\nf('sk_live_51H8x2eZvKYlo2C0aBcDeFgHi')\nf('sk_live_61H8x2eZvKYlo2C0aBcDeFgHi')\n"
		for _, c := range []struct{ name, was, script, is, says string }{
			{"conf.yml", byContent["conf.yml"], "cat > conf.yml <<'E'\ndb:\n  password: [redacted]\n  port: 81\nE\n", "db:\n  password: tortugaverde\n  port: 81\n", "put back"},
			{"application.properties", byContent["application.properties"], "sed -i 's/=.*/=[redacted]/' application.properties\n", byContent["application.properties"], "put back"},
			{"src/x.py", byContent["src/x.py"], "printf \"import os\\nkey = '[redacted]'\\n\" > src/x.py\n", "import os\n" + byContent["src/x.py"], "put back"},
			{"src/y.py", byContent["src/x.py"], "rm src/y.py; printf \"if 1:\\n\\tkey = '[redacted]'\" > src/y.py; chmod 700 src/y.py\n", "if 1:\n\tkey = 'sk_live_51H8x2eZvKYlo2C0aBcDeFgHi'", "put back"},
			{"src/two.py", two, "printf \"A = '[redacted]'\\nf('[redacted]')\\nf('[redacted]')\\nb=1\\n\" > src/two.py\n", two + "b=1\n", "put back"},
			{"src/few.py", two, "printf \"A = '[redacted]'\\nf('[redacted]')\\n\" > src/few.py\n", "", "are lost there"},
			{"src/z.py", byContent["src/x.py"], "echo \"key = dict(key='[redacted]')\" > src/z.py\n", "", "are lost there"},
			{"run.sh", byContent["run.sh"], "echo 'export GITHUB_TOKEN=[redacted]' > run.sh\n", byContent["run.sh"], "put back"},
			{"new.sh", "", "echo 'export GITHUB_TOKEN=[redacted]' > new.sh\n", "export GITHUB_TOKEN=[redacted]\n", "new.sh has masks"},
		} {
			told = nil
			if c.was != "" {
				m.put(t, c.name, c.was)
			}
			m.put(t, "up.sh", c.script)
			time.Sleep(30 * time.Millisecond) // changed before
			if strings.HasSuffix(c.name, ".py") {
				m.one(t.Context(), "run_command", args{"command": "cat " + c.name})
			} else if c.was != "" {
				m.one(t.Context(), "read_file", args{"path": c.name})
			}
			got := m.one(t.Context(), "run_command", args{"command": "bash up.sh"})
			is := m.content(t, c.name)
			switch {
			case is == c.was && c.was != c.is && strings.Contains(got, "masked copy"):
			case !unconfined && c.name == "conf.yml" && is == c.is && len(told) == 0: // its copy was carried over
			case len(told) != 1 || !strings.Contains(told[0], c.name) || !strings.Contains(got, c.name) || !strings.Contains(got, c.says) || c.is != "" && is != c.is:
				if !strings.Contains(got, "masked copy in the sandbox") {
					t.Errorf("%s (unconfined: %v) has %q: told %q: %s", c.name, unconfined, is, told, got)
				}
			}
		}
	}
}
