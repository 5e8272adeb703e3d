package claim

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/runs/command"
)

// Checks has the verdicts by the exit code of a command on the programs in it that test, and that build.
type Checks struct{ Tests, Builds command.Verdict }

// Checks returns the verdicts on tests and builds by the exit code.
func (c Command) Checks() Checks {
	return Checks{c.verdict(thatTest, sorts), c.verdict(thatBuild, sorts)}
}

// Unproved reports whether the exit code does not say how the tests or the build ended: it may be that of another program.
func (c Checks) Unproved() bool {
	return (c.Tests == command.Unproved || c.Builds == command.Unproved) && c.Tests != command.Broken && c.Builds != command.Broken
}

// Alters reports whether a command may have changed something: one of its parts is not known to only read, and neither tests nor
// builds. A target of a build that nobody knows (make generate) may have, if it ended well.
func (c Command) Alters() bool {
	return slices.ContainsFunc(command.Parts(c.Line), func(f command.Finding) bool {
		if inspects()[f.Why] || f.What == "&" {
			return false
		}
		words := strings.Fields(f.What)
		return sorts(words)&(thatTest|thatBuild) == 0 || c.Code == 0 && aims(words)
	})
}

// aims reports whether a program that builds is given something else to do than to build or to test: make generate, cargo fix.
func aims(words []string) bool {
	for len(words) > 0 && !runners()[nameOf(words[0])] { // timeout 60 make generate
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	ops := operands(words[1:])
	for len(ops) > 1 && leading()[ops[0]] {
		ops = ops[1:]
	}
	if !targeted()[nameOf(words[0])] {
		ops = ops[:min(len(ops), 1)]
	}
	return slices.ContainsFunc(ops, func(w string) bool { return sortOf(w) == 0 && !usual()[w] && !shorts()[w] })
}

// Sorts of programs.
const (
	thatTest    command.Sorts = 1 << iota
	thatBuild                 // software
	unknownSort               // an unknown program: it may test
	withWord                  // it has a wanted word
)

func (c Command) verdict(sort command.Sorts, sorts func(words []string) command.Sorts) command.Verdict {
	of := sorts
	if slices.ContainsFunc(makeFlags().FindAllStringSubmatch(c.Line, -1), func(m []string) bool { return forgives(strings.Fields("make " + m[1])) }) {
		of = func(words []string) command.Sorts { return sorts(words) | command.Lenient }
	}
	return command.Told(c.Line, c.Code, sort, of)
}

// sorts returns the sorts of a program by its name, or by the first of its words that is no option and no path: npm
// test. A program that only reads files, handles them or prepares something has none, and neither has a request for
// help.
func sorts(words []string) (of command.Sorts) {
	name, args := programOf(words)
	base := nameOf(name)
	if base == "" || plain()[path.Base(name)] && (path.IsAbs(name) || path.Base(name) == name) || slices.ContainsFunc(args, func(a string) bool { return advising()[a] || a == "-n" && targeted()[base] }) {
		return 0
	}
	ops := operands(args)
	for len(ops) > 1 && leading()[ops[0]] {
		ops = ops[1:]
	}
	aim := ops[:min(len(ops), 2)]
	if targeted()[base] {
		aim = slices.DeleteFunc(slices.Clone(ops), func(w string) bool { return prepares()[w] })
	}
	if !strings.HasPrefix(base, "mvn") && (len(ops) > 0 && len(aim) == 0 || has(aim, prepares())) {
		return 0
	}
	of = sortOf(base)
	if strings.Contains(name, "/") && of == 0 && has(namesIn(path.Base(path.Dir(name))), tests()) { // test/all.py
		of = thatTest
	}
	if of == 0 && !runners()[base] {
		for i, a := range args { // it runs another: docker compose run web npm test
			if runners()[a] || interpreters()[a] || testers()[a] {
				return sorts(args[i:])
			}
		}
	}
	if !targeted()[base] {
		ops = ops[:min(len(ops), 1)]
	}
	for _, w := range ops {
		if shorts()[w] && runners()[base] {
			w = "test"
		}
		of |= sortOf(w)
	}
	switch {
	case of == 0:
		return unknownSort
	case forgives(words):
		of |= command.Lenient
	}
	return of
}

// sortOf returns the sorts that a name says: testDebug, test:unit, run_tests.
func sortOf(name string) (of command.Sorts) {
	words := namesIn(camel().ReplaceAllString(name, "$1 $2"))
	if has(words, tests()) {
		of |= thatTest
	}
	if has(words, builds()) {
		of |= thatBuild
	}
	return of
}

// nameOf returns the name of a program without its folder and its ending.
func nameOf(program string) string {
	base := strings.ToLower(path.Base(program))
	switch end := path.Ext(base); end {
	case ".exe", ".cmd", ".bat", ".sh", ".py", ".js", ".ts", ".mjs", ".cjs", ".rb", ".pl", ".php":
		return strings.TrimSuffix(base, end)
	}
	return base
}

// programOf returns the name of a program and its arguments; of an interpreter those of its script or module, "" when it has neither.
func programOf(words []string) (name string, args []string) {
	for len(words) > 0 {
		name, args = words[0], words[1:]
		base := nameOf(name)
		if short := strings.TrimRight(base, "0123456789."); interpreters()[short] {
			base = short
		}
		if !interpreters()[base] && base != "." {
			return name, args
		}
		words = nil
		for i := 0; i < len(args) && words == nil; i++ {
			switch a := args[i]; {
			case a == "--test" && base == "node":
				return "run-test", args
			case a == "-m" && base == "python":
				words = args[i+1:]
			case a == "-W" || a == "-X" || a == "--require" || a == "--import" || a == "--loader" || a == "-r" && base == "node":
				i++
			case a == "--eval" || a == "--print" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(a[len(a)-1:], "ceEpr"):
				return "", nil
			case !strings.HasPrefix(a, "-"):
				words = args[i:]
			}
		}
	}
	return "", nil
}

// operands returns the words that may name the task of a program: no options, no settings, no paths and no numbers.
func operands(args []string) (list []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case valued()[a]:
			i++
		case strings.HasPrefix(a, "-") || strings.ContainsAny(a, "/.= ") || strings.Trim(a, "0123456789") == "":
		default:
			list = append(list, a)
		}
	}
	return list
}

