package mask_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// TestOrdinaryFilesAreReadable: honest files keep each letter.
func TestOrdinaryFilesAreReadable(t *testing.T) {
	for name, text := range map[string]string{
		"main.go":                   "package main\n\n// Token has the password of a user.\ntype Token struct{ Password string }\n\nfunc f(token string) { s.token = token; password := read(\"password\") }\n",
		"secrets.go":                "package secrets\n\nfunc New(name string) Secret { return Secret{name: name, key: hash64(name)} }\n",
		"credentials.py":            "def get_credentials(token2):\n    password = prompt2()\n    return Credentials(token=token2, password=password)\n",
		"package-lock.json":         `{"packages":{"a":{"version":"1.2.3","resolved":"https://registry.npmjs.org/validate-npm-package-license/-/validate-npm-package-license-3.0.4.tgz","integrity":"sha512-9Jw2W3J5gW0c7JtXQv0l0N1m0pGv8s3d2kqF1vT5Yw0K3l8Qx7Z6cB9nM4aS5dF6gH7jK8lP9oI0uY1tR2eW3q=="}}}`,
		"go.sum":                    "golang.org/x/sys v0.40.0 h1:DBZZqJ2Rkml6QMQsZywtnjnnGvHza6BTfYFWY9kjEWQ=\n",
		"compose.yaml":              "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD2}\n      POSTGRES_USER: postgres\n      API_TOKEN: \"{{ .Values.token1 }}\"\n",
		"values.yaml":               "password: changeme1\ntoken: your-token-1\nsecretName: tls-2024\nimage: nginx@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
		"schema.json":               `{"properties":{"password":{"type":"string","minLength":8},"token":{"$ref":"#/defs/token1"}}}`,
		"page.html":                 `<input type="password" name="password" id="login-password-1"><img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk">`,
		"Makefile":                  "TOKEN ?= $(shell cat token2)\nPWD=/home/ana/web2\nPATH=/usr/bin:/bin\n",
		"ids.txt":                   "5f3c2a1e-8b7d-4c6a-9e0f-1a2b3c4d5e6f 9c951510a1b2c3d4e5f60718293a4b5c6d7e8f90\n",
		"credentials.example.json":  `{"client_secret":"your-client-secret-1"}`,
		"known_hosts":               "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n",
		"config/gradle.properties":  "org.gradle.jvmargs=-Xmx2g\nversion=1.2.3\n",
		"docs/secrets/rotation.md":  "The password is in the vault; rotate the token every 90 days.\n",
		"internal/secret_test.go":   "func TestSecret(t *testing.T) { token := newToken1() }\n",
		".github/workflows/ci.yaml": "env:\n  TOKEN: ${{ secrets.NPM_TOKEN1 }}\n",
	} {
		if got, n := mask.Content(workspace.Shown{}, name, []byte(text)); string(got) != text || n != 0 {
			t.Errorf("%s has %d: %s", name, n, got)
		}
	}
}

