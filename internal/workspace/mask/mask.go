// Package mask owns the masks that a model reads instead of the secrets of a file. No mask is written into a file, because
// it would destroy the secret that it stands for.
package mask

import (
	"regexp"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/redact"
	"piloto/internal/workspace"
)

// Mark stands for a secret.
const Mark = redact.Mark

// settings are the ends of names of files that assign values to names, and have no code.
var settings = []string{
	".yml", ".yaml", ".toml", ".ini", ".cfg", ".cnf", ".conf", ".config", ".properties", ".tf", ".hcl", ".json", ".xml", ".plist", ".env",
}

// mostReads is how often a text is read for secrets. A mask may show that a word beside it is one.
const mostReads = 4

// Content returns a text file as a model may read it, and how many of its secrets have a mask. Each line stays on its line.
// The name of the file and the configuration decide which parts are secrets. A file that the configuration shows has none.
func Content(shown workspace.Shown, name string, content []byte) (masked []byte, secrets int) {
	for range mostReads {
		more := 0
		if content, more = readOnce(shown, name, content); more == 0 {
			break
		}
		secrets += more
	}
	return content, secrets
}

func readOnce(shown workspace.Shown, name string, content []byte) (masked []byte, secrets int) {
	text := string(content)
	kind := shown.Secrets(name)
	depth := redact.Evident
	switch {
	case shown.Names(name):
		return content, 0
	case kind != workspace.NoSecrets:
		depth = redact.Whole
	case isSettings(name):
		depth = redact.Settings
	}
	text, n := redact.Lines(text, depth)
	secrets = n
	text, n = shapes(text)
	secrets += n
	if isSettings(name) || kind != workspace.NoSecrets {
		text, n = kubernetes(text)
		secrets += n
		text, n = pairs(text)
		secrets += n
	}
	if kind == workspace.NoSecrets && isPasswordList(text) {
		kind = workspace.AfterColon
	}
	switch kind {
	case workspace.EveryLine:
		text, n = each(line(), text)
	case workspace.AfterColon:
		text, n = each(afterColon(), text)
	case workspace.AfterKeyword:
		text, n = each(afterKeyword(), text)
	case workspace.EveryValue:
		text, n = values(text, func(_, value string) bool { return !plain().MatchString(value) })
	case workspace.SomeValues:
		text, n = values(text, func(before, value string) bool {
			return namesSecret(before) && !plain().MatchString(value) || random(value)
		})
	default:
		n = 0
	}
	if secrets += n; secrets == 0 {
		return content, 0
	}
	return []byte(text), secrets
}

// The last group of each is the secret, and the first is kept.
var (
	line         = lazy.Pattern(`(?m)^([ \t]*)([^\s].*?)[ \t\r]*$`)
	afterColon   = lazy.Pattern(`(?m)^([ \t]*(?::|(?:[^#\s\\]|\\.)(?:[^\n\\]|\\.)*:))((?:[^:\s\\]|\\.)(?:[^:\r\n\\]|\\.)*)`)
	afterKeyword = lazy.Pattern(`(?i)(\b(?:password|pass|account|passwd|requirepass|masterauth)\s+)("[^"\n]*"\S*|[^\s#]\S*)`)
	assigned     = lazy.Pattern(`(?m)^([ \t]*(?:-[ \t]+)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?["']?:?[^\s"'=:#]+["']?[ \t]*(?:=>|[:=])[ \t]*)([^\s|>&*{\[][^\r\n]*?)[ \t]*,?[ \t\r]*$`)
	listed       = lazy.Pattern(`(?m)^([ \t]*-[ \t]+)([^\s|>&*{\[:][^:\r\n]*?)[ \t\r]*$`)
	jsonString   = lazy.Pattern(`((?:[:,]|(?:^|\W)\[)[ \t\r\n]*")((?:[^"\\\n]|\\.)+)"`)
	jsonName     = lazy.Pattern(`^[ \t\r\n]*:`)
	element      = lazy.Pattern(`(>)([^<>\r\n]*[^<>\s][^<>\r\n]*)</`)
	defined      = lazy.Pattern(`(?i)(define\(\s*['"]\w*(?:password|key|salt|secret|token)\w*['"]\s*,\s*['"])([^'"\n]+)['"]`)
	block        = lazy.Pattern(`(?m)^([ \t]*)(?:-[ \t]+)?[^\s#:][^\n:]*:[ \t]*[|>][+\-\d]*[ \t]*\r?$`)
	plain        = lazy.Pattern(`(?i)^["']?(?:true|false|yes|no|on|off|null|none|~|-?\d{1,5}|\[redacted\]|https?://[^\s@?]+|)["']?$`)
	mixed        = lazy.Pattern(`^["']?[\w+/=.!@#$%^&*~:-]{8,}["']?$`)
)

