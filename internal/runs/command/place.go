package command

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/workspace"
)

// Paths whose files all users may read, and paths whose file names alone reveal people, other systems or secrets. logins are
// the logs of logins.
var (
	openPaths = []string{
		"/tmp", "/var/tmp", "/var/log", "/usr/share", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/stat",
		"/etc/os-release", "/etc/timezone", "/etc/lsb-release", "/etc/debian_version", "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr",
	}
	closedPaths = []string{
		"/home", "/root", "/Users", "/etc", "/proc", "/sys", "/dev", "/run", "/var/lib", "/var/spool", "/var/mail", "/var/backups", "/var/run", "/boot",
		"/media", "/mnt", "/private", "/Library", "/Volumes", "/System",
	}
	logins = []string{"/var/log/auth", "/var/log/secure", "/var/log/audit", "/var/log/wtmp", "/var/log/btmp", "/var/log/lastlog", "/var/log/faillog", "/var/log/cloud-init", "/var/log/installer"}
)

// isBelow reports whether a path is one of the list, below one, or named after one.
func isBelow(p string, bases []string) bool {
	return slices.ContainsFunc(bases, func(base string) bool {
		rest, ok := strings.CutPrefix(p, base)
		return ok && (rest == "" || rest[0] == '/' || strings.Count(base, "/") > 2)
	})
}

// leavesFolder reports whether a path leads out of the working folder to files that are not open to all users: up, to a home
// folder, or to a system folder. If the content is read, every absolute path counts that is not in openPaths. If only names
// are listed, the paths in closedPaths count.
func leavesFolder(p string, contents bool) bool {
	if p == "" || p == "-" {
		return false
	}
	clean := path.Clean(p)
	switch {
	case clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(p, "~"):
		return true
	case !strings.HasPrefix(clean, "/"):
		return len(p) > 1 && p[1] == ':' && p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z' // a drive
	case isBelow(clean, logins):
		return true
	case isBelow(clean, openPaths):
		return false
	case clean == "/":
		return false
	}
	return contents || isBelow(clean, closedPaths)
}

// Files that often hold keys, data of people, or a whole database, by the ends and the beginnings
// of their names.
var (
	dataEnds = []string{
		".sql", ".dump", ".db", ".sqlite", ".sqlite3", ".db3", ".mdb", ".bak", ".dmp", ".rdb", ".bson", ".tfplan", ".har", ".pcap", ".pcapng", ".kubeconfig", ".p8",
		".backup", ".mobileprovision", ".core", ".hprof", ".ldif", ".vcf", ".eml", ".mbox", ".pst", ".crt.key", ".wal", ".der", ".pkcs12", ".cer.key", ".secret",
		"_key", "-key", "key.json", "key.txt", "account.json",
	}
	settings = lazy.Words(`config settings local_settings database databases db parameters application appsettings connections connectionstrings web.config app.config
		machine.config hibernate.cfg persistence context tomcat-users localsettings configuration gradle local auth vault inventory my pg_hba pg_service tnsnames
		docker-compose docker-compose.override compose mongoid storage serviceaccount service-account sa key keys env environment redis users user accounts account customers clients
		employees patients sessions session members people contacts payroll salaries payments cards firebase
		usuarios usuario clientes cliente empleados empleado pacientes paciente nominas nóminas socios alumnos personas contactos salarios sueldos pagos tarjetas cuentas correos
		suscriptores personal respaldo copia respaldos seed seeds mnemonic llaves llave credenciales npmrc pypirc login hosts admin firebase google-services sentry datasource datasources master
		bootstrap production prod staging values-prod values-production override overrides logins emails subscribers leads backup dump export`)
	settingEnds = lazy.Words(`.yml .yaml .json .jsonl .ndjson .toml .ini .cfg .conf .cnf .xml .properties .php .py .rb .js .ts .env .csv .tsv .txt .xls .xlsx .parquet .avro .config .ora .local
		.plist .tf .gradle .exs .edn .hcl .sh .ps1`)
	personal = lazy.Words(`users user accounts account customers clients employees patients sessions session members people contacts payroll salaries payments cards logins emails subscribers leads
		usuarios usuario clientes cliente empleados empleado pacientes paciente nominas nóminas socios alumnos personas contactos salarios sueldos pagos tarjetas cuentas correos suscriptores
		personal admin login`)
	whole        = lazy.Words("env envrc npmrc pypirc netrc _netrc inventory core")
	packed       = lazy.Words(".gz .bz2 .xz .zst .zip .tar .tgz .7z .rar .tbz2 .txz")
	wholeFolders = lazy.Words("group_vars host_vars")
	sourceEnds   = lazy.Words(".py .rb .js .ts .php .sh .ps1 .tf .gradle .exs")
	hiddenOK     = lazy.Words(`.gitignore .gitattributes .editorconfig .dockerignore .nvmrc .node-version .ruby-version .python-version .tool-versions .travis.yml .gitlab-ci.yml
		.golangci.yml .golangci.yaml .pre-commit-config.yaml .babelrc .rspec .rubocop.yml .flake8 .pylintrc .coveragerc .clang-format .bazelrc .stylelintrc .browserslistrc
		.npmignore .swcrc .air.toml .goreleaser.yml .goreleaser.yaml .helmignore .terraform-version .terraform.lock.hcl .yamllint .jshintrc .shellcheckrc .ruff.toml .nojekyll
		.eslintrc .eslintignore .eslintrc.js .eslintrc.json .eslintrc.cjs .eslintrc.yml .prettierrc .prettierignore .prettierrc.json .mocharc.json .nycrc .markdownlint.json
		.hadolint.yaml .swiftlint.yml .rustfmt.toml .mocharc.yml .stylelintrc.json .lintstagedrc .commitlintrc .huskyrc .gitkeep .keep .gitmodules .mailmap`)
	hiddenFoldersOK = lazy.Words(".github .circleci .gitlab .husky .storybook .devcontainer .well-known .changeset")
)

