package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/workspace"
)

func TestCommandsAreRefusedBeforeTheyStart(t *testing.T) {
	home, workspace := t.TempDir(), t.TempDir()
	t.Setenv("HOME", filepath.Join(home, "person"))
	write(t, filepath.Join(home, "person", "code", "a.go"), "x")
	if err := os.Symlink(home, filepath.Join(workspace, "out")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(workspace, "file"), "x")
	for what, c := range map[string]struct {
		Command
		want error
	}{
		"a project in the home folder": {Command{Workspace: filepath.Join(home, "person", "code")}, nil},
		"no workspace":                 {Command{}, ErrFolder},
		"a relative one":               {Command{Workspace: "."}, ErrFolder},
		"one that is gone":             {Command{Workspace: filepath.Join(workspace, "gone")}, ErrFolder},
		"a file":                       {Command{Workspace: filepath.Join(workspace, "file")}, ErrFolder},
		"the home folder":              {Command{Workspace: filepath.Join(home, "person")}, ErrWide},
		"a folder above it":            {Command{Workspace: home}, ErrWide},
		"a link to it":                 {Command{Workspace: filepath.Join(workspace, "out")}, ErrWide},
		"the root":                     {Command{Workspace: "/"}, ErrWide},
		"programs of the system":       {Command{Workspace: "/usr"}, ErrWide},
		"the settings of the system":   {Command{Workspace: workspace, ReadOnly: []string{"/etc"}}, ErrWide},
		"sockets of daemons":           {Command{Workspace: workspace, ReadOnly: []string{"/run"}}, ErrWide},
		"processes":                    {Command{Workspace: workspace, ReadOnly: []string{"/proc"}}, ErrWide},
		"home to read":                 {Command{Workspace: workspace, ReadOnly: []string{filepath.Join(home, "person")}}, ErrWide},
		"home to write":                {Command{Workspace: workspace, Write: []string{home}}, ErrWide},
		"a relative path to read":      {Command{Workspace: workspace, ReadOnly: []string{"x"}}, ErrFolder},
		"a folder outside":             {Command{Workspace: workspace, Dir: home}, ErrFolder},
		"a link outside":               {Command{Workspace: workspace, Dir: filepath.Join(workspace, "out")}, ErrFolder},
		"a hidden name outside":        {Command{Workspace: workspace, Hidden: []string{"../x"}}, ErrFolder},
		"a long time":                  {Command{Workspace: workspace, Timeout: MaxTimeout + 1}, ErrTimeout},
		"a negative time":              {Command{Workspace: workspace, Timeout: -time.Second}, ErrTimeout},
	} {
		c.Line, c.Unconfined = "echo ran > "+filepath.Join(workspace, "ran"), true
		_, err := Run(context.Background(), c.Command)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		_, gone := os.Stat(filepath.Join(workspace, "ran"))
		if ran := gone == nil; ran != (c.want == nil) {
			t.Errorf("%s: the command ran: %v", what, ran)
		}
		_ = os.Remove(filepath.Join(workspace, "ran"))
	}
}

func TestProtectHidesSecretsAndClosesRepositories(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{
		"a.go", ".env", "sub/.env.local", "sub/cert.pem", "sub/b.go", ".envs/x", ".envs/y", ".git/config", "mod/.git/hooks/x.key", "named.key", "tree/.git",
	} {
		write(t, filepath.Join(folder, filepath.FromSlash(name)), "x")
	}
	shown, err := workspace.Show("named.key")
	if err != nil {
		t.Fatal(err)
	}
	c := Command{Workspace: folder}
	if _, err := c.Protect(shown); err != nil {
		t.Fatal(err)
	}
	if want := []string{".env", ".envs", "sub/.env.local", "sub/cert.pem"}; !slices.Equal(c.Hidden, want) {
		t.Errorf("hidden are %q, want %q", c.Hidden, want)
	}
	want := []string{filepath.Join(folder, ".git"), filepath.Join(folder, "mod", ".git"), filepath.Join(folder, "tree", ".git")}
	if !slices.Equal(c.ReadOnly, want) {
		t.Errorf("closed are %q, want %q", c.ReadOnly, want)
	}
	c.Workspace = filepath.Join(folder, "gone")
	if _, err := c.Protect(shown); err == nil {
		t.Error("a folder that is gone is protected")
	}
}

// A person reads the missing feature, and the next action.
func TestEveryErrorHasASentence(t *testing.T) {
	for _, err := range []*fault.Error{
		ErrPlatform, ErrNamespaces, ErrSysctl, ErrAppArmor, ErrLandlock, ErrRoot, ErrSetup, ErrShell, ErrFolder, ErrWide, ErrTimeout, ErrHook,
	} {
		for _, tag := range locale.Tags() {
			if text := locale.OfFault(err).In(tag); text == err.Code || text == "fault."+err.Code {
				t.Errorf("%s has no sentence in %s", err.Code, tag)
			}
		}
	}
}
