package command

import (
	"path"
	"slices"
	"strings"
)

// What git commands look, and which are changes that stay recoverable; any other
// is judged by its words.
var (
	gitLooks = set(`status log diff show rev-parse describe blame annotate ls-files ls-tree shortlog cat-file grep rev-list count-objects whatchanged cherry
		merge-base name-rev version for-each-ref show-ref diff-tree diff-index diff-files show-branch check-ignore range-diff`)
	gitChanges = set(`commit add merge pull fetch clone init cherry-pick revert mv apply am rebase remote-update ls-remote format-patch archive help request-pull
		send-email fsck bundle notes config`)
)

// git judges git: what throws work away, here or at others', destroys.
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
			c.found("elsewhere", Sensitive)
		case a == "-C" || a == "--git-dir" || a == "--work-tree" || a == "--namespace":
			if len(rest) > 1 && (elsewhere(rest[1].text, true) || strings.HasPrefix(rest[1].text, "/")) { // its settings may name programs
				c.found("elsewhere", Sensitive)
			}
			rest = rest[min(len(rest)-1, 1):]
		}
		rest = rest[1:]
	}
	if steered { // a setting may name a program
		c.found("environment", wordsClass(c.words))
	}
	if len(rest) == 0 {
		if !c.only() {
			c.found("unknown", Sensitive)
		}
		return
	}
	sub := rest[0]
	g := call{judge: c.judge, name: sub.text, args: rest[1:], words: c.words}
	switch {
	case sub.dynamic:
		c.found("dynamic", max(wordsClass(c.words), c.unknown()))
	case g.throwsAway():
		c.found("history", Destructive)
	case g.looks():
		g.files()
	case gitChanges()[sub.text]:
		c.found("changes", g.foreignCode())
	case slices.Contains([]string{"submodule", "bisect", "rebase"}, sub.text):
		g.texts()
		c.found("changes", wordsClass(g.args))
	case slices.Contains([]string{"checkout", "switch", "restore", "branch", "tag", "push", "stash", "reset", "remote", "worktree", "reflog"}, sub.text):
		c.found("changes", Sensitive)
	default:
		c.found("unknown", wordsClass(c.words))
	}
}

// texts judges the commands that submodule foreach and bisect run are given.
func (c call) texts() {
	for i, a := range c.args {
		if a.text == "foreach" || a.text == "run" {
			rest := slices.DeleteFunc(slices.Clone(c.args[i+1:]), func(w word) bool { return w.text == "--recursive" || w.text == "--quiet" })
			c.code(word{text: strings.Join(texts(rest), " "), dynamic: dynamic(rest)})
			return
		}
	}
}

// foreignCode is the class of a change that may run code that somebody else wrote.
func (c call) foreignCode() Class {
	for i, a := range c.args {
		if strings.Contains(a.text, "::") || isFlag(a.text, "--exec", "-x", "--upload-pack") || c.name == "config" && i > 0 {
			return wordsClass(c.args)
		}
	}
	return Sensitive
}

// looks reports whether a git command only shows.
func (c call) looks() bool {
	if dynamic(c.args) || c.flag("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters") || c.name == "grep" && c.flag("-O", "-f") || c.name == "cat-file" && c.flag("--batch", "--batch-check", "--batch-command") || c.name == "diff" && c.flag("--no-index") {
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
		return len(c.args) == 0 || c.args[0].text == "-v" && len(c.args) == 1 || positional0(positional) == "get-url"
	case "stash":
		return positional0(positional) == "list" || positional0(positional) == "show"
	case "reflog":
		return len(c.args) == 0 || positional0(positional) == "show"
	case "worktree":
		return positional0(positional) == "list"
	}
	return gitLooks()[c.name]
}

func positional0(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// files judges what git shows of files whose names say that they are secret.
func (c call) files() {
	for _, a := range c.args {
		if secret(a.text) {
			c.found("secrets", Sensitive)
			return
		}
	}
	shown := strings.ToLower(strings.Join(texts(c.args), " "))
	if c.name == "shortlog" && c.flag("-e", "--email") || strings.Contains(shown, "%ae") || strings.Contains(shown, "%ce") {
		c.found("identity", Sensitive)
	}
	words := c.args
	if c.name == "grep" && !c.flag("-e", "-f") {
		words = withoutFirst(words)
	}
	lists := c.name == "ls-files" || c.name == "ls-tree" || c.name == "status"
	for _, a := range words {
		p := a.text[strings.LastIndexByte(a.text, ':')+1:]
		if value, ok := optionValue(p); ok {
			c.visit(a, value, false)
		} else if !strings.HasPrefix(p, "-") && p != "" {
			c.visit(a, p, !lists)
		}
	}
}

// throwsAway reports whether a git command loses work.
func (c call) throwsAway() bool {
	first := positional0(texts(c.positional()))
	switch c.name {
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
				return true // files, as they were committed
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
		return first == "remove" || first == "rm" || first == "prune" || first == "deinit"
	case "update-ref":
		return true
	case "gc", "prune", "filter-branch", "filter-repo", "rm", "replace", "prune-packed", "read-tree", "checkout-index", "symbolic-ref", "repack":
		return true
	case "fetch", "pull":
		return c.flag("--force", "-f", "--prune") && c.name == "fetch"
	}
	return false
}
