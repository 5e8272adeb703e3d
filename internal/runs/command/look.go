package command

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// onlyReads reports whether a program with subcommands only reads, where the name of the subcommand
// does not decide it.
func (c call) onlyReads(positional []string) bool {
	if len(positional) == 0 || anyDynamic(c.args) || strings.HasPrefix(c.args[0].text, "-") || !c.isLocal() {
		return false
	}
	switch c.name + " " + positional[0] {
	case "terraform fmt", "tofu fmt":
		return slices.Contains(texts(c.args), "-check") && len(c.args) == len(positional)+1
	}
	return false
}

// remoteOptions select another system or another user.
var remoteOptions = lazy.Words(`-s --server --token --as --as-group --as-uid --username --password --context --cluster --user --client-key --client-certificate
	--certificate-authority --kube-context --kube-token --kube-apiserver --repo --registry --index-url --extra-index-url`)

// isLocal reports whether the options of a command select no other system and no other user.
func (c call) isLocal() bool {
	return !slices.ContainsFunc(c.args, func(a word) bool { return remoteOptions()[before(a.text, "=")] })
}

// onlyListsArchive reports whether an archive program only lists the content of an archive.
func onlyListsArchive(c call) bool {
	if len(c.args) == 0 || anyDynamic(c.args) || slices.ContainsFunc(c.args, func(a word) bool {
		return leavesFolder(a.text, false) || isSecret(a.text) || strings.Contains(a.text, ":")
	}) {
		return false
	}
	first, rest := c.args[0].text, texts(c.args[1:])
	if slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "-") && s != "-" }) {
		return false
	}
	switch c.name {
	case "tar", "bsdtar":
		return strings.Contains(first, "t") && strings.Trim(strings.TrimPrefix(first, "-"), "tvfzjJ") == ""
	case "unzip":
		return first == "-l" || first == "-Z1"
	case "gzip", "xz", "zstd":
		return first == "-l"
	}
	return false
}

// goOptions are the options of go test and go vet that neither run another program nor write a
// file. goValued are those whose value may be the next word.
var (
	goOptions = lazy.Words("-v -race -short -cover -failfast -json -benchmem -x -n -a -i -trimpath -msan -asan")
	goValued  = lazy.Words("-run -count -timeout -bench -parallel -p -tags -list -shuffle -cpu -skip -benchtime -covermode")
)

// golang judges go. Tests run within a time limit, and are code of the folder that the user works
// in: go test and go vet are safe there, and nowhere else.
func golang(c call) {
	if c.isHelp() {
		return
	}
	sub := firstOf(texts(c.args))
	rest := call{in: c.in, name: "go", args: c.args[min(1, len(c.args)):], words: c.words}
	class := wordsClass(c.args)
	switch {
	case class == Sensitive && !anyDynamic(c.args) && (sub == "test" || sub == "vet") && hasOwnPackages(rest) && isInFolder(rest):
	case class == Sensitive && !anyDynamic(c.args) && (sub == "version" || sub == "doc") && rest.isHarmless() && hasOwnPackages(rest):
	case class == Sensitive && !anyDynamic(c.args) && sub == "list" && rest.isHarmless() && (hasOwnPackages(rest) || listsModules(texts(rest.args))):
	default:
		c.report("changes", class)
	}
}

func listsModules(list []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains([]string{"-m", "all", "-u", "-json", "./..."}, s) })
}

// hasOwnPackages reports whether the options of a go command are known, and its packages are local
// or have no path.
func hasOwnPackages(c call) bool {
	for i := 0; i < len(c.args); i++ {
		a := strings.Replace(c.args[i].text, "--", "-", 1)
		name, value, joined := strings.Cut(a, "=")
		switch {
		case goValued()[name]:
			if !joined {
				i++
				if i == len(c.args) {
					return false
				}
				value = c.args[i].text
			}
			if name == "-timeout" && !isBounded(value) {
				return false
			}
		case strings.HasPrefix(a, "-"):
			if !goOptions()[a] {
				return false
			}
		case leavesFolder(a, true), strings.Contains(a, "@"), strings.Contains(a, "://"):
			return false
		}
	}
	return true
}

// isInFolder reports whether the packages of a go command are named as paths of the folder.
func isInFolder(c call) bool {
	for i, a := range c.args {
		valued := i > 0 && goValued()[strings.Replace(c.args[i-1].text, "--", "-", 1)]
		if !valued && !strings.HasPrefix(a.text, "-") && a.text != "." && !strings.HasPrefix(a.text, "./") {
			return false
		}
	}
	return true
}

// gh judges gh, whose every command uses the token of the person.
func gh(c call) {
	if c.isHelp() {
		return
	}
	list := texts(c.positional())
	if class := wordsClass(c.args); class == Sensitive && len(list) > 1 && slices.Contains([]string{"list", "status", "view", "checks", "diff"}, list[1]) {
		c.report("credentials", class)
	} else {
		c.report("changes", class)
	}
}

// countQuery matches a statement of mongosh that only shows how much data there is.
var countQuery = lazy.Pattern(`^(db\.[A-Za-z_]+\.(countDocuments|estimatedDocumentCount|stats)\(\)|db\.(stats|version|getCollectionNames)\(\)|show (collections|dbs|databases|tables))$`)

// mongo judges the clients of MongoDB.
func mongo(c call) {
	if c.isHelp() {
		return
	}
	c.report("credentials", Sensitive)
	class, reads := wordsClass(c.args), false
	for i, a := range c.args {
		switch {
		case a.text == "--quiet", a.text == "--eval" && i+1 < len(c.args):
		case i > 0 && c.args[i-1].text == "--eval":
			reads = countQuery().MatchString(strings.TrimSuffix(strings.TrimSpace(a.text), ";")) && !a.dynamic
			if !reads {
				c.report("database", class)
			}
		case strings.HasPrefix(a.text, "-"), strings.Contains(a.text, ":"), !isKnownHost(a.text):
			c.report("database", class)
		}
	}
	if !reads {
		c.in.runsUnseen = len(c.args) == 0
		c.report("database", class)
	}
}
