package filetool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filetool"
)

const mark = "\xEF\xBB\xBF"

// TestWriteAndEdit: was and want are the file before and after.
func TestWriteAndEdit(t *testing.T) {
	const none = "(there is no file)"
	for _, c := range []struct {
		what, tool string
		was        string
		args       args
		want       string
		has        string // in the answer. It is an error if the file stays as it was
	}{
		{"a new file", "write_file", none, args{"content": "a\nb\n"}, "a\nb\n", "Wrote f: 2 lines, 4 bytes."},
		{"an empty file", "write_file", none, args{"content": ""}, "", "Wrote f: 0 lines"},
		{"another content", "write_file", "x", args{"content": "a\r\n", "mode": "overwrite"}, "a\r\n", "Replaced f"},
		{"a binary", "write_file", "\x00\x01", args{"content": "a\n"}, "a\n", "Replaced f"},
		{"append to nothing", "write_file", none, args{"content": "a\n", "mode": "append"}, "a\n", "Added 1 line"},
		{"append", "write_file", "a\n", args{"content": "b\n", "mode": "append"}, "a\nb\n", "Added 1 line to f."},
		{"append to an open line", "write_file", "a", args{"content": "b\n", "mode": "append"}, "ab\n", "continues that line"},
		{"append with CRLF", "write_file", "a\r\n", args{"content": "b\nc\r\n", "mode": "append"}, "a\r\nb\r\nc\r\n", "Added 2 lines"},
		{"append to a binary", "write_file", "\x00", args{"content": "b", "mode": "append"}, "\x00", "is binary"},

		{"an edit", "edit_file", "a\nb\nc\n", args{"old_str": "b\n", "new_str": "x\ny\n"}, "a\nx\ny\nc\n", "from line 2 on. It is there now:\n     1\ta\n     2\tx\n     3\ty\n     4\tc\n"},
		{"of a part of a line", "edit_file", "func old()\n", args{"old_str": "old", "new_str": "new"}, "func new()\n", "from line 1"},
		{"removed", "edit_file", "a\nb\nc\n", args{"old_str": "b\n", "new_str": ""}, "a\nc\n", "from line 2"},
		{"all of it", "edit_file", "a", args{"old_str": "a", "new_str": ""}, "", "from line 1"},
		{"with $1", "edit_file", "a\n", args{"old_str": "a", "new_str": "$1\\1"}, "$1\\1\n", "from line 1"},
		{"CRLF", "edit_file", "a\r\nb\r\nc\r\n", args{"old_str": "a\nb\n", "new_str": "x\ny\nz\n"}, "x\r\ny\r\nz\r\nc\r\n", "from line 1"},
		{"CRLF in the arguments", "edit_file", "a\nb\n", args{"old_str": "a\r\nb", "new_str": "x\r\ny"}, "x\ny\n", "from line 1"},
		{"CRLF for a new line", "edit_file", "a\r\nb\r\n", args{"old_str": "b", "new_str": "b\nc"}, "a\r\nb\r\nc\r\n", "from line 2"},
		{"mixed line ends stay", "edit_file", "a\r\nb\nc\r\n", args{"old_str": "b\n", "new_str": "x\n"}, "a\r\nx\nc\r\n", "from line 2"},
		{"BOM", "edit_file", mark + "a\nb\n", args{"old_str": "a", "new_str": "x"}, mark + "x\nb\n", "from line 1"},
		{"BOM and CRLF", "edit_file", mark + "a\r\nb\r\n", args{"old_str": "a\nb", "new_str": "b\na"}, mark + "b\r\na\r\n", "from line 1"},
		{"Latin-1 stays", "edit_file", "ca\xf1a\nb\n", args{"old_str": "b", "new_str": "ñ"}, "ca\xf1a\nñ\n", "from line 2"},
		{"twice", "edit_file", "a\nb\na\n\na\n", args{"old_str": "a\n", "new_str": "x"}, "a\nb\na\n\na\n", "3 times, at the lines 1, 3, 5"},
		{"over itself", "edit_file", "aaa\n", args{"old_str": "aa", "new_str": "x"}, "aaa\n", "2 times, at the lines 1, 1"},
		{"many times", "edit_file", strings.Repeat("a\n", 500), args{"old_str": "a", "new_str": "x"}, strings.Repeat("a\n", 500), "100 times, at the lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …"},
		{"not there", "edit_file", "a\n", args{"old_str": "b", "new_str": "x"}, "a\n", `old_str is not in "f"`},
		{"other spaces", "edit_file", "a\n\tif b {\n\tc\n", args{"old_str": "  if b {\n  c", "new_str": "x"}, "a\n\tif b {\n\tc\n", "first line is at line 2"},
		{"the same", "edit_file", "a\n", args{"old_str": "a", "new_str": "a"}, "a\n", "nothing would change"},
		{"binary", "edit_file", "a\x00", args{"old_str": "a", "new_str": "b"}, "a\x00", "is binary"},
		{"no file", "edit_file", none, args{"old_str": "a", "new_str": "b"}, none, `no file or folder "f"`},
		{"a line of 3 MB", "edit_file", strings.Repeat("x", 3<<20-10) + "end\n", args{"old_str": "end", "new_str": "END"}, strings.Repeat("x", 3<<20-10) + "END\n", "from line 1"},
		{"too large", "edit_file", strings.Repeat("x", 10<<20-3) + "end", args{"old_str": "end", "new_str": "larger"}, strings.Repeat("x", 10<<20-3) + "end", "over 10 MB"},

		{"a file is deleted", "delete_file", "a", args{}, none, "Deleted f (1 bytes)."},
		{"no file to delete", "delete_file", none, args{}, none, "no file or folder"},
	} {
		files := map[string]string{}
		if c.was != none {
			files["f"] = c.was
		}
		f, s := over(files)
		c.args["path"] = "f"
		r := call(t, f, c.tool, c.args)
		if r.OK == (c.was == c.want) || !strings.Contains(r.Output+r.Error, c.has) {
			t.Errorf("%s: %+v", c.what, r)
		}
		content, _, err := workspace.ReadAll(t.Context(), s, "f", "")
		if errors.Is(err, workspace.ErrNotFound) {
			content = []byte(none)
		}
		if string(content) != c.want {
			t.Errorf("%s: %.200q, want %.200q", c.what, content, c.want)
		}
	}
}

