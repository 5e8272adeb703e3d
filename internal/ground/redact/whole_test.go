package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// body is what a private key has between its first and its last line.
const body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB\naFDrBz9vFqU4yVkzSK8Kk5bWJ1MQ3Ps1LrKkqnpZ8y6XvY5p1sUsbFvXyXkPs4Vd\nQ0pYx2w9Kz7J1AoGBAK3aTz=="

// pemOf returns a private key of a kind, with a line break of a form.
func pemOf(label, lineBreak string) string {
	return strings.ReplaceAll("-----BEGIN "+label+"-----\n"+body+"\n-----END "+label+"-----", "\n", lineBreak)
}

var labels = []string{
	"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "ANY PRIVATE KEY",
}

// TestPrivateKeyLeavesWithItsLines: nothing of a key is left, not its first line and not its last.
func TestPrivateKeyLeavesWithItsLines(t *testing.T) {
	for _, label := range labels {
		for _, lineBreak := range []string{"\n", "\r\n", `\n`, `\\n`, "\n    ", "\n> "} {
			key := pemOf(label, lineBreak)
			for name, text := range map[string]string{
				"alone":  key,
				"beside": "before\n" + key + "\nafter",
				"json":   `{"type":"service_account","private_key":"` + key + `","client_id":"1"}`,
				"yaml":   "tls:\n    key: |\n    " + key + "\nnext: 1",
				"log":    "cannot read " + key + " of the file",
				"cut":    key[:len(key)*2/3],
			} {
				if strings.Contains(lineBreak, ">") && name != "beside" {
					continue
				}
				checkNoKey(t, label+" "+name+" "+lineBreak, Text(text))
				masked, n := Lines(text, Whole)
				checkNoKey(t, "lines of "+label+" "+name, masked)
				if strings.Count(masked, "\n") != strings.Count(text, "\n") || n < 1 {
					t.Errorf("%s: %d secrets, %q", name, n, masked)
				}
				if name != "cut" {
					masked, _ = Lines(text, Evident)
					checkNoKey(t, "evident in "+label+" "+name+" "+lineBreak, masked)
				}
			}
		}
		rest := pemOf(label, "\n")
		for _, from := range []int{40, len(rest) / 2} {
			text := "… 300 lines left out …\n" + rest[from:] + "\nafter"
			if got := Text(text); strings.Contains(got, "AoGBAK") || strings.Contains(got, "Ps1LrK") || strings.Contains(got, "-----") || !strings.Contains(got, "after") || !strings.Contains(got, "left out") {
				t.Errorf("the second half of a key: %q", got)
			}
		}
	}
}

