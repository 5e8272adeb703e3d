package machine

import (
	"fmt"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// told are files in no usual place. read_file masks the text in «».
var told = map[string]string{
	".github/workflows/ci.yml":       "env:\n  POSTGRES_PASSWORD: «hunter2»\n  IMAGE: postgres\n",
	"pom.xml":                        "<project><server>\n  <username>ana</username>\n  <password>«zorro77»</password>\n</server></project>\n",
	"config/database.yml":            "production:\n  password: «correct horse battery»\n",
	"application.properties":         "spring.datasource.password=«albatros»\nserver.port=80\n",
	"appsettings.json":               "{\n  \"Db\": {\n    \"Password\": \"«margarita»\",\n    \"Port\": 80\n  }\n}\n",
	"deploy/db.yaml":                 "kind: Secret\nmetadata:\n  name: db\nstringData:\n  admin: «pelicano»\n  url: «db.example.org»\n",
	"old/.npmrc.bak":                 "//registry.npmjs.org/:_authToken=«npm-tok-Zk4481bb»\n",
	"gradle.properties":              "org.gradle.jvmargs=-Xmx2g\nsigningPassword=«canguro»\n",
	"settings.xml":                   "<settings><server><password>«elefante»</password></server></settings>\n",
	"NuGet.config":                   "<configuration><add key=\"ClearTextPassword\" value=\"«mariposa»\" /></configuration>\n",
	"kaggle.json":                    "{\"username\":\"ana\",\"key\":\"«0f3c2a1e8b7d4c6a9e0f1a2b3c4d5e6f»\"}\n",
	"secrets/db_admin":               "«golondrina»\n",
	"cookies.txt":                    "# Netscape HTTP Cookie File\n.example.org\tTRUE\t/\tTRUE\t1893456000\tsid\t«cigarra99»\n",
	"jar":                            "#HttpOnly_example.org\tFALSE\t/\tTRUE\t0\tlogin\t«saltamontes»\n",
	"docker/prod.env.local":          "LEVEL=debug\nDB_PASSWORD=«luciernaga»\n",
	"id.txt":                         "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n«P2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue2RzYS1uaXN0LXNoYTF9»\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n",
	"key.txt":                        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkV\nPrivate-Lines: 1\n«AAAAIBQ7sQ0bZ3VS5JJcds3xfnygWyF8PbnGy0»\nPrivate-MAC: 00\n",
	"helm/templates/secret-like.yml": "apiVersion: v1\nkind: \"Secret\"\ndata: {pin: «MTIzNA==»}\n",
}

func withTold(t *testing.T, o Options) *Machine {
	t.Helper()
	m := newMachine(t, o, nil)
	for name, text := range told {
		m.put(t, name, unmark.Replace(text))
	}
	return m
}

func toldIn(name, text string) string {
	for _, secret := range secretsIn(told[name]) {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// TestOutputsAreMaskedAsFilesAre: no command shows a secret that a file tool masks, with any text around it.
func TestOutputsAreMaskedAsFilesAre(t *testing.T) {
	for _, unconfined := range []bool{false, true} {
		if !unconfined && sandbox.Check(t.Context()) != nil {
			continue
		}
		m := withTold(t, Options{
			Mode: agent.Yolo, Commands: true, Unconfined: unconfined,
			Dev: []string{"cat", "nl", "grep", "head", "sed", "awk", "cp", "mv", "cut", "tr", "sort", "diff", "printf", "xargs", "tail", "ls", "paste"},
		})
		for name := range told {
			got := m.one(t.Context(), "read_file", args{"path": name})
			if leak := toldIn(name, got); leak != "" || !strings.Contains(got, "[redacted]") {
				t.Errorf("read_file of %s tells %q: %s", name, leak, got)
			}
			for _, line := range []string{
				"cat %s", "nl %s", "grep -rn . %s", "head -c 4000 %s", "sed 's/^/> /' %s", "tail -n 3 %s", "diff /dev/null %s", "cat < %s", "sort %s",
				"awk '{print $NF}' %s", "sed -n '$p' %s", "cat %s | sort | sort", "grep -h . %s | tr -d '\"'", "cp %s copy.txt && cat copy.txt",
			} {
				line = fmt.Sprintf(line, name)
				got := m.one(t.Context(), "run_command", args{"command": line})
				if leak := toldIn(name, got); leak != "" {
					t.Errorf("%s tells %q: %s", line, leak, got)
				}
			}
		}
		got := m.one(t.Context(), "run_command", args{"command": "grep IMAGE .github/workflows/ci.yml; printf 'postgres debug 80\\n'; cat a.txt"})
		if strings.Contains(got, "[redacted]") || !strings.Contains(got, "postgres debug 80") {
			t.Errorf("it has a mask for no secret: %s", got)
		}
		// A file that is changed meanwhile is known, too.
		m.put(t, "config/database.yml", "production:\n  password: quetzalcoatl\n")
		if got := m.one(t.Context(), "run_command", args{"command": "awk '{print $2}' config/database.yml"}); strings.Contains(got, "quetzal") {
			t.Error(got)
		}
		if got := m.one(t.Context(), "run_command", args{"command": "mv config/database.yml moved.txt && cat moved.txt"}); strings.Contains(got, "quetzal") {
			t.Error(got)
		}
	}
}

// TestSecretsNearTheTopAreKnownFirst: many other files leave no time for all of them.
func TestSecretsNearTheTopAreKnownFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("many files")
	}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Unconfined: true, Dev: []string{"awk"}}, nil)
	for i := range 3_000 {
		m.put(t, fmt.Sprintf("d%d/e/f%d.yaml", i%50, i), fmt.Sprintf("name: x%d\ntoken: ${T}\n%s", i, strings.Repeat("key: value\n", 400)))
	}
	m.put(t, "ci.yml", "password: hunter2\n")
	m.put(t, "d1/e/z/.npmrc", "_auth=aGVsbG86d29ybGQ\n_password=golondrina\n")
	if got := m.one(t.Context(), "run_command", args{"command": "awk '{print $NF}' ci.y* ; awk -F= '{print $2}' d1/e/z/.np*"}); strings.Contains(got, "hunter2") || strings.Contains(got, "golondrina") {
		t.Error(got)
	}
}

// TestALineIsCutAfterItsMasks: half of a secret would not be recognised.
func TestALineIsCutAfterItsMasks(t *testing.T) {
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Unconfined: true, Dev: []string{"cat"}}, nil)
	m.put(t, "conf.json", `{"a":"`+strings.Repeat("x ", 485)+`","password":"gatomoradoverde"}`+"\n")
	if got := m.one(t.Context(), "run_command", args{"command": "cat conf.json"}); strings.Contains(got, "gato") || !strings.Contains(got, `"password":"[redact`) {
		t.Errorf("%.3000s", got)
	}
}
