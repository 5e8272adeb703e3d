package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/infra/local/fixture/memory"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// TestErrorsAreInTheLanguageOfTheReader, also those of the system and of a wrong command.
func TestErrorsAreInTheLanguageOfTheReader(t *testing.T) {
	workspaceOf := deploymentFor(t, memory.With(map[string]string{"a.txt": "uno"}))
	must(t, os.WriteFile("p.py", nil, 0o600))
	for _, c := range []struct {
		args []string
		code ending.Code
		err  string
	}{
		{[]string{"put", "none", "--project", someProject}, ending.Usage, "piloto: No existe none. Comprueba el nombre"},
		{[]string{"pull", "p.py", "--project", someProject}, ending.Usage, "piloto: p.py no es una carpeta"},
		{[]string{"push", "none", "--project", someProject}, ending.Usage, "piloto: No existe none. Comprueba el nombre"},
		{[]string{"push", "p.py", "--project", someProject}, ending.Usage, "piloto: p.py no es una carpeta"},
		{[]string{"ls", "-w", "none"}, ending.Usage, "piloto: No existe none. Comprueba el nombre"},
		{[]string{"ls", "-w", "p.py"}, ending.Usage, "p.py no es una carpeta"},
		{[]string{"ls", "--project", someProject, "--chat", someProject}, ending.Usage, "nombran dos sitios"},
		{[]string{"cat", "a.txt", "123456789", "--project", someProject}, ending.Usage, "Ninguna versión de a.txt empieza por 123456789"},
		{[]string{"put", "--project", someProject}, ending.Usage, "Falta PATH: piloto workspace put PATH [FILE]"},
		{[]string{"put", "a", "b", "c"}, ending.Usage, "«c» está de más"},
		{[]string{"put", "--lang", "en"}, ending.Usage, "PATH is missing"},
		{[]string{"ls", "a"}, ending.Usage, "«a» está de más"},
	} {
		if code, out, errOut := workspaceOf(c.args...); code != c.code || out != "" || !strings.Contains(errOut, c.err) {
			t.Errorf("%v: %d, %q, %q", c.args, code, out, errOut)
		}
	}
}