// A wish reports whether a value is to be masked; before is the text before it, with its name.
type wish func(before, value string) bool

// namesSecret reports whether the last word of a text is the name of a secret.
func namesSecret(before string) bool {
	before = strings.TrimRight(before, " \t\"'=:>|,")
	return redact.Name(before[strings.LastIndexAny(before, " \t\"'(")+1:])
}

// each masks the last group of each match that has no mask yet.
func each(of *regexp.Regexp, text string) (masked string, secrets int) {
	return replace(of, text, func(_, _ string) bool { return true })
}

// replace masks the last group of each match that is wanted, and has something beside masks.
func replace(of *regexp.Regexp, text string, wanted wish) (masked string, secrets int) {
	var b strings.Builder
	at := 0
	for _, m := range of.FindAllStringSubmatchIndex(text, -1) {
		value := text[m[4]:m[5]]
		if strings.Trim(strings.ReplaceAll(value, Mark, ""), `"' `) == "" || redact.Reference(value) || !wanted(text[m[2]:m[3]], value) {
			continue
		}
		b.WriteString(text[at:m[4]])
		b.WriteString(Mark)
		at = m[5]
		secrets++
	}
	return b.String() + text[at:], secrets
}

// values masks the wanted values of a file of any format.
func values(text string, wanted wish) (masked string, secrets int) {
	n := 0
	text, secrets = blocks(text, wanted)
	for _, of := range []*regexp.Regexp{assigned(), listed(), element()} {
		text, n = replace(of, text, func(before, value string) bool {
			return !strings.HasSuffix(value, "{") && !strings.HasSuffix(value, "[") && wanted(before, value)
		})
		secrets += n
	}
	text, n = each(defined(), text)
	secrets += n
	text, n = jsonValues(text, wanted)
	return text, secrets + n
}

// jsonValues is replace for the strings of a JSON text that are no names.
func jsonValues(text string, wanted wish) (masked string, secrets int) {
	var b strings.Builder
	at := 0
	for from := 0; from < len(text); {
		m := jsonString().FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		first, last := from+m[4], from+m[5]
		value := text[first:last]
		from = last + 1
		if jsonName().MatchString(text[from:]) || value == Mark || redact.Reference(value) || !wanted("", value) {
			continue
		}
		b.WriteString(text[at:first])
		b.WriteString(Mark)
		at = last
		secrets++
	}
	return b.String() + text[at:], secrets
}

// blocks masks the lines of YAML's block scalars, if the first of them is wanted.
func blocks(text string, wanted wish) (masked string, secrets int) {
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		head := block().FindStringSubmatch(strings.TrimRight(lines[i], "\n"))
		if head == nil {
			continue
		}
		took := false
		for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || indent(lines[i+1]) > len(head[1])) {
			i++
			if value := strings.TrimSpace(lines[i]); value != "" && value != Mark && (took || wanted(head[0], value)) {
				lines[i], took = strings.Replace(lines[i], value, Mark, 1), true
			}
		}
		if took {
			secrets++
		}
	}
	return strings.Join(lines, ""), secrets
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// random reports whether a value has letters and digits as a key has, and is no address, version or path.
func random(value string) bool {
	value = strings.Trim(value, `"'`)
	if !mixed().MatchString(value) || strings.Contains(value, "://") || strings.HasPrefix(value, "/") {
		return false
	}
	digits, letters := 0, 0
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		}
	}
	return digits >= 2 && letters >= 4 || digits >= 1 && letters >= 4 && strings.ContainsAny(value, "!@#$%^&*~")
}
