package filetool

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/workspace"
	"piloto/internal/workspace/ignore"
)

// maxIgnoreFile is the size in bytes above which a .gitignore file is not read.
const maxIgnoreFile = 256 << 10

// view is a listing, with the names that the .gitignore files and the excluded folders leave out of searches and of the tree.
type view struct {
	listing workspace.Listing
	out     map[string]bool // names of files and folders
	tree    func() string
}

// seen keeps the last view, and the .gitignore files that it was made of.
type seen struct {
	mu    sync.Mutex
	last  *view
	rules map[workspace.File][]byte
}

// view returns the files as they are now. It reads the .gitignore files again only if the listing has changed.
func (f *Files) view(ctx context.Context) (*view, error) {
	l, err := f.store.List(ctx)
	if err != nil {
		return nil, err
	}
	f.seen.mu.Lock()
	defer f.seen.mu.Unlock()
	if f.seen.last != nil && f.seen.last.listing.Version == l.Version {
		return f.seen.last, nil
	}
	known, now := f.seen.rules, map[workspace.File][]byte{}
	var rules ignore.Rules
	for _, file := range l.Files {
		if path.Base(file.Name) != ignore.File || file.Size > maxIgnoreFile {
			continue
		}
		content, ok := known[file]
		if !ok {
			if content, _, err = workspace.ReadAll(ctx, f.store, file.Name, ""); err != nil {
				return nil, err
			}
		}
		now[file] = content
		rules.Add(ignore.Parent(file.Name), content)
	}
	v := &view{listing: l, out: map[string]bool{}}
	for _, file := range l.Files {
		if rules.Ignored(file.Name) {
			v.out[file.Name] = true
		}
		for folder := ignore.Parent(file.Name); folder != ""; folder = ignore.Parent(folder) {
			if rules.FolderIgnored(folder) {
				v.out[folder] = true
			}
		}
	}
	v.tree = sync.OnceValue(v.draw)
	f.seen.last, f.seen.rules = v, now
	return v, nil
}

// folderName returns the name of a folder as a model may write it: "./src/", "." and "" are possible.
func folderName(text string) string {
	text = strings.Trim(fileName(text), "/")
	if text == "." {
		return ""
	}
	return text
}

// fileName returns the name of a file as a model may write it: "./main.go" is possible, and letters that are apart from
// their accents.
func fileName(text string) string { return norm.NFC.String(strings.TrimPrefix(text, "./")) }

// below returns the files in a folder and its folders.
func (v *view) below(folder string) []workspace.File {
	if folder == "" {
		return v.listing.Files
	}
	var list []workspace.File
	for _, f := range v.listing.Files {
		if strings.HasPrefix(f.Name, folder+"/") {
			list = append(list, f)
		}
	}
	return list
}

// scope returns the files that a search reads, and how many it leaves out, by the name of a file or a folder, or by a glob. A
// folder that is left out otherwise is searched if it is named.
func (f *Files) scope(ctx context.Context, text string) (files []workspace.File, left int, err error) {
	v, err := f.view(ctx)
	if err != nil {
		return nil, 0, err
	}
	folder := folderName(text)
	if i := slices.IndexFunc(v.listing.Files, func(file workspace.File) bool { return file.Name == folder }); i >= 0 {
		return v.listing.Files[i : i+1], 0, nil
	}
	files = v.below(folder)
	if len(files) == 0 && strings.ContainsAny(text, "*?[{") {
		glob, err := ignore.Glob(text)
		if err != nil {
			return nil, 0, errorf("path: %q is no glob: a bracket or a backslash at its end is not complete, or it is too long.", text)
		}
		for _, file := range v.listing.Files {
			if glob.MatchString(file.Name) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 && folder != "" {
		if file, err := f.store.Stat(ctx, folder); err == nil { // the store does not list it
			return []workspace.File{file}, 0, nil
		}
		return nil, 0, v.unknown(text)
	}
	if v.out[folder] {
		return files, 0, nil
	}
	all := len(files)
	files = slices.DeleteFunc(slices.Clone(files), func(file workspace.File) bool { return v.out[file.Name] || v.out[ignore.Parent(file.Name)] })
	return files, all - len(files), nil
}

// unknown says that no file has the name, and names the files with the same last segment.
func (v *view) unknown(name string) error {
	var alike []string
	for _, f := range v.listing.Files {
		if strings.EqualFold(path.Base(f.Name), path.Base(name)) && len(alike) < 5 {
			alike = append(alike, f.Name)
		}
	}
	if len(alike) > 0 {
		return errorf("There is no file or folder %q. There is %s.", name, strings.Join(alike, ", "))
	}
	return errorf("There is no file or folder %q. See what there is with list_files or find_files.", name)
}
