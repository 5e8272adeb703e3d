package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piloto/cmd/piloto/sandbox"
	"piloto/internal/chats/agent"
)

// rsa is a private key that nobody uses.
const rsa = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfnygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB\nQ0pYx2w9Kz7J1AoGBAK3aTzZZ0secretPart1\n-----END RSA PRIVATE KEY-----\n"

// places are the usual places of secrets in a folder. The text in «» is secret.
var places = map[string]string{
	".npmrc":                         "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=«npm-tok-Zk4481aa»\nalways-auth=true\n",
	".yarnrc.yml":                    "npmAuthToken: \"«yarn-tok-Zk4481aa»\"\n",
	".netrc":                         "machine api.example.org\n  login ana\n  password «hunter»\n",
	"_netrc":                         "machine h login ana password «hunter» account «acme1»\n",
	".authinfo":                      "machine smtp login ana port 25 password «hunter»\n",
	".git-credentials":               "https://ana:«hunter»@github.com\n",
	".pypirc":                        "[pypi]\nusername = __token__\npassword = «pypi-AgEIcHlwaS5vcmcCJDRh»\n",
	"prod.tfvars":                    "region = \"eu-west-1\"\ndb_admin = \"«hunter»\"\n",
	"terraform.tfvars.json":          "{\"db_admin\": \"«hunter»\", \"n\": 3}\n",
	"terraform.tfstate":              "{\"resources\":[{\"attributes\":{\"result\":\"«xK9!mQ2#Zw»\",\"password\":\"«hunter»\"}}]}\n",
	".aws/credentials":               "[default]\naws_access_key_id = «AKIAIOSFODNN7QZWXTRE»\naws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»\n",
	".kube/config":                   "users:\n- name: ana\n  user:\n    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=»\n    token: «abcdefghijkl»\n",
	"kubeconfig":                     "users:\n- user:\n    password: «hunter»\n",
	".docker/config.json":            "{\"auths\":{\"r.example.org\":{\"auth\":\"«YW5hOmh1bnRlcjI=»\"}}}\n",
	".dockercfg":                     "{\"r.example.org\":{\"auth\":\"«YW5hOmh1bnRlcjI=»\",\"email\":\"a@b.c\"}}\n",
	"service-account.json":           "{\"type\":\"service_account\",\"private_key_id\":\"«9f86d081884c7d659a2f»\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n«MIIEvQIBADANBgkqhkiG9w0BAQEFAASC»\\n-----END PRIVATE KEY-----\\n\"}\n",
	"robot.json":                     "{\"type\":\"service_account\",\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n«MIIEvQIBADANBgkqhkiG9w0BAQEFAASC»\\n-----END PRIVATE KEY-----\\n\"}\n",
	".pgpass":                        "db.example.org:5432:shop:ana:«hunter»\n",
	"prod.env":                       "PORT=8080\nADMIN=«hunter»\nexport DB=\"«two words»\"\n",
	"config/stage.env":               "SMTP_LOGIN=«hunter»\n",
	".cargo/credentials.toml":        "[registry]\ntoken = \"«cioHunterZk»\"\n",
	".cargo/credentials":             "[registry]\ntoken = \"«cioHunterZk»\"\n",
	".gem/credentials":               "---\n:rubygems_api_key: «rubyhunter»\n",
	".htpasswd":                      "ana:«$apr1$x$Zk4481aa»\n",
	".my.cnf":                        "[client]\nuser=ana\npassword=«hunter»\n",
	"auth.json":                      "{\"http-basic\":{\"repo.example.org\":{\"username\":\"ana\",\"password\":\"«hunter»\"}}}\n",
	"secrets.yaml":                   "db: «hunter»\nlist:\n  - «zorro»\nkey: |\n  «first line»\n  «second line»\n",
	"config/secrets.yml":             "production:\n  stripe: «hunter»\n",
	"secrets.json":                   "{\"a\":{\"b\":[\"«hunter»\",\"«zorro»\"]}}\n",
	"secrets.toml":                   "[db]\nadmin = \"«hunter»\"\n",
	"k8s-secret.yaml":                "kind: Secret\nstringData:\n  admin: «hunter»\n",
	"credentials.json":               "{\"installed\":{\"client_id\":\"«abc»\",\"client_secret\":\"«GOCSPX-hunter»\"}}\n",
	"credentials.csv":                "user,key\nana = «hunter»\n",
	".vault-token":                   "«hunter»\n",
	".vault_pass.txt":                "«hunter»\n",
	"passwords.txt":                  "«correct horse battery»\n",
	".ssh/deploy":                    "-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE»\n-----END OPENSSH PRIVATE KEY-----\n",
	".ssh/config":                    "Host a\n  «IdentityFile x»\n",
	".gnupg/notes":                   "«hunter»\n",
	".config/gh/hosts.yml":           "github.com:\n  user: ana\n  oauth_token: «gho_hunterZk4481aa»\n",
	".config/gcloud/legacy/adc.json": "{\"refresh_token\":\"«1//0hunter»\",\"client_secret\":\"«hunter»\"}\n",
	".boto":                          "[Credentials]\naws_secret_access_key = «hunter»\n",
	".s3cfg":                         "access_key = «hunter»\nsecret_key = «zorro»\n",
	"rclone.conf":                    "[r]\ntype = sftp\npass = «Zk4481aaQQ»\n",
	"wp-config.php":                  "<?php\ndefine('DB_PASSWORD', '«hunter»');\ndefine( 'AUTH_KEY', '«x y Zk!»' );\n",
	".m2/settings.xml":               "<settings><server><username>ana</username><password>«hunter»</password></server></settings>\n",
	".composer/auth.json":            "{\"github-oauth\":{\"github.com\":\"«Zk4481aaQQ77»\"}}\n",
	".databrickscfg":                 "[DEFAULT]\ntoken = «dapihunter»\n",
	".terraformrc":                   "credentials \"app.terraform.io\" {\n  token = \"«hunter.atlasv1.x»\"\n}\n",
	"deploy/client.ovpn":             "remote a 1194\n<key>\n" + strings.ReplaceAll(strings.ReplaceAll(rsa, "MIIE", "«MIIE"), "yPB\n", "yPB»\n") + "</key>\n",
	".bash_history":                  "ls\nmysql -u root -p«hunter» shop\nexport API_TOKEN=«zorro99»\n",
	"docker-compose.yml":             "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: «hunter2»\n",
	"config/database.yml":            "production:\n  password: «hunter2»\n",
	"application.properties":         "spring.datasource.password=«S3cret9»\nserver.port=80\n",
	"settings.py":                    "SECRET_KEY = '«k3j#9d8f!2mz0q^w7e5r6t1y4u»'\n",
	"src/app.js":                     "const stripe = require('stripe')('«sk_live_51H8x2eZvKYlo2C0aBcDeFgHi»')\n",
	"notes.md":                       "the key:\n\n" + strings.ReplaceAll(strings.ReplaceAll(rsa, "MIIE", "«MIIE"), "yPB\n", "yPB»\n"),
	".dev.vars":                      "STRIPE=«hunter»\nLEVEL=\"«zorro azul»\"\n",
	"wg0.conf":                       "[Peer]\nPresharedKey = «FpCyhws9cxwWoV4xELtfJvjJN9zQVRPISllRWgeopVE=»\n",
	"etc/wpa_supplicant.conf":        "network={\n\tssid=\"casa\"\n\tpsk=\"«albatros»\"\n}\n",
	"inventory/hosts":                "[web]\nh1 ansible_user=ana ansible_password=«albatros»\n",
	"inventory/prod":                 "[web]\nh1 ansible_become_pass=«pelicano» ansible_port=22\n",
	"hosts":                          "[all:vars]\nansible_ssh_pass=«pelicano»\nansible_become_password=«albatros»\n",
	"vpn/auth-user-pass.txt":         "«ana»\n«hunter»\n",
	"page.har":                       "{\"headers\":[{\"name\":\"Cookie\",\"value\":\"«sid=hunter; a=zorro»\"},{\"name\":\"Accept\",\"value\":\"text/html\"}]}\n",
	".httpie/sessions/h/ana.json":    "{\"headers\":{\"Cookie\":\"«sid=hunter»\"},\"cookies\":[{\"name\":\"session\",\"value\":\"«zorro9»\"}]}\n",
	".mbsyncrc":                      "IMAPAccount x\nUser ana\nPass «hunter»\n",
	".offlineimaprc":                 "[Repository R]\nremoteuser = ana\nremotepass = «hunter»\n",
	".erlang.cookie":                 "«HUNTERZORRO»\n",
	".cvspass":                       "«/1 :pserver:ana@h:2401/cvs Ay=0=h<Z»\n",
	".pause":                         "user ANA\npassword «hunter»\n",
	".s3ql/authinfo2":                "[s3]\nstorage-url: s3://b\nbackend-login: ana\nbackend-password: «hunter»\nfs-passphrase: «zorro»\n",
	"etc/fstab":                      "//h/s /mnt cifs username=ana,password=«hunter»,uid=1000 0 0\n",
	"etc/shadow":                     "«root:$6$salt$abc:19000:0:99999:7:::»\n",
	"smbcreds":                       "username=«ana»\npassword=«hunter»\n",
	"Dockerfile":                     "ENV DATABASE_URL=postgres://app:«h8Kx2!mQ»@db:5432/app\n",
}

