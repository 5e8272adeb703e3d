package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/djherbis/times"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/internal/ground/fault"
)

// person returns an environment with a configuration folder of its own, and the working folder, which is empty.
func person(t *testing.T) (env map[string]string, work string) {
	t.Helper()
	work = t.TempDir()
	t.Chdir(work)
	return map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "PILOTO_DEMO": "on"}, work
}

// piloto runs a command as that person, without a terminal.
func piloto(env map[string]string, args ...string) (code ending.Code, out, said string) {
	a, o, e := newApp(env, "")
	code = a.run(append([]string{"--lang", "en"}, args...))
	return code, o.String(), e.String()
}

// began makes the data folder of the working folder as a person does, with one command.
func began(t *testing.T, env map[string]string) {
	t.Helper()
	if code, _, said := piloto(env, "--at", "here", "chats", "list"); code != ending.Success {
		t.Fatalf("a new folder: %d %s", code, said)
	}
}

// reading are commands that use the data folder, with their arguments.
var reading = [][]string{
	{"--at", "here", "chats", "list"},
	{"chats", "list"},
	{"--at", "here", "run", "hi"},
	{"send", "hi"},
	{"chat"},
	{"open"},
	{"tokens", "list"},
	{"tokens", "make", "--user", "ana"},
	{"backup", "b.tar"},
	{"rotate-key"},
	{"accept-older"},
	{"up", "--addr", "127.0.0.1:0"},
	{"restore", "b.tar"},
	{"waiting"},
	{"workspace", "ls", "--project", "p"},
	{"run", "hi"},
}

// TestAFolderOfSomebodyElseIsNotOpened: a repository that somebody fetched may have a data folder, with agents, providers and a token.
func TestAFolderOfSomebodyElseIsNotOpened(t *testing.T) {
	env, work := person(t)
	began(t, env)
	elsewhere := filepath.Join(t.TempDir(), "clone")
	if err := os.CopyFS(elsewhere, os.DirFS(work)); err != nil { // as git clone reproduces each file
		t.Fatal(err)
	}
	chmodAll(t, elsewhere)
	for name, put := range map[string]func(t *testing.T, at string){
		"a clone": func(t *testing.T, at string) {
			must(t, os.Rename(elsewhere, at))
			t.Cleanup(func() { must(t, os.Rename(at, elsewhere)) })
		},
		"only a token": func(t *testing.T, at string) {
			must(t, os.MkdirAll(filepath.Join(at, ".piloto"), 0o700))
			must(t, os.WriteFile(filepath.Join(at, ".piloto", "token"), []byte("0123456789abcdefghijklmnop\n"), 0o600))
		},
		"a link": func(t *testing.T, at string) {
			must(t, os.MkdirAll(filepath.Join(at, "docs"), 0o700))
			must(t, os.Symlink("docs", filepath.Join(at, ".piloto")))
		},
		"a link to a person's own": func(t *testing.T, at string) {
			must(t, os.MkdirAll(at, 0o700))
			must(t, os.Symlink(filepath.Join(work, ".piloto"), filepath.Join(at, ".piloto")))
		},
		"a link that leads nowhere": func(t *testing.T, at string) {
			must(t, os.MkdirAll(at, 0o700))
			must(t, os.Symlink("/nowhere/at/all", filepath.Join(at, ".piloto")))
		},
		"a file": func(t *testing.T, at string) {
			must(t, os.MkdirAll(at, 0o700))
			must(t, os.WriteFile(filepath.Join(at, ".piloto"), []byte("x"), 0o600))
		},
		"an address": func(t *testing.T, at string) {
			must(t, os.MkdirAll(filepath.Join(at, ".piloto"), 0o700))
			must(t, os.Symlink("/run/somebody.sock", filepath.Join(at, ".piloto", "control.sock")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "there")
			put(t, at)
			t.Chdir(at)
			before := listed(t, at)
			for _, args := range reading {
				code, out, said := piloto(env, args...)
				if code != ending.Usage || out != "" || !strings.Contains(said, "was not opened") || !strings.Contains(said, "--data .piloto") {
					t.Errorf("%q: %d, %q, %q", args, code, out, said)
				}
			}
			if after := listed(t, at); !slices.Equal(before, after) {
				t.Errorf("files were changed: %v, %v", before, after)
			}
			code, out, _ := piloto(env, "doctor")
			if code != ending.Failed || !strings.Contains(out, "was not opened") || strings.Contains(out, "runs on") {
				t.Errorf("doctor: %d, %s", code, out)
			}
		})
	}
}

