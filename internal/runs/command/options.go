package command

import (
	"strings"
	"time"

	"piloto/internal/ground/lazy"
)

// For programs with options that select another machine, another folder or another program, these
// are the options that only select the output or the objects. Any other option is unknown. An
// option with a colon takes a value, which may also follow its letter directly.
var (
	listOptions = `-a --all -A -v --verbose -q --quiet --no-color -no-color -json --json -json= --long --limit: --depth: --installed --upgradable --outdated --versions --all-versions --summary
		--stat --color --installed-only --names-only --parseable --no-pager --short --help -h`
	toolOptions = map[string]func() map[string]bool{
		"kubectl": lazy.Words(kubeOptions), "oc": lazy.Words(kubeOptions), "k": lazy.Words(kubeOptions),
		"helm": lazy.Words(`-n: --namespace: -A --all-namespaces -o: --output: -a --all -q --short -m: --max: -d --date -r --reverse -l: --versions --devel --version: --deployed --failed --pending --uninstalled
			--superseded --revision: --no-headers --client --show-resources --show-desc --offset: --time-format:`),
		"npm": lazy.Words(npmOptions), "yarn": lazy.Words(npmOptions), "pnpm": lazy.Words(npmOptions),
		"pip": lazy.Words(pipOptions), "pip3": lazy.Words(pipOptions),
		"cargo": lazy.Words(`--depth: -e: --edges: -i: --invert: -p: --package: --no-dedupe -d --duplicates --all-features --no-default-features --features: --target: --format-version: --no-deps
			--offline --locked --frozen --limit: -q --quiet --workspace --prefix: --charset: -v --verbose --version -V`),
		"svn": lazy.Words(`-l: --limit: -r: -v -q --verbose --quiet --stop-on-copy -u --show-updates --summarize`), "hg": lazy.Words(`-l: --limit: -r: --rev: -v -q --stat -p --patch -m -a -d -u`),
	}
	kubeOptions = `-n: --namespace: -A --all-namespaces -o: --output: -l: --selector: -L: --label-columns: --show-labels --field-selector: --sort-by: --no-headers -c: --container: --tail: --since:
		--since-time: --timestamps -p --previous --all-containers --all-pods --limit-bytes: --ignore-not-found --chunk-size: --timeout: --request-timeout: --short --client --api-group: --namespaced --verbs:
		--max-log-requests: --prefix --recursive --containers --revision: --api-version: --types --for: -w --watch --watch-only -f --follow --sum --server-print --show-kind --for:`
	npmOptions = `--depth: --json --all -a -g --global --long -l --parseable -p --omit: --include: --production --prod --dev --only: --workspaces --workspace: -w: --link --pattern: -r --recursive --no-color --silent -s`
	pipOptions = `--format: -o --outdated -u --uptodate -l --local --user --not-required -e --editable --exclude-editable --include-editable --pre --exclude: --all --files -v --verbose -q --quiet
		--disable-pip-version-check --no-color`
	otherTools = lazy.Words(listOptions)

	databaseOptions = map[string]func() map[string]bool{
		"psql":  lazy.Words(`-c: --command: -d: --dbname: -U: --username: -h: --host: -p: --port: -A --no-align -t --tuples-only -x --expanded -q --quiet -X --no-psqlrc -w --no-password -W -1 --single-transaction -l --list --csv -F: -a -e -E -n -z -0`),
		"mysql": lazy.Words(mysqlOptions), "mariadb": lazy.Words(mysqlOptions),
		"sqlite3": lazy.Words(sqliteOptions), "sqlite": lazy.Words(sqliteOptions),
	}
	mysqlOptions = `-e: --execute: -h: --host: -u: --user: -P: --port: -D: --database: -N --skip-column-names -B --batch -s --silent -t --table -r --raw -A --no-auto-rehash -E --vertical -H --html
		-X --xml -q --quick -w --wait -p --ssl-mode: --protocol: --default-character-set: --connect-timeout: --column-names -b -v --verbose`
	sqliteOptions = `-readonly -header -noheader -column -csv -json -line -list -html -markdown -table -box -quote -tabs -separator: -nullvalue: -newline: -batch -safe -bail -stats -echo`
	redisOptions  = lazy.Words(`-h: -p: -n: -3 --raw --no-raw --csv --json --no-auth-warning -4 -6 -r: -i:`)

	journalOptions = lazy.Words(`-u: --unit: --user-unit: -n: --lines: --since: -S: --until: -U: -p: --priority: -b: --boot: -k --dmesg -o: --output: --output-fields: -r --reverse --no-pager -x --catalog -e --pager-end
		-q --quiet -a --all -t: --identifier: -T: --exclude-identifier: -g: --grep: --case-sensitive: --list-boots --disk-usage --utc --no-hostname --no-full --no-tail -N --fields -F: --field: -l --full --facility:
		-m --merge --system --user --header --verify -f --follow -c: --show-cursor --after-cursor: --version --help`)
	dmesgOptions = lazy.Words(`-T --ctime -H --human -l: --level: -f: --facility: -x --decode -k --kernel -u --userspace -t --notime -r --raw -L: --color: -P --nopager -S --syslog -e --reltime -d --show-delta
		-p --force-prefix -J --json --time-format: --since: --until: -w -W --follow -V --version -h --help`)
	systemdOptions = lazy.Words(`--no-pager -l --full -n: --lines: -a --all -t: --type: --state: --failed --user --system --plain --no-legend --no-ask-password -o: --output: -q --quiet -r --recursive --reverse --version --help -H: --host: -M: --machine:`)
	lessOptions    = lazy.Words(`-N -S -R -X -F -E -e -i -I -n -M -m -s -q -Q -r -G -g -w -J -K -f -u -U -c -C -a -A -L -p: -P: -x: -j: -b: -h: -y: -z: -#: --quit-if-one-screen --no-init --raw-control-chars --RAW-CONTROL-CHARS
		--chop-long-lines --LINE-NUMBERS --line-numbers --ignore-case --pattern: --squeeze-blank-lines --version --help`)
	xargsOptions = lazy.Words(`-n: -P: -I: -L: -d: -s: -E: -0 -r -t -p -x -o -i: -l: -e: -J: -R: --null --no-run-if-empty --max-args: --max-procs: --max-lines: --max-chars: --replace: --delimiter: --verbose --interactive --exit
		--eof: --open-tty --show-limits --process-slot-var: --version --help`)
	xmlOptions = lazy.Words(`--noout --format --pretty: --xpath: --recover --encode: --nonet --nowarning --quiet --version --noblanks --nsclean --huge --c14n --c14n11 --html --timing --dropdtd --nodefdtd --noenc`)
)