// TestSettingsHaveSecretsOfWords: what a file of settings calls a password is one, also if it is a word; a label and a
// reference are none.
func TestSettingsHaveSecretsOfWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		secret     string // "": there is none
	}{
		{"app.yml", "password: zorro\n", "zorro"},
		{"app.yml", "  db_password: correct horse battery # of 2024\n", "correct horse battery"},
		{"app.yml", "- password: 'correct horse'\n", "correct horse"},
		{"app.yml", "contraseña: albatros\n", "albatros"},
		{"app.yml", "password: supersecret\n", "supersecret"},
		{"app.yml", "password: 12345678\n", "12345678"},
		{"app.yml", "env:\n  - name: DB_PASSWORD\n    value: zorro\n", "zorro"},
		{"app.yml.bak", "password: zorro\n", "zorro"},
		{"app.yml", "password: \"Tr0ub4dor & 3\"\n", "Tr0ub4dor"},
		{"app.yml", "password: p@ss\n", "p@ss"},
		{"app.yml", "password: >-\n  correct horse\n  battery\nport: 80\n", "battery"},
		{"app.yml", "users: [{name: ana, password: zorro}]\n", "zorro"},
		{"app.yml", "auth_token: zorro-azul\n", "zorro"},
		{"app.yml", "url: postgres://ana:zorro@db/x\n", "zorro"},
		{"hosts.ini", "h ansible_password=zorro ansible_user=ana\n", "zorro"},
		{"app.xml", "<property name=\"connection.password\" value=\"zorro\"/>", "zorro"},
		{"app.plist", "<key>Password</key>\n<string>zorro</string>", "zorro"},
		{"Dockerfile", "ENV DB_PASSWORD=zorro\n", "zorro"},
		{"settings.py", "PASSWORD = 'zorro'\n", "zorro"},
		{"app.toml", "client_secret = \"zorro\"\n", "zorro"},
		{"app.ini", "[db]\nsmtp_pass = zorro\n", "zorro"},
		{"app.ini", "token = zorro\n", "zorro"},
		{"a.json", `{"user":"ana","password":"zorro"}`, "zorro"},
		{"a.json", `{"token":"zorro","n":1}`, "zorro"},
		{"pom.xml", "<server><password>zorro</password></server>", "zorro"},
		{"app.config", `<add key="ApiSecret" value="zorro" />`, "zorro"},
		{"main.tf", "  password = \"zorro\"\n", "zorro"},
		{"secret.yml.tpl", "x\n", ""},
		{"k.yaml", "a: 1\n---\nkind: Secret\nmetadata:\n  name: db\ndata:\n  a: zorro\n---\nkind: ConfigMap\ndata:\n  b: libre\n", "zorro"},
		{"k.yaml", "apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  stringData:\n    a: |\n      zorro\n    \n", "zorro"},
		{"k.json", "{\n \"kind\": \"Secret\",\n \"stringData\": {\n  \"a\": \"zorro\"\n }\n}\n", "zorro"},
		{"k.json", `{"kind":"Secret","stringData":{"a":"zorro"}}`, "zorro"},
		{"k.yaml", "kind: Secret\nstringData:\n  a: {{ .Values.a }}\n  b: \"{{ .Values.b }}\"\n", ""},
		{"k.yaml", "kind: SealedSecret\nspec:\n  encryptedData:\n    a: zorro\n", ""},
		{"jar.txt", "example.org\tFALSE\t/\tTRUE\t0\tsid\tzorro\n", "zorro"},
		{"notes.md", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\nP2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue2\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n", "P2/56wAAAgIAAAAmZGwtbW9kcHtzaWdue2"},
		{"notes.md", "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 2\nAAAAIBQ7sQ0bZ3VS5JJ\nzorro=\nPrivate-MAC: 1\n", "zorro="},
		{"smb.conf", "  ldap admin pw = hunter22\n", "hunter22"},
		{"smb.conf", "  ldap password = zorro\n", "zorro"},
		{"smb.conf", "admin password = zorro\n", "zorro"},
		{"smb.conf", "\tpassdb Password\t= zorro\n", "zorro"},
		{"smb.conf", "ldap admin passwd = Zx9kk\n", "Zx9kk"},
		{"a.ini", "root pw = zorro\n", "zorro"},
		{"a.ini", "bindpw: hunter22\n", "hunter22"},
		{"a.conf", "bindpw zorro22\n", "zorro22"},
		{"a.conf", "rootpw = zorro\n", "zorro"},
		{"a.ini", "admin_pw = hunter22\n", "hunter22"},
		{"a.env", "PW=hunter22\n", "hunter22"},
		{"proxychains.conf", "socks4 1.2.3.4 1080\nsocks5 192.168.67.78 1080 lamer zorro\n", "zorro"},
		{"etc/pc.list", "http\t10.0.0.1\t3128\tana\tzorro\n", "zorro"},
		{"a.har", `{"cookies":[{"name":"lang","value":"zorro","path":"/"}]}`, "zorro"},
		{"state.json", "{\n \"cookies\": [\n  {\n   \"name\": \"x[0]\",\n   \"value\": \"zorro\"\n  }\n ]\n}\n", "zorro"},
		{"a.har", `{"headers":[{"value":"Basic zorro","comment":"","name":"authorization"}]}`, "zorro"},
		{"a.har", `{"headers":[{"name":"Cookie","comment":"","value":"a=zorro"}]}`, "zorro"},
		{"a.har", `{"queryString":[{"name":"access_token","x":1,"value":"zorro"}]}`, "zorro"},
		{"a.json", `[{"value":"zorro","name":"password"}]`, "zorro"},
		{"task.json", `[{"Name":"DB_PASSWORD","ValueType":"plain","Value":"zorro"}]`, "zorro"},
		{"postman.json", `[{"key":"password","type":"text","value":"zorro"}]`, "zorro"},
		{"db-access.txt", "# hosts\ndb.example.com:5432:app:ana:zorro\nlocalhost:*:*:postgres:zorro2\n", "zorro"},
		{"smb.conf", "unix password sync = yes\npasswd program = /usr/bin/passwd %u\npassword server = dc1\nmachine password timeout = 604800\npassdb backend = tdbsam\nnull passwords = no\nmin password length = 5\n", ""},
		{"a.conf", "# the admin password = what ana chose\n", ""},
		{"postman.json", `[{"key":"password","type":"text","value":"{{password}}"},{"value":"","name":"token"},{"name":"page","value":"two"},{"name":"x-signature","value":"v1,{{ $json.s }}"}]`, ""},
		{"a.txt", "main.go:10:5:error:unused\na.go:1200:5:x:y\nhttp server 80 is up now\n1:2:3:4:5\n", ""},
		{"cookies.json", `{"cookies":["a","b"],"value":"zorro"}`, ""},
		{"app.yml", "url: postgres://postgres:postgres@db/x\n", ""},
		{"es.json", `{"password":"Contraseña","token":"Ficha"}`, ""},
		{"locales/x.yml", "password: Kennwort\n", ""},
		{"ci.yml", "permissions:\n  id-token: write\nsecrets: inherit\npassword: ${{ secrets.P }}\n", ""},
		{"a.json", `{"password":{"type":"string"},"token":"string","help":"forgot your password: ask ana","secret":"my-db-secret","password_hint":"zorro"}`, ""},
		{"a.json", `{"password":"Forgot your password?","passwordLabel":"zorro"}`, ""},
		{"a.tf", "password = var.password\ntoken = random_password.a.result\n", ""},
		{"a.go", "password := zorro\n// password: zorro\n", ""},
	} {
		got, n := mask.Content(workspace.Shown{}, c.name, []byte(c.text))
		if c.secret == "" && n != 0 || c.secret != "" && (n == 0 || strings.Contains(string(got), c.secret)) || strings.Contains(c.text, "libre") && !strings.Contains(string(got), "libre") {
			t.Errorf("%s: %q became %q (%d)", c.name, c.text, got, n)
		}
	}
}

