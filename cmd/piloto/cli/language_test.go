package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piloto/cmd/piloto/cli/ending"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
)

// patternOf returns a pattern that is met by the sentences of a language alone, with any values.
func patternOf(tag locale.Tag) *regexp.Regexp {
	values := regexp.MustCompile(`\\\{[a-z_]+(:[^{}]*)?\\\}`)
	var all []string
	for _, key := range locale.Keys("") {
		text, _ := locale.Lookup(tag, key)
		if pattern := values.ReplaceAllString(regexp.QuoteMeta(text), `(?s:.*)`); len(values.ReplaceAllString(regexp.QuoteMeta(text), "")) > 6 {
			all = append(all, pattern)
		}
	}
	return regexp.MustCompile(`^(` + strings.Join(all, "|") + `)$`)
}

// leaves returns every command below a command.
func leaves(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() {
			list = append(list, leaves(c)...)
		} else {
			list = append(list, c)
		}
	}
	return list
}

// wrongly returns the ways in which a person writes a command wrong.
func wrongly(cmd *cobra.Command) (list [][]string) {
	path := strings.Fields(cmd.CommandPath())[1:]
	add := func(more ...string) { list = append(list, slices.Concat(path, more)) }
	add("--nope")
	add("-Z")
	add("--=x")
	add("a", "b", "c", "d", "--at", "http://127.0.0.1:1")
	if strings.Contains(strings.ReplaceAll(cmd.Use, "[", "("), " ") && cmd.Name() != "help" && !strings.Contains(cmd.Use, "[") && !strings.Contains(cmd.Use, "-f FILE") {
		add()
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "bool", "int", "duration", "count":
			add("--" + f.Name + "=x y")
		default:
			add("--" + f.Name)
		}
	})
	return list
}

// TestAWrongCommandIsToldInOneLanguage: each line of any error of any command is a sentence of the language of the
// person.
func TestAWrongCommandIsToldInOneLanguage(t *testing.T) {
	t.Chdir(t.TempDir())
	said := map[locale.Tag]*regexp.Regexp{locale.Spanish: patternOf(locale.Spanish), locale.English: patternOf(locale.English)}
	a, _, _ := newApp(nil, "")
	seen := 0
	for _, cmd := range leaves(a.root()) {
		for _, args := range wrongly(cmd) {
			if cmd.Name() == "decide" && len(args) > 4 || cmd.Name() == "version" && len(args) == 1 {
				continue
			}
			for tag, is := range said {
				a, out, errOut := newApp(map[string]string{"LANG": string(tag) + ".UTF-8", "XDG_CONFIG_HOME": t.TempDir(), "XDG_CACHE_HOME": t.TempDir()}, "")
				code := a.run(args)
				text, ok := strings.CutPrefix(strings.TrimSpace(errOut.String()), "piloto: ")
				if code != ending.Usage || out.String() != "" || !ok || !is.MatchString(text) {
					t.Errorf("%s %q: %d, %q, %q", tag, args, code, out, errOut)
				}
				seen++
			}
		}
	}
	if seen < 400 {
		t.Errorf("only %d", seen)
	}
}

// TestWhatACommandSaysIsInOneLanguage: of those that need a data folder, a file, or nobody who listens.
func TestWhatACommandSaysIsInOneLanguage(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.WriteFile("file", []byte("no backup of Piloto"), 0o600))
	must(t, os.WriteFile("bad.json", []byte(`{"rules": [`), 0o600))
	must(t, os.WriteFile("typed.json", []byte(`{"rules": 3}`), 0o600))
	must(t, os.WriteFile("bad.yaml", []byte("no_such: 1\nagent: {a: b}\n"), 0o600))
	must(t, os.Mkdir("data", 0o700))
	must(t, os.WriteFile(filepath.Join("data", "piloto.db"), []byte("damaged"), 0o600))
	must(t, os.Mkdir("full", 0o700))
	must(t, os.WriteFile(filepath.Join("full", "x"), nil, 0o600))
	for _, args := range []string{
		"backup b --data none", "backup file --data data", "backup data/b --data data", "backup b --data data", "backup b --data file",
		"restore none", "restore file --data r", "restore full --data r", "restore file --data full",
		"rotate-key --data none", "rotate-key --data data", "accept-older --data none", "accept-older --data data",
		"open --data none", "tokens list --data none", "tokens revoke x --data none", "tokens make --data none --user ana",
		"tokens make --table t --user ñ", "tokens make --table t --user a --scopes root", "tokens make --table t --user a --life -1h", "tokens make --account a",
		"up --addr 0.0.0.0:9529", "up --addr nope", "up --host https://x", "up --lambda docker --addr 127.0.0.1:0", "up --lambda=process --addr 127.0.0.1:0", "up --functions x --addr 127.0.0.1:0", "up --aws 0.0.0.0:1", "up --data data --addr 127.0.0.1:0",
		"verify none.json", "verify file", "verify", "verify a b", "verify --pin x none.json", "verify --keys file none.json", "verify --chain file", "verify --pin= --chain file",
		"rules set -f bad.json --at http://127.0.0.1:1", "agents apply x -f none --at http://127.0.0.1:1", "validate-config none", "validate-config bad.yaml", "-c none run x",
		"engines --listen 0.0.0.0:8000", "nope", "help nope", "completion nope", "runs nope", "workspace nope",
		"send x --at nope", "send x --at http://example.org", "send x --profile none", "send x --at http://127.0.0.1:1", "chat --at here --profile x", "send x --data none",
		"workspace ls -w none", "workspace push none", "workspace get x", "logout none", "profiles none", "login nope", "decide x y", "runs settle R s1",
	} {
		said := map[locale.Tag]string{}
		for _, tag := range locale.Tags() {
			a, _, errOut := newApp(map[string]string{"LANG": string(tag) + ".UTF-8", "XDG_CONFIG_HOME": t.TempDir(), "PILOTO_DEMO": "off"}, "")
			code := a.run(strings.Fields(args))
			said[tag] = visible.Lines(errOut.String())
			if code == ending.Success || said[tag] == "" || regexp.MustCompile(`(cli|up|data|restore|backup|archive|token)\.[a-z]`).MatchString(strings.ReplaceAll(said[tag], "data.damaged", "")) {
				t.Errorf("%s %s: %d, %q", tag, args, code, said[tag])
			}
		}
		english := regexp.MustCompile(`(?i)\b(the|is|are|was|has|and|with|there|write|it|this|of)\b`)
		spanish := regexp.MustCompile(`(?i)\b(el|la|los|las|es|está|no hay|de|que|con|una?|escribe)\b`)
		detail := regexp.MustCompile(`(Detalle|Detail): .*`)
		if text := detail.ReplaceAllString(said[locale.Spanish], ""); english.MatchString(text) {
			t.Errorf("%s is told in English: %q", args, text)
		}
		if text := detail.ReplaceAllString(said[locale.English], ""); spanish.MatchString(text) {
			t.Errorf("%s is told in Spanish: %q", args, text)
		}
	}
}
