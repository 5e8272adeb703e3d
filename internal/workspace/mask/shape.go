package mask

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/redact"
	"piloto/internal/workspace"
)

// isSettings reports whether a file assigns values to names, and has no code.
func isSettings(name string) bool {
	name = workspace.Original(name)
	ext := strings.ToLower(path.Ext(name))
	return (slices.Contains(settings, ext) || slices.Contains(named, strings.ToLower(path.Base(name))) || ext == "" && inventory()[path.Base(path.Dir(name))]) && !isWording(name)
}

// named are files of settings whose names have no end that says so, or that of code.
var named = []string{
	".flaskenv", "pip.conf", ".gitconfig", ".editorconfig", "nuget.config", "procfile", "pgbouncer.ini", "dockerfile",
	"containerfile", "settings.py", "local_settings.py", "database.php",
	"hosts", "inventory", "fstab",
}

// inventory are the folders in which Ansible has its hosts, in files whose names have no end.
var inventory = lazy.Words("inventory inventories")

// The folders and the names of files that have the texts of a program in some language, where a password is a label.
var (
	wordings = lazy.Words("locale locales i18n l10n lang langs language languages translation translations intl messages strings")
	tongues  = lazy.Words("ar ca cs da de el en es et eu fi fr gl he hi hr hu id it ja ko lt lv nb nl nn no pl pt ro ru sk sl sr sv th tr uk vi zh")
)

func isWording(name string) bool {
	segments := strings.Split(strings.ToLower(name), "/")
	if slices.ContainsFunc(segments[:len(segments)-1], func(s string) bool { return wordings()[s] || tongues()[s] }) {
		return true
	}
	first, _, _ := strings.Cut(strings.NewReplacer("-", ".", "_", ".").Replace(segments[len(segments)-1]), ".")
	return tongues()[first] || wordings()[first]
}

// cookie is a line of a file of cookies, as Netscape had them, and as curl has them.
var cookie = lazy.Pattern(`(?m)^((?:#HttpOnly_)?[^\s#]\S*[ \t]+(?:TRUE|FALSE)[ \t]+/\S*[ \t]+(?:TRUE|FALSE)[ \t]+\d+[ \t]+\S+[ \t]+)([^\s]+)[ \t\r]*$`)

// shapes masks secrets that the shape of their line shows, in any file.
func shapes(text string) (masked string, secrets int) {
	if strings.Contains(text, "TRUE") || strings.Contains(text, "FALSE") {
		text, secrets = each(cookie(), text)
	}
	if strings.Contains(text, "http") || strings.Contains(text, "socks") {
		n := 0
		text, n = each(proxy(), text)
		secrets += n
	}
	if strings.Contains(text, "</key>") {
		n := 0
		text, n = replace(member(), text, func(before, _ string) bool { return redact.Name(before) })
		secrets += n
	}
	return text, secrets
}

// proxy is a line of proxychains, with a user and a password.
var proxy = lazy.Pattern(`(?m)^([ \t]*(?:https?|socks[45]|raw)[ \t]+[\w.:\[\]-]+[ \t]+\d{1,5}[ \t]+\S+[ \t]+)(\S+)[ \t\r]*$`)

// isPasswordList reports whether each line of a text is one of the passwords of PostgreSQL: host:port:database:user:password.
func isPasswordList(text string) bool {
	some := false
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case strings.Count(line, ":") < 4 || !passwordLine().MatchString(line): // counting is much faster than the pattern, and lines are long
			return false
		default:
			some = true
		}
	}
	return some
}

var passwordLine = lazy.Pattern(`^[^\s:#]+:(?:\d{4,5}|\*):[^\s:]+:[^\s:]+:\S+$`)

