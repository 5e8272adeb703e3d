package workspace

import (
	"path"
	"slices"
	"strings"
	"sync"

	"piloto/internal/ground/fold"
	"piloto/internal/ground/lazy"
)

// Secrets says which parts of a file are usually secrets, by its name.
type Secrets int

// The parts of a file that are secrets.
const (
	NoSecrets    Secrets = iota // nothing, unless its content shows it
	SomeValues                  // values with the name of a secret, and random ones
	EveryValue                  // each value: the file is made for secrets
	EveryLine                   // all of it
	AfterColon                  // the text after the last colon of each line
	AfterKeyword                // the word after "password" or "account"
)

// usual has the names of files that usually have secrets. A pattern without "/" is for the last segment of a name; any
// other is for the last segments. A star stands for any text without "/", and ** as the last segment for all below.
var usual = map[Secrets][]string{
	SomeValues: {
		".npmrc", ".yarnrc", ".yarnrc.yml", ".git-credentials", ".pypirc", ".my.cnf", ".mylogin.cnf", ".boto", ".s3cfg", ".dockercfg", ".dockerconfigjson",
		".terraformrc", "terraform.rc", "auth.json", "auth.toml", "kubeconfig", ".kubeconfig", "*.kubeconfig", "rclone.conf", "wp-config.php",
		"service-account*.json", "service_account*.json", "serviceaccount*.json", "client_secret*.json", "gha-creds-*.json", "*firebase-adminsdk*.json",
		"*.tfstate", "*.tfstate.backup", "*.ovpn", ".databrickscfg", ".wgetrc", ".curlrc", ".msmtprc", ".fetchmailrc", ".ftpconfig", "sftp-config.json",
		"local.settings.json", ".*_history", ".aws/**", ".docker/config.json", ".kube/**", ".azure/**", "gh/hosts.yml", "*.git/config", "gcloud/**", ".config/hub",
		".m2/settings.xml", "settings-security.xml", ".gradle/gradle.properties", ".bundle/config", ".snowsql/config", ".subversion/auth/**", ".pulumi/**",
		".condarc", ".mailrc", ".muttrc", ".esmtprc", ".ldaprc", ".rediscli", ".mongorc.js", ".dbshell", ".oci/config",
		"wpa_supplicant*.conf", ".offlineimaprc", "offlineimaprc", "offlineimap/config", "authinfo2", "*.har",
		"*.p12", "*.pfx", "*.jceks", "*.bks", "*.kdb", "*.jks", "*.keystore", "*.kdbx", "*.keytab", "*.keychain", "*.keychain-db",
	},
	EveryValue: {
		".env*", "*.env", "*.env.*", "kaggle.json", ".smbcredentials", "vault.yml", "vault.yaml", "*.tfvars", "*.tfvars.json", "credentials", "credentials.*", "*-credentials.json", "*_credentials.json", ".secrets", "secrets.*", "secret.*",
		".dev.vars", ".dev.vars.*", ".smbcreds", "smbcreds", "*.smbcredentials", ".httpie/sessions/**", "httpie/sessions/**",
		"*.secrets.*", "*-secrets.*", "*_secrets.*", "*-secret.*", "*_secret.*", "passwords.*",
	},
	EveryLine: {
		".vault-token", ".vault_pass", ".vault_pass.txt", "vault_pass.txt", ".vault-password", "*.ppk", "*.agekey", ".ssh/**", ".gnupg/**", ".password-store/**",
		"token.txt", "password.txt", "secret.txt", "secrets.txt", "passwords.txt", "apikey.txt", "api_key.txt", "api-key.txt",
		".erlang.cookie", ".cvspass", "shadow", "shadow-", "gshadow", "gshadow-", "auth-user-pass", "auth-user-pass.txt", "*.auth-user-pass", "openvpn.auth",
		".token", ".password", "*.password", "*.passwd", "*.secret",
	},
	AfterColon:   {".pgpass", "pgpass.conf", ".htpasswd", "htpasswd", "*.htpasswd", ".passwd-s3fs"},
	AfterKeyword: {".netrc", "_netrc", ".authinfo", "redis.conf", ".mbsyncrc", "mbsyncrc", ".pause"},
}