// hasOnly reports whether every option of a command is in a list.
func (c call) hasOnly(list map[string]bool) bool {
	for _, a := range c.args {
		if a.text == "--" {
			return true
		}
		if strings.HasPrefix(a.text, "-") && a.text != "-" && !isListed(a.text, list) {
			return false
		}
	}
	return true
}

func isListed(option string, list map[string]bool) bool {
	name := before(option, "=")
	if list[name] || list[name+":"] {
		return true
	}
	if strings.HasPrefix(option, "--") {
		return false
	}
	for _, letter := range option[1:] {
		switch o := "-" + string(letter); {
		case list[o+":"]:
			return true
		case !list[o]:
			return false
		}
	}
	return true
}

// namesPackages reports whether the arguments of a package manager are names of its registry, and
// not addresses, files or repositories.
func (c call) namesPackages(positional []string) bool {
	for _, name := range positional {
		name = strings.TrimPrefix(name, "@")
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~") || strings.Contains(name, ":") || strings.Contains(name, "//") || strings.HasPrefix(name, "/") ||
			strings.Contains(name, "/") && c.args[0].text != "search" && !isScoped(positional, name) || strings.HasSuffix(name, ".tgz") {
			return false
		}
	}
	return true
}

// isScoped reports whether a name with a slash is a scoped name: @scope/name.
func isScoped(list []string, name string) bool {
	for _, n := range list {
		if n == "@"+name && strings.Count(name, "/") == 1 {
			return true
		}
	}
	return false
}

// maxTestTime is the greatest timeout of go test.
const maxTestTime = time.Hour

// isBounded reports whether a Go duration is positive and at most maxTestTime.
func isBounded(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d > 0 && d <= maxTestTime
}
