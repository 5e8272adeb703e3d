// Package filespec describes the tools with which a model reads and changes files: their names, descriptions and arguments.
// It has no code of the tools (filetool), so that a function can offer them and leave the work to another one.
package filespec

import "piloto/internal/workspace"

// Class is the effect of a call of a tool.
type Class string

// The classes of tools.
const (
	Read  Class = "look"  // it reads
	Write Class = "write" // it changes files
)

// Limits of arguments.
const (
	MaxGlob    = 1_000 // bytes
	MaxPattern = 500   // bytes
	MaxLines   = 2_000
	MaxContext = 10 // lines

	maxPath = 1_024 // bytes
)

// The modes of WriteFile.
const (
	Overwrite = "overwrite"
	Append    = "append"
)

// A Spec describes a tool.
type Spec struct {
	Class       Class
	Name, About string
	Params      []Param
}

// All returns the tools, in the order in which a model is offered them.
func All() []Spec {
	return []Spec{ListFiles, FindFiles, ReadFile, Grep, SearchCode, WriteFile, EditFile, ApplyPatch, DeleteFile}
}

// scope is the argument that says where to search.
var scope = Param{
	Name: "path", Kind: KindText, About: "a file, a folder or a glob; absent: all files but those that .gitignore leaves out", Max: maxPath, OneLine: true,
}

// oneFile is the parameter of the tools that are about one file.
var oneFile = Param{
	Name: "path", Kind: KindText, About: "the file, such as src/main.go", Required: true, Max: maxPath, OneLine: true,
}

// ListFiles lists a folder.
var ListFiles = Spec{
	Class: Read,
	Name:  "list_files",
	About: "List the folders and files of a folder, with their sizes.",
	Params: []Param{
		{Name: "path", Kind: KindText, About: "the folder, such as src/api; absent: the root", Max: maxPath, OneLine: true},
		{Name: "recursive", Kind: KindFlag, About: "also the files in its folders"},
	},
}

// FindFiles finds files by name.
var FindFiles = Spec{
	Class: Read,
	Name:  "find_files",
	About: "Find files by name with a glob: * and ? stay in one folder, ** crosses folders, {a,b} is one of two. " +
		"A pattern without / is for the last part of a name, in any folder: *.go, src/**/*_test.ts, **/{Makefile,*.mk}.",
	Params: []Param{
		{Name: "pattern", Kind: KindText, About: "the glob", Required: true, Min: 1, Max: MaxGlob, OneLine: true},
	},
}

// ReadFile reads lines of a file.
var ReadFile = Spec{
	Class: Read,
	Name:  "read_file",
	About: "Read lines of a text file, with their numbers. The numbers and the tab after them are not part of the file. " +
		"A long file is read in parts: the answer says where to go on.",
	Params: []Param{
		oneFile,
		{Name: "from", Kind: KindNumber, About: "first line, from 1", Min: 1},
		{Name: "lines", Kind: KindNumber, About: "how many; absent: as many as fit", Min: 1, Max: MaxLines},
	},
}

// Grep finds a text in files.
var Grep = Spec{
	Class: Read,
	Name:  "grep",
	About: "Find the lines that have a text, taken literally.",
	Params: []Param{
		{Name: "text", Kind: KindText, About: "the text, on one line", Required: true, Min: 1, Max: MaxPattern, OneLine: true},
		scope,
		{Name: "ignore_case", Kind: KindFlag, About: "a is also A"},
	},
}

// SearchCode finds the lines that match an expression.
var SearchCode = Spec{
	Class: Read,
	Name:  "search_code",
	About: "Find the lines that match a regular expression (RE2: no look-around, no back-references), with the lines around them. " +
		"It is tried on each line by itself, at most on its first 65,536 bytes.",
	Params: []Param{
		{Name: "pattern", Kind: KindText, About: `the expression, such as func \w+Handler\(`, Required: true, Min: 1, Max: MaxPattern, OneLine: true},
		scope,
		{Name: "context", Kind: KindNumber, About: "lines before and after each match; absent: 2", Max: MaxContext},
		{Name: "ignore_case", Kind: KindFlag, About: "a is also A"},
	},
}

// WriteFile writes a whole file.
var WriteFile = Spec{
	Class: Write,
	Name:  "write_file",
	About: "Write a whole file, or add to its end. A file and its folders are made if they are not there. " +
		"To change a part of a file, use edit_file or apply_patch.",
	Params: []Param{
		oneFile,
		{Name: "mode", Kind: KindText, About: "absent: overwrite", OneOf: []string{Overwrite, Append}},
		{Name: "content", Kind: KindText, About: "the text, with its last line end", Required: true, Max: workspace.MaxFileBytes},
	},
}

// EditFile replaces a part of a file.
var EditFile = Spec{
	Class: Write,
	Name:  "edit_file",
	About: "Replace a part of a file. old_str must be in it exactly once, with all its spaces; give enough lines around the place. " +
		"The numbers of read_file are not part of the text.",
	Params: []Param{
		oneFile,
		{Name: "old_str", Kind: KindText, About: "the text that is there", Required: true, Min: 1, Max: workspace.MaxFileBytes},
		{Name: "new_str", Kind: KindText, About: "the text in its place; empty: the part is removed", Required: true, Max: workspace.MaxFileBytes},
	},
}

// ApplyPatch applies a unified diff.
var ApplyPatch = Spec{
	Class: Write,
	Name:  "apply_patch",
	About: "Apply a unified diff to one file or several: all hunks, or nothing. The line numbers and counts after @@ must be right, and the " +
		"lines of context and those with - must be as they are in the file. /dev/null stands for a file that is made or deleted.",
	Params: []Param{
		{Name: "path", Kind: KindText, About: "the file; absent: the files that the patch names after --- and +++", Max: maxPath, OneLine: true},
		{Name: "patch", Kind: KindText, About: "the diff; with path, it may begin with @@", Required: true, Min: 1, Max: 1 << 20},
	},
}

// DeleteFile deletes a file.
var DeleteFile = Spec{
	Class:  Write,
	Name:   "delete_file",
	About:  "Delete a file.",
	Params: []Param{{Name: "path", Kind: KindText, About: "the file", Required: true, Max: maxPath, OneLine: true}},
}
