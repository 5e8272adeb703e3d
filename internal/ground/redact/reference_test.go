package redact_test

import (
	"testing"

	"piloto/internal/ground/redact"
)

// TestAReferenceIsNoSecret: of one with a default, only that is, if it is not usual.
func TestAReferenceIsNoSecret(t *testing.T) {
	for _, value := range []string{
		"${X}", "${env.X_Y}", "${var.db-pw}", "${X:-}", "${X:-postgres}", "${X-MinIOAdmin}", "${X:?it must be set}", "${X?}", "${X:changeme}",
		"${A:-${B}}", "${A:-${B:-root}}", "$NPM_TOKEN", "%NPM_TOKEN%", "%(DB_PW)s", "$(DB_PASSWORD)", "${ssm:/a/b}", "${{ secrets.X }}",
		"{{ vault_pw }}", `{{ env "X" }}`, "{{ lookup('env', 'X') }}", "{{ x | quote }}", `<%= ENV["X"] %>`, "<%= ENV.fetch('X') %>",
		"<%= Rails.application.credentials.x %>", "!vault", "!vault |", "!Ref Password", `"${X}"`, " '${X}' ",
	} {
		for _, of := range []string{"//r/:_authToken=", "token=", "password: ", "DB_PASSWORD="} {
			if got, n := redact.Lines(of+value+"\n", redact.Whole); n > 0 {
				t.Errorf("%s%s: %s", of, value, got)
			}
		}
		if !redact.Reference(value) {
			t.Errorf("%s", value)
		}
	}
	for _, value := range []string{
		"tortuga", "$ecret77", "$2b$10$abc", "!Secret77", "%40x", "{{", "${X:-tortuga}", "${X}tortuga", "tortuga${X}", `<%= ENV["X"] || "tortuga" %>`,
		`{{ x | default("tortuga") }}`, "${A:-${B:-tortuga}}", "$Secret", "",
	} {
		if redact.Reference(value) {
			t.Errorf("%s is one", value)
		}
	}
	for text, want := range map[string]string{
		"POSTGRES_PASSWORD: ${DB_PASSWORD:-tortugaverde}":     "POSTGRES_PASSWORD: ${DB_PASSWORD:-[redacted]}",
		"POSTGRES_PASSWORD: ${DB:-tortugaverde}":              "POSTGRES_PASSWORD: ${DB:-[redacted]}",
		`POSTGRES_PASSWORD: "${DB:-tortugaverde}"`:            `POSTGRES_PASSWORD: "${DB:-[redacted]}"`,
		"POSTGRES_PASSWORD: ${A_PASSWORD:-${B:-gatomorado}}":  "POSTGRES_PASSWORD: ${A_PASSWORD:-${B:-[redacted]}}",
		"password: ${X-tortugaverde}":                         "password: ${X-[redacted]}",
		"password: ${db.password:tortugaverde}":               "password: ${db.password:[redacted]}",
		"password: ${DB:=tortugaverde}":                       "password: ${DB:=[redacted]}",
		"url: postgres://u:${DB_PASSWORD:-tortugaverde}@h/db": "url: postgres://u:${DB_PASSWORD:-[redacted]}@h/db",
		"url: postgres://u:${DB_PASSWORD:-postgres}@h/db":     "url: postgres://u:${DB_PASSWORD:-postgres}@h/db",
		"command: run --password=tortugaverde --port=80 --x":  "command: run --password=[redacted] --port=80 --x",
		"command: run --password tortugaverde -v":             "command: run --password [redacted] -v",
		"password: !!str tortugaverde":                        "password: !!str [redacted]",
		"password: &pw !!str \"tortugaverde\"":                "password: &pw !!str \"[redacted]\"",
		"password: &tortuga77verde":                           "password: [redacted]",
		"password: %DB_PW%":                                   "password: %DB_PW%",
	} {
		if got, _ := redact.Lines(text, redact.Settings); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
