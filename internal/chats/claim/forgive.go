package claim

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// forgives reports whether a program ends with 0 by its options though a program that it runs failed, or runs no tests:
// make -i, mvn -fn, npm test --if-present, gradle build -x test.
func forgives(words []string) bool {
	base := ""
	for i, w := range words {
		name, value, _ := strings.Cut(w, "=")
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case forgivers()[nameOf(w)] && !strings.HasPrefix(w, "-"):
			base = nameOf(w)
		case forgiving()[name] && value != "false":
			return true
		case strings.HasPrefix(base, "mvn") && skips().MatchString(w), strings.HasPrefix(base, "gradle") && (w == "-x" || w == "--exclude-task") && sortOf(next) != 0,
			base == "go" && w == "-c", base == "ctest" && w == "-N", base == "tox" && w == "-n":
			return true
		case strings.HasSuffix(base, "make") && base != "cmake" && forgivesMake(w):
			return true
		}
	}
	return false
}

// forgivesMake reports whether an option of make ignores errors or touches only: -i, -ki, --touch. Long ones may be cut.
func forgivesMake(option string) bool {
	if strings.HasPrefix(option, "--") {
		return len(option) > 3 && slices.ContainsFunc([]string{"--ignore-errors", "--touch"}, func(long string) bool { return strings.HasPrefix(long, option) })
	}
	letters, isOption := strings.CutPrefix(option, "-")
	if at := strings.IndexAny(letters, "CfIoWEjlO"); at >= 0 { // the rest is its value
		letters = letters[:at]
	}
	return isOption && strings.ContainsAny(letters, "it")
}

var (
	forgivers = lazy.Words(`make gmake mvn mvnw gradle gradlew go ctest tox`)
	forgiving = lazy.Words(`--if-present --no-bail --passWithNoTests --pass-with-no-tests --no-run --notest --show-only --fail-never --exit-zero`)
	skips     = lazy.Pattern(`^(-fn|-D(skipTests|skipITs|maven\.test\.skip|maven\.test\.failure\.ignore)(=true)?)$`)
	makeFlags = lazy.Pattern(`\b(?:GNU)?MAKEFLAGS\+?=["']?([^"';&|]*)`)
)
