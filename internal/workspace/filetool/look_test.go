package filetool_test

import (
	"fmt"
	"strings"
	"testing"
)

var project = map[string]string{
	".gitignore":                "*.log\n/build/\n",
	"README.md":                 "# Project\n",
	"src/main.go":               "package main\n\nfunc main() {\n\trun()\n}\n",
	"src/run.go":                "package main\n\nfunc run() {}\n",
	"src/api/server.go":         "package api\n\n// Run runs.\nfunc Run() {}\n",
	"src/api/server_test.go":    "package api\n",
	"src/debug.log":             "func run: a line of a log\n",
	"build/out.txt":             "run\n",
	"node_modules/x/index.js":   "run()\n",
	"docs/ñandú.md":             "# Ñandú\n",
	"docs/picture.png":          "\x89PNG\x00\x00run",
	"web/a.ts":                  "run()\n",
	"web/b.tsx":                 "",
	"web/node_modules/y/big.js": "run()\n",
}

func TestListAndFind(t *testing.T) {
	f, _ := over(project)
	for _, e := range []expect{
		{"the root", "list_files", args{}, true, []string{"build/ (1 file, left out of searches)\n", "src/ (5 files)\n", "README.md (10 bytes)\n"}},
		{"a folder", "list_files", args{"path": "./src/"}, true, []string{"api/ (2 files)\n", "debug.log (26 bytes)\n", "main.go"}},
		{"all", "list_files", args{"path": ".", "recursive": true}, true, []string{"src/api/server.go", "node_modules/x/index.js"}},
		{"a file", "list_files", args{"path": "README.md"}, false, []string{"is a file", "read_file"}},
		{"nothing there", "list_files", args{"path": "nope"}, false, []string{`no file or folder "nope"`}},
		{"a name of elsewhere", "list_files", args{"path": "api"}, false, []string{"no file or folder"}},
		{"by its end", "find_files", args{"pattern": "*.go"}, true, []string{"src/api/server.go\nsrc/api/server_test.go\nsrc/main.go\nsrc/run.go\n"}},
		{"in folders", "find_files", args{"pattern": "src/**/*_test.go"}, true, []string{"src/api/server_test.go\n"}},
		{"alternatives", "find_files", args{"pattern": "**/*.{ts,tsx}"}, true, []string{"web/a.ts\nweb/b.tsx\n"}},
		{"only left out", "find_files", args{"pattern": "*.log"}, true, []string{"Only in what is left out", "src/debug.log"}},
		{"also left out", "find_files", args{"pattern": "*.{txt,md}"}, true, []string{"README.md", "docs/ñandú.md", "(and 1 in what is left out"}},
		{"none", "find_files", args{"pattern": "*.rs"}, true, []string{"No file"}},
		{"no glob", "find_files", args{"pattern": "[a"}, false, []string{"bracket"}},
	} {
		e.check(t, f)
	}
	empty, _ := over(nil)
	expect{"an empty workspace", "list_files", args{}, true, []string{"There are no files yet."}}.check(t, empty)
}

func TestLongListsAreCut(t *testing.T) {
	files := map[string]string{}
	for i := range 1_500 {
		files[fmt.Sprintf("folder/a-rather-long-name-of-a-file-%04d.txt", i)] = ""
	}
	f, _ := over(files)
	for _, e := range []expect{
		{"list", "list_files", args{"path": "folder"}, true, []string{"a-file-0000", " more: name a folder"}},
		{"find", "find_files", args{"pattern": "*"}, true, []string{"a-file-0000", " more: use a narrower pattern"}},
	} {
		e.check(t, f)
	}
}

