package workspace_test

import (
	"strings"
	"testing"

	"piloto/internal/workspace"
)

// TestUsualPlacesOfSecrets: case and folders do not matter, and a glob of the configuration shows a file.
func TestUsualPlacesOfSecrets(t *testing.T) {
	const nothing = ""
	for _, c := range []struct {
		globs, name string
		want        workspace.Secrets
	}{
		{nothing, ".npmrc", workspace.SomeValues},
		{nothing, "web/.NPMRC", workspace.SomeValues},
		{nothing, ".netrc", workspace.AfterKeyword},
		{nothing, ".pgpass", workspace.AfterColon},
		{nothing, "prod.env", workspace.EveryValue},
		{nothing, "prod.tfvars", workspace.EveryValue},
		{nothing, "a/secrets.yaml", workspace.EveryValue},
		{nothing, ".vault-token", workspace.EveryLine},
		{nothing, "home/.ssh/deploy", workspace.EveryLine},
		{nothing, "home/.ssh/keys/deploy", workspace.EveryLine},
		{nothing, ".aws/credentials", workspace.EveryValue},
		{nothing, ".aws/sso/cache/1.json", workspace.SomeValues},
		{nothing, "x/.kube/config", workspace.SomeValues},
		{nothing, "release.keystore", workspace.SomeValues},
		{nothing, ".git/config", workspace.SomeValues},
		{nothing, "x/y.git/config", workspace.SomeValues},
		{nothing, ".npmrc~", workspace.SomeValues},
		{nothing, ".npmrc.orig", workspace.SomeValues},
		{nothing, "#.npmrc#", workspace.SomeValues},
		{nothing, "..npmrc.swp", workspace.SomeValues},
		{nothing, ".netrc.2024-01-31", workspace.AfterKeyword},
		{nothing, "secrets.yaml.bak", workspace.EveryValue},
		{nothing, "a/.credentials.json.swp", workspace.EveryValue},
		{nothing, "Copy of .pgpass", workspace.AfterColon},
		{nothing, "prod.env.bak", workspace.EveryValue},
		{nothing, "prod.env.local", workspace.EveryValue},
		{nothing, "run/secrets/db_password", workspace.EveryLine},
		{nothing, "secrets/prod/db.txt", workspace.EveryLine},
		{nothing, "secrets/app.json", workspace.EveryValue},
		{nothing, "kaggle.json", workspace.EveryValue},
		{nothing, "credentials.tfrc.json", workspace.EveryValue},
		{nothing, "vite.env.ts", workspace.NoSecrets},
		{nothing, "internal/secrets/README", workspace.NoSecrets},
		{nothing, "internal/secrets/store.go", workspace.NoSecrets},
		{nothing, "docs/secrets/rotation.md", workspace.NoSecrets},
		{nothing, "home/.ssh/known_hosts", workspace.NoSecrets},
		{nothing, "secrets.go", workspace.NoSecrets},
		{nothing, "secret_test.go", workspace.NoSecrets},
		{nothing, "example.env", workspace.NoSecrets},
		{nothing, "config", workspace.NoSecrets},
		{nothing, "docker/config.json", workspace.NoSecrets},
		{nothing, "environment", workspace.NoSecrets},
		{".npmrc", "web/.npmrc", workspace.NoSecrets},
		{"/.npmrc", "web/.npmrc", workspace.SomeValues},
		{"home/.ssh/**", "home/.ssh/deploy", workspace.NoSecrets},
	} {
		shown, err := workspace.Show(strings.Fields(c.globs)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown.Secrets(c.name); got != c.want {
			t.Errorf("%q with %q: %v", c.name, c.globs, got)
		}
	}
}
