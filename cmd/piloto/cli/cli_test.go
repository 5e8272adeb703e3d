package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/internal/ground/locale"
)

// newApp returns an app with an environment, and its stdout and stderr.
func newApp(env map[string]string, in string) (a *app, out, errOut *strings.Builder) {
	con, out, errOut := consoletest.New(env, in)
	return assemble(con), out, errOut
}

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	a, _, _ := newApp(nil, "")
	got := normalise(a.root(), []string{"-data", "d", "-vv", "-c", "f", "-at=here", "run", "-max-steps=3", "-5", "--", "-data"})
	want := []string{"--data", "d", "-vv", "-c", "f", "--at=here", "run", "--max-steps=3", "-5", "--", "-data"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestFlagsComeBeforeEnvironmentBeforeFile(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "settings.yaml")
	if err := os.WriteFile(file, []byte("data: of-file\nprofile: of-file\nquiet: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _, _ := newApp(map[string]string{"PILOTO_CONFIG": file, "PILOTO_DATA": "of-environment", "PILOTO_PROFILE": "of-environment"}, "")
	root := a.root()
	root.SetArgs([]string{"profiles", "--profile", "of-flag"})
	t.Setenv("XDG_CONFIG_HOME", folder)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if a.deployment.Profile != "of-flag" || a.folders.Data != "of-environment" || !a.con.Quiet {
		t.Errorf("%+v %+v %v", a.deployment, a.folders, a.con.Quiet)
	}
}

func TestConfigurationIsStrict(t *testing.T) {
	a, _, _ := newApp(nil, "")
	a.con.Tag = locale.English
	for text, says := range map[string]string{
		"max_steps: 3\nagent: build\n": "",
		"":                             "",
		"# nothing\n":                  "",
		"agent: [a, b]\n":              "",
		"agnet: build\n":               "f.yaml:1: agnet: there is no such setting",
		"agent: a\nagent: b\n":         "f.yaml:2: agent: it is there twice",
		"agent: {a: b}\n":              "f.yaml:1: agent: write one value",
		"\tagent: a\n":                 "f.yaml",
		"- agent\n":                    "f.yaml:1: write settings",
		"config: x\n":                  "no such setting",
		"outcome: done\n":              "no such setting", // a decision
		"force: true\n":                "no such setting",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("f.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := a.config.Validate(a.root(), "f.yaml")
		if (err == nil) != (says == "") || err != nil && !strings.Contains(a.con.Told(err), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTokensAreForTheirOwnerAlone(t *testing.T) {
	folder := t.TempDir()
	a, _, _ := newApp(map[string]string{"XDG_CONFIG_HOME": folder}, "")
	if err := a.deployment.WriteProfiles(reach.Profiles{Current: "a", Known: map[string]reach.Profile{"a": {Origin: "https://a.example", Token: "secret"}}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "piloto", "credentials.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	a.deployment.At = "https://b.example"
	if to, err := a.deployment.Target(); err != nil || to.Token != "" {
		t.Errorf("the token of another deployment is sent: %q %v", to.Token, err)
	}
	a.deployment.At = "https://a.example/"
	if to, err := a.deployment.Target(); err != nil || to.Token != "secret" {
		t.Errorf("%q %v", to.Token, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.deployment.Target(); ending.CodeOf(err) != ending.Usage || !strings.Contains(a.con.Worded(err).Error(), "chmod 600") {
		t.Errorf("others can read it: %v", err)
	}
}

func TestTokensAreNotSentReadable(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://piloto.example": true, "https://piloto.example/": true, "http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:1": true,
		"http://piloto.example": false, "http://127.0.0.1.example": false, "ftp://piloto.example": false, "piloto.example": false,
		"https://a:b@piloto.example": false, "https://piloto.example/?x": false, "https://": false, "": false,
	} {
		if _, err := reach.OriginOf(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestLanguageIsThatOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want locale.Tag
	}{
		{nil, "es"},
		{map[string]string{"LANG": "en_US.UTF-8"}, "en"},
		{map[string]string{"LANG": "C"}, "es"},
		{map[string]string{"LANG": "en_GB", "LC_ALL": "es_ES.UTF-8"}, "es"},
		{map[string]string{"LANG": "es_ES.UTF-8", "PILOTO_LANG": "en"}, "en"},
	} {
		a, _, _ := newApp(c.env, "")
		if got := a.con.Language(); got != c.want {
			t.Errorf("%v: %s", c.env, got)
		}
	}
}

func TestSecretIsTheFirstLine(t *testing.T) {
	for in, want := range map[string]string{"abc\n": "abc", "abc": "abc", "  abc \nmore": "abc"} {
		a, _, _ := newApp(nil, in)
		if got, err := a.con.Secret("?"); got != want || err != nil {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	a, _, _ := newApp(nil, "\n")
	if _, err := a.con.Secret("?"); ending.CodeOf(err) != ending.Usage {
		t.Errorf("nothing: %v", err)
	}
}

func TestEveryCommandSaysWhatItDoes(t *testing.T) {
	a, _, _ := newApp(nil, "")
	for _, cmd := range a.root().Commands() {
		if cmd.Short == "" || cmd.GroupID == "" && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Errorf("%s: %q, group %q", cmd.Name(), cmd.Short, cmd.GroupID)
		}
		for _, below := range cmd.Commands() {
			if below.Short == "" {
				t.Errorf("%s %s says nothing", cmd.Name(), below.Name())
			}
		}
	}
	var out strings.Builder
	a.con.Out = &out
	root := a.root()
	root.SetArgs([]string{"nothing"})
	root.SetOut(io.Discard)
	if err := root.Execute(); ending.CodeOf(err) != ending.Usage {
		t.Errorf("%v", err)
	}
}
