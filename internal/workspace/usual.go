package workspace

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/fold"
)

// Secrets says what of a file is usually a secret, by its name.
type Secrets int

// What of a file is a secret.
const (
	NoSecrets    Secrets = iota // nothing, unless its content shows it
	SomeValues                  // values with the name of a secret, and what looks like one
	EveryValue                  // each value: the file is made for secrets
	EveryLine                   // all of it
	AfterColon                  // what follows the last colon of each line
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
		"*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.keytab", "*.keychain", "*.keychain-db",
	},
	EveryValue: {
		"*.env", "*.tfvars", "*.tfvars.json", "credentials", "credentials.*", "*-credentials.json", "*_credentials.json", ".secrets", "secrets.*", "secret.*",
		"*.secrets.*", "*-secrets.*", "*_secrets.*", "*-secret.*", "*_secret.*", "passwords.*",
	},
	EveryLine: {
		".vault-token", ".vault_pass", ".vault_pass.txt", "vault_pass.txt", ".vault-password", "*.ppk", "*.agekey", ".ssh/**", ".gnupg/**", ".password-store/**",
		"token.txt", "password.txt", "secret.txt", "secrets.txt", "passwords.txt",
	},
	AfterColon:   {".pgpass", "pgpass.conf", ".htpasswd", "htpasswd", "*.htpasswd"},
	AfterKeyword: {".netrc", "_netrc", ".authinfo"},
}

// data are the ends of names of files that can hold values and no code. The patterns secrets.* and others like it are for
// them.
var data = []string{".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".xml", ".txt", ".csv", ".env", ".tfvars", ".plist", ".enc"}

// open are names, or parts of them, of files that are known to have no secrets.
var open = []string{"known_hosts", "authorized_keys", ".pub", "example", "sample", "template"}

// Secrets returns what of a file is usually a secret. It is nothing for a file that a glob of the configuration matches:
// that is shown as it is. Case and marks of letters do not matter.
func (s Shown) Secrets(name string) Secrets {
	plain := fold.Text(name)
	last := path.Base(plain)
	if s.Names(name) || slices.ContainsFunc(open, func(part string) bool { return strings.Contains(last, part) }) {
		return NoSecrets
	}
	for _, kind := range []Secrets{EveryLine, AfterColon, AfterKeyword, EveryValue, SomeValues} {
		for _, pattern := range usual[kind] {
			if matchesEnd(pattern, plain) && (!strings.HasSuffix(pattern, ".*") || slices.Contains(data, path.Ext(last))) {
				return kind
			}
		}
	}
	return NoSecrets
}

// matchesEnd reports whether the last segments of a name match a pattern.
func matchesEnd(pattern, name string) bool {
	if !strings.HasSuffix(name, pattern[strings.LastIndexByte(pattern, '*')+1:]) { // nearly all names are told apart here
		return false
	}
	for part := range strings.SplitSeq(pattern, "*") {
		if !strings.Contains(name, part) {
			return false
		}
	}
	want, segments := strings.Split(pattern, "/"), strings.Split(name, "/")
	if want[len(want)-1] == "**" {
		want = want[:len(want)-1]
		for i := len(want); i < len(segments); i++ {
			if match(want, segments[i-len(want):i]) {
				return true
			}
		}
		return false
	}
	return len(segments) >= len(want) && match(want, segments[len(segments)-len(want):])
}
