// Package settings sets the flags that nobody typed: from the environment, or from a configuration.
package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/sandbox"
	"piloto/internal/ground/visible"
)

// DefaultFile is read when --config names no other file and the current folder has it.
const DefaultFile = "piloto.yaml"

// maxConfig is the largest configuration, in bytes.
const maxConfig = 1 << 20

// hooksKey is the setting with the hooks after an edit: a list of objects.
const hooksKey = "post-edit"

// unset are the flags of these commands that are no settings: they belong to one call.
var unset = []string{"config", "help", "version", "chat", "project", "delete", "force"}

// Configuration is the settings of a command: its flags, the environment and a file.
type Configuration struct {
	Con      *console.Console
	Folders  *reach.Folders
	File     string // the file that was named
	Lang     string
	NoColour bool

	Hooks   []sandbox.Hook    // after an edit
	origins map[string]string // origins of flags that nobody typed: "piloto.yaml:3: max_steps", "PILOTO_MODE"
	Unnamed []string          // the flags of bounds that a file set which nobody named
}

// given returns those of some flags that the person gave, as words of a shell.
func given(cmd *cobra.Command, names ...string) (words []string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+name, visible.Word(value))
		}
	}
	return words
}

// Configure sets the flags that were not given: from the environment (PILOTO_MAX_STEPS), else from the configuration
// (max_steps).
func (cfg *Configuration) Configure(cmd *cobra.Command) error {
	cfg.Con.Same, cfg.Con.Whose = given(cmd, "at", "profile", "data"), given(cmd, "project", "chat", "workspace", "show")
	file, named := cfg.File, true
	if file == "" {
		file = cfg.Con.Getenv("PILOTO_CONFIG")
	}
	if file == "" {
		file, named = DefaultFile, false
	}
	settings, err := read(cmd.Root(), file, named)
	if err != nil {
		return ending.Miswritten(err)
	}
	var widening map[string]bool
	if !named {
		settings, widening = narrowing(settings)
	}
	if cfg.Hooks, err = readHooks(settings[strings.ReplaceAll(hooksKey, "-", "_")], file); err != nil {
		return ending.Miswritten(err)
	}
	known := Keys(cmd.Root())
	var wrong []error
	var ignored []string
	if cmd.Name() == "run" && widening[strings.ReplaceAll(hooksKey, "-", "_")] {
		ignored = append(ignored, strings.ReplaceAll(hooksKey, "-", "_"))
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		key := strings.ReplaceAll(f.Name, "-", "_")
		if f.Changed || !known[key] {
			return
		}
		value, from := cfg.Con.Getenv("PILOTO_"+strings.ToUpper(key)), "PILOTO_"+strings.ToUpper(key)
		if value == "" {
			s, ok := settings[key]
			if widening[key] {
				ignored = append(ignored, key)
			}
			if !ok {
				return
			}
			if !named && slices.Contains(bounds, f.Name) {
				cfg.Unnamed = append(cfg.Unnamed, f.Name)
			}
			value, from = s.value, fmt.Sprintf("%s:%d: %s", file, s.line, key)
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			wrong = append(wrong, valueError(from, value, f.Value.Type()))
		}
		if cfg.origins == nil {
			cfg.origins = map[string]string{}
		}
		cfg.origins[f.Name] = from
	})
	if err := errors.Join(wrong...); err != nil {
		return ending.Miswritten(err)
	}
	cfg.Folders.Named = cmd.Flags().Changed("data")
	err = cfg.Apply()
	cfg.TellIgnored(file, ignored)
	return err
}

// Origin returns where the value of a flag comes from, as a person finds it: the flag, unless nobody typed it.
func (cfg *Configuration) Origin(flag string) string { return cmp.Or(cfg.origins[flag], "--"+flag) }

// Apply applies the flags that every command has.
func (cfg *Configuration) Apply() error {
	switch cfg.Lang {
	case "":
	case "es", "en":
		cfg.Con.Getenv = console.Variable{Name: "PILOTO_LANG", Value: cfg.Lang}.Over(cfg.Con.Getenv)
		cfg.Con.Tag = cfg.Con.Language()
	default:
		return ending.Miswritten(ending.Refusal("cli.wrong.lang", "name", cfg.Origin("lang"), "value", cfg.Lang))
	}
	if cfg.NoColour {
		cfg.Con.Colour = false
	}
	return nil
}