var unmark = strings.NewReplacer("«", "", "»", "")

// secretsIn returns the words in «».
func secretsIn(text string) (list []string) {
	for _, part := range strings.Split(text, "«")[1:] {
		secret, _, _ := strings.Cut(part, "»")
		list = append(list, strings.Split(secret, "\n")...)
	}
	return list
}

// leaks returns the first secret of a place that a text has.
func leaks(place, text string) string {
	for _, secret := range secretsIn(places[place]) {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// withPlaces returns a machine whose folder has all places.
func withPlaces(t *testing.T, o Options, who *person) *Machine {
	t.Helper()
	m := newMachine(t, o, who)
	for name, text := range places {
		m.put(t, name, unmark.Replace(text))
	}
	return m
}

func (m *Machine) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.Root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoSecretReachesTheModelUnasked has the usual places, in each mode, by each way to read.
func TestNoSecretReachesTheModelUnasked(t *testing.T) {
	if len(places) < 40 {
		t.Fatalf("%d places", len(places))
	}
	confined := sandbox.Check(t.Context()) == nil
	for _, mode := range []agent.Mode{agent.ConfirmAll, agent.ConfirmSensitive, agent.Yolo} {
		no := &person{}
		refused := withPlaces(t, Options{Mode: mode, Commands: confined}, no)
		nobody := withPlaces(t, Options{Mode: mode, Commands: confined}, nil)
		for name := range places {
			asked := len(no.shown)
			got := refused.one(t.Context(), "read_file", args{"path": name})
			if leak := leaks(name, got); leak != "" {
				t.Errorf("%s: read_file of %s tells %q: %s", mode, name, leak, got)
			}
			if asks := len(no.shown) > asked; asks != (mode != agent.Yolo) {
				t.Errorf("%s: read_file of %s asks: %v", mode, name, asks)
			}
			if mode == agent.Yolo && (!strings.Contains(got, "[redacted]") || !strings.Contains(got, "masked")) {
				t.Errorf("read_file of %s does not say what it masks: %s", name, got)
			}
			for _, call := range []struct {
				tool string
				with args
			}{
				{"read_file", args{"path": name, "from": 2}},
				{"search_code", args{"pattern": ".", "path": name, "context": 5}},
				{"grep", args{"text": secretsIn(places[name])[0], "path": name}},
				{"grep", args{"text": "e", "path": name}},
				{"run_command", args{"command": "cat " + name}},
				{"run_command", args{"command": "head -c 4000 " + name}},
				{"run_command", args{"command": "grep -n . " + name}},
			} {
				got := nobody.one(t.Context(), call.tool, call.with)
				if leak := leaks(name, got); leak != "" {
					t.Errorf("%s: %s %v of %s tells %q: %s", mode, call.tool, call.with, name, leak, got)
				}
			}
		}
		if got := nobody.one(t.Context(), "search_code", args{"pattern": "hunter|zorro|Zk4481"}); leaks(".npmrc", got) != "" || strings.Contains(got, "hunter") {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// TestAPersonLetsTheModelReadASecret: in a mode that asks, a yes shows the file as it is, and --show is a yes.
func TestAPersonLetsTheModelReadASecret(t *testing.T) {
	yes := &person{says: true}
	m := withPlaces(t, Options{Mode: agent.ConfirmSensitive}, yes)
	if got := m.one(t.Context(), "read_file", args{"path": ".netrc"}); leaks(".netrc", got) == "" || len(yes.shown) != 1 {
		t.Errorf("%q: %s", yes.shown, got)
	}
	m = withPlaces(t, Options{Mode: agent.ConfirmSensitive, Shown: []string{".netrc"}, Commands: sandbox.Check(t.Context()) == nil}, nil)
	if got := m.one(t.Context(), "read_file", args{"path": ".netrc"}); leaks(".netrc", got) == "" {
		t.Error(got)
	}
	if got := m.one(t.Context(), "read_file", args{"path": "a.txt"}); !strings.Contains(got, "uno") {
		t.Error(got)
	}
}

// TestGitConfigurationHasNoTokenForACommand: programs ask git, and the address of a remote may have a token.
func TestGitConfigurationHasNoTokenForACommand(t *testing.T) {
	if sandbox.Check(t.Context()) != nil {
		t.Skip("this machine has no sandbox")
	}
	m := newMachine(t, Options{Mode: agent.Yolo, Commands: true, Dev: []string{"git", "base64", "cat"}}, nil)
	const config = "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = https://ana:hunter@github.com/a/b.git\n[http]\n\textraheader = AUTHORIZATION: basic YWJj-hunter-ZGVm12\n"
	m.put(t, ".git/config", config)
	names := []string{".git/config", "sub/.git/config", "x.git/config", "bare/config", "included", ".git/modules/a/b/c/config", ".git/worktrees/d/config.worktree"}
	for _, name := range names[1:] {
		m.put(t, name, config)
	}
	m.put(t, "sub/.git/config.worktree", "[include]\n\tpath = ../../included\n")
	for _, folder := range []string{"x.git", "bare", ".git/modules/a/b/c", ".git/worktrees/d"} {
		m.put(t, folder+"/HEAD", "ref: refs/heads/main\n")
		m.put(t, folder+"/objects/x", "")
		m.put(t, folder+"/refs/x", "")
	}
	for i, name := range append(names, names...) {
		if i == len(names) {
			m.Write = []string{filepath.Join(m.Root, ".git")} // writable files are masked, too
		}
		for _, line := range []string{"cat " + name, "base64 " + name + " | base64 -d | rev | rev", "git config --file " + name + " --list"} {
			if got := m.one(t.Context(), "run_command", args{"command": line}); strings.Contains(got, "hunter") || !strings.Contains(got, "github.com") {
				t.Errorf("%s: %s", line, got)
			}
		}
	}
	if m.content(t, ".git/config") != config {
		t.Error("it was changed")
	}
}

// TestNoMaskIsWritten: a call that would put a mask into a file is refused with the way to go on, and the secret stays.
func TestNoMaskIsWritten(t *testing.T) {
	const before, mark = "a=1\ntoken = \"tok-Zk4481aa-77\"\nb=2\n", "[redacted]"
	confined := sandbox.Check(t.Context()) == nil
	masks := []string{mark, "[REDACTED]", "[redacted", "redacted]", `\[redacted\]`, "[ redacted ]", "%5Bredacted%5D", "[re\u200bdacted]", "［redacted］"}
	for _, mode := range []agent.Mode{agent.ConfirmSensitive, agent.Yolo} {
		m := newMachine(t, Options{Mode: mode, Commands: confined, AllowDelete: true, Dev: []string{"sed", "cat", "printf", "tee", "echo"}}, &person{says: true})
		m.put(t, "app.toml", before)
		m.put(t, ".npmrc", before)
		for _, name := range []string{"app.toml", ".npmrc"} {
			for i, mask := range masks {
				calls := []struct {
					tool string
					with args
				}{
					{"write_file", args{"path": name, "content": "a=9\ntoken = \"" + mask + "\"\nb=2\n"}},
					{"write_file", args{"path": name, "content": "c = \"" + mask + "\"\n", "mode": "append"}},
					{"write_file", args{"path": fmt.Sprintf("new%d.toml", i), "content": "token = \"" + mask + "\"\n"}},
					{"edit_file", args{"path": name, "old_str": "a=1", "new_str": "a=" + mask}},
					{"edit_file", args{"path": name, "old_str": "token = \"" + mask + "\"", "new_str": "token = \"x\""}},
					{"edit_file", args{"path": name, "old_str": "a=1\ntoken = \"" + mask, "new_str": "a=2\ntoken = \"" + mask}},
					{"apply_patch", args{"path": name, "patch": "@@ -1,3 +1,3 @@\n-a=1\n+a=2\n token = \"" + mask + "\"\n b=2\n"}},
					{"apply_patch", args{"path": name, "patch": "@@ -1,1 +1,2 @@\n a=1\n+c=" + mask + "\n"}},
					{"apply_patch", args{"path": name, "patch": "@@ -2,1 +2,1 @@\n-token = \"" + mask + "\"\n+token = \"x\"\n"}},
				}
				if confined {
					for _, line := range []string{
						"sed -i 's/^a=.*/token = " + mask + "/' " + name, "cat > " + name + " <<'E'\na=1\ntoken = " + mask + "\nE", "echo 'token=" + mask + "' | tee " + name,
						"printf 'a=[redac''ted]' > " + name,
					} {
						calls = append(calls, struct {
							tool string
							with args
						}{"run_command", args{"command": line}})
					}
				}
				for _, c := range calls {
					got := m.one(t.Context(), c.tool, c.with)
					if !strings.Contains(got, `"error"`) || !strings.Contains(got, "stands for a secret") {
						t.Errorf("%s %v: %s", c.tool, c.with, got)
					}
					if m.content(t, name) != before {
						t.Fatalf("%s %v: it has %q", c.tool, c.with, m.content(t, name))
					}
				}
			}
			// A mask in the style of another program, or of the model, destroys the secret as well.
			for _, mask := range []string{"<redacted>", "***", "(redacted)", "xxxxxxxx", "tok-****", "••••", "REDACTED", "oculto"} {
				for _, c := range []struct {
					tool string
					with args
				}{
					{"write_file", args{"path": name, "content": "a=9\ntoken = \"" + mask + "\"\nb=2\n"}},
					{"apply_patch", args{"path": name, "patch": "@@ -1,3 +1,3 @@\n a=1\n-token = \"tok-Zk4481aa-77\"\n+token = \"" + mask + "\"\n b=2\n"}},
					{"edit_file", args{"path": name, "old_str": "tok-Zk4481aa-77", "new_str": mask}},
				} {
					why := "would destroy that secret"
					if c.tool != "write_file" { // it guesses the value behind the mask
						why = "cannot be edited"
					}
					if got := m.one(t.Context(), c.tool, c.with); !strings.Contains(got, why) || m.content(t, name) != before {
						t.Fatalf("%s %v: %s", c.tool, c.with, got)
					}
				}
			}
			// The lines without a mask can be changed, and the secret stays.
			for _, c := range []struct {
				tool string
				with args
			}{
				{"edit_file", args{"path": name, "old_str": "a=1", "new_str": "a=2"}},
				{"apply_patch", args{"path": name, "patch": "@@ -3,1 +3,2 @@\n b=2\n+c=3\n"}},
				{"write_file", args{"path": name, "content": "d=4\n", "mode": "append"}},
			} {
				if got := m.one(t.Context(), c.tool, c.with); strings.Contains(got, `"error"`) || strings.Contains(got, "Zk4481") {
					t.Errorf("%s %v: %s", c.tool, c.with, got)
				}
			}
			if got := m.content(t, name); got != "a=2\ntoken = \"tok-Zk4481aa-77\"\nb=2\nc=3\nd=4\n" {
				t.Errorf("%s has %q", name, got)
			}
		}
		// A file whose own text has the word of a mask can be changed.
		m.put(t, "mask.go", "const Mark = \"[redacted]\"\nvar a = 1\n")
		for _, c := range []args{{"old_str": "a = 1", "new_str": "a = 2"}, {"old_str": "const Mark = \"[redacted]\"", "new_str": "const Mask = \"[redacted]\""}} {
			c["path"] = "mask.go"
			if got := m.one(t.Context(), "edit_file", c); strings.Contains(got, `"error"`) {
				t.Error(got)
			}
		}
		for _, name := range []string{"a.txt", "new.md", "new_test.go"} {
			got := m.one(t.Context(), "write_file", args{"path": name, "content": "The text `token=[redacted]` stands for a token.\n"})
			if strings.Contains(got, `"error"`) || !strings.Contains(m.content(t, name), "[redacted]") {
				t.Errorf("%s has no secret: %s", name, got)
			}
		}
		if _, err := os.Stat(filepath.Join(m.Root, "new0.toml")); err == nil {
			t.Error("a file with a mask was made")
		}
	}
}

// TestErrorsOfWritesTellNoSecret: why a patch does not fit is told with lines of the file.
func TestErrorsOfWritesTellNoSecret(t *testing.T) {
	m := withPlaces(t, Options{Mode: agent.Yolo}, nil)
	for name := range places {
		for line := 1; line < 5; line++ {
			got := m.one(t.Context(), "apply_patch", args{"path": name, "patch": fmt.Sprintf("@@ -%d,1 +%d,1 @@\n-nothing like it\n+x\n", line, line)})
			if leak := leaks(name, got); leak != "" {
				t.Errorf("%s: %q in %s", name, leak, got)
			}
		}
	}
	got := m.one(t.Context(), "edit_file", args{"path": ".npmrc", "old_str": "always-auth=true", "new_str": "always-auth=false"})
	if strings.Contains(got, `"error"`) || leaks(".npmrc", got) != "" || !strings.Contains(m.content(t, ".npmrc"), "_authToken=npm-tok-Zk4481aa\nalways-auth=false") {
		t.Error(got)
	}
}

// TestOutputsHaveNoSecret: of commands and hooks, also where a secret is in no usual place.
func TestOutputsHaveNoSecret(t *testing.T) {
	unconfined := sandbox.Check(t.Context()) != nil
	m := newMachine(t, Options{
		Mode: agent.Yolo, Commands: true, Unconfined: unconfined, Dev: []string{"seq", "cat", "printenv"}, Env: map[string]string{"API_TOKEN": "zorro-azul-oscuro"},
		Hooks: []sandbox.Hook{{Name: "show", Command: "cat {file}"}},
	}, nil)
	m.put(t, "long.txt", strings.Repeat("x\n", 99)+strings.ReplaceAll(rsa, "\nQ0p", "\n"+strings.Repeat("QWERTYqwerty1234QWERTYqwerty1234\n", 150)+"Q0p")+strings.Repeat("y\n", 10))
	for _, line := range []string{"cat long.txt", "printenv API_TOKEN"} {
		got := m.one(t.Context(), "run_command", args{"command": line})
		if strings.Contains(got, "QWERTY") || strings.Contains(got, "secretPart1") || strings.Contains(got, "zorro") || !strings.Contains(got, "[redacted]") || !strings.Contains(got, "masked") {
			t.Errorf("%s: %s", line, got)
		}
	}
	got := m.one(t.Context(), "write_file", args{"path": "app.js", "content": "f('sk_live_51H8x2eZvKYlo2C0aBcDeFgHi')\n"})
	if strings.Contains(got, "sk_live_51") || !strings.Contains(got, "[redacted]") {
		t.Error(got)
	}
}
