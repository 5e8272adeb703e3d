package storetest

import (
	"strconv"
	"strings"

	"piloto/internal/workspace"
)

func refusesNames(s suite) {
	f := s.write("a", "1", "")
	for _, name := range []string{
		"", ".", "..", "/", "/etc/passwd", "../a", "dir/../a", "./a", "a/", "/a", "dir//a", `..\a`, `dir\a`, "C:/a", "C:a", "a\x00", "a\x00.txt",
		"a\n", "a\u202e", "a\u200b", "\xff", "e\u0301", "con", "NUL.txt", "dir/COM1", "a.", "a ", "a:stream", "a*", strings.Repeat("a", 256),
		strings.Repeat("a/", 512) + "a", strings.Repeat("😀", 300),
		".env", ".ENV", "dir/.env.local", "server.pem", "server.KEY", "id_ed25519", ".git/config", "dir/.git/hooks/pre-commit", ".piloto-x",
	} {
		_, err := s.Write(s.ctx, name, []byte("x"), "")
		s.refused("write of "+strconv.Quote(name), err, workspace.ErrName)
		_, err = s.Stat(s.ctx, name)
		s.refused("stat of "+strconv.Quote(name), err, workspace.ErrName)
		_, _, err = s.Read(s.ctx, name, "", 0, 1)
		s.refused("read of "+strconv.Quote(name), err, workspace.ErrName)
		_, _, err = s.Read(s.ctx, name, f.Version, 0, 1)
		s.refused("read of a version of "+strconv.Quote(name), err, workspace.ErrName)
		_, err = s.Versions(s.ctx, name)
		s.refused("versions of "+strconv.Quote(name), err, workspace.ErrName)
		s.refused("delete of "+strconv.Quote(name), s.Delete(s.ctx, name, f.Version), workspace.ErrName)
	}
	l, err := s.List(s.ctx)
	if err != nil || len(l.Files) != 1 {
		s.Errorf("%+v, %v", l, err)
	}
	s.holds(f, []byte("1"))
}

func holdsAllowedNames(s suite) {
	for _, name := range []string{
		"-rf", "a b", "a+b&c=d", "100%", "%2e%2e", "a#b", "~", "$HOME", "'", "(a)", "..a", "a..b", ".gitignored", "a,b;c", "a@b", "{a}", "[a]", "^", "`", "!", "=",
		"año/niño.txt", "日本語/ファイル", strings.Repeat("😀", 63), strings.Repeat("n", 255), strings.Repeat("d/", 200) + "deep",
	} {
		s.holds(s.write(name, "in "+name, ""), []byte("in "+name))
	}
}

func refusesClashes(s suite) {
	f := s.write("Src/Main.go", "1", "")
	for _, name := range []string{"src/Main.go", "Src/main.go", "SRC/other.go", "Src", "src", "Src/Main.go/x"} {
		_, err := s.Write(s.ctx, name, []byte("2"), "")
		s.refused("write of "+name, err, workspace.ErrName)
	}
	var other workspace.File
	for _, name := range []string{"Src/Main", "Src2", "Src/sub/Main.go", "x/src"} {
		other = s.write(name, "2", "")
	}
	s.holds(f, []byte("1"))
	for _, gone := range []workspace.File{f, other} {
		if err := s.Delete(s.ctx, gone.Name, gone.Version); err != nil {
			s.Fatal(err)
		}
	}
	s.write("Src/MAIN.go", "3", "")
	s.write("x", "no file is left in the folder of this name", "")
}

func refusesTooLarge(s suite) {
	content := make([]byte, workspace.MaxFileBytes+1)
	_, err := s.Write(s.ctx, "new", content, "")
	s.refused("a new file", err, workspace.ErrTooLarge)
	_, err = s.Stat(s.ctx, "new")
	s.refused("stat", err, workspace.ErrNotFound)
	f := s.write("a", "1", "")
	_, err = s.Write(s.ctx, "a", content, f.Version)
	s.refused("a new version", err, workspace.ErrTooLarge)
	s.holds(f, []byte("1"))
}

func refusesTooManyBytes(s suite) {
	half := strings.Repeat("x", int(few.Bytes)/2)
	a := s.write("a", half, "")
	b := s.write("dir/b", half, "")
	c := s.write("c", "", "")
	_, err := s.Write(s.ctx, "d", []byte("x"), "")
	s.refused("one byte more", err, workspace.ErrFull)
	_, err = s.Write(s.ctx, "c", []byte("x"), c.Version)
	s.refused("a larger version", err, workspace.ErrFull)
	s.holds(c, nil)
	a = s.write("a", half[1:], a.Version)
	s.write("c", "x", c.Version)
	s.holds(a, []byte(half[1:]))
	if err := s.Delete(s.ctx, "dir/b", b.Version); err != nil {
		s.Fatal(err)
	}
	s.write("d", half, "")
}

func refusesTooManyFiles(s suite) {
	var last workspace.File
	for i := range few.Files {
		last = s.write("dir"+strconv.Itoa(i)+"/a", "", "")
	}
	_, err := s.Write(s.ctx, "more", nil, "")
	s.refused("one file more", err, workspace.ErrFull)
	if l, err := s.List(s.ctx); err != nil || len(l.Files) != few.Files {
		s.Fatalf("%d files, %v", len(l.Files), err)
	}
	last = s.write(last.Name, "a new version is no new file", last.Version)
	if err := s.Delete(s.ctx, last.Name, last.Version); err != nil {
		s.Fatal(err)
	}
	s.write("more", "", "")
}
