package cli

import (
	"os"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/settings"
)

// TestAWrongValueIsNamedByItsOrigin: the line of a file, the variable, or the flag that somebody typed.
func TestAWrongValueIsNamedByItsOrigin(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		file, flag, variable, want string
	}{
		{"# de otro\nmax_steps: 9999\n", "", "", "piloto.yaml:2: max_steps 9999:"},
		{"budget: -1\n", "", "", "piloto.yaml:1: budget -1:"},
		{"timeout: 900h\n", "", "", "piloto.yaml:1: timeout 900h0m0s:"},
		{"mode: todo\n", "", "", "piloto.yaml:1: mode todo:"},
		{"lang: fr\n", "", "", "piloto.yaml:1: lang fr:"},
		{"max_steps: 0\n", "", "", "piloto.yaml:1: max_steps 0:"}, // 0 is not the agent's own
		{"", "--max-steps=0", "", "--max-steps 0:"},
		{"", "--timeout=0", "", "--timeout 0s:"},
		{"", "--budget=0", "", "--budget 0:"},
		{"max_steps: x\n", "", "", "piloto.yaml:1: max_steps x:"},
		{"", "", "PILOTO_MAX_STEPS", "PILOTO_MAX_STEPS 9999:"},
		{"max_steps: 9999\n", "--max-steps=7777", "", "--max-steps 7777:"},
	} {
		must(t, os.WriteFile(settings.DefaultFile, []byte(c.file), 0o600))
		a, _, _ := newApp(map[string]string{c.variable: "9999"}, "")
		cmd, _, err := a.root().Find([]string{"run"})
		must(t, err)
		must(t, cmd.ParseFlags(strings.Fields(c.flag)))
		err = a.config.Configure(cmd)
		if err == nil {
			err = cmd.RunE(cmd, []string{"hola"})
		}
		if ending.CodeOf(err) != ending.Usage || !strings.HasPrefix(a.con.Worded(err).Error(), c.want) {
			t.Errorf("%q %s: %v", c.file, c.flag, a.con.Worded(err))
		}
	}
}
