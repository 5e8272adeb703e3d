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
			c.in.checkWrite(a, c.flag("-a", "--append"))
		}
		return
	}
	if c.name == "split" {
		c.checkFilter()
	}
	class := Sensitive
	for i, a := range positional {
		last := i == len(positional)-1
		if isProtected(a.text) && (last || c.name == "mv" || c.name == "touch") && a.text != "." && a.text != ".." {
			class = Destructive
		}
	}
	switch {
	case overwrites(c, positional):
		c.report("overwrites", Destructive)
	case c.name == "ln" && c.flag("-f", "--force"):
		c.report("writes", Destructive)
	default:
		c.report("writes", class)
	}
}

// overwrites reports whether a command may write over a file, or takes files out of the folder.
func overwrites(c call, positional []word) bool {
	sources, target := copyOperands(c, positional)
	switch {
	case c.name == "rename":
		return !keeps(c)
	case c.name != "cp" && c.name != "mv" && c.name != "install", c.name == "install" && c.flag("-d", "--directory"), len(sources) == 0:
		return false
	case c.name == "mv" && (len(sources) > 1 || isManyOrUnknown(sources[0]) || isOutside(target)):
		return true
	case c.name != "mv" && slices.ContainsFunc(sources, func(s word) bool { return strings.HasPrefix(s.text, "/dev/") }):
		return true
	}
	return !keeps(c)
}

// copyOperands returns the sources and the target of a command that copies or moves.
func copyOperands(c call, positional []word) (sources []word, target word) {
	valued := "tS"
	if c.name == "install" {
		valued += "mog"
		positional = slices.DeleteFunc(slices.Clone(positional), func(w word) bool { // the values of its options
			i := slices.IndexFunc(c.args, func(a word) bool { return a.text == w.text })
			return i > 0 && installValued()[c.args[i-1].text]
		})
	}
	for i, a := range c.args {
		name, value, joined := strings.Cut(a.text, "=")
		is := len(name) > 3 && strings.HasPrefix("--target-directory", name)
		if !is && !strings.HasPrefix(a.text, "--") && strings.HasPrefix(a.text, "-") { // -t DIR, -tDIR, -vtDIR
			at := strings.IndexAny(a.text, valued)
			if is = at > 0 && a.text[at] == 't'; is {
				value, joined = a.text[at+1:], at+1 < len(a.text)
			}
		}
		switch {
		case is && joined:
			return positional, word{text: value, dynamic: a.dynamic}
		case is && i+1 < len(c.args):
			target = c.args[i+1]
			return slices.DeleteFunc(slices.Clone(positional), func(w word) bool { return w.text == target.text }), target
		}
	}
	if len(positional) < 2 {
		return nil, word{}
	}
	return positional[:len(positional)-1], positional[len(positional)-1]
}

var installValued = lazy.Words("-m -o -g -S --mode --owner --group --suffix")

// keeps reports whether an option keeps the files that are there. Letters beside it that take a value, and options that may
// undo it, are not understood.
func keeps(c call) bool {
	alone := "abdnpruvxRLPH"
	if c.name == "rsync" {
		alone += "lgtozhciqAXDS"
	} else if c.flag("-f", "-i", "--force", "--interactive") {
		return false
	}
	return slices.ContainsFunc(c.args, func(a word) bool {
		switch a.text {
		case "--no-clobber", "--backup", "--update=none", "--no-overwrite", "--no-act", "--ignore-existing", "--dry-run", "--list-only":
			return true
		}
		letters, ok := strings.CutPrefix(a.text, "-")
		return ok && strings.ContainsAny(letters, "nb") && strings.Trim(letters, alone) == ""
	})
}

// copiesAway reports whether a client of a cloud, a cluster or a container engine copies: to a file or an object that may be there.
func copiesAway(c call) bool {
	list := texts(c.positional())
	if len(list) < 3 || list[len(list)-1] == "-" || c.flag("--dry-run", "--dryrun", "-n", "--no-clobber", "--ignore-existing") {
		return false
	}
	at := 0
	if list[0] == "s3" || list[0] == "storage" || list[0] == "container" {
		at = 1
	}
	return copying()[list[at]]
}

var copying = lazy.Words("cp mv sync rsync copy move copyto moveto mirror")

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
			c.in.checkWrite(w, false)
		}
	}
}

// overwritesByArchive reports whether a program that packs, unpacks or encodes writes over files that are there.
func overwritesByArchive(c call) bool {
	switch c.name {
	case "tar", "bsdtar":
		return tarOverwrites(c)
	case "unzip":
		return c.flag("-o")
	case "7z", "unrar":
		return c.flag("-y") || slices.ContainsFunc(c.args, func(a word) bool { return a.text == "-aoa" || a.text == "-o+" })
	case "cpio":
		return c.flag("-u", "--unconditional")
	case "ar":
		first := strings.TrimPrefix(firstOf(texts(c.args)), "-")
		return strings.Contains(first, "x")
	case "gpg":
		return c.flag("--yes")
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd":
		return c.flag("-f", "--force")
	case "openssl":
		return slices.ContainsFunc(c.args, func(a word) bool { return a.text == "-out" || a.text == "-keyout" })
	}
	return false
}

// tarOverwrites reports whether tar makes an archive over a file, or unpacks one over files.
func tarOverwrites(c call) bool {
	letters := ""
	for i, a := range c.args {
		if group, ok := strings.CutPrefix(a.text, "-"); (ok || i == 0) && !strings.HasPrefix(group, "-") {
			of, _, file := strings.Cut(group, "f")
			if letters += of; file {
				letters += "f"
			}
		}
	}
	has := func(letter string, long ...string) bool { return strings.Contains(letters, letter) || c.flag(long...) }
	switch {
	case c.flag("--overwrite", "--overwrite-dir", "--recursive-unlink", "--unlink-first"):
		return true
	case has("x", "--extract", "--get"):
		return !has("k", "--keep-old-files", "--skip-old-files") && !has("O", "--to-stdout")
	case has("c", "--create") && has("f", "--file"):
		return !slices.ContainsFunc(c.args, func(a word) bool { return nowhere()[a.text] || a.text == "-" })
	}
	return false
}

// overwritesInPlace reports whether an editor of streams or an interpreter changes files in place, and keeps no backup:
// sed -i, perl -pi, gawk -i inplace.
func overwritesInPlace(c call) bool {
	for i, a := range c.args {
		switch {
		case strings.HasSuffix(c.name, "sed"), c.name == "perl", c.name == "ruby":
			if suffix, long, ok := inPlace(a.text); ok && !(long && c.name != "sed" && c.name != "gsed") && (suffix == "" || strings.ContainsAny(suffix, "*/")) {
				return true
			}
		case strings.HasSuffix(c.name, "awk"):
			if a.text == "-iinplace" || a.text == "inplace" && i > 0 && isFlag(c.args[i-1].text, "-i", "--include") || a.text == "--include=inplace" {
				return true
			}
		}
	}
	return false
}

// inPlace parses an option of an in-place edit, and the suffix of its backup.
func inPlace(option string) (suffix string, long, ok bool) {
	if name, value, _ := strings.Cut(option, "="); strings.HasPrefix(name, "--") {
		return value, true, len(name) > 3 && strings.HasPrefix("--in-place", name)
	}
	letters, is := strings.CutPrefix(option, "-")
	before, suffix, found := strings.Cut(letters, "i")
	return suffix, false, is && found && strings.Trim(before, "nEruszplaw0W") == ""
}