func TestErrorsOfTheSystemAreWorded(t *testing.T) {
	a, _, _ := newApp(nil, "")
	a.con.Tag = locale.Spanish
	missing := &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}
	for want, err := range map[string]error{
		"La carpeta actual ya no existe.":                                                 os.NewSyscallError("getwd", syscall.ENOENT),
		"No existe x. Comprueba el nombre, y desde qué carpeta se busca.":                 ending.Miswritten(missing),
		"antes: No existe x. Comprueba el nombre, y desde qué carpeta se busca.\ndespués": errors.Join(fmt.Errorf("antes: %w", missing), errors.New("después")),
		"y ya existe.":                                 &os.LinkError{Op: "link", Old: "x", New: "y", Err: syscall.EEXIST},
		"No queda sitio en el disco para x.":           &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		"El sistema no permite usar x.":                &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
		"read x: input/output error":                   &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO},
		"connect: connection refused":                  os.NewSyscallError("connect", syscall.ECONNREFUSED),
		"piloto: Aquí no hay nadie a quien preguntar.": fmt.Errorf("piloto: %w", console.ErrNobody),
	} {
		if got := a.con.Worded(err).Error(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestWhoIsNotAnsweredReadsHowToLook: in their language, for any answer that is not of Piloto.
func TestWhoIsNotAnsweredReadsHowToLook(t *testing.T) {
	a, _, _ := newApp(nil, "")
	for path, want := range map[string][2]string{
		"/api/runs/01A/confirm":       {"piloto runs show 01A", "en marcha"},
		"/api/runs/01A/approve":       {"piloto runs show 01A", "siga adelante"},
		"/api/runs/01A/settle":        {"piloto runs show 01A", "Puede que se haya hecho"},
		"/api/runs/01A/cancel":        {"piloto runs show 01A", "Puede que se haya hecho"},
		"/api/runs/01A/plan":          {"piloto runs show 01A", "Puede que se haya hecho"},
		"/api/runs/01A/undo":          {"piloto waiting", "ya esté propuesto"},
		"/api/runs/01A/retry":         {"piloto waiting", "ya esté propuesto"},
		"/api/runs/01A/repeat":        {"piloto waiting", "ya esté propuesto"},
		"/api/decisions":              {"piloto waiting", "en marcha"},
		"/api/send":                   {"piloto runs list", "en marcha"},
		"/api/agents/build%2Fx/jobs":  {"piloto jobs list", "haya empezado"},
		"/api/jobs/01J/stop":          {"piloto jobs show 01J", "Puede que se haya hecho"},
		"/api/projects/01P/files/a/b": {"compruébalo", "Puede que se haya hecho"},
	} {
		for _, came := range []client.Came{client.CameNothing, client.CamePage, client.CameRedirect, client.CameStatus, client.CameEmpty, client.CameOther} {
			e := &client.UnreachableError{Origin: "https://p.example", Came: came, Status: 302, Cause: errors.New("EOF")}
			doubt := &client.DoubtError{Path: path, Cause: e}
			a.con.Tag = locale.Spanish
			said := a.con.Worded(fmt.Errorf("antes: %w", doubt)).Error()
			if !strings.Contains(said, want[0]) || !strings.Contains(said, want[1]) || !strings.HasPrefix(said, "antes: ") || strings.Contains(said, "EOF") || strings.Contains(said, "cli.") {
				t.Errorf("%s, %s: %q", path, came, said)
			}
			a.con.Tag = locale.English
			if said := a.con.Worded(doubt).Error(); !strings.Contains(said, "may have") && !strings.Contains(said, "may be") || strings.Contains(said, "Puede") || strings.Contains(said, "cli.") {
				t.Errorf("%s, %s: %q", path, came, said)
			}
			if said := a.con.Worded(e).Error(); strings.Contains(said, "may") || strings.Contains(said, "cli.") {
				t.Errorf("%s: %q", came, said)
			}
		}
	}
	a.con.Tag = locale.Spanish
	for wait, want := range map[time.Duration]string{time.Minute + 1: "2 minutos", time.Hour: "60 minutos", 1<<63 - 1: "más de un día"} {
		if said := a.con.Worded(&client.UnreachableError{Came: client.CameStatus, Wait: wait}).Error(); !strings.Contains(said, want) {
			t.Errorf("%s: %q", wait, said)
		}
	}
}

// TestAValueInACommandIsOneWord: a command of a sentence keeps its effect with any values; and no value begins a line.
func TestAValueInACommandIsOneWord(t *testing.T) {
	a, _, _ := newApp(nil, "")
	for _, tag := range locale.Tags() {
		a.con.Tag = tag
		for _, c := range []struct{ key, name, value, says, not string }{
			{"cli.next_page", "cursor", "a b;`id`", "--cursor 'a b;`id`'", ""},
			{"cli.next_page", "cursor", "it's", `--cursor 'it'\''s'`, ""},
			{"cli.next_page", "cursor", "eyJhIjoxfQ_-", "--cursor eyJhIjoxfQ_-", "'"},
			{"cli.acted.run", "id", "x;y", "piloto runs show 'x;y'", ""},
			{"cli.no_profile", "name", "a\nConfirmado.", "a⟦U+000A⟧Confirmado.", "\n"},
			{"page.status.\x1b[2J", "", "", "⟦U+001B⟧", "\x1b"},
		} {
			got := a.con.Text(c.key, c.name, c.value)
			if !strings.Contains(got, c.says) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%s: %q", c.key, got)
			}
		}
		got := a.con.Worded(ending.Refusal("cli.wrong.no_version", "name", "a b", "version", "x\x1b\ny")).Error()
		if !strings.Contains(got, "piloto workspace log -- 'a b'") || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%q", got)
		}
	}
	for in, want := range map[string]string{"": "''", "a.txt": "a.txt", "año/é": "año/é", "a*": "'a*'", "~x": "'~x'", "a`": "'a`'", "#a": "'#a'", "a\\": `'a\'`, "a!": "'a!'", "=ls": "'=ls'"} {
		if got := visible.Word(in); got != want {
			t.Errorf("%q is %s, and not %s", in, got, want)
		}
	}
}

// TestASentenceNamesTheCommandAsItWasCalled: with the deployment that was named, in a form that a shell takes.
func TestASentenceNamesTheCommandAsItWasCalled(t *testing.T) {
	con := &console.Console{Tag: locale.English, Name: "bin/piloto", Same: []string{"--data", "'my folder'"}}
	if got, want := con.Text("cli.confirm_with", "id", "R", "digest", "41e3bede"), "The plan waits: bin/piloto --data 'my folder' runs confirm R --digest 41e3bede"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := con.Text("cli.login_hint"), "Log in with: bin/piloto login URL"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := con.Worded(ending.Refusal("cli.no_profile", "name", "x; {piloto}")).Error(); !strings.Contains(got, "bin/piloto profiles") || strings.Contains(got, "folder") {
		t.Error(got)
	}
}

// TestTheAdviceOfADamagedFolderCanBePasted: each name is one word, and the other folder is beside it.
func TestTheAdviceOfADamagedFolderCanBePasted(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	for _, name := range []string{"plain", "my data", "it's $HOME", "`x`\"y\""} {
		for _, key := range []string{"data.damaged", "data.last_commit", "data.format", "data.lost"} {
			for _, tag := range locale.Tags() {
				a, _, _ := newApp(nil, "")
				a.con.Tag = tag
				folder := filepath.Join(t.TempDir(), name)
				must(t, os.Mkdir(folder, 0o700))
				said := a.con.Told(ending.Refusal(key, "folder", folder, "file", "f", "note", "n").Because(errors.New("page 3")))
				_, command, ok := strings.Cut(said, "  mv ")
				command, _, found := strings.Cut(command, " && piloto restore ")
				if output, err := exec.CommandContext(t.Context(), shell, "-c", "mv "+command).CombinedOutput(); err != nil || !ok || !found {
					t.Errorf("%s: %v: %s", said, err, output)
				}
				if _, err := os.Stat(folder + ".damaged"); err != nil {
					t.Errorf("%s: %v", said, err)
				}
			}
		}
	}
}