func TestReadFile(t *testing.T) {
	var many strings.Builder
	for i := 1; i <= 5_000; i++ {
		fmt.Fprintf(&many, "line number %d\n", i)
	}
	f, _ := over(map[string]string{
		"plain": "a\nb\nc\n", "open": "a\nb", "crlf": "a\r\nb\r\n", "mixed": "a\r\nb\n", "bom": "\xEF\xBB\xBFa\n", "latin": "ca\xf1a\nb\n",
		"empty": "", "bare": "\n\n", "binary": "a\x00b", "utf16": "\xff\xfea\x00b\x00", "many": many.String(),
		"long": "start " + strings.Repeat("ñ", 5<<20-10) + "\nnext\n", "dir/file": "x\n",
		"ñ": "x\n", strings.Repeat(strings.Repeat("d", 200)+"/", 5) + "f": many.String(),
	})
	for _, e := range []expect{
		{"all lines", "read_file", args{"path": "plain"}, true, []string{"plain, lines 1 to 3 of 3\n     1\ta\n     2\tb\n     3\tc\n"}},
		{"./", "read_file", args{"path": "./plain"}, true, []string{"plain, lines"}},
		{"some", "read_file", args{"path": "plain", "from": 2, "lines": 1}, true, []string{"lines 2 to 2 of 3\n     2\tb\n(1 lines follow: go on with from 3)"}},
		{"more than there are", "read_file", args{"path": "plain", "from": 3, "lines": 99}, true, []string{"     3\tc\n"}},
		{"after the end", "read_file", args{"path": "plain", "from": 4}, false, []string{"from: plain has 3 lines"}},
		{"no last line end", "read_file", args{"path": "open"}, true, []string{"no line end at its end", "     2\tb\n"}},
		{"CRLF", "read_file", args{"path": "crlf"}, true, []string{"(CRLF line ends)", "     1\ta\n     2\tb\n"}},
		{"mixed", "read_file", args{"path": "mixed"}, true, []string{"mixed line ends"}},
		{"BOM", "read_file", args{"path": "bom"}, true, []string{"byte order mark", "     1\ta\n"}},
		{"Latin-1", "read_file", args{"path": "latin"}, true, []string{"not UTF-8", "ca\uFFFDa"}},
		{"empty", "read_file", args{"path": "empty"}, true, []string{"empty is empty"}},
		{"empty, from 1", "read_file", args{"path": "empty", "from": 1}, true, []string{"empty is empty"}},
		{"empty lines", "read_file", args{"path": "bare"}, true, []string{"     2\t\n"}},
		{"binary", "read_file", args{"path": "binary"}, true, []string{"binary (3 bytes): it cannot be shown"}},
		{"UTF-16", "read_file", args{"path": "utf16"}, true, []string{"is binary"}},
		{"a long file", "read_file", args{"path": "many"}, true, []string{"lines 1 to ", "of 5000", "go on with from "}},
		{"its end", "read_file", args{"path": "many", "from": 4_999}, true, []string{"  5000\tline number 5000\n"}},
		{"a line of 10 MB", "read_file", args{"path": "long"}, true, []string{"start ñ", "… (+1048", "     2\tnext"}},
		{"a folder", "read_file", args{"path": "dir"}, false, []string{`"dir" is a folder`}},
		{"nothing", "read_file", args{"path": "other/File"}, false, []string{"There is dir/file"}},
		{"a bad name", "read_file", args{"path": "../../etc/passwd"}, false, []string{"“.” or “..”"}},
		{"an accent apart from its letter", "read_file", args{"path": "n\u0303"}, true, []string{"ñ, lines 1"}},
		{"a long name", "read_file", args{"path": strings.Repeat(strings.Repeat("d", 200)+"/", 5) + "f"}, true, []string{"… (+", "go on with from "}},
		{"an absolute name", "read_file", args{"path": "/etc/passwd"}, false, []string{"absolute"}},
	} {
		e.check(t, f)
	}
}

// TestReadGoesOnWhereItSays reads a file in the parts that the answers name.
func TestReadGoesOnWhereItSays(t *testing.T) {
	var want strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&want, "%d %s\n", i, strings.Repeat("x", i%50))
	}
	f, _ := over(map[string]string{"a": want.String()})
	var got strings.Builder
	for from := 1; ; {
		r := call(t, f, "read_file", args{"path": "a", "from": from})
		if !r.OK {
			t.Fatal(r.Error)
		}
		next := 0
		for line := range strings.Lines(r.Output) {
			if number, text, ok := strings.Cut(line, "\t"); ok {
				got.WriteString(text)
				_ = number
			}
			if _, rest, ok := strings.Cut(line, "go on with from "); ok {
				if _, err := fmt.Sscanf(rest, "%d)", &next); err != nil {
					t.Fatal(err)
				}
			}
		}
		if next == 0 {
			break
		}
		from = next
	}
	if got.String() != want.String() {
		t.Error("the parts are not the file")
	}
}