// TestRestOfAPrivateKeyLeaves: whatever the length of its last lines is, and whatever is cut off before them.
func TestRestOfAPrivateKeyLeaves(t *testing.T) {
	full := strings.Split(strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\n", 3), "\n")[:3]
	for n := 1; n <= 69; n++ {
		for _, padding := range []string{"", "=", "=="} {
			for _, lineBreak := range []string{"\n", "\r\n", `\n`, "\n    ", "\n> ", "\n+", "\n-", "\n12: ", "\nid_rsa:"} {
				last := "AAAECuTDVwaB7yTnR5sLwEu8HjKpGdUfAbCdE3oD2bF0qKcQm9a1ZxV7yTnR5sLwEu8Hj"[:n] + padding
				for cut := range full {
					lines := append(append([]string{}, full[cut:]...), last, "-----END OPENSSH PRIVATE KEY-----")
					text := "… left out …" + lineBreak + strings.Join(lines, lineBreak) + "\nafter"
					got := Text(text)
					if strings.Contains(got, "b3Blb") || strings.Contains(got, "AAAEC") || strings.Contains(got, "END") || !strings.Contains(got, "after") || !strings.Contains(got, "left out") || Text(got) != got {
						t.Fatalf("a last line of %d%s, %q: %q", n, padding, lineBreak, got)
					}
				}
			}
		}
	}
}

func checkNoKey(t *testing.T, what, got string) {
	t.Helper()
	for _, part := range []string{"MIIEpAIB", "aFDrBz9v", "Ps1LrK", "AoGBAK3a", "BEGIN", "END", "-----"} {
		if strings.Contains(got, part) {
			t.Errorf("%s: %q is left in %q", what, part, got)
		}
	}
	if !strings.Contains(got, Mark) {
		t.Errorf("%s: no mark in %q", what, got)
	}
}

// masks are what programs write in place of a secret.
var masks = []string{
	Mark, "[REDACTED]", "<redacted>", "{redacted}", "(redacted)", "***redacted***", "REDACTED", "[FILTERED]", "[MASKED]", "<hidden>", "****", "[removed]", "•••••", "__redacted__",
}

// TestMaskIsNotMaskedAgain holds for our mark, and for those of others.
func TestMaskIsNotMaskedAgain(t *testing.T) {
	for _, mask := range masks {
		for _, text := range []string{
			"password=" + mask, `{"password":"` + mask + `"}`, "token: " + mask, "API_KEY=" + mask + "\nx=1", "?password=" + mask + "&a=b",
			"<password>" + mask + "</password>", `--password "` + mask + `"`, "Authorization: Bearer " + mask,
			"Set-Cookie: a=" + mask + "; Path=/",
		} {
			once := Text(text)
			if strings.Count(once, Mark) > 1 || strings.Contains(once, "["+Mark) || Text(once) != once {
				t.Errorf("%q became %q and then %q", text, once, Text(once))
			}
			if mask == Mark && once != text && !strings.HasPrefix(text, "Set-Cookie") {
				t.Errorf("%q became %q", text, once)
			}
		}
	}
}

// TestRedactingTwiceIsRedactingOnce draws texts of pieces that rules look for.
func TestRedactingTwiceIsRedactingOnce(t *testing.T) {
	pieces := append([]string{
		"password", "token", "=", ":", " ", "\n", `"`, `\"`, "'", "`", "hunter2", "aB3dE6gH9kL2mN5pQ8rT", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", body,
		"Authorization: Bearer ", "Set-Cookie: a=b; Path=/", "Cookie: ", "https://u:p4ss@h/", "curl -u a:b ", "[", "]", "{", "}", "<", ">", ",", ";", "&", "%3D", `\n`, "|", "ghp_aB3dE6gH9kL2mN5pQ8rT",
	}, masks...)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 24).Draw(t, "pieces"), "")
		once := Text(text)
		if twice := Text(once); twice != once {
			t.Fatalf("%q became %q and then %q", text, once, twice)
		}
		for _, d := range []Depth{Whole, Evident} {
			masked, n := Lines(text, d)
			again, more := Lines(masked, d)
			if again != masked || more != 0 || strings.Count(masked, "\n") != strings.Count(text, "\n") || (n > 0) != (masked != text) {
				t.Fatalf("depth %d: %q became %q (%d) and then %q (%d)", d, text, masked, n, again, more)
			}
		}
	})
}