// isConfidential reports whether a file likely holds keys, data of people or a database, or is an
// unlisted hidden file.
func isConfidential(p string) bool {
	p = strings.ToLower(path.Clean(p))
	base := path.Base(p)
	plain := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".bz2"), ".xz"), ".zst")
	for _, part := range strings.Split(path.Dir(p), "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." && !hiddenFoldersOK()[part] {
			return true
		}
	}
	bundle := strings.TrimSuffix(plain, path.Ext(plain))
	switch {
	case hasSecrets(p), whole()[base], strings.HasPrefix(base, "env."), base == "login data", base == "web data", slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(part string) bool { return wholeFolders()[part] }):
		return true
	case plain != base && settings()[plain], packed()[path.Ext(plain)] && settings()[bundle]: // the packed file
		return true
	case strings.HasPrefix(base, ".") && base != "." && base != ".." && !hiddenOK()[base]:
		return true
	case slices.ContainsFunc(dataEnds, func(end string) bool { return strings.HasSuffix(plain, end) }):
		return true
	}
	end := path.Ext(plain)
	stem := strings.TrimSuffix(plain, end)
	if !settingEnds()[end] {
		return false
	}
	known := settings()[stem] || settings()[plain]
	if personal()[stem] && sourceEnds()[end] { // code about people
		return false
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(stem, "_", "-"), ".", "-"), "-")
	return known || (end != ".md" && !sourceEnds()[end] && settings()[first]) || strings.Contains(stem, "backup") && !sourceEnds()[end]
}

// hasSecrets reports whether a workspace hides a file, or masks its content because of its name.
func hasSecrets(p string) bool {
	none := workspace.Shown{}
	return none.Hidden(p) || none.Secrets(p) != workspace.NoSecrets
}

// isConfidentialGlob is isConfidential for a pattern: a pattern that matches everything, or files
// of a type that settings and lists of people have.
func isConfidentialGlob(p string) bool {
	base := path.Base(p)
	end := path.Ext(base)
	stem := strings.Trim(strings.TrimSuffix(base, end), "*?")
	switch {
	case end == "" || strings.ContainsAny(end, "*?[") || strings.Contains(base, "["):
		return true
	case settingEnds()[end] && !sourceEnds()[end]:
		return true
	}
	return stem != "" && isConfidential(stem+end) || isConfidential("a"+end) || settings()[stem] && settingEnds()[end]
}

// listers are programs that show the names or the sizes of files, and not their content.
var listers = lazy.Words("ls dir vdir tree du df stat file find fd realpath readlink namei lsattr getfacl wc get-childitem gci")

// pathless are programs without an argument that is a path to read.
var pathless = lazy.Words("tr git docker podman nerdctl")

// checkPaths judges the paths of a command that only reads.
func (c call) checkPaths() {
	if c.in.result.Class > Safe || pathless()[c.name] || tools[c.name] != "" {
		return
	}
	contents := !listers()[c.name]
	if _, reads := readers[c.name]; !reads && contents {
		return
	}
	words := c.args
	if c.hasPattern() {
		words = withoutFirst(words)
	}
	whole := c.flag("-R", "-r", "--recursive") || c.name == "tree"
	for _, a := range words {
		p := a.text
		if value, ok := optionValue(p); ok {
			p, contents = value, false
		} else if strings.HasPrefix(p, "-") || c.name == "dir" && len(p) == 2 && p[0] == '/' {
			continue
		}
		c.checkPath(a, p, contents && !listers()[c.name])
		if whole && path.Clean(p) == "/" {
			c.report("elsewhere", Sensitive)
		}
	}
}

// checkPath judges one path.
func (c call) checkPath(a word, p string, contents bool) {
	switch {
	case leavesFolder(p, contents), strings.Contains(p, "$OLDPWD"), (cmdlets()[c.name] || c.name == "dir") && strings.ContainsAny(c.in.text, `:\`):
		c.report("elsewhere", Sensitive)
	case contents && isConfidential(p), contents && a.glob && isConfidentialGlob(p) && !strings.HasSuffix(c.name, "grep"):
		c.report("secrets", Sensitive)
	}
}

// hasPattern reports whether the first argument that is not an option is a pattern or a program.
func (c call) hasPattern() bool {
	switch c.name {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "fd":
		return !c.flag("-e", "--regexp", "-f", "--file", "--files")
	case "jq":
		return true
	}
	return false
}

// withoutFirst returns the words without the first that is not an option.
func withoutFirst(words []word) []word {
	i := slices.IndexFunc(words, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	if i < 0 {
		return words
	}
	return slices.Delete(slices.Clone(words), i, i+1)
}

// optionValue returns the value of --option=value.
func optionValue(s string) (string, bool) {
	if !strings.HasPrefix(s, "--") {
		return "", false
	}
	_, value, ok := strings.Cut(s, "=")
	return value, ok
}
