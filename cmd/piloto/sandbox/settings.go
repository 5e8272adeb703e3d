package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	leads   = regexp.MustCompile(`(?im)^[^#;\n]*?\b(hookspath|path)[ \t]*=[ \t]*(.*)$`)
	section = regexp.MustCompile(`^\[([A-Za-z0-9.-]+)(?:[ \t]+"([^"\\]*)")?\]$`)
	setting = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?$`)

	// harmless are settings by which git runs nothing, and reads no other configuration.
	harmless = regexp.MustCompile(`^(user\.(name|email)|branch\..*\.(remote|merge|rebase|description|pushremote)|remote\..*\.(url|fetch|pushurl|push|tagopt|prune|mirror|skipfetchall)` +
		`|core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|sparsecheckout|sparsecheckoutcone)` +
		`|submodule\..*\.(url|active|branch)|init\.defaultbranch|pull\.(rebase|ff)|push\.(default|autosetupremote)|fetch\.prune|merge\.(ff|conflictstyle)|rebase\.(autosquash|autostash)|color\..*)$`)
)

// maxIncluded is how many configurations may include each other.
const maxIncluded = 10

// settings notes the configurations of a git folder, what they include, and the folder of hooks that they or the
// person's own configuration name. Work is the folder whose files it keeps.
func (o *obeyed) settings(folder, work string) {
	for _, name := range []string{"config", "config.worktree"} {
		o.configuration(filepath.Join(folder, name), work, maxIncluded)
	}
	home, _ := os.UserHomeDir()
	own, _ := os.UserConfigDir()
	for _, path := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(own, "git", "config"), "/etc/gitconfig"} {
		o.configuration(path, work, 1)
	}
}

func (o *obeyed) configuration(path, work string, left int) {
	o.file(path, true)
	if left == 0 {
		return
	}
	for _, m := range leads.FindAllStringSubmatch(readSmall(path), -1) {
		named, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(m[2]), `"`), `"`)
		if rest, ok := strings.CutPrefix(named, "~/"); ok {
			home, _ := os.UserHomeDir()
			named = filepath.Join(home, rest)
		}
		switch {
		case named == "":
		case strings.EqualFold(m[1], "path"):
			o.configuration(joined(filepath.Dir(path), named), work, left-1)
		default:
			o.hooks(joined(work, named))
		}
	}
}

// onlyHarmless reports whether a configuration has no setting beside those of another one and harmless ones. What is
// not written plainly is not harmless.
func onlyHarmless(text, former string) bool {
	all, ok := settingsOf(text)
	known, _ := settingsOf(former)
	for s := range all {
		name, _, _ := strings.Cut(s, "=")
		ok = ok && (known[s] || harmless.MatchString(strings.ToLower(name)))
	}
	return ok
}

// settingsOf returns the settings of a configuration, as name=value, and whether all of it is plain.
func settingsOf(text string) (all map[string]bool, plain bool) {
	all, plain = map[string]bool{}, true
	in := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch head, key := section.FindStringSubmatch(line), setting.FindStringSubmatch(line); {
		case strings.HasSuffix(line, `\`):
			plain = false
		case line == "", line[0] == '#', line[0] == ';':
		case head != nil && head[2] == "":
			in = head[1] + "."
		case head != nil:
			in = head[1] + "." + head[2] + "."
		case key != nil:
			all[in+key[1]+"="+key[2]] = true
		default:
			plain = false
		}
	}
	return all, plain
}
