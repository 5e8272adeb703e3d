package command

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// The git commands that only show, and those whose changes can be recovered. Any other is judged by
// its words.
var (
	gitReads = lazy.Words(`status log diff show rev-parse describe blame annotate ls-files ls-tree shortlog cat-file grep rev-list count-objects whatchanged cherry
		merge-base name-rev version for-each-ref show-ref diff-tree diff-index diff-files show-branch check-ignore range-diff`)
	gitChanges = lazy.Words(`commit add merge pull fetch clone init cherry-pick revert mv apply am rebase remote-update ls-remote format-patch archive help request-pull
		send-email fsck bundle notes config`)
)

// git judges git: a command that loses work, locally or on a remote, is destructive.
func git(c call) {
	rest, steered := c.args, false
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		switch a := rest[0].text; {
		case a == "-c" || strings.HasPrefix(a, "--config-env") || strings.HasPrefix(a, "--exec-path="), strings.HasPrefix(a, "-c") && len(a) > 2 && a[2] != '-':
			steered = true
			if !strings.Contains(a, "=") {
				rest = rest[min(len(rest)-1, 1):]
			}
		case strings.HasPrefix(a, "-C") && len(a) > 2, strings.HasPrefix(a, "--git-dir="), strings.HasPrefix(a, "--work-tree="):
			c.report("elsewhere", Sensitive)
		case a == "-C" || a == "--git-dir" || a == "--work-tree" || a == "--namespace":
			if len(rest) > 1 && (leavesFolder(rest[1].text, true) || strings.HasPrefix(rest[1].text, "/")) { // the settings there may name programs
				c.report("elsewhere", Sensitive)
			}
			rest = rest[min(len(rest)-1, 1):]
		}
		rest = rest[1:]
	}
	if steered { // a setting may name a program
		c.report("environment", wordsClass(c.words))
	}
	if len(rest) == 0 {
		if !c.isHelp() {
			c.report("unknown", Sensitive)
		}
		return
	}
	sub := rest[0]
	g := call{in: c.in, name: sub.text, args: rest[1:], words: c.words}
	switch {
	case sub.dynamic:
		c.report("dynamic", max(wordsClass(c.words), c.in.unknownClass()))
	case losesWork(g):
		c.report("history", Destructive)
	case onlyShows(g):
		checkFiles(g)
	case gitChanges()[sub.text]:
		c.report("changes", foreignCodeClass(g))
	case slices.Contains([]string{"submodule", "bisect", "rebase"}, sub.text):
		checkNested(g)
		c.report("changes", wordsClass(g.args))
	case slices.Contains([]string{"checkout", "switch", "restore", "branch", "tag", "push", "stash", "reset", "remote", "worktree", "reflog"}, sub.text):
		c.report("changes", Sensitive)
	default:
		c.report("unknown", wordsClass(c.words))
	}
}

// checkNested judges the commands that are passed to submodule foreach and bisect run.
func checkNested(c call) {
	for i, a := range c.args {
		if a.text == "foreach" || a.text == "run" {
			rest := slices.DeleteFunc(slices.Clone(c.args[i+1:]), func(w word) bool { return w.text == "--recursive" || w.text == "--quiet" })
			c.in.readCode(word{text: strings.Join(texts(rest), " "), dynamic: anyDynamic(rest)})
			return
		}
	}
}

// foreignCodeClass returns the class of a change that may run code of another author.
func foreignCodeClass(c call) Class {
	for i, a := range c.args {
		if strings.Contains(a.text, "::") || isFlag(a.text, "--exec", "-x", "--upload-pack") || c.name == "config" && i > 0 {
			return wordsClass(c.args)
		}
	}
	return Sensitive
}