// pairs masks the values of JSON whose name is another member, and the cookies of a browser.
func pairs(text string) (masked string, secrets int) {
	if !strings.Contains(text, `"value"`) && !strings.Contains(text, `"Value"`) {
		return text, 0
	}
	inner := func(of *regexp.Regexp, wanted func(part string) bool) {
		text = of.ReplaceAllStringFunc(text, func(part string) string {
			if !wanted(part) {
				return part
			}
			safe, n := replace(valueOf(), part, func(_, value string) bool {
				return !plain().MatchString(value) && !strings.Contains(value, "{{") && !strings.Contains(value, "${")
			})
			secrets += n
			return safe
		})
	}
	inner(cookiesOf(), func(string) bool { return true })
	inner(object(), func(part string) bool {
		name := nameOf().FindStringSubmatch(part)
		return name != nil && redact.Name(name[1])
	})
	return text, secrets
}

// Parts of JSON: an object without others in it, its members name and value, and the list of the cookies of a browser.
var (
	object    = lazy.Pattern(`\{(?:[^{}"]|"(?:[^"\\\n]|\\.)*")*\}`)
	nameOf    = lazy.Pattern(`"(?:[nN]ame|[kK]ey)"\s*:\s*"([^"\\\n]{1,64})"`)
	valueOf   = lazy.Pattern(`("[vV]alue"\s*:\s*")((?:[^"\\\n]|\\.)+)`)
	cookiesOf = lazy.Pattern(`"cookies"\s*:\s*\[(?:[^\[\]"]|"(?:[^"\\\n]|\\.)*")*\]`)
)

// member is one of a property list.
var member = lazy.Pattern(`<key>([^<\n]*)</key>\s*<string>([^<\n]+)</string>`)

// Parts of a document of Kubernetes.
var (
	document   = lazy.Pattern(`(?m)^---.*$`)
	kindSecret = lazy.Pattern(`(?m)(?:^|[{,])[ \t]*(?:-[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Secret["']?[ \t]*(?:[,}#\r].*)?$`)
	dataOf     = lazy.Pattern(`^([ \t]*(?:-[ \t]+)?)["']?(?:data|stringData)["']?[ \t]*:`)
	dataFlow   = lazy.Pattern(`["']?\b(?:data|stringData)["']?[ \t]*:[ \t]*\{[^{}\n]*\}`)
	inBraces   = lazy.Pattern(`([{,][ \t]*["']?[\w.-]+["']?[ \t]*:[ \t]*)((?:"[^"\n]*"|'[^'\n]*'|[^\s"',{}]+))`)
	template   = lazy.Pattern(`^["']?(?:\{\{.*\}\}|\$\{.*\}|\$\(.*\)|<.*>)["']?$`)
)

// kubernetes masks the values of each Secret of Kubernetes.
func kubernetes(text string) (masked string, secrets int) {
	if !strings.Contains(text, "Secret") || !strings.Contains(text, "kind") {
		return text, 0
	}
	var b strings.Builder
	at := 0
	for _, end := range append(document().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		part := text[at:end[0]]
		if kindSecret().MatchString(part) {
			n := 0
			part, n = secretOf(part)
			secrets += n
		}
		b.WriteString(part + text[end[0]:end[1]])
		at = end[1]
	}
	return b.String(), secrets
}

// secretOf masks the members of data and stringData of a document. They are the lines that stand deeper.
func secretOf(text string) (masked string, secrets int) {
	wanted := func(_, value string) bool { return !template().MatchString(value) }
	text = dataFlow().ReplaceAllStringFunc(text, func(flow string) string {
		safe, n := replace(inBraces(), flow, wanted)
		secrets += n
		return safe
	})
	all := strings.SplitAfter(text, "\n")
	for i := 0; i < len(all); i++ {
		head := dataOf().FindStringSubmatch(strings.TrimRight(all[i], "\r\n"))
		if head == nil {
			continue
		}
		from := i + 1
		for i+1 < len(all) && (strings.TrimSpace(all[i+1]) == "" || indent(all[i+1]) > len(head[1])) {
			i++
		}
		part := strings.Join(all[from:i+1], "")
		safe, n := values(part, wanted)
		secrets += n
		copy(all[from:i+1], strings.SplitAfter(safe, "\n"))
	}
	return strings.Join(all, ""), secrets
}