// calls finds programs with one of some words, such as commit: none that only reads.
func calls(any []string) func(words []string) command.Sorts {
	return func(words []string) command.Sorts {
		if name := nameOf(words[0]); plain()[name] && !forges()[name] {
			return 0
		}
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(w, " ") })
		if names := namesIn(strings.Join(words, " ")); slices.ContainsFunc(any, func(w string) bool { return slices.Contains(names, w) }) {
			return withWord
		}
		return 0
	}
}

var (
	camel = lazy.Pattern(`(\p{Ll})(\p{Lu})`)
	tests = lazy.Words(`test tests testing spec specs check pytest unittest jest jasmine ava karma playwright cypress behave nose2 vitest mocha rspec phpunit ctest
tox nox nextest verify e2e bats prove gotestsum ginkgo busted nosetests minitest prueba pruebas`)
	testers = lazy.Words(`pytest unittest jest jasmine ava karma playwright cypress behave nose2 vitest mocha rspec phpunit ctest tox nox bats prove gotestsum ginkgo busted nosetests`)
	builds  = lazy.Words(`build compile make gmake tsc gradle gradlew mvn mvnw cargo webpack vite cmake ninja bazel gcc clang javac rustc xcodebuild msbuild compilar`)
	shorts  = lazy.Words(`t tst it`) // npm t

	interpreters = lazy.Words(`python pypy node ruby perl php lua rscript tsx ts-node sh bash zsh dash ksh source`)
	runners      = lazy.Words(`npm yarn pnpm bun deno go cargo make gmake gradle gradlew mvn mvnw ninja rake sbt bazel cmake just task turbo dotnet swift composer mix zig xcodebuild`)
	targeted     = lazy.Words(`make gmake gradle gradlew mvn mvnw ninja rake sbt cmake just task turbo zig xcodebuild`)
	leading      = lazy.Words(`run run-script exec x dlx task tool do compose`)
	valued       = lazy.Words(`-C -f -o -j -p -pl --prefix --cwd --dir --filter -F -w --workspace --project --target-dir -run workspace`)
	usual        = lazy.Words(`all default clean package assemble bundle dist release debug lint vet unit integration typecheck coverage cov ci`) // targets
	inspects     = lazy.Words(`secrets elsewhere identity credentials waits environment`)                                                         // why a command that only reads may not be safe
	advising     = lazy.Words(`--version --help -h -version --collect-only --co --listTests --list-tests --list -list --dry-run --just-print --showConfig`)
	forges       = lazy.Words(`git gh glab`)
	plain        = lazy.Words(`cd pushd popd echo printf cat head tail less more grep egrep fgrep rg ag find fd ls tree wc sort uniq cut tr sed awk diff cmp comm test [ [[
mkdir rmdir rm cp mv ln touch mktemp chmod chown stat file which whereis command type hash alias du df ps pgrep kill sleep export set unset true false pwd basename
dirname realpath readlink date read id env printenv whoami uname seq xxd hexdump od git gh glab curl wget tar zip unzip gzip tee jq yq man apt apt-get brew pip pip3 venv
virtualenv eslint prettier black isort flake8 pylint mypy gofmt rubocop shellcheck stylelint clang-format code vim vi nano emacs open exit return wait trap nvm pyenv`)
	prepares = lazy.Words(`install i ci add get uninstall remove init create fmt clean search list ls login publish version help doc view info show config pkg outdated audit`)
)
