package command

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// self judges commands that show a user: the current user is safe.
func self(c call) {
	if len(c.positional()) > 0 {
		c.report("identity", Sensitive)
	}
	printer(c)
}

// identityWords are parts of the words that ask a cloud or a cluster for people or their
// permissions.
var identityWords = []string{
	"user", "role", "polic", "account", "identit", "grant", "principal", "permission", "member", "iam", "sso", "directory", "saml", "oidc", "certificate", "subscription",
}

// asksForPeople reports whether a command asks a cloud for its users or their permissions.
func (c call) asksForPeople() bool {
	list := texts(c.positional())
	if c.name == "aws" && slices.Equal(list, []string{"sts", "get-caller-identity"}) || c.name == "az" && slices.Equal(list, []string{"account", "list-locations"}) {
		return false
	}
	if c.flag("--profile", "--account", "--impersonate-service-account", "--no-sign-request", "--ca-bundle") || c.name == "az" && len(list) > 0 && list[0] == "ad" {
		return true
	}
	for i, a := range list {
		if strings.Contains(a, "://") || i > 1 && (c.name == "aws" || c.name == "gsutil") {
			continue
		}
		for _, part := range identityWords {
			if strings.Contains(strings.ToLower(a), part) {
				return true
			}
		}
	}
	return len(list) > 0 && slices.Contains([]string{"organizations", "kms", "sts", "acm-pca", "cognito-idp", "workmail", "quicksight", "chime"}, list[0])
}

// Words of SQL that name secrets and people: parts of words, and whole words. A count of people is
// allowed.
var (
	sqlSecrets = []string{
		"passw", "pwd", "passphrase", "secret", "token", "credential", "apikey", "api_key", "private_key", "access_key", "ssn", "iban", "card", "cvv", "cvc", "otp", "mfa",
		"session", "cookie", "hash", "salt", "passport", "salary", "medical", "diagnos", "email", "phone", "birth", "pg_shadow", "pg_auth", "pg_user", "pg_role", "pg_stat_activity",
		"pg_hba", "pg_settings", "pg_file", "mysql.", "privilege", "grants", "role_", "information_schema.user", "sys.", "processlist", "social_security", "tax_id", "_ip", "ip_addr",
	}
	sqlPeople = lazy.Words(`users user accounts account members employees people persons person profiles identities roles permissions sessions credentials payments customers clients
		contacts patients logins keys admins staff subscribers wp_users auth_user oauth`)
)

// readsConfidential reports whether a statement reads secrets, or more about people than their
// number.
func readsConfidential(statement string) bool {
	statement = strings.ToLower(statement)
	for _, part := range sqlSecrets {
		if strings.Contains(statement, part) {
			return true
		}
	}
	counts := strings.HasPrefix(strings.TrimSpace(strings.Join(strings.Fields(statement), " ")), "select count(*) from ") && strings.Count(statement, "select") == 1
	return !counts && slices.ContainsFunc(strings.FieldsFunc(statement, notInName), func(w string) bool { return sqlPeople()[w] })
}

func notInName(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// isKnownHost reports whether a host is one that the folder's own programs use: this machine, or a
// name without a dot.
func isKnownHost(host string) bool {
	host, _, _ = strings.Cut(host, ":")
	return host == "127.0.0.1" || host != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// checkHosts judges the host that a client of a database connects to.
func (c call) checkHosts() {
	for i, a := range c.args {
		host, ok := "", false
		switch {
		case strings.HasPrefix(a.text, "--password"), strings.HasPrefix(a.text, "--user="), a.text == "-a" && strings.Contains(c.name, "-cli"),
			strings.HasPrefix(a.text, "-p") && strings.HasPrefix(c.name, "m"):
			c.report("secrets", Sensitive)
			return
		case strings.Contains(a.text, "://"), strings.Contains(a.text, "host="), strings.Contains(a.text, "hostaddr="), strings.Contains(a.text, "service="):
			c.report("network", Sensitive)
			return
		case i > 0 && (c.args[i-1].text == "-h" || c.args[i-1].text == "--host" || c.args[i-1].text == "-S" && c.name == "sqlcmd"):
			host, ok = a.text, true
		case strings.HasPrefix(a.text, "-h") && len(a.text) > 2:
			host, ok = a.text[2:], true
		}
		if ok && (!isKnownHost(host) || a.dynamic) {
			c.report("network", Sensitive)
		}
	}
}
