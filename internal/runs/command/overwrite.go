package command

import (
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// copyBlocks judges dd, which overwrites without a question.
func copyBlocks(c call) {
	class := Sensitive
	for _, a := range c.args {
		if target, ok := strings.CutPrefix(a.text, "of="); (ok || a.dynamic) && target != "/dev/null" {
			class = Destructive
		}
	}
	c.report("overwrites", class)
}

// changes judges programs that create, copy and move files.
func changes(c call) {
	if c.isHelp() {
		return
	}
	positional := c.positional()
	if c.name == "tee" || c.name == "sponge" {
		for _, a := range positional {
			c.checkWrite(a, c.flag("-a", "--append"))
		}
		return
	}
	class := Sensitive
	for i, a := range positional {
		last := i == len(positional)-1
		if isProtected(a.text) && (last || c.name == "mv" || c.name == "touch") && a.text != "." && a.text != ".." {
			class = Destructive
		}
	}
	switch {
	case c.overwrites(positional):
		c.report("overwrites", Destructive)
	case c.name == "ln" && c.flag("-f", "--force"):
		c.report("writes", Destructive)
	default:
		c.report("writes", class)
	}
}

// overwrites reports whether a command may write over a file that it names, or takes files out of the folder. A copy of a
// tree, or into a folder whose name ends with "/", may write over files that it does not name: it is not counted.
func (c call) overwrites(positional []word) bool {
	sources, target, into := c.operands(positional)
	switch {
	case c.name == "rename":
		return !c.keeps()
	case c.name != "cp" && c.name != "mv" && c.name != "install", c.name == "install" && c.flag("-d", "--directory"), len(sources) == 0:
		return false
	case c.name == "mv" && (len(sources) > 1 || isManyOrUnknown(sources[0]) || isOutside(target)):
		return true
	case c.name != "mv" && slices.ContainsFunc(sources, func(s word) bool { return strings.HasPrefix(s.text, "/dev/") }):
		return true
	case c.keeps(), into, len(sources) > 1, c.name == "cp" && c.flag("-r", "-R", "-a", "--recursive", "--archive"):
		return false
	}
	return true
}

// operands returns what a command copies or moves, and where to. Into means that the target is a folder by its name.
func (c call) operands(positional []word) (sources []word, target word, into bool) {
	for i, a := range c.args {
		value, joined := strings.CutPrefix(a.text, "--target-directory=")
		switch {
		case joined:
			return positional, word{text: value, dynamic: a.dynamic}, true
		case (a.text == "-t" || a.text == "--target-directory") && i+1 < len(c.args):
			target = c.args[i+1]
			return slices.DeleteFunc(slices.Clone(positional), func(w word) bool { return w.text == target.text }), target, true
		}
	}
	if c.name == "install" { // the values of its options
		positional = slices.DeleteFunc(slices.Clone(positional), func(w word) bool {
			i := slices.IndexFunc(c.args, func(a word) bool { return a.text == w.text })
			return i > 0 && installValued()[c.args[i-1].text]
		})
	}
	if len(positional) < 2 {
		return nil, word{}, false
	}
	target = positional[len(positional)-1]
	into = !target.dynamic && !target.glob && (strings.HasSuffix(target.text, "/") || target.text == "." || target.text == "..")
	return positional[:len(positional)-1], target, into
}

var installValued = lazy.Words("-m -o -g -S --mode --owner --group --suffix")

// keeps reports whether an option keeps the files that are there. Letters beside it that take a value, or that undo it, are
// not understood.
func (c call) keeps() bool {
	return slices.ContainsFunc(c.args, func(a word) bool {
		switch a.text {
		case "--no-clobber", "--backup", "--update=none", "--no-overwrite", "--no-act":
			return true
		}
		letters, ok := strings.CutPrefix(a.text, "-")
		return ok && strings.ContainsAny(letters, "nb") && strings.Trim(letters, "abdnpruvxRLPH") == ""
	})
}

// isManyOrUnknown reports whether a word may stand for several files.
func isManyOrUnknown(w word) bool { return w.dynamic || w.glob || strings.ContainsAny(w.text, "*?[{") }

// isOutside reports whether a path may lead out of the folder, for a file that is moved: also to /tmp.
func isOutside(w word) bool {
	clean := path.Clean(w.text)
	return w.dynamic || path.IsAbs(clean) || strings.HasPrefix(clean, "~") || clean == ".." || strings.HasPrefix(clean, "../")
}

// downloads are the options of programs that fetch, with which they write over the file that is their value.
var downloads = map[string]func() map[string]bool{
	"curl":   lazy.Words("-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save"),
	"wget":   lazy.Words("-O --output-document -o --output-file --save-cookies"),
	"http":   lazy.Words("-o --output"),
	"https":  lazy.Words("-o --output"),
	"xh":     lazy.Words("-o --output"),
	"aria2c": lazy.Words("-l --log"),
}

// checkDownload judges the files that a program writes which fetches.
func (c call) checkDownload() {
	options, ok := downloads[c.name]
	if !ok {
		return
	}
	if c.name == "curl" && c.flag("-O", "--remote-name", "--remote-name-all") || c.name == "wget" && c.flag("-N", "--timestamping", "-r", "--recursive", "-m", "--mirror") {
		c.report("overwrites", Destructive)
	}
	for i, a := range c.args {
		name, value, joined := strings.Cut(a.text, "=")
		if !joined && len(a.text) > 2 && a.text[0] == '-' && a.text[1] != '-' && options()[a.text[:2]] {
			name, value, joined = a.text[:2], a.text[2:], true
		}
		w := word{text: value, dynamic: a.dynamic, glob: a.glob}
		if !joined && i+1 < len(c.args) {
			w = c.args[i+1]
		}
		grouped := len(name) > 2 && name[1] != '-' && strings.HasPrefix(name, "-") && options()["-"+name[len(name)-1:]] // -sLo
		if (options()[name] || grouped) && w.text != "-" && w.text != "" {
			c.checkWrite(w, false)
		}
	}
}

// overwritesByArchive reports whether a program that packs, unpacks or encodes writes over files that are there.
func (c call) overwritesByArchive() bool {
	switch c.name {
	case "tar", "bsdtar":
		first := strings.TrimPrefix(firstOf(texts(c.args)), "-")
		makes := !strings.HasPrefix(first, "-") && strings.Contains(first, "c") && strings.Contains(first, "f") || c.flag("-c", "--create") && c.flag("-f", "--file")
		return makes && !slices.ContainsFunc(c.args, func(a word) bool { return nowhere()[a.text] || a.text == "-" }) || c.flag("--overwrite")
	case "unzip":
		return c.flag("-o")
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd":
		return c.flag("-f", "--force")
	case "openssl":
		return slices.ContainsFunc(c.args, func(a word) bool { return a.text == "-out" || a.text == "-keyout" })
	}
	return false
}