// onlyShows reports whether a git command only shows.
func onlyShows(c call) bool {
	if anyDynamic(c.args) || c.flag("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters") || c.name == "grep" && c.flag("-O", "-f") || c.name == "cat-file" && c.flag("--batch", "--batch-check", "--batch-command") || c.name == "diff" && c.flag("--no-index") {
		return false
	}
	positional := texts(c.positional())
	switch c.name {
	case "branch":
		for _, a := range c.args {
			if !slices.Contains([]string{"-a", "-r", "-v", "-vv", "--list", "--all", "--remotes", "--show-current", "--verbose", "-l"}, a.text) {
				return false
			}
		}
		return true
	case "tag":
		return len(c.args) == 0 || c.args[0].text == "-l" || c.args[0].text == "--list"
	case "remote":
		return len(c.args) == 0 || c.args[0].text == "-v" && len(c.args) == 1 || firstOf(positional) == "get-url"
	case "stash":
		return firstOf(positional) == "list" || firstOf(positional) == "show"
	case "reflog":
		return len(c.args) == 0 || firstOf(positional) == "show"
	case "worktree":
		return firstOf(positional) == "list"
	}
	return gitReads()[c.name]
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// checkFiles judges the files that git shows, by names that suggest secrets.
func checkFiles(c call) {
	for _, a := range c.args {
		if isSecret(a.text) {
			c.report("secrets", Sensitive)
			return
		}
	}
	shown := strings.ToLower(strings.Join(texts(c.args), " "))
	if c.name == "shortlog" && c.flag("-e", "--email") || strings.Contains(shown, "%ae") || strings.Contains(shown, "%ce") {
		c.report("identity", Sensitive)
	}
	words := c.args
	if c.name == "grep" && !c.flag("-e", "-f") {
		words = withoutFirst(words)
	}
	lists := c.name == "ls-files" || c.name == "ls-tree" || c.name == "status"
	for _, a := range words {
		p := a.text[strings.LastIndexByte(a.text, ':')+1:]
		if value, ok := optionValue(p); ok {
			c.checkPath(a, value, false)
		} else if !strings.HasPrefix(p, "-") && p != "" {
			c.checkPath(a, p, !lists)
		}
	}
}

// losesWork reports whether a git command loses work.
func losesWork(c call) bool {
	if c.flag("--output") { // of a difference, or of an archive
		return true
	}
	first := firstOf(texts(c.positional()))
	switch c.name {
	case "mv":
		return c.flag("-f", "--force")
	case "archive":
		return c.flag("-o")
	case "merge", "rebase", "cherry-pick", "revert", "am":
		return c.flag("--abort", "--skip")
	case "push":
		for _, a := range c.args {
			if strings.HasPrefix(a.text, "+") || strings.HasPrefix(a.text, ":") || strings.HasPrefix(a.text, "--force") {
				return true
			}
		}
		return c.flag("-f", "--delete", "-d", "--mirror", "--prune", "--force")
	case "reset":
		return c.flag("--hard", "--merge", "--keep")
	case "clean":
		return !c.flag("-n", "--dry-run") || c.flag("-f", "--force")
	case "branch":
		return c.flag("-D", "-d", "--delete", "-M", "-f", "--force", "-C")
	case "tag":
		return c.flag("-d", "--delete", "-f", "--force")
	case "checkout":
		for _, a := range c.args {
			if a.text == "--" || a.text == "." || strings.HasPrefix(a.text, ":/") || a.text == "*" {
				return true
			}
		}
		if !c.flag("-b", "--track", "--orphan", "-t", "--detach") {
			list := texts(c.positional())
			if len(list) > 1 || len(list) == 1 && strings.Trim(strings.TrimPrefix(path.Ext(list[0]), "."), "0123456789") != "" {
				return true // files, reset to their committed state
			}
		}
		return c.flag("-f", "--force", "-B", "--ours", "--theirs", "--pathspec-from-file")
	case "switch":
		return c.flag("-f", "--force", "--discard-changes", "-C")
	case "restore":
		return !c.flag("--staged", "-S") || c.flag("--worktree", "-W")
	case "stash":
		return first == "drop" || first == "clear"
	case "reflog":
		return first == "expire" || first == "delete"
	case "worktree", "remote", "notes", "submodule":
		return first == "remove" || first == "rm" || first == "prune" || first == "deinit" || c.name == "submodule" && c.flag("-f", "--force")
	case "update-ref":
		return true
	case "gc", "prune", "filter-branch", "filter-repo", "rm", "replace", "prune-packed", "read-tree", "checkout-index", "symbolic-ref", "repack":
		return true
	case "fetch", "pull":
		return c.flag("--force", "-f", "--prune") && c.name == "fetch"
	}
	return false
}