// TestWhatBeginsAgainAndAgainIsMasked: a rule that looks back over a large text, or that never finds an end, would not get through.
func TestWhatBeginsAgainAndAgainIsMasked(t *testing.T) {
	for _, unit := range []string{
		`{"`, `{"name":"password"`, `{"name":"password","value":"`, `"cookies":[`, `"cookies":["`, `"value":"a",{"{}`, `"value" {"x{}`, "http a 1 b ", "socks5 a 1 b c\n", "h:5432:d:u:p\n", "h:5432:d:u:", "#\n",
		"a b ", "a b pw = c ", "pw ", "pw = ",
	} {
		text := []byte(`"value" ` + strings.Repeat(unit, 200_000/len(unit)))
		for _, name := range []string{"a.json", "a.har", "a.conf", "a"} {
			if got, _ := mask.Content(workspace.Shown{}, name, text); bytes.Count(got, []byte("\n")) != bytes.Count(text, []byte("\n")) {
				t.Errorf("%s of %q loses lines", name, unit)
			}
		}
	}
}

// TestMaskingKeepsLinesAndIsDoneOnce holds for each name and text.
func TestMaskingKeepsLinesAndIsDoneOnce(t *testing.T) {
	pieces := []string{
		"password", "token", "a", " = ", ": ", "\n", "\n  ", "- ", `"`, "'", "{", "}", "[", "]", ",", "hunter2", "machine h login a password ", "h:1:d:u:", "|", "https://u:p4ss@h/", mask.Mark,
		"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJ\n-----END PRIVATE KEY-----", "define('AUTH_KEY', 'x')", "<password>x</password>", "#", "true", "8080", "\r\n", "export ",
	}
	names := []string{"a.go", "a.yaml", ".npmrc", "secrets.yaml", "secrets.json", ".netrc", ".pgpass", ".vault-token", "x.env", ".ssh/a", "wp-config.php"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 24).Draw(t, "pieces"), "")
		once, n := mask.Content(workspace.Shown{}, name, []byte(text))
		if strings.Count(string(once), "\n") != strings.Count(text, "\n") || n > 0 != (string(once) != text) {
			t.Fatalf("%s: %q became %q (%d)", name, text, once, n)
		}
		if twice, _ := mask.Content(workspace.Shown{}, name, once); string(twice) != string(once) {
			t.Fatalf("%s: %q became %q and then %q", name, text, once, twice)
		}
	})
}