func TestWhatNamesAFolderOpensIt(t *testing.T) {
	env, work := person(t)
	began(t, env)
	clone := filepath.Join(t.TempDir(), "clone of ana's")
	must(t, os.CopyFS(clone, os.DirFS(work)))
	chmodAll(t, clone)
	t.Chdir(clone)
	code, _, said := piloto(env, "--at", "here", "chats", "list")
	if code != ending.Usage {
		t.Fatalf("%d %s", code, said)
	}
	_, line, _ := strings.Cut(said, "\n  ")
	words, err := exec.Command("sh", "-c", `printf '%s\n' `+strings.SplitN(line, "\n", 2)[0]).Output() // as a shell reads a pasted line
	must(t, err)
	args := strings.Split(strings.TrimSpace(string(words)), "\n")
	for name, try := range map[string]func() ending.Code{
		"what is pasted": func() ending.Code { code, _, said = piloto(env, args[1:]...); return code },
		"the environment": func() ending.Code {
			named := map[string]string{"PILOTO_DATA": ".piloto", "XDG_CONFIG_HOME": t.TempDir()}
			code, _, said = piloto(named, "--at", "here", "chats", "list")
			return code
		},
		"a file that is named": func() ending.Code {
			must(t, os.WriteFile("mine.yaml", []byte("data: .piloto\n"), 0o600))
			code, _, said = piloto(map[string]string{"XDG_CONFIG_HOME": t.TempDir()}, "-c", "mine.yaml", "--at", "here", "chats", "list")
			return code
		},
	} {
		if code := try(); code != ending.Success {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
	if code, _, said := piloto(env, "--at", "here", "chats", "list"); code != ending.Success { // it was named once
		t.Errorf("%d %s", code, said)
	}
	if code, _, said := piloto(env, "--at", "here", "--data", "", "chats", "list"); code != ending.Usage || !strings.Contains(said, "--data") {
		t.Errorf("no name: %d %s", code, said)
	}
}

func TestAFolderOfOnesOwnIsKnownAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder is known there by its path, too")
	}
	env, work := person(t)
	must(t, os.Mkdir(".piloto", 0o700)) // such as where a disk is mounted
	began(t, env)
	again := func(why string, want ending.Code) {
		t.Helper()
		if code, _, said := piloto(env, "--at", "here", "chats", "list"); code != want {
			t.Errorf("%s: %d %s", why, code, said)
		}
	}
	again("the second time", ending.Success)
	if text, err := os.ReadFile(filepath.Join(".piloto", ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf("git would take it: %q %v", text, err)
	}
	moved := filepath.Join(filepath.Dir(work), "moved")
	must(t, os.Rename(work, moved))
	t.Chdir(moved)
	if at, err := times.Stat(moved); err == nil && at.HasBirthTime() {
		again("moved", ending.Success)
	} else {
		began(t, map[string]string{"XDG_CONFIG_HOME": env["XDG_CONFIG_HOME"], "PILOTO_DATA": reach.DataFolder}) // it is named
	}

	data := filepath.Join(".piloto", "piloto.db")
	must(t, os.Rename(data, data+".mine"))
	content, err := os.ReadFile(data + ".mine")
	must(t, err)
	must(t, os.WriteFile(data, content, 0o600)) // as git pull writes a file that it has and that is ignored
	again("another data file in it", ending.Usage)
	must(t, os.Rename(data+".mine", data))
	again("its own data file", ending.Success)

	must(t, os.RemoveAll(".piloto"))
	must(t, os.MkdirAll(".piloto", 0o700))
	must(t, os.WriteFile(data, content, 0o600))
	again("another folder in its place", ending.Usage)
	must(t, os.RemoveAll(".piloto"))
	again("none", ending.Success)

	other := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	if code, _, said := piloto(other, "--at", "here", "chats", "list"); code != ending.Usage {
		t.Errorf("another person: %d %s", code, said)
	}
	notes, err := filepath.Glob(filepath.Join(env["XDG_CONFIG_HOME"], "piloto", "folders", "*"))
	if err != nil || len(notes) == 0 {
		t.Fatalf("%v %v", notes, err)
	}
	for _, note := range notes {
		if info, err := os.Stat(note); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
		must(t, os.Chmod(note, 0o666)) // others may have written it
	}
	again("a note that others may write", ending.Usage)
}

// TestKeysThatCameMeanwhileAreRefused: git pull overwrites ignored files of a repository that tracks .piloto/token.
func TestKeysThatCameMeanwhileAreRefused(t *testing.T) {
	env, work := person(t)
	began(t, env)
	theirs := filepath.Join(t.TempDir(), "theirs")
	must(t, os.Mkdir(theirs, 0o700))
	t.Chdir(theirs)
	began(t, env)
	t.Chdir(work)
	for _, name := range []string{"token", "token.sha256", "receipts.key", "demo.key"} {
		file := filepath.Join(".piloto", name)
		own, err := os.ReadFile(file)
		must(t, err)
		content, err := os.ReadFile(filepath.Join(theirs, ".piloto", name))
		must(t, err)
		for _, mode := range []os.FileMode{0o644, 0o600} { // as git writes it; after a chmod
			must(t, os.Remove(file))
			must(t, os.WriteFile(file, content, mode))
			for _, args := range reading {
				code, out, said := piloto(env, args...)
				if code != ending.Usage || out != "" || !strings.Contains(said, name+": ") || !strings.Contains(said, "another program") ||
					strings.Contains(said, "chmod") || !strings.Contains(said, "--data .piloto") {
					t.Errorf("%s %q: %d, %q, %q", name, args, code, out, said)
				}
			}
			if code, out, _ := piloto(env, "doctor"); code != ending.Failed || !strings.Contains(out, "another program") {
				t.Errorf("%s, doctor: %d, %s", name, code, out)
			}
		}
		must(t, os.Remove(file))
		must(t, os.WriteFile(file, own, 0o600)) // it is put back
		began(t, env)
	}
	token := filepath.Join(".piloto", "token")
	must(t, os.WriteFile(token, []byte("0123456789abcdefghijklmnop\n"), 0o600))
	must(t, os.Remove(token)) // another is made
	began(t, env)
	began(t, env)
}

func TestWhatChangesOnesOwnKeysKeepsThemKnown(t *testing.T) {
	env, _ := person(t)
	env["PILOTO_TOKEN"] = "one-token-that-0123456789-i-chose"
	began(t, env)
	file := filepath.Join(".piloto", "token")
	if code, _, said := piloto(env, "rotate-key"); code != ending.Success {
		t.Fatal(said)
	}
	began(t, env)
	env["PILOTO_TOKEN"] = "another-token-9876543210-i-chose"
	began(t, env)
	must(t, os.WriteFile(file, []byte("0123456789abcdefghijklmnop\n"), 0o600)) // there was none
	if code, _, said := piloto(env, "chats", "list"); code != ending.Usage || !strings.Contains(said, "token: ") {
		t.Errorf("%d %s", code, said)
	}
	if code, _, said := piloto(env, "--at", "here", "--data", ".piloto", "chats", "list"); code != ending.Success {
		t.Errorf("named: %d %s", code, said)
	}
	delete(env, "PILOTO_TOKEN")
	began(t, env)
	elsewhere := filepath.Join(t.TempDir(), "mine")
	must(t, os.Rename(file, elsewhere))
	must(t, os.Symlink(elsewhere, file))
	began(t, env)
	must(t, os.Remove(elsewhere)) // the link leads nowhere: another is made
	began(t, env)
	began(t, env)
}

func TestANoteWithoutKeysIsOfBeforeThereWereAny(t *testing.T) {
	env, _ := person(t)
	began(t, env)
	notes, err := filepath.Glob(filepath.Join(env["XDG_CONFIG_HOME"], "piloto", "folders", "*"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v %v", notes, err)
	}
	text, err := os.ReadFile(notes[0])
	must(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	must(t, os.WriteFile(notes[0], []byte(lines[0]+lines[1]), 0o600))
	began(t, env)
	if again, err := os.ReadFile(notes[0]); err != nil || string(again) != string(text) {
		t.Errorf("%q, %q, %v", again, text, err)
	}
}

func TestWithoutAPlaceForNotesAFolderIsNamed(t *testing.T) {
	env, _ := person(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, place := range map[string]string{"none": "relative", "that takes nothing": filepath.Join(file, "x")} {
		must(t, os.RemoveAll(".piloto"))
		env["XDG_CONFIG_HOME"] = place
		if code, _, said := piloto(env, "--at", "here", "chats", "list"); code != ending.Success || !strings.Contains(said, "--data .piloto") {
			t.Errorf("a place %s: %d %s", name, code, said)
		}
		if code, _, _ := piloto(env, "--at", "here", "chats", "list"); code != ending.Usage {
			t.Errorf("a place %s, again: %d", name, code)
		}
		if code, _, said := piloto(env, "--at", "here", "--data", ".piloto", "chats", "list"); code != ending.Success {
			t.Errorf("a place %s, named: %d %s", name, code, said)
		}
	}
}

func TestARestoredFolderIsOnesOwn(t *testing.T) {
	env, _ := person(t)
	began(t, env)
	if code, _, said := piloto(env, "backup", "../b.tar"); code != ending.Success {
		t.Fatal(said)
	}
	for name, prepare := range map[string]func(){"none": func() {}, "an empty one": func() { must(t, os.Mkdir(".piloto", 0o700)) }} {
		must(t, os.RemoveAll(".piloto"))
		prepare()
		if code, _, said := piloto(env, "restore", "../b.tar"); code != ending.Success {
			t.Fatal(said)
		}
		if _, err := os.Stat(".piloto/.gitignore"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if code, _, said := piloto(env, "--at", "here", "chats", "list"); code != ending.Success {
			t.Errorf("%s: %d %s", name, code, said)
		}
	}
}

func TestARefusalOfAFolderHasACode(t *testing.T) {
	env, _ := person(t)
	must(t, os.MkdirAll(".piloto/x", 0o700))
	a, _, _ := newApp(env, "")
	a.folders.Data = reach.DataFolder
	_, err := a.folders.DataFolder()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != "cli.wrong.not_opened" || ending.CodeOf(err) != ending.Usage {
		t.Errorf("%v", err)
	}
}

// listed returns the names below a folder, with their sizes and times.
func listed(t *testing.T, folder string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		names = append(names, path+" "+info.Mode().String()+" "+info.ModTime().String())
		return err
	}))
	return names
}

// chmodAll gives a copied data folder the modes of the original.
func chmodAll(t *testing.T, folder string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}))
}

