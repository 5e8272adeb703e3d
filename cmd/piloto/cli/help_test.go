package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piloto/cmd/piloto/cli/ending"
)

// TestHelpIsInSpanishToo: of every command, argument and flag; and a text that no command has is no translation.
func TestHelpIsInSpanishToo(t *testing.T) {
	a, _, _ := newApp(nil, "")
	root, texts := a.root(), spanishHelp()
	used := map[string]bool{}
	want := func(where, text string, value bool) {
		used[text] = true
		spanish, ok := texts[text]
		if text != "" && (!ok || spanish == "" || spanish == text) {
			t.Errorf("%s: %q has no Spanish text", where, text)
		}
		if name, ok := namedValue(spanish); value && (!ok || strings.ContainsFunc(name, func(r rune) bool { return r > '~' })) { // columns are counted in bytes
			t.Errorf("%s: %q does not name its value", where, spanish)
		}
		if strings.Count(text, "\n  piloto ") != strings.Count(spanish, "\n  piloto ") {
			t.Errorf("%s: %q has other commands", where, spanish)
		}
	}
	for _, text := range []string{
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, "{{.CommandPath}} [command]", "Usage:", "Global Flags:", "Flags:",
		"Available Commands:", "Additional Commands:", "[flags]", "(default ", "help for this command", "print the version",
	} {
		want("the template", text, false)
	}
	for _, g := range root.Groups() {
		want("a group", g.Title, false)
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		want(cmd.CommandPath(), cmd.Short, false)
		want(cmd.CommandPath(), cmd.Long, false)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			want(cmd.CommandPath()+" --"+f.Name, f.Usage, f.Value.Type() != "bool")
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	visit(root)
	for text := range texts {
		if !used[text] {
			t.Errorf("no command has %q", text)
		}
	}
	if len(used) < 150 {
		t.Errorf("only %d texts", len(used))
	}
}

// namedValue returns the text between two backquotes.
func namedValue(text string) (name string, ok bool) {
	_, rest, found := strings.Cut(text, "`")
	name, _, ok = strings.Cut(rest, "`")
	return name, found && ok
}

// TestHelpIsInTheLanguageOfThePerson, in each of the ways in which it is asked for.
func TestHelpIsInTheLanguageOfThePerson(t *testing.T) {
	a, _, _ := newApp(nil, "")
	ways := [][]string{{}, {"help"}, {"--help"}, {"-h"}, {"runs", "-h"}, {"completion"}, {"completion", "bash", "--help"}}
	for _, cmd := range leaves(a.root()) {
		path := strings.Fields(cmd.CommandPath())[1:]
		ways = append(ways, slices.Concat([]string{"help"}, path), append(path, "--help"))
	}
	for _, args := range ways {
		for _, lang := range []string{"es", "en"} {
			for _, given := range []map[string]string{{"LANG": lang + ".UTF-8"}, {"LANG": "es"}} {
				a, out, errOut := newApp(given, "")
				code := a.run(append(slices.Clone(args), map[string][]string{"es": nil, "en": {"--lang", "en"}}[lang]...))
				text := out.String()
				spanish, english := strings.Contains(text, "Uso:"), strings.Contains(text, "Usage:")
				if code != ending.Success || errOut.String() != "" || spanish != (lang == "es") || english != (lang == "en") {
					t.Errorf("%s %q: %d, %s%s", lang, args, code, text, errOut)
				}
				for _, word := range []string{"Flags:", "[flags]", "(default ", "[command]", " string ", " strings ", " int ", " duration ", "help for"} {
					if lang == "es" && strings.Contains(text, word) {
						t.Errorf("%q has %q:\n%s", args, word, text)
					}
				}
			}
		}
	}
}
