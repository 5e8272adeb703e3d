package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"piloto/internal/ground/locale"
	"piloto/internal/workspace/memory"
)

// TestErrorsAreInTheLanguageOfTheReader, also those of the system and of a wrong command.
func TestErrorsAreInTheLanguageOfTheReader(t *testing.T) {
	workspaceOf := deployment(t, memory.With(map[string]string{"a.txt": "uno"}))
	must(t, os.WriteFile("p.py", nil, 0o600))
	for _, c := range []struct {
		args []string
		code Code
		err  string
	}{
		{[]string{"put", "none", "--project", someProject}, Usage, "piloto: No existe none."},
		{[]string{"pull", "p.py", "--project", someProject}, Usage, "piloto: p.py no es una carpeta"},
		{[]string{"push", "none", "--project", someProject}, Usage, "piloto: No existe none."},
		{[]string{"push", "p.py", "--project", someProject}, Usage, "piloto: p.py no es una carpeta"},
		{[]string{"ls", "-w", "none"}, Usage, "piloto: No existe none."},
		{[]string{"ls", "--project", someProject, "--chat", someProject}, Usage, "nombran dos sitios"},
		{[]string{"cat", "a.txt", "123456789", "--project", someProject}, Usage, "Ninguna versión de a.txt empieza por 123456789"},
		{[]string{"put", "--project", someProject}, Usage, "Falta PATH: piloto workspace put PATH [FILE]"},
		{[]string{"put", "a", "b", "c"}, Usage, "«c» está de más"},
		{[]string{"put", "--lang", "en"}, Usage, "PATH is missing"},
		{[]string{"ls", "a"}, Usage, "«a» está de más"},
	} {
		if code, out, errOut := workspaceOf(c.args...); code != c.code || out != "" || !strings.Contains(errOut, c.err) {
			t.Errorf("%v: %d, %q, %q", c.args, code, out, errOut)
		}
	}
}

func TestErrorsOfTheSystemAreWorded(t *testing.T) {
	a, _, _ := newApp(nil, "")
	a.tag = locale.Spanish
	missing := &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}
	for want, err := range map[string]error{
		"La carpeta actual ya no existe.":              os.NewSyscallError("getwd", syscall.ENOENT),
		"No existe x.":                                 usage(missing),
		"antes: No existe x.\ndespués":                 errors.Join(fmt.Errorf("antes: %w", missing), errors.New("después")),
		"y ya existe.":                                 &os.LinkError{Op: "link", Old: "x", New: "y", Err: syscall.EEXIST},
		"No queda sitio en el disco para x.":           &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		"El sistema no permite usar x.":                &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
		"read x: input/output error":                   &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO},
		"connect: connection refused":                  os.NewSyscallError("connect", syscall.ECONNREFUSED),
		"piloto: Aquí no hay nadie a quien preguntar.": fmt.Errorf("piloto: %w", errNobody),
	} {
		if got := a.worded(err).Error(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