// TestTheAdviceForAKeyOfSomebodyElseWorks: its command, pasted, opens the folder, for one key, for several, and after a
// token alone was replaced.
func TestTheAdviceForAKeyOfSomebodyElseWorks(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	env, work := person(t)
	began(t, env)
	theirs := filepath.Join(t.TempDir(), "theirs")
	must(t, os.Mkdir(theirs, 0o700))
	t.Chdir(theirs)
	began(t, env)
	t.Chdir(work)
	for _, names := range [][]string{{"token"}, {"token.sha256"}, {"token", "token.sha256"}, {"receipts.key"}, {"demo.key", "token"}} {
		for _, way := range []string{"rm -- ", "yourself"} {
			for _, name := range names {
				content, err := os.ReadFile(filepath.Join(theirs, ".piloto", name))
				must(t, err)
				must(t, os.WriteFile(filepath.Join(".piloto", name), content, 0o600))
			}
			code, _, said := piloto(env, "chats", "list")
			if code != ending.Usage || strings.Contains(said, "⟦") {
				t.Fatalf("%v: %d, %s", names, code, said)
			}
			_, advice, ok := strings.Cut(said, way)
			if !ok {
				if way == "yourself" && slices.Contains(names, "token") != slices.Contains(names, "token.sha256") {
					continue // they do not agree
				}
				t.Fatalf("%v: %s", names, said)
			}
			if way == "yourself" {
				if code, _, said := piloto(env, "--data", ".piloto", "chats", "list"); code != ending.Success {
					t.Errorf("%v, named: %d, %s", names, code, said)
				}
				continue
			}
			remove, _, _ := strings.Cut(advice, " && ")
			if output, err := exec.CommandContext(t.Context(), shell, "-c", way+remove).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", remove, err, output)
			}
			if code, _, said := piloto(env, "--data", ".piloto", "chats", "list"); code != ending.Success {
				t.Errorf("%v, removed: %d, %s", names, code, said)
			}
		}
	}
}