func TestMasksAreFound(t *testing.T) {
	for _, text := range []string{
		mask.Mark, "a[redacted]b", "[REDACTED]", "[redacted", "redacted]", `\[redacted\]`, "[ redacted ]", "%5Bredacted%5D", `\u005bredacted\u005d`, "&#91;redacted&#93;", "［redacted］", "[re\u200bdacted]",
		"\u2060[redacted\ufeff]", "［ｒｅｄａｃｔｅｄ］", "【redacted】", "[re\u00addacted]", "[rеdаcted]", "[ṙedacted]",
	} {
		if !mask.In(text) || !mask.InCommand(text) {
			t.Errorf("%q is no mask", text)
		}
	}
	for _, line := range []string{"echo '[reda''cted]'", `echo "[redac"ted]`, `echo \[redacted\]`} {
		if !mask.InCommand(line) {
			t.Errorf("%q has no mask", line)
		}
	}
	for _, text := range []string{"redacted", "the text was redacted.", "redact.Mark", "[red]", "redactedValue[0]", "isRedacted [x]"} {
		if mask.In(text) {
			t.Errorf("%q is a mask", text)
		}
	}
}

func TestMasksThatHarm(t *testing.T) {
	const secret = "a=1\napi_key = \"sk_live_51H8x2eZvKYlo2C0aBcDeFgHi\"\nMark = \"[redacted]\"\n"
	lost := func(to string) string { return strings.Replace(secret, `"sk_live_51H8x2eZvKYlo2C0aBcDeFgHi"`, to, 1) }
	var unknown *mask.Known // of other files
	for _, c := range []struct {
		was, is string
		harms   bool
	}{
		{"", "x [redacted]", false}, // a text, as any other
		{secret, strings.Replace(secret, "a=1", "a=2", 1), false},
		{secret, "a=1\napi_key = \"[redacted]\"\nMark = \"\"\n", true}, // as many as before
		{secret, strings.Replace(secret, "sk_live_51H8x2eZvKYlo2C0aBcDeFgHi", "[redacted]", 1), true},
		{"Mark = \"[redacted]\"\n", "const Mark = \"[redacted]\"\n", false},
		{"Mark = \"[redacted]\"\n", "Mark = \"[redacted]\"\nNext = \"[redacted]\"\n", false},
		{secret, "nothing\n", false},
		{secret, lost(`"***"`), true},
		{secret, lost(`"<redacted>"`), true},
		{secret, lost(`"(REDACTED)"`), true},
		{secret, lost(`"{masked}"`), true},
		{secret, lost(`"redacted"`), true},
		{secret, lost(`redacted`), true},
		{secret, lost(`"oculto"`), true},
		{secret, lost(`"[redacted_1]"`), true},
		{secret, lost(`"<REDACTED_KEY>"`), true},
		{secret, lost(`"__HIDDEN__"`), true},
		{secret, lost(`"-redacted-"`), true},
		{secret, lost(`"[ocultado]"`), true},
		{secret, lost(`"[existing value]"`), true},
		{secret, lost(`"<same as before>"`), true},
		{secret, secret + "b = existing\nc = \"<existence>\"\n", false},
		{secret, lost(`"xxxxxxxx"`), true},
		{secret, lost(`"XXXX-XXXX"`), true},
		{secret, lost(`"sk_live_****"`), true},
		{secret, lost(`"••••"`), true},
		{secret, lost(`"..."`), true},
		{secret, lost(`"…"`), true},
		{secret, lost("\"re\u200bdacted\""), true},
		{secret, lost(`"［ｒｅｄａｃｔｅｄ］"`), true},
		{secret, "api_key = \n  <redacted>\n", true},
		{secret, lost(`os.environ["API_KEY"]`), false},
		{secret, lost(`os.environ["API_KEY"]  # the secret was removed`), false},
		{secret, lost(`"${API_KEY}"`), false},
		{secret, secret + "# *** see above ***\nb = \"<hidden>\"\n", true}, // whether the secret stays is not told
		{"a=1\n", "a=1\nb = \"***\"\n", false},
	} {
		if got := unknown.Veil(workspace.Shown{}, "a.py", []byte(c.was)).Harms([]byte(c.is), true); got != c.harms {
			t.Errorf("%q to %q: %v", c.was, c.is, got)
		}
	}
	for _, c := range []struct {
		name, is string
		harms    bool
	}{ // new files
		{"a.toml", "token = \"[redacted]\"\n", true},
		{"a.yml", "password: [redacted]\n", true},
		{".npmrc", "//r.example.org/:_authToken=[redacted]\n", true},
		{"secrets.yaml", "db: [ redacted ]\n", true},
		{"a.yml", "title: shows [redacted] in place of a secret\n", false},
		{"a.go", "const Mark = \"[redacted]\"\n", false},
		{"a_test.go", "want := \"token=[redacted]\"\n", false},
		{"docs/a.md", "`password: [redacted]` stands for a secret.\n", false},
	} {
		if got := unknown.Veil(workspace.Shown{}, c.name, nil).Harms([]byte(c.is), true); got != c.harms {
			t.Errorf("%s: %q: %v", c.name, c.is, got)
		}
	}
}