// TestEditLeavesAllOtherBytes edits a text between others that have line ends of each kind.
func TestEditLeavesAllOtherBytes(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "\n", "\r\n", "\r", "ñ", "\xf1", "-"})
	rapid.Check(t, func(r *rapid.T) {
		draw := func(name string) string {
			return strings.Join(rapid.SliceOfN(part, 0, 6).Draw(r, name), "")
		}
		before, after, next := draw("before"), draw("after"), strings.ToValidUTF8(draw("new"), "")
		bom := rapid.SampledFrom([]string{"", mark}).Draw(r, "bom")
		f, s := over(map[string]string{"f": bom + before + "OLD\r\nTEXT" + after})
		if res := call(t, f, "edit_file", args{"path": "f", "old_str": "OLD\nTEXT", "new_str": next}); !res.OK {
			r.Fatal(res.Error)
		}
		want := bom + before + strings.ReplaceAll(strings.ReplaceAll(next, "\r\n", "\n"), "\n", "\r\n") + after
		if got := read(t, s, "f"); got != want {
			r.Fatalf("%q, want %q", got, want)
		}
	})
}

// TestWritesKeepTheVersionThatTheyRead: another one writes between the read of an edit and its write.
func TestWritesKeepTheVersionThatTheyRead(t *testing.T) {
	for tool, a := range map[string]args{
		"edit_file":   {"path": "f", "old_str": "mine", "new_str": "x"},
		"write_file":  {"path": "f", "content": "x", "mode": "append"},
		"apply_patch": {"path": "f", "patch": "@@ -1 +1 @@\n-mine\n+x\n"},
	} {
		s := memory.With(map[string]string{"f": "mine\n"})
		f := filetool.New(&intruder{Store: s}, filetool.Options{})
		if r := call(t, f, tool, a); r.OK || !strings.Contains(r.Error, "Read it again") {
			t.Errorf("%s: %+v", tool, r)
		}
		if got := read(t, s, "f"); got != "of another\n" {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

// intruder is a store into which another one writes after each read.
type intruder struct {
	*memory.Store
	was bool
}

func (s *intruder) Read(ctx ctx, name, version string, from, n int64) ([]byte, workspace.File, error) {
	content, f, err := s.Store.Read(ctx, name, version, from, n)
	if !s.was && err == nil {
		s.was = true
		_, err = s.Store.Write(ctx, name, []byte("of another\n"), f.Version)
	}
	return content, f, err
}

func ExampleFiles_Tools() {
	store := memory.With(map[string]string{"main.go": "package main\n"})
	for _, tool := range filetool.New(store, filetool.Options{}).Tools() {
		fmt.Println(tool.Name, tool.Class)
	}
	// Output:
	// list_files look
	// find_files look
	// read_file look
	// grep look
	// search_code look
	// write_file write
	// edit_file write
	// apply_patch write
}