// data are the ends of names of files that can hold values and no code. The patterns secrets.* and others like it are for
// them.
var data = []string{".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".xml", ".txt", ".csv", ".env", ".tfvars", ".plist", ".enc"}

// sources are the ends of names of files that have code, or a text. The pattern *.env.* is not for them.
var sources = []string{
	".go", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".vue", ".py", ".rb", ".php", ".java", ".kt",
	".cs", ".rs", ".c", ".h", ".cc", ".cpp", ".swift", ".sh", ".bash", ".ps1", ".html", ".css", ".md", ".rst", ".adoc",
}

// prose are names without an end that no file has whose name is that of a secret.
var prose = []string{
	"readme", "license", "licence", "notice", "makefile", "dockerfile", "containerfile", "codeowners", "owners",
	"justfile", "rakefile", "gemfile",
}

// open are names, or parts of them, of files that are known to have no secrets.
var open = []string{"known_hosts", "authorized_keys", ".pub", "example", "sample", "template"}

// Secrets returns which parts of a file are usually secrets: none of a file that a glob of the configuration matches, because
// it is shown as it is. Case and marks of letters do not matter, and a copy that an editor or a person made is as the file.
func (s Shown) Secrets(name string) Secrets {
	if s.Names(name) {
		return NoSecrets
	}
	for _, plain := range originals(fold.Text(name)) {
		if kind := secretsOf(plain); kind != NoSecrets {
			return kind
		}
	}
	return NoSecrets
}

func secretsOf(plain string) Secrets {
	last := path.Base(plain)
	if slices.ContainsFunc(open, func(part string) bool { return strings.Contains(last, part) }) {
		return NoSecrets
	}
	ext := path.Ext(last)
	known, first := patterns(), -1
	for _, list := range [][]int{known.named[last], known.starred} {
		for _, i := range list {
			p := &known.all[i]
			switch {
			case first >= 0 && i > first, !p.matches(plain, last):
			case p.text == "*.env.*" && slices.Contains(sources, ext),
				p.text != "*.env.*" && strings.HasSuffix(p.text, ".*") && !slices.Contains(data, ext):
			default:
				first = i
			}
		}
	}
	if first >= 0 {
		return known.all[first].kind
	}
	isKept := func(folder string) bool { return folder == "secrets" || folder == ".secrets" || folder == "secret" }
	switch {
	case !slices.ContainsFunc(strings.Split(path.Dir(plain), "/"), isKept):
		return NoSecrets
	case (ext == "" || ext == last || ext == ".txt") && !slices.Contains(prose, last): // a secret of a container is a file
		return EveryLine
	case slices.Contains(data, ext):
		return EveryValue
	}
	return NoSecrets
}

// copies are the suffixes that editors, programs and people add to the name of a file that they copy.
var copies = lazy.Words(`bak backup old orig original save saved copy prev previous tmp
	swp swo swn swap rej disabled dpkg dist rpmsave rpmnew rpmorig ucf`)

// copied finds a number or a date after the name of a copy.
var copied = lazy.Pattern(`(?: ?\(\d+\)|[.\-_](?:\d{1,14}|\d{4}-?\d{2}-?\d{2}(?:[t_-]?\d{4,6})?)|\.~\d+)$`)

// withoutCopy returns a name without one sign of a copy, and whether the sign is that of vim.
func withoutCopy(last string) (name string, vim bool) {
	at := strings.LastIndexAny(last, ".-_ ")
	switch end := last[len(last)-1]; {
	case len(last) > 2 && last[0] == '#' && end == '#':
		return last[1 : len(last)-1], false
	case strings.HasPrefix(last, ".#"):
		return last[2:], false
	case strings.HasPrefix(last, "copy of "):
		return last[len("copy of "):], false
	case end == '~':
		return last[:len(last)-1], false
	case at > 0 && copies()[strings.TrimRight(last[at+1:], "0123456789")]:
		return last[:at], strings.HasPrefix(last[at+1:], "sw")
	case end == ')' || end >= '0' && end <= '9':
		return copied().ReplaceAllString(last, ""), false
	}
	return last, false
}

// Original returns the name of which another one is that of a copy: .npmrc for .npmrc~ and #.npmrc#. It is in lower case
// where it differs.
func Original(name string) string {
	all := originals(fold.Text(name))
	if len(all) == 1 {
		return name
	}
	return all[1]
}

// originals returns a folded name, and those of which it may be a copy.
func originals(plain string) []string {
	dir, last := path.Split(plain)
	if last == "" {
		return []string{plain}
	}
	list := []string{plain}
	swapped := false
	for range 4 {
		next, vim := withoutCopy(last)
		if next == last || strings.Trim(next, ".") == "" {
			break
		}
		last, swapped = next, swapped || vim
	}
	if dir+last != plain {
		list = append(list, dir+last)
	}
	if rest, ok := strings.CutPrefix(last, "."); ok && swapped && rest != "" { // vim puts a dot before the name
		list = append(list, dir+rest)
	}
	return list
}

// pattern is one of usual, in parts.
type pattern struct {
	kind    Secrets
	text    string
	folders []string
	last    string // "**" for all below
	glob    bool   // last has a star elsewhere than at its beginning
	part    string // of last, without a star
}

// patternIndex has the patterns of usual. Of those that match a name, the first is meant. Nearly all files have none of the
// names, and so only those with a star are tried.
type patternIndex struct {
	all     []pattern
	named   map[string][]int // by the last segment, when that has no star
	starred []int
}

var patterns = sync.OnceValue(func() (out patternIndex) {
	out.named = map[string][]int{}
	for _, kind := range []Secrets{EveryLine, AfterColon, AfterKeyword, EveryValue, SomeValues} {
		for _, text := range usual[kind] {
			segments := strings.Split(text, "/")
			p := pattern{kind: kind, text: text, folders: segments[:len(segments)-1], last: segments[len(segments)-1]}
			p.glob = strings.Contains(strings.TrimPrefix(p.last, "*"), "*")
			for part := range strings.SplitSeq(p.last, "*") {
				if len(part) > len(p.part) {
					p.part = part
				}
			}
			if i := len(out.all); strings.Contains(p.last, "*") {
				out.starred = append(out.starred, i)
			} else {
				out.named[p.last] = append(out.named[p.last], i)
			}
			out.all = append(out.all, p)
		}
	}
	return out
})

// matches reports whether the last segments of a name match. Most names are decided without a glob.
func (p *pattern) matches(name, last string) bool {
	switch end, open := strings.CutPrefix(p.last, "*"); {
	case p.last == "**":
		if !strings.Contains(name, p.folders[len(p.folders)-1]+"/") {
			return false
		}
		segments := strings.Split(name, "/")
		for i := len(p.folders); i < len(segments); i++ {
			if match(p.folders, segments[i-len(p.folders):i]) {
				return true
			}
		}
		return false
	case !strings.Contains(last, p.part), p.glob && !match([]string{p.last}, []string{last}),
		!p.glob && open && !strings.HasSuffix(last, end), !open && !p.glob && p.last != last:
		return false
	case len(p.folders) == 0:
		return true
	}
	segments := strings.Split(name, "/")
	n := len(segments) - 1 - len(p.folders)
	return n >= 0 && match(p.folders, segments[n:len(segments)-1])
}