func TestDiffHasNoSecret(t *testing.T) {
	const diff = "--- a/.netrc\n+++ b/.netrc\n@@ -1,3 +1,3 @@\n machine h\n password hunter2\n-login ana\n+login eva\n--- a/main.go\n+++ b/main.go\n@@ -1,2 +1,3 @@\n package main\n+// x\n \n"
	want := strings.Replace(diff, "hunter2", mask.Mark, 1)
	if got := mask.Diff(workspace.Shown{}, diff); got != want {
		t.Errorf("%q", got)
	}
	if got := mask.Diff(workspace.Shown{}, want); got != want {
		t.Errorf("again: %q", got)
	}
	if got := mask.Diff(workspace.Shown{}, ""); got != "" {
		t.Errorf("%q", got)
	}
}

// known returns the secrets of a file of settings, and the lines of its masked copy that have a mask.
func known(text string) (k *mask.Known, copies map[string]bool) {
	k, copies = &mask.Known{}, map[string]bool{}
	list, safe := mask.Find(workspace.Shown{}, "a.yml", []byte(text))
	k.Add(list)
	for _, line := range mask.Masks(safe) {
		copies[line] = true
	}
	return k, copies
}

func TestADiffIsFolded(t *testing.T) {
	k, copies := known("a:\n  password: tortuga\n  token: cigarra\n")
	for _, c := range []struct{ diff, want string }{
		{"@@ -1,3 +1,3 @@\n a:\n-  password: tortuga\n-  port: 80\n+  password: [redacted]\n+  port: 81\n", "@@ -1,3 +1,3 @@\n a:\n   password: [redacted]\n-  port: 80\n+  port: 81\n"},
		{"-x: 1\n-  password: tortuga\n-  token: cigarra\n-y: 1\n+x: 2\n+  password: [redacted]\n+z: 1\n+  token: [redacted]\n", "-x: 1\n+x: 2\n   password: [redacted]\n+z: 1\n   token: [redacted]\n-y: 1\n"},
		{"-  token: cigarra\n\\ No newline at end of file\n+  token: [redacted]\n\\ No newline at end of file\n", "   token: [redacted]\n\\ No newline at end of file\n"},
		{"-  token: cigarra\n\\ No newline at end of file\n+  token: [redacted]\n", ""},
		{"-  password: zebra\n+  password: [redacted]\n", ""},  // another secret was there
		{"-  password: tortuga\n+    token: [redacted]\n", ""}, // another line
		{"-  password: tortuga\n", ""},
		{"-  password: tortuga\n-x\n+y\n+  password: [redacted]", "+y\n   password: [redacted]\n-x"},
		{"+  password: [redacted]\n", ""},
		{"--- a/x.yml\n+++ b/x.yml\n@@ -1 +1 @@\n-password: tortuga\n+password: [redacted]", "--- a/x.yml\n+++ b/x.yml"},
		{"@@ -1 +1 @@ a\n-password: tortuga\n+password: [redacted]\n@@ -3 +3,2 @@\n+x\ndone", "@@ -3 +3,2 @@\n+x\ndone"},
		{"@@ -1 +1 @@\n a\n-password: tortuga\n+password: [redacted]\n b\ndone\n@@ x", "done\n@@ x"},
		{"-\n+\n[redacted]", ""},
	} {
		if c.want == "" {
			c.want = c.diff
		}
		if got := k.Folded(c.diff, copies); got != c.want {
			t.Errorf("%q: %q, want %q", c.diff, got, c.want)
		}
	}
}