// setting is one setting of a file.
type setting struct {
	value string
	line  int
	node  *yaml.Node
}

// readHooks reads the hooks after an edit. An unknown member is an error with its line.
func readHooks(s setting, file string) ([]sandbox.Hook, error) {
	if s.node == nil {
		return nil, nil
	}
	raw, err := yaml.Marshal(s.node)
	if err != nil {
		return nil, err
	}
	var hooks []sandbox.Hook
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&hooks); err != nil {
		return nil, ending.Refusal("cli.config.hooks", "at", fmt.Sprintf("%s:%d: post_edit", file, s.line)).Because(err)
	}
	return hooks, nil
}

// read reads a configuration: a flat YAML mapping of the flags of every command, with _ instead of -. An
// unknown key is an error with its line. A file that was not named need not exist.
func read(root *cobra.Command, file string, named bool) (map[string]setting, error) {
	text, err := console.ReadPlain(file, maxConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, nil
	case err != nil:
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, ending.Refusal("cli.config.yaml", "file", file).Because(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, ending.Refusal("cli.config.settings", "at", fmt.Sprintf("%s:%d", file, top.Line))
	}
	known := Keys(root)
	settings, wrong := map[string]setting{}, []error{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		at := fmt.Sprintf("%s:%d: %s", file, key.Line, key.Value)
		flag := strings.ReplaceAll(key.Value, "_", "-")
		_, twice := settings[key.Value]
		text, ok := scalars(value)
		ok = ok || flag == hooksKey
		switch {
		case flag != hooksKey && !known[key.Value]:
			wrong = append(wrong, ending.Refusal("cli.config.unknown", "at", at))
		case twice:
			wrong = append(wrong, ending.Refusal("cli.config.twice", "at", at))
		case !ok:
			wrong = append(wrong, ending.Refusal("cli.config.value", "at", at))
		default:
			settings[key.Value] = setting{text, key.Line, value}
		}
	}
	return settings, errors.Join(wrong...)
}

// scalars returns a value, or the values of a list joined by commas.
func scalars(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, true
	}
	if n.Kind != yaml.SequenceNode {
		return "", false
	}
	var list []string
	for _, e := range n.Content {
		if e.Kind != yaml.ScalarNode {
			return "", false
		}
		list = append(list, e.Value)
	}
	return strings.Join(list, ","), true
}

// Keys returns the keys of a configuration: the flags that every command has, and those of run and up. A flag
// that confirms, resolves or forces is no key, because each call decides on its own.
func Keys(root *cobra.Command) map[string]bool {
	keys := map[string]bool{}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "run" && cmd.Name() != "up" {
			continue
		}
		for name := range FlagNames(cmd) {
			if !slices.Contains(unset, name) {
				keys[strings.ReplaceAll(name, "-", "_")] = true
			}
		}
	}
	return keys
}

// FlagNames returns the long names of the flags of a command.
func FlagNames(cmd *cobra.Command) map[string]bool {
	names := map[string]bool{}
	add := func(f *pflag.Flag) { names[f.Name] = true }
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}

// Validate checks a configuration, and names its settings.
func (cfg *Configuration) Validate(root *cobra.Command, file string) error {
	settings, err := read(root, file, true)
	if err != nil {
		return ending.Miswritten(err)
	}
	_, err = readHooks(settings[strings.ReplaceAll(hooksKey, "-", "_")], file)
	wrong := []error{err}
	for key, s := range settings {
		for _, cmd := range root.Commands() {
			f := cmd.Flags().Lookup(strings.ReplaceAll(key, "_", "-"))
			if f == nil {
				f = cmd.InheritedFlags().Lookup(strings.ReplaceAll(key, "_", "-"))
			}
			if f == nil || cmd.Name() != "run" && cmd.Name() != "up" {
				continue
			}
			if err := f.Value.Set(s.value); err != nil {
				wrong = append(wrong, valueError(fmt.Sprintf("%s:%d: %s", file, s.line, key), s.value, f.Value.Type()))
			}
			break
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return ending.Miswritten(err)
	}
	cfg.Con.Report("cli.config.valid", "file", file, "n", fmt.Sprint(len(settings)))
	if _, widening := narrowing(settings); filepath.Base(file) == DefaultFile && len(widening) > 0 {
		cfg.Con.Report("cli.config.named", "keys", strings.Join(slices.Sorted(maps.Keys(widening)), ", "))
	}
	return nil
}
