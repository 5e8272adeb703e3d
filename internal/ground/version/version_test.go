package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// TestTheVersionIsTheNewestHeadingOfTheChangelog holds the one source of the version.
func TestTheVersionIsTheNewestHeadingOfTheChangelog(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## \[([^\]]+)\]( - \d{4}-\d\d-\d\d)?$`).FindSubmatch(text)
	if newest == nil || strings.ToLower(string(newest[1])) != Version {
		t.Fatalf("the newest heading is %q, and the version %q", newest, Version)
	}
	if released := Version != "unreleased"; released != (len(newest[2]) > 0) || released && !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$`).MatchString(Version) {
		t.Errorf("%q: a release is a number and a date", newest[0])
	}
}

func TestTheVersionNamesItsCommit(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "a034bec00077c836ab7011e13b0c24954b9f3ab6"}
	for want, settings := range map[string][]debug.BuildSetting{
		Version:                            nil,
		Version + "+a034bec00077":          {{Key: "GOOS", Value: "linux"}, revision, {Key: "vcs.modified", Value: "false"}},
		Version + "+a034bec00077.modified": {revision, {Key: "vcs.modified", Value: "true"}},
		Version + "+a1":                    {{Key: "vcs.revision", Value: "a1"}},
	} {
		if got := of(settings); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
