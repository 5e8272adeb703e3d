package command

import (
	"path"
	"strings"
)

// The paths on which a system, or a user's login, depends.
var protectedPaths = []string{
	"/etc", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/sys", "/proc", "/root", "/dev", "/var/lib", "/var/spool/cron", "/System", "/Library",
	"/var/log", "/run",
}

// isProtected reports whether a write to a path may break a system.
func isProtected(p string) bool {
	p = cleanPath(p)
	if p == "/" || p == "~" || p == "." || p == ".." {
		return true
	}
	for _, base := range protectedPaths {
		if p == base || strings.HasPrefix(p, base+"/") {
			return true
		}
	}
	if strings.Contains(p, "/.ssh/") || strings.Contains(p, "/.git/") || strings.HasPrefix(p, ".git/") || strings.HasPrefix(p, ".ssh/") {
		return true
	}
	switch path.Base(p) {
	case ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".bash_login", "authorized_keys", "crontab", ".gitconfig":
		return true
	}
	return false
}

// isProtectedGlob is isProtected for a pattern.
func isProtectedGlob(p string) bool {
	p = cleanPath(p)
	for _, base := range protectedPaths {
		first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
		if ok, err := path.Match(first, strings.TrimPrefix(base, "/")); strings.HasPrefix(p, "/") && (ok || err != nil) {
			return true
		}
	}
	return strings.HasPrefix(p, "/*")
}

func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

// Parts of paths, and words, that indicate a secret.
var (
	secretParts = []string{
		".ssh", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "shadow", "sudoers", ".aws", ".azure", ".gnupg", ".netrc", ".pgpass", ".my.cnf", ".git-credentials",
		".npmrc", ".pypirc", ".docker/config", ".kube", "kubeconfig", "authorized_keys", "credential", "secret", "token", "password", "passwd", "passphrase",
		"contrase", "clave", "_history", ".history", "environ", "/proc/kcore", "/dev/mem", "/dev/kmem", "keystore", "wallet", "private", "htpasswd", ".config/gcloud",
		".tfstate", ".tfvars", "apikey", "api_key", "api-key", "access_key", "access-key", "keyring", "keychain", ".vault", "cookies", "/proc/self/mem",
		".boto", ".s3cfg", "rclone.conf", "wp-config", "login.keychain", "/etc/krb5", "krb5cc", "ssl/private", "gshadow", "master.key", "opasswd", "aws_", "akia", "bearer", "authoriz", "cmdline", "known_hosts",
	}
	secretEnds = []string{".env", ".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".ppk", ".asc", ".gpg", ".ovpn", "/mem", ".envrc", ".keytab", "/maps"}
)

// isSecret reports whether a path, or a word, likely names a secret.
func isSecret(s string) bool {
	s = strings.ToLower(cleanPath(s))
	for _, part := range secretParts {
		if strings.Contains(s, part) {
			return true
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	base := path.Base(s)
	for _, d := range devices {
		if strings.HasPrefix(s, d) {
			return true
		}
	}
	return strings.HasPrefix(base, ".env.") || strings.Contains(s, "=.env") || strings.Contains(s, ":.env")
}

// isHiddenGlob reports whether a pattern may name hidden files, system files or files of other
// people.
func isHiddenGlob(p string) bool {
	p = cleanPath(p)
	for _, base := range []string{"/etc", "/root", "/proc", "/home", "/var", "/run", "~", "/Users", "/dev", "/mnt", "/opt"} {
		if strings.HasPrefix(p, base) {
			return true
		}
	}
	if strings.HasPrefix(p, "/") && strings.ContainsAny(strings.SplitN(p, "/", 3)[1], "*?[") || strings.HasPrefix(p, "..") {
		return true
	}
	for _, part := range strings.Split(p, "/") {
		if strings.ContainsAny(part, "*?[{") && (strings.HasPrefix(part, ".") || strings.HasPrefix(part, "[") || strings.HasPrefix(part, "?")) {
			return true
		}
		for _, name := range []string{"id_rsa", "id_ed25519", "credentials.json", "secrets.yml", "secret.txt", "server.key", "server.pem", "prod.env", "token.txt", "passwords.txt"} {
			if ok, _ := path.Match(part, name); ok && part != "*" && strings.Trim(part, "*?.") != "" && !strings.HasPrefix(part, "*.json") && !strings.HasPrefix(part, "*.txt") && !strings.HasPrefix(part, "*.yml") {
				return true
			}
		}
	}
	return false
}
