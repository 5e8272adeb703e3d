package filetool

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"piloto/internal/workspace"
	"piloto/internal/workspace/ignore"
)

// Limits of the tree.
const (
	maxTreeLines = 300
	maxTreeLine  = 120     // bytes
	largeFile    = 1 << 20 // bytes. A larger file is named, and marked as left out
)

// Tree returns the folders and files for a prompt, in at most 300 lines, without those that .gitignore files name or that are
// in excluded folders. A folder whose files do not fit stands with their number. The tree is made again only if the listing
// has another version.
func (f *Files) Tree(ctx context.Context) (string, error) {
	v, err := f.view(ctx)
	if err != nil {
		return "", err
	}
	return v.tree(), nil
}

// node is a folder of the tree.
type node struct {
	name    string // its whole name
	folders []*node
	files   []workspace.File
	count   int  // of files in it and in its folders
	out     bool // it is left out
	open    bool // its entries have lines
}

// draw writes the tree: it opens folders, the highest first, while there is room for their entries.
func (v *view) draw() string {
	root := v.nodes()
	if root.count == 0 {
		return "(there are no files)"
	}
	lines := 0
	for queue := []*node{root}; len(queue) > 0; queue = queue[1:] {
		n := queue[0]
		entries := len(n.folders) + len(n.files)
		if n.out || lines+entries > maxTreeLines-1 && n != root {
			continue
		}
		n.open = true
		lines += entries
		queue = append(queue, n.folders...)
	}
	var list []string
	root.write(&list, "")
	if more := len(list) - maxTreeLines + 1; more > 1 {
		list = append(list[:maxTreeLines-1], fmt.Sprintf("… %d more entries: see them with list_files", more))
	}
	return strings.Join(list, "\n")
}

// nodes returns the root of all folders.
func (v *view) nodes() *node {
	all := map[string]*node{"": {}}
	var folder func(name string) *node
	folder = func(name string) *node {
		n := all[name]
		if n == nil {
			n = &node{name: name, out: v.out[name]}
			all[name] = n
			above := folder(ignore.Parent(name))
			above.folders = append(above.folders, n)
		}
		return n
	}
	for _, f := range v.listing.Files {
		n := folder(ignore.Parent(f.Name))
		if v.out[f.Name] && !n.out {
			continue
		}
		n.files = append(n.files, f)
		for at := f.Name; at != ""; {
			at = ignore.Parent(at)
			all[at].count++
		}
	}
	return all[""]
}

// write adds the lines of the entries of a folder, the folders first.
func (n *node) write(list *[]string, indent string) {
	slices.SortFunc(n.folders, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	for _, f := range n.folders {
		line := cut(indent+path.Base(f.name), maxTreeLine) + "/"
		switch {
		case f.out:
			*list = append(*list, line+" (left out)")
		case f.count == 0: // each of its files is left out
		case !f.open:
			*list = append(*list, fmt.Sprintf("%s (%s)", line, counted(f.count, "file")))
		default:
			*list = append(*list, line)
			f.write(list, indent+"  ")
		}
	}
	for _, f := range n.files {
		line := cut(indent+path.Base(f.Name), maxTreeLine)
		if f.Size > largeFile {
			line += fmt.Sprintf(" (%s: left out, can be read)", size(f.Size))
		}
		*list = append(*list, line)
	}
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
