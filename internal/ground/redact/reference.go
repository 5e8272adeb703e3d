package redact

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// reference is a value that says where another one is: a variable, a template, a tag.
var reference = lazy.Pattern(`^(?:\$\{[A-Za-z_]\w*(?:\.[\w\-]+)*\}|\$[A-Z_]+|%[A-Z_][A-Z0-9_]*%|%\(\w+\)s` +
	`|\$\{(?:env|ssm|self|file|opt|param|cf|sys|sm|secret|secrets|secretsmanager|vault)[:(][^{}]*\}|\$\([^()\n]*\)` +
	`|\$?\{\{(?:[^{}"'\n]*|-?\s*(?:env\w*|getenv|lookup)\b[^{}|\n]*)\}\}` +
	`|<%=?\s*[\w.:]+(?:[\[(]\s*:?["']?\w+["']?\s*[\])])?(?:\.\w+)*\s*-?%>` +
	`|!(?:vault|secret|Ref|Sub|GetAtt|ImportValue|env|ENV|env_var|include|reference)(?:[ \t|].*)?)$`)

// withDefault is the beginning of a reference that has the value for a variable that is not set, or the error for it: ?.
var withDefault = lazy.Pattern(`^\$\{[A-Za-z_][\w.]*(?::?[-=+?]|:)`)

// usual are passwords that many have, and names of programs that are passwords at times.
var usual = lazy.Words(`admin root user test guest demo default example localhost main dev prod pass password secret changeme change-me
	toor rootroot rootpass adminadmin administrator qwerty letmein welcome example development production staging database backend frontend
	postgres postgresql mysql mariadb redis mongo mongodb rabbitmq guestguest minio minioadmin elastic elasticsearch kibana opensearch
	clickhouse cassandra neo4j influxdb sqlserver oracle wordpress drupal joomla magento prestashop nextcloud owncloud keycloak gitea
	gitlab jenkins sonar sonarqube grafana prometheus metabase superset airflow django laravel symfony rails strapi directus hasura
	supabase zabbix odoo mattermost rocketchat vault consul nexus artifactory phpmyadmin pgadmin mailhog localstack`)

// Usual reports whether a word is a password that many have, or the name of a program.
func Usual(word string) bool { return usual()[strings.ToLower(word)] }

// Reference reports whether a value of a setting is a reference and nothing else. A default makes it none, unless it is usual.
func Reference(value string) bool {
	value = strings.Trim(value, "\"' \t\r")
	if reference().MatchString(value) {
		return true
	}
	start := withDefault().FindString(value)
	rest := value[len(start):]
	inner := strings.TrimSuffix(rest, "}")
	return start != "" && (strings.HasSuffix(start, "?") || inner == "" || Usual(inner) || Reference(inner) || Reference(rest))
}

// Default returns the default of a reference, and any other value as it is.
func Default(value string) string {
	for start := withDefault().FindString(value); start != ""; start = withDefault().FindString(value) {
		value = strings.TrimSuffix(value[len(start):], "}")
	}
	return value
}

// inner returns where the default is of a value from p to e that is a reference, or of a reference that has it: ${NAME:-X.
func (v *view) inner(p, e int) (from, to int) {
	start := p
	if v.sign(p-1) == ':' {
		for start--; p-start < maxName && (isWord(v.sign(start-1)) || v.sign(start-1) == '.'); start-- {
		}
		if start -= 2; v.sign(start) != '$' || v.sign(start+1) != '{' {
			start = p
		}
	}
	value, text := string(v.signs[start:e]), v.text[v.at[start]:v.at[e]]
	if c := v.sign(e); c == '}' || c == ')' {
		text += string(c)
	}
	if Reference(text) {
		return e, e
	}
	if inner := Default(value); inner != value {
		start += strings.LastIndex(value, inner)
		return max(p, start), start + len(inner)
	}
	return p, e
}