// TestAttributesOfCookiesStay: only the value of a cookie is a secret.
func TestAttributesOfCookiesStay(t *testing.T) {
	for text, want := range map[string]string{
		"Set-Cookie: session=abc123def; Path=/; HttpOnly":                                   "Set-Cookie: [redacted]; Path=/; HttpOnly",
		"set-cookie: a=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Secure; SameSite=Lax":      "set-cookie: [redacted]; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Secure; SameSite=Lax",
		`{"Set-Cookie":"session=abc123def; Path=/app; Max-Age=60"}`:                         `{"Set-Cookie":"[redacted]; Path=/app; Max-Age=60"}`,
		"Set-Cookie: a=b; Path=/, c=secondSecret1; Path=/":                                  "Set-Cookie: [redacted]",
		"Set-Cookie: a=b; Path=/; c=secondSecret1":                                          "Set-Cookie: [redacted]",
		"Cookie: a=1; b=secondSecret1":                                                      "Cookie: [redacted]",
		"PATH=/usr/local/bin:/usr/bin\nPWD=/home/ana/web-2\nOLDPWD=/home/ana":               "PATH=/usr/local/bin:/usr/bin\nPWD=/home/ana/web-2\nOLDPWD=/home/ana",
		"Path=/x; path: /etc/app/2024; {\"Path\":\"/a/b\",\"path\":\"C:\\\\Users\\\\ana\"}": "Path=/x; path: /etc/app/2024; {\"Path\":\"/a/b\",\"path\":\"C:\\\\Users\\\\ana\"}",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// readable are honest texts that look random.
var readable = []string{
	"commit 9c951510a1b2c3d4e5f60718293a4b5c6d7e8f90", "id: 5f3c2a1e-8b7d-4c6a-9e0f-1a2b3c4d5e6f", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	`"integrity": "sha512-9Jw2W3J5gW0c7JtXQv0l0N1m0pGv8s3d2kqF1vT5Yw0K3l8Qx7Z6cB9nM4aS5dF6gH7jK8lP9oI0uY1tR2eW3q=="`,
	"golang.org/x/sys v0.40.0 h1:DBZZqJ2Rkml6QMQsZywtnjnnGvHza6BTfYFWY9kjEWQ=", `src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"`,
	"func rewriteValue386splitload_Op386CMPBconst(v *Value) bool {", "token := lexer.Next()", "s.token = token", "type token = Token", "const LC_CODE_SIGNATURE = 0x1d",
	"password := parse(out)", `return errors.New("final token")`, "passwd: compat", `key: "user.settings.title"`, "Path: /usr/lib/x86_64-linux-gnu/libssl.so.3",
	"db:\n  password: ${DB_PASSWORD}\n  token: {{ .Values.token }}", `password = "changeme"`, "POSTGRES_PASSWORD: postgres", "DATABASE_URL=postgres://postgres:postgres@localhost:5432/app",
	`token: process.env.API_TOKEN2`, `apiKey: config.get("api.key1")`, `secretName: tls-cert-2024`, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
	"// a file that begins with -----BEGIN PRIVATE KEY----- is a key", `const begin = "-----BEGIN PRIVATE KEY-----"`,
}

// shown are texts of ordinary files that show a secret.
var shown = []string{
	"aws_secret_access_key = ⟦wJalrXUtnFEMI/K7MDENG/bPxRfiCYq4Vt8sKEYa⟧", "//registry.npmjs.org/:_authToken=⟦npm_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R⟧",
	"url = https://x-access-token:⟦ghp_1a2B3c4D5e6F7g8H9i0J1k2L3m4N5o6P7q8R⟧@github.com/a/b.git", "DATABASE_URL=postgres://app:⟦h8Kx2!mQ⟧@db:5432/app",
	`SECRET_KEY = '⟦k3j#9d8f!2mz0q^w7e5r6t1y4u⟧'`, `  POSTGRES_PASSWORD: ⟦S3cr3x!x9Q⟧`, "spring.datasource.password=⟦Vx9!kQ2#mZ⟧", `"client_secret": "⟦GOCSPX-a1B2c3D4e5F6g7H8i9J0⟧"`,
	"Authorization: Bearer ⟦eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlMTIz⟧", "hook: https://hooks.slack.com/services/⟦T01ABCDEF/B01ABCDEF/a1B2c3D4e5F6g7H8i9J0k1L2⟧",
	"export STRIPE_KEY=⟦sk_live_51H8x2eZvKYlo2C0aBcDeFgHi⟧", "AWS_ACCESS_KEY_ID=⟦AKIAIOSFODNN7QZWXTRE⟧", `apiKey: "⟦9f86d081884c7d659a2feaa0c55ad015⟧"`,
	"SECRET_KEY_BASE=⟦29e0cb9d2806fdca2b532bd1f1136fdc44b4262b2a62d636a3a98edd0c3b7a3f⟧",
}

// TestSettingsInOutputs: what tools put before a line changes nothing of what it tells.
func TestSettingsInOutputs(t *testing.T) {
	for _, line := range []string{"GITHUB_PAT=Zq55Tr7Kp9wLm4Xv55", "DB_KEY = \"Zq58Tr7Kp9wLm4Xv58\"", "export HASH_SALT=Zq58Tr7Kp9wLm4Xv58", "AUTH: Zq58Tr7Kp9wLm4Xv58"} {
		for _, before := range []string{
			"", "+", "-", " ", "++", "- ", " +", "> ", "< ", "| +", "| * ", "app.py:", "./app.py:3:", ".Renviron:1:", ".Renviron-1-", "./a/app.py-", "a-b/x.go-12-", "12:", "12-", "     3\t",
			"3  ", "HEAD:app.py:", "HEAD~1:a/b.py:3:", "Makefile:3:", "0123abcd (Ana María Ruiz 2026-01-02 03:04:05 +0100 12) ", "^0123abcd a/x.py (ana 2026-01-02 03:04:05 +0100  1) ",
			"00000000 (Not Committed Yet 2026-01-02 03:04:05 +0100 1) ", "0123456789012345678901234567890123456789 1) ",
		} {
			text := "x\n" + before + line + "\ny\n"
			if got, n := Lines(text, Evident); n != 1 || strings.Contains(got, "Tr7Kp9") {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	for _, text := range []string{
		"a call of KEY=Zq58Tr7Kp9wLm4Xv58", "f(x, KEY=Zq58Tr7Kp9wLm4Xv58)", "x.KEY = Zq58Tr7Kp9wLm4Xv58", "+  KEY = read_the_key(1)", "app.py:3:CACHE_KEY = \"users-by-id\"", "12:PRIMARY_KEY=id",
		"<h1 id=\"----npm-install----11191\">npm install</h1>", "<a href=\"#sk-learn----install--2024-11\">",
	} {
		if got, n := Lines(text, Evident); n != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestEvidentKeepsHonestTexts: what Lines takes of an ordinary file is a secret.
func TestEvidentKeepsHonestTexts(t *testing.T) {
	for _, text := range readable {
		if got, n := Lines(text, Evident); got != text || n != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range shown {
		got, n := Lines(unmarked.Replace(text), Evident)
		if word := remainingSecrets(text, got); word != "" || n != 1 {
			t.Errorf("%q is left of %d in %q", word, n, got)
		}
	}
}