func TestWordsOfADiffAreMasked(t *testing.T) {
	k, _ := known("password: tortuga\n")
	for _, diff := range []string{"password: [-tortuga-]{+zebra+}", "-tortuga\n+zebra", "--tortuga_"} {
		if got, _ := k.Output(diff); strings.Contains(got, "tortuga") || strings.Contains(diff, "zebra") != strings.Contains(got, "zebra") {
			t.Errorf("%q: %q", diff, got)
		}
	}
}

// TestAJoinedSecretIsMasked: a word that has a secret between signs.
func TestAJoinedSecretIsMasked(t *testing.T) {
	k, _ := known("password: tortugaverde\ndb_password: al-ba_tros77\n")
	for text, want := range map[string]string{
		"x-tortugaverde-y":                    "x-[redacted]-y",
		"a_tortugaverde":                      "a_[redacted]",
		"tortugaverde-tortugaverde_1":         "[redacted]-[redacted]_1",
		"x-al-ba_tros77-y":                    "x-[redacted]-y",
		"__tortugaverde--":                    "__[redacted]--",
		"https://h/a-tortugaverde/b":          "https://h/a-[redacted]/b",
		"tortugaverdes x-tortuga-verde al-ba": "tortugaverdes x-tortuga-verde al-ba",
	} {
		if got, _ := k.Output(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if long := strings.Repeat("-_", 1<<19); string(k.Copy([]byte(long))) != long { // in a moment
		t.Error("a long word is changed")
	}
}

// TestWhatIsKnownOfAValue: what of a value is a secret by itself has a mask wherever it stands, and no other word has.
func TestWhatIsKnownOfAValue(t *testing.T) {
	for _, c := range []struct{ name, text, secret string }{
		{".env", "DATABASE_URL=postgres://app:Leon-88rugiente@db:5432/x\n", "Leon-88rugiente"},
		{"a.yml", "REDIS_URL: redis://:tortugaverde@cache:6379/0\n", "tortugaverde"},
		{"a.yml", "URL: amqp://app:perro%40azul77@h/v\n", "perro@azul77"},
		{"a.yml", "POSTGRES_PASSWORD: ${DB_PASSWORD:-tortugaverde}\n", "tortugaverde"},
		{".npmrc", "//r/:_authToken=${NPM_TOKEN:-tortugaverde}\n", "tortugaverde"},
		{".env", "DB_PASSWORD=${X-tortugaverde}\n", "tortugaverde"},
		{".env", "DB_URL=postgres://app:${DB_PASSWORD:-tortugaverde}@h/v\n", "tortugaverde"},
		{"a.yml", "command: run --password=tortugaverde --verbose\n", "tortugaverde"},
		{"a.yml", "password: !!str tortugaverde\n", "tortugaverde"},
		{"a.yml", "password: &pw !!str \"tortugaverde\"\n", "tortugaverde"},
		{"a.yml", "password: ${DB_PASSWORD}\nb_password: ${B:-minioadmin}\n", ""},
		{"a.yml", "password: django\nb_password: minioadmin\nc_password: ${C:-django}\n", ""}, // short, or usual
		{".npmrc", "//r/:_authToken=${NPM_TOKEN}\n", ""},
		{"main.yml", "db_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n", ""},
	} {
		list, _ := mask.Find(workspace.Shown{}, c.name, []byte(c.text))
		k := &mask.Known{}
		k.Add(list)
		const other = "from django.db import shop-postgres, minioadmin ${NPM_TOKEN} ${DB_PASSWORD} --verbose\nx: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\ny: !!str app\n"
		got, _ := k.Output(other + c.secret)
		if want := other + strings.Repeat(mask.Mark, min(1, len(c.secret))); got != want {
			t.Errorf("%s%s", c.text, got)
		}
	}
}

func TestSecretsArePutBack(t *testing.T) {
	const one, list = "a: 1\npassword: tortuga\n", "password: tortuga\nusers:\n- password: cigarra\n- password: hormiga\n"
	for _, c := range []struct{ was, is, whole string }{
		{one, "a: 1\npassword: [redacted]\napi_token: nueva77clave\n", one + "api_token: nueva77clave\n"}, // a secret more
		{one, "a: 1\npassword: [redacted]\nurl: https://u:p4ssw0rdX1@h/x\n", one + "url: https://u:p4ssw0rdX1@h/x\n"},
		{one, "password: [redacted]\na: 2\n", "password: tortuga\na: 2\n"},
		{one, "x:\n\tpassword: [redacted]\r\n\tpassword: [redacted]", "x:\n\tpassword: tortuga\r\n\tpassword: tortuga"},
		{one, "password: \"[redacted]\"\n", ""},
		{one, "password: [redacted] # old\n", ""},
		{one, "a: 2\n", ""},
		{list, "password: [redacted]\nusers:\n- password: [redacted]\n- password: [redacted]\nb: 1\n", list + "b: 1\n"},
		{list, "users:\n- password: [redacted]\n- password: [redacted]\npassword: [redacted]\n", ""}, // in another order
		{list, "password: [redacted]\nusers:\n- password: [redacted]\n", ""},
		{"dev:\n  password: cigarra\nprod:\n  password: hormiga\n", "prod:\n  password: [redacted]\ndev:\n  password: [redacted]\n", ""}, // the parts were exchanged
		{"dev:\n  password: cigarra\nprod:\n  password: hormiga\n", "a: 1\ndev:\n  password: [redacted]\nprod:\n  password: [redacted]\n  b: 2\n", "a: 1\ndev:\n  password: cigarra\nprod:\n  password: hormiga\n  b: 2\n"},
		{"# prod\npassword: cigarra\n---\npassword: hormiga\n# dev\n", "# dev\npassword: [redacted]\n---\npassword: [redacted]\n# prod\n", ""},
		{"dev:\n  password: cigarra\nprod:\n  password: hormiga\n", "qa:\n  password: [redacted]\nprod:\n  password: [redacted]\n", ""}, // renamed
		{"kind: Secret\ndata:\n  admin: cigarra\n", "kind: Secret\ndata:\n  admin: [redacted]\n  b: [redacted]\n", ""},
		{"kind: Secret\ndata:\n  admin: cigarra\n", "kind: ConfigMap\ndata:\n  admin: [redacted]\n", ""}, // it would be shown there
		{"-----BEGIN RSA PRIVATE KEY-----\nQUJD\n-----END RSA PRIVATE KEY-----\n", "[redacted]\n\n\n", ""},
	} {
		had, _ := mask.Find(workspace.Shown{}, "a.yml", []byte(c.was))
		got, ok := mask.Restored(workspace.Shown{}, "a.yml", had, []byte(c.is))
		if ok != (c.whole != "") || ok && string(got) != c.whole {
			t.Errorf("%q of %q: %q, %v", c.is, c.was, got, ok)
		}
	}
}

// TestAPasswordBehindColonsIsWhole: a number sign in a line begins no comment, and an escaped colon ends no field.
func TestAPasswordBehindColonsIsWhole(t *testing.T) {
	for text, want := range map[string]string{
		"h:5432:d:us#er:tortuga":    "h:5432:d:us#er:" + mask.Mark,
		`h:5432:d:u:pa\:ss`:         "h:5432:d:u:" + mask.Mark,
		`h:5432:d:u:\:pass`:         "h:5432:d:u:" + mask.Mark,
		"  # h:5432:d:u:tortuga":    "  # h:5432:d:u:tortuga",
		"*:*:*:u:#tortuga":          "*:*:*:u:" + mask.Mark,
		"h:5432:d:u:\nx:1:d:u:gato": "h:5432:d:" + mask.Mark + ":\nx:1:d:u:" + mask.Mark,
	} {
		if got, _ := mask.Content(workspace.Shown{}, ".pgpass", []byte(text)); string(got) != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
