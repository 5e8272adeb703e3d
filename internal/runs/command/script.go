package command

import (
	"strings"

	"piloto/internal/ground/lazy"
)

// The code of other programs is not parsed. Patterns find the ordinary ways to overwrite a file.

// checkScriptFiles judges the files that the scripts of sed write over: those of w and W, and of s with the flag w.
func (c call) checkScriptFiles() {
	scripts := c.expressions()
	if list := c.positional(); len(scripts) == 0 && len(list) > 0 {
		scripts = list[:1]
	}
	for _, script := range scripts {
		for _, file := range sedFiles(script.text) {
			c.in.checkWrite(word{text: file, dynamic: script.dynamic}, false)
		}
	}
}

// expressions returns the values of -e, also at the end of other letters, and of --expression.
func (c call) expressions() (scripts []word) {
	for i, a := range c.args {
		name, value, joined := strings.Cut(a.text, "=")
		long := len(name) > 3 && strings.HasPrefix("--expression", name)
		if letters, ok := strings.CutPrefix(a.text, "-"); ok && !long {
			before, after, found := strings.Cut(letters, "e")
			long, value, joined = found && strings.Trim(before, "nErsuz") == "", after, after != ""
		}
		switch {
		case long && joined:
			scripts = append(scripts, word{text: value, dynamic: a.dynamic})
		case long && i+1 < len(c.args):
			scripts = append(scripts, c.args[i+1])
		}
	}
	return scripts
}

// sedFiles returns the files that a script of sed writes. It ends where it does not understand the script.
func sedFiles(s string) (files []string) {
	for {
		if s = strings.TrimLeft(s, " \t\n;{}!,$~+0123456789"); s == "" {
			return files
		}
		command, ok := s[0], true
		s = s[1:]
		switch command {
		case '/': // an address
			s, ok = afterPattern(s, '/')
		case '\\':
			if s != "" {
				s, ok = afterPattern(s[1:], s[0])
			}
		case 's', 'y':
			if s == "" {
				return files
			}
			delimiter := s[0]
			if s, ok = afterPattern(s[1:], delimiter); ok {
				s, ok = upTo(s, delimiter)
			}
			s = strings.TrimLeft(s, "gpiIeMm0123456789")
		case 'w', 'W':
			var file string
			file, s, _ = strings.Cut(s, "\n")
			files = append(files, strings.TrimSpace(file))
		case 'a', 'i', 'c': // with a text, also on further lines
			for ok = true; ok; {
				var line string
				line, s, _ = strings.Cut(s, "\n")
				ok = strings.HasSuffix(line, `\`) && s != ""
			}
			ok = true
		case 'r', 'R', 'e', ':', '#':
			_, s, _ = strings.Cut(s, "\n")
		}
		if !ok {
			return files
		}
	}
}

// afterPattern returns the text after a pattern, which ends with a delimiter that is neither escaped nor in brackets.
func afterPattern(s string, delimiter byte) (after string, ok bool) {
	open := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == delimiter && !open:
			return s[i+1:], true
		case c == '[' && !open:
			open = true
			for i+1 < len(s) && (s[i+1] == '^' || s[i+1] == ']') { // the first ] is one of the characters
				i++
			}
		case c == ']':
			open = false
		}
	}
	return "", false
}

// checkFilter judges the command that split runs for each of its files, with the name of the file in $FILE.
func (c call) checkFilter() {
	for i, a := range c.args {
		name, value, joined := strings.Cut(a.text, "=")
		if len(name) < 4 || !strings.HasPrefix("--filter", name) {
			continue
		}
		if joined {
			c.in.readCode(word{text: value, dynamic: a.dynamic})
		} else if i+1 < len(c.args) {
			c.in.readCode(c.args[i+1])
		}
	}
}

var (
	// A print of awk whose output goes to a file. Texts and brackets are removed from its line before the match.
	awkPrints = lazy.Pattern(`\bprintf?\b[^;{}\n|>]*>\s*[^>=\s@]`)
	awkText   = lazy.Pattern(`"(?:[^"\\]|\\.)*"`)
	inRound   = lazy.Pattern(`\([^()]*\)`)

	// Calls of other languages that write files: open with a mode that empties the file, and functions that write a whole file
	// or replace one by another.
	codeOpens  = lazy.Pattern(`\bopen\b[^;\n]*?["']\s*\+?>[^>]|(?:\b(?:open|fopen|openSync)\b[^;\n,]*,|\)\.open\()\s*(?:\w+\s*=\s*)?["'](?:[wr][bt]?\+[bt]?|w[bt]?)["']`)
	codeWrites = lazy.Pattern(`(?i)\b(?:write_text|write_bytes|write_?files?(?:sync)?|writeTextFile(?:Sync)?|createWriteStream|file_put_contents|copy_?file(?:sync)?|copyfileobj|` +
		`rename(?:sync)?|truncate(?:sync)?|(?:file|io|bun)\.(?:bin)?write|shutil\.(?:copy|copy2|move)|os\.replace)\b\s*\(?`)
)

// writesOver reports whether a code of an interpreter writes over a file in an ordinary way.
func (c call) writesOver(code string) bool {
	if !strings.HasSuffix(c.name, "awk") {
		return codeOpens().MatchString(code) || codeWrites().MatchString(code)
	}
	code = awkText().ReplaceAllStringFunc(code, func(text string) string {
		if nowhere()[strings.Trim(text, `"`)] {
			return "@"
		}
		return `""`
	})
	for range 3 {
		code = inRound().ReplaceAllString(code, " ")
	}
	return awkPrints().MatchString(code)
}
