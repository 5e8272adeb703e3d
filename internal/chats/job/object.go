package job

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
	"piloto/internal/ground/visible"
	"piloto/internal/workspace/filespec"
)

// Object returns a call and its object for a person: «write_file a.go», «run_command npm test», «mcp_request GET
// /rooms». A list of files without a folder is of the whole one.
func (c OpenCall) Object() string {
	var with map[string]any
	_ = json.Unmarshal([]byte(c.Arguments), &with) // without an object there is only the name
	if method, ok := with["method"].(string); ok && !visible.Blank(method) {
		at, _ := with["path"].(string)
		return short(strings.TrimSpace(c.Name + " " + method + " " + at))
	}
	for _, member := range []string{"path", "command", "pattern", "text", "file", "name", "query", "url", "tool", "goal", "question", "id"} {
		if text, ok := with[member].(string); ok && !visible.Blank(text) {
			return short(c.Name + " " + text)
		}
	}
	if patch, ok := with["patch"].(string); ok {
		names, _ := patched(patch)
		names = names[:min(len(names), 3)]
		return short(strings.TrimSpace(c.Name + " " + strings.Join(names, ", ")))
	}
	if c.Name == filespec.ListFiles.Name {
		return c.Name + " ."
	}
	return short(c.Name)
}

// mostTargets is how many things of a call are recorded.
const mostTargets = 20

// named matches the members of arguments that name a file or a command line, and a patch, at any depth and in a text that is no JSON.
var named = lazy.Pattern(`"(path|file|file_path|filename|patch|command|cmd)"\s*:\s*("(?:[^"\\]|\\.)*")`)

// Targets returns the files and the command lines that the arguments of a call name, each once, and at most 20.
// Arguments that are no JSON, because they were cut, give the names before the cut.
func Targets(arguments string) (list []string) {
	add := func(name string) {
		if name = strings.TrimSpace(name); name != "" && len(list) < mostTargets && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, m := range named().FindAllStringSubmatch(arguments, -1) {
		var text string
		if json.Unmarshal([]byte(m[2]), &text) != nil {
			continue
		}
		switch m[1] {
		case "command", "cmd":
			add(text)
		case "patch":
			names, _ := patched(text)
			for _, name := range names {
				add(name)
			}
		default:
			add(path.Clean(text))
		}
	}
	return list
}

// Deletes reports whether a call would delete a file that its arguments name: by its tool, or as a part of a patch.
func Deletes(tool, arguments, name string) bool {
	var with struct {
		Patch string `json:"patch"`
	}
	_ = json.Unmarshal([]byte(arguments), &with) // arguments that are not JSON delete nothing
	_, gone := patched(with.Patch)
	return actOfTool(tool) == actDelete || slices.Contains(gone, name)
}

// patched returns the files that a patch names, and which of them it deletes.
func patched(patch string) (names, gone []string) {
	from := ""
	for line := range strings.Lines(patch) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "\t")
		if name, ok := strings.CutPrefix(line, "--- "); ok {
			from = strings.TrimPrefix(name, "a/")
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			if name = strings.TrimPrefix(name, "b/"); name == "/dev/null" {
				name, gone = from, append(gone, from)
			}
			names = append(names, name)
		}
	}
	return names, gone
}