func TestSearches(t *testing.T) {
	f, _ := over(project)
	for _, e := range []expect{
		{"literal", "grep", args{"text": "run()"}, true, []string{"src/main.go\n     4: \trun()\n", "web/a.ts\n     1: run()\n", "(3 matches in 3 files)", "4 files left out", "1 file not searched: binary"}},
		{"a pattern is literal", "grep", args{"text": "r.n"}, true, []string{"No line matches."}},
		{"case", "grep", args{"text": "RUN()", "ignore_case": true}, true, []string{"     4: func Run() {}", "(4 matches"}},
		{"a folder", "grep", args{"text": "run", "path": "web"}, true, []string{"(1 match)", "1 file left out"}},
		{"a folder that is left out", "grep", args{"text": "run", "path": "build"}, true, []string{"build/out.txt\n", "(1 match)"}},
		{"a file that is left out", "grep", args{"text": "run", "path": "src/debug.log"}, true, []string{"(1 match)"}},
		{"a glob", "grep", args{"text": "package", "path": "src/**/*_test.go"}, true, []string{"src/api/server_test.go\n", "(1 match)"}},
		{"nothing there", "grep", args{"text": "x", "path": "nope"}, false, []string{"no file or folder"}},
		{"a glob of nothing", "grep", args{"text": "x", "path": "*.rs"}, false, []string{"no file or folder"}},
		{"two lines", "grep", args{"text": "a\nb"}, false, []string{"on one line"}},
		{"context", "search_code", args{"pattern": `func \w+\(\)`, "path": "src/main.go", "context": 1}, true, []string{"src/main.go\n     2- \n     3: func main() {\n     4- \trun()\n(1 match)"}},
		{"no context", "search_code", args{"pattern": `^func`, "path": "src", "context": 0}, true, []string{"src/main.go\n     3: func main() {\nsrc/run.go\n"}},
		{"the ends of a line", "search_code", args{"pattern": `^# \S+$`}, true, []string{"README.md", "docs/ñandú.md", "(2 matches in 2 files)"}},
		{"no expression", "search_code", args{"pattern": `run(`}, false, []string{"missing closing )", "RE2"}},
		{"look-ahead", "search_code", args{"pattern": `a(?=b)`}, false, []string{"no look-around"}},
	} {
		e.check(t, f)
	}
}

func TestSearchShowsGaps(t *testing.T) {
	f, _ := over(map[string]string{"a": "x\n1\n2\n3\n4\nx\nx\n5\n"})
	const want = "a\n     1: x\n     2- 1\n     …\n     5- 4\n     6: x\n     7: x\n     8- 5\n(3 matches in 1 file)"
	if r := call(t, f, "search_code", args{"pattern": "x", "context": 1}); r.Output != want {
		t.Errorf("%q", r.Output)
	}
}

func TestSearchesAreBounded(t *testing.T) {
	long := strings.Repeat("a", 9<<20) + "needle" + strings.Repeat("b", 1<<20-10)
	f, _ := over(map[string]string{
		"long": long, "many": strings.Repeat("needle in a line\n", 20_000), "crlf": "x needle\r\ny\r\n", "latin": "\xf1 needle\n",
	})
	for _, e := range []expect{
		{"in a long line", "grep", args{"text": "needle", "path": "long"}, true, []string{"bytes+) …aaa", "needlebbb", "… (+", "(1 match)"}},
		{"an expression reads its beginning only", "search_code", args{"pattern": "needle", "path": "long"}, true, []string{"No line matches."}},
		{"many", "grep", args{"text": "needle", "path": "many"}, true, []string{" of 1000 matches in 1 file: name a file"}},
		{"CRLF", "search_code", args{"pattern": "needle$", "path": "crlf", "context": 0}, true, []string{"     1: x needle\n"}},
		{"Latin-1", "grep", args{"text": "needle", "path": "latin"}, true, []string{"\uFFFD needle"}},
		{"a bomb", "search_code", args{"pattern": "(ab|cd|ef){400}"}, false, []string{"too large"}},
		{"a repetition of repetitions", "search_code", args{"pattern": "((a{100}){100}){100}"}, false, nil},
		{"a long expression", "search_code", args{"pattern": strings.Repeat("a", 501)}, false, []string{"at most 500 bytes"}},
		{"a slow one", "search_code", args{"pattern": "(x+x+)+y", "path": "long"}, true, []string{"No line"}},
	} {
		e.check(t, f)
	}
}

// TestSearchStopsAfterItsBytes: each file has 10 MB, so that seven are over the limit.
func TestSearchStopsAfterItsBytes(t *testing.T) {
	files := map[string]string{}
	for i := range 9 {
		files[fmt.Sprintf("f%d", i)] = strings.Repeat("line\n", 2<<20)
	}
	f, _ := over(files)
	expect{"nine files", "grep", args{"text": "absent"}, true, []string{"No line matches.", "ended early", "name a folder"}}.check(t, f)
}

func benchmarkFiles(n int) map[string]string {
	files := map[string]string{".gitignore": "*.log\nbuild/\n/out\n!keep.log\n"}
	for i := range n {
		files[fmt.Sprintf("src/package%d/file%d.go", i%100, i)] = strings.Repeat("func name(value int) (string, error) { return format(value), nil }\n", 80)
	}
	return files
}

// BenchmarkListAndGrep lists and searches 2,000 files of 5 kB.
func BenchmarkListAndGrep(b *testing.B) {
	f, _ := over(benchmarkFiles(1_999))
	for name, a := range map[string]args{"literal": {"text": "absent"}, "each-line": {"text": "format(value)"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				call(b, f, "list_files", args{"path": "src"})
				call(b, f, "grep", a)
			}
		})
	}
	b.Run("expression", func(b *testing.B) {
		for b.Loop() {
			call(b, f, "search_code", args{"pattern": `\w+\(absent\)`})
		}
	})
}
