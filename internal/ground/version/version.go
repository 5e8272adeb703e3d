// Package version owns the version of the product: of the command line, of /config, of /health and of the API's
// document.
package version

import "runtime/debug"

// Version is the newest heading of CHANGELOG.md, in lower case: a version of semver.org, or "unreleased".
const Version = "unreleased"

// String returns the version with the commit of which the program was built: "unreleased+a034bec00077", with ".modified"
// where files were changed after it. A build that knows no commit, as that of a test, is Version alone.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	return of(info.Settings)
}

// shortCommit is the number of characters of a commit that are shown.
const shortCommit = 12

func of(settings []debug.BuildSetting) string {
	commit, modified := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), shortCommit)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ".modified"
		}
	}
	if commit == "" {
		return Version
	}
	return Version + "+" + commit + modified
}
