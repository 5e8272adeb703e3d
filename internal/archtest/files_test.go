package archtest

import (
	"testing"
)

// filing lists the packages that may open files, each with a reason. Only the folder of a workspace opens files that a
// request names: the product stores its data in its table, and its pages are in its binaries.
var filing = map[string]string{
	"internal/ground/failpoint":     "the file of a test says where to crash; a build without the tag has none of it",
	"internal/boot/receipts":        "the key of receipts of one machine, named by its configuration",
	"internal/workspace/folder":     "the folder that a person gives, by names that were checked, through os.Root",
	"infra/local/process":           "the data folder, backups and the folder of functions are named by who starts the process",
	"infra/localaws/disk":           "the data file is its own",
	"infra/local/demo":              "the demonstration's journal is in the data folder",
	"infra/localaws/s3":             "its folder is in the data folder, and it gives the files their names",
	"infra/localaws/secretsmanager": "its file is in the data folder",
	"infra/localaws/template":       "the template is named by who starts the process",
	"infra/localaws/lambda":         "a function is a binary that is started",
	"infra/local/fixture/table":     "tests look for the root of the module",
	"infra/local/fixture/kvtest":    "tests read golden files",
}

// opens lists the functions of the standard library that take the name of a file.
var opens = map[string][]string{
	"os": {
		"Open", "OpenFile", "OpenRoot", "OpenInRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir", "Mkdir", "MkdirAll", "MkdirTemp",
		"Remove", "RemoveAll", "Rename", "Link", "Symlink", "Readlink", "Stat", "Lstat", "Chmod", "Chown", "Lchown", "Chtimes", "Chdir", "Truncate", "DirFS", "CopyFS",
	},
	"os/exec":       {"Command", "CommandContext"},
	"net/http":      {"ServeFile", "FileServer", "NewFileTransport", "Dir"},
	"path/filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
	"syscall":       {"Open", "Mkdir", "Unlink", "Rename", "Link", "Symlink", "Mknod", "Mkfifo"},
	"plugin":        {"Open"},
	"html/template": {"ParseFiles", "ParseGlob"},
	"text/template": {"ParseFiles", "ParseGlob"},
	"io/ioutil":     {"ReadFile", "WriteFile", "ReadDir", "TempFile", "TempDir"},
}

func TestOnlyListedPackagesOpenFiles(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t, false) {
		if within(f.dir(), "cmd") || within(f.dir(), "infra") && !within(f.dir(), "infra/local", localaws) || within(f.dir(), localaws+"/conformance") {
			continue // the command of a person, and tools of the project: they answer no request
		}
		for library, names := range opens {
			for _, n := range calls(f, library, names...) {
				if filing[f.dir()] == "" {
					t.Errorf("%s opens a file: no package that answers requests does", f.at(n))
				}
				used[f.dir()] = true
			}
		}
	}
	for dir := range filing {
		if !used[dir] {
			t.Errorf("%s opens no file any more: take it off the list", dir)
		}
	}
}
