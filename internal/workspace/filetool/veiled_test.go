package filetool_test

import (
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
	"piloto/internal/workspace/filetool"
	"piloto/internal/workspace/mask"
)

// veiledFiles have a secret that a model does not see, in the place of @.
var veiledFiles = map[string]string{
	"conf.yml":    "db:\n  password: @\n  port: 80\n",
	"crlf.yml":    "db:\r\n  password: @\r\n  port: 80\r\n",
	"bom.yml":     mark + "password: @\nport: 80\n",
	"quoted.toml": "[db]\npassword = \"@\" # of ana\nport = 80\n",
	"open.yml":    "port: 80\npassword: @",
	"one.json":    "{\"port\": 80, \"password\": \"@\", \"token\": \"@\", \"last\": 1}\n",
	"more.json":   "{\n  \"port\": 80,\n  \"password\": \"@\",\n  \"last\": 1\n}\n",
	"k.env":       "A=@\nPORT=80\nB=\"@\"\n",
	".netrc":      "machine h login ana password @\nmachine g login eva password @\n",
	"k8s.yaml":    "kind: Secret\nport: 80\nstringData:\n  uno: @\n  dos: x@\n",
	"notes.md":    "port: 80\nremember @ for the db, or '@'\n", // a copy of what another file has
	"zero.yml":    "port: 80\npassword: @\n# " + strings.Repeat("-", 9_000) + "\x00\x00 end\n",
}

// veiledWorld returns the files with one secret.
func veiledWorld(secret string) (*filetool.Files, *memory.Store) {
	files := map[string]string{}
	for name, text := range veiledFiles {
		files[name] = strings.ReplaceAll(text, "@", secret)
	}
	known := &mask.Known{}
	list, _ := mask.Find(workspace.Shown{}, "conf.yml", []byte(files["conf.yml"]))
	known.Add(list)
	s := memory.With(files)
	return filetool.New(s, filetool.Options{AllowDelete: true, Known: func() *mask.Known { return known }}), s
}

// TestAChangeTellsNothingOfASecret: whatever a model guesses, the answer is the same whether the file has it or not.
func TestAChangeTellsNothingOfASecret(t *testing.T) {
	const secret, other = "tortugaverde", "elefantegris"
	for name, text := range veiledFiles {
		var calls []args
		edit := func(old, next string) { calls = append(calls, args{"path": name, "old_str": old, "new_str": next}) }
		patch := func(text string) { calls = append(calls, args{"path": name, "patch": text}) }
		end := strings.Index(text, "@")
		begin := strings.LastIndex(text[:end], "\n") + 1
		before := strings.TrimPrefix(text[begin:end], mark)
		after := strings.ReplaceAll(strings.SplitAfter(text[end+1:], "\n")[0], "\r", "")
		for _, guess := range []string{"t", "tor", secret, "o", "verde", other, "gris", "q"} {
			for _, old := range []string{guess, before + guess, guess + after, before + guess + after, "port: 80\n" + before + guess, guess + after + "  port", before[len(before)-2:] + guess} {
				edit(old, old+" ")
				edit(old, strings.ReplaceAll(old, guess, "z"))
				edit(old, strings.ReplaceAll(old, before, "notes: "))
				edit(old, "***")
			}
			// What the model writes is not compared with a secret either.
			edit("80", "80 "+guess)
			edit("80", "80\npassword: "+guess)
			edit(before, before+guess+"\nnotes: ")
			edit(before, "password: "+guess+"\n# ")
			edit("80", "80 # "+guess+" ***")
			calls = append(calls, args{"path": name, "mode": "append", "content": guess + "\n"}, args{"path": name, "mode": "append", "content": "\nx: " + guess + " # ***\n"},
				args{"path": name, "content": "x: ***\npassword: " + guess + "\n"})
			for i, line := range strings.SplitAfter(strings.ReplaceAll(strings.TrimPrefix(text, mark), "\r", ""), "\n") {
				if line == "" {
					continue
				}
				line = strings.TrimSuffix(line, "\n")
				real := strings.ReplaceAll(line, "@", guess)
				for _, at := range []int{i + 1, i + 2} {
					patch(fmt.Sprintf("@@ -%d,1 +%d,1 @@\n-%s\n+x: 1\n", at, at, real))
					patch(fmt.Sprintf("@@ -%d,1 +%d,2 @@\n %s\n+x: 1\n", at, at, real))
				}
				patch(fmt.Sprintf("@@ -%d,0 +%d,1 @@\n+%s\n", i, i+1, real))
			}
		}
		patch("@@ -1,1 +1,2 @@\n-" + text[:max(1, strings.IndexAny(text, "\r\n"))] + "\n+x: |\n+  y\n")
		for _, c := range calls {
			tool := "write_file"
			if c["patch"] != nil {
				tool = "apply_patch"
			} else if c["old_str"] != nil {
				tool = "edit_file"
			}
			if c["old_str"] == c["new_str"] && tool == "edit_file" {
				continue
			}
			f, s := veiledWorld(secret)
			g, r := veiledWorld(other)
			first, second := call(t, f, tool, c), call(t, g, tool, c)
			hide := strings.NewReplacer(secret, "@", other, "@", mask.Mark, "@") // a copy of a secret that is known has a mask wherever it is
			if hide.Replace(first.Output) != hide.Replace(second.Output) || first.Error != second.Error || first.Why != second.Why {
				t.Errorf("%s %q tells it:\n%+v\n%+v", tool, c, first, second)
			}
			if is := read(t, s, name); tool != "write_file" && strings.Count(hide.Replace(is), "@") < strings.Count(text, "@") || hide.Replace(is) != hide.Replace(read(t, r, name)) {
				t.Errorf("%s %q: it has %.200q and %.200q", tool, c, is, read(t, r, name))
			}
		}
	}
}

// TestAChangeShowsNoSecret: what was masked stays masked, also for who reads the file later; its lines can be changed else.
func TestAChangeShowsNoSecret(t *testing.T) {
	edit := func(name, old, next string) args { return args{"path": name, "old_str": old, "new_str": next} }
	patch := func(name, text string) args { return args{"path": name, "patch": text} }
	const secret = "tortugaverde"
	for _, c := range []struct {
		args args
		is   string // "": it is refused
	}{
		{edit("conf.yml", "d: ", "d: \n  y: "), ""},
		{edit("conf.yml", "password:", "notes:"), ""},
		{edit("conf.yml", "  password:", "  #"), ""},
		{edit("conf.yml", "password: ", "password: z"), ""},
		{edit("conf.yml", "\n  port", "z\n  port"), ""},
		{edit("crlf.yml", "password:", "notes:"), ""},
		{edit("bom.yml", "password:", "notes:"), ""},
		{edit("quoted.toml", "password", "notes"), ""},
		{edit("quoted.toml", "= \"", "= \"a "), ""},
		{edit("one.json", "\"password\": \"", "\"notes\": \"a\", \"x\": \""), ""},
		{edit("k.env", "A=", "# "), ""},
		{edit("k.env", "A=", "A=1\n"), ""},
		{edit(".netrc", "ana password", "ana account-note"), ""},
		{edit("k8s.yaml", "kind: Secret", "kind: ConfigMap"), ""},
		{edit("k8s.yaml", "stringData:", "notes:"), ""},
		{edit("notes.md", "remember ", "remember x"), ""},
		{edit("zero.yml", "password:", "notes:"), ""},
		{patch("conf.yml", "@@ -1,1 +1,2 @@\n-db:\n+kind: x\n+db: |\n"), "kind: x\ndb: |\n  password: @\n  port: 80\n"}, // it is masked there, too
		{patch("k8s.yaml", "@@ -1,1 +1,1 @@\n-kind: Secret\n+kind: ConfigMap\n"), ""},
		{args{"path": "open.yml", "mode": "append", "content": "x\n"}, ""},

		{edit("conf.yml", "password:", "passwd:"), "db:\n  passwd: @\n  port: 80\n"},
		{edit("conf.yml", "  password: ", "  user: ana\n  password:   "), "db:\n  user: ana\n  password:   @\n  port: 80\n"},
		{edit("crlf.yml", "port: 80", "port: 81\n  x: 1"), "db:\r\n  password: @\r\n  port: 81\r\n  x: 1\r\n"},
		{edit("crlf.yml", "\n  port: 80\n", "\n"), "db:\r\n  password: @\r\n"},
		{edit("bom.yml", "port: 80", "port: 81"), mark + "password: @\nport: 81\n"},
		{edit("quoted.toml", " # of ana", " # of eva"), "[db]\npassword = \"@\" # of eva\nport = 80\n"},
		{edit("one.json", "80", "81"), "{\"port\": 81, \"password\": \"@\", \"token\": \"@\", \"last\": 1}\n"},
		{edit("one.json", "1}", "2}"), "{\"port\": 80, \"password\": \"@\", \"token\": \"@\", \"last\": 2}\n"},
		{edit("k.env", "PORT=80", "PORT=81 # ***"), "A=@\nPORT=81 # ***\nB=\"@\"\n"},
		{edit("k8s.yaml", "port: 80", "port: 81"), "kind: Secret\nport: 81\nstringData:\n  uno: @\n  dos: x@\n"},
		{edit("notes.md", "for the db", "for a db"), ""}, // between two secrets
		{edit("notes.md", "port: 80", "port: 81"), "port: 81\nremember @ for the db, or '@'\n"},
		{edit("notes.md", "remember", "use"), "port: 80\nuse @ for the db, or '@'\n"},
		{edit("zero.yml", "port: 80", "port: 81"), strings.Replace(veiledFiles["zero.yml"], "80", "81", 1)},
		{edit("zero.yml", " end", " fin"), ""}, // a mask of the file changes how its zero bytes are read
		{patch("crlf.yml", "@@ -3,1 +3,1 @@\n-  port: 80\n+  port: 81\n"), "db:\r\n  password: @\r\n  port: 81\r\n"},
		{args{"path": "open.yml", "mode": "append", "content": "\nx: 1\n"}, "port: 80\npassword: @\nx: 1\n"},
		{args{"path": "conf.yml", "content": "kind: x\n"}, "kind: x\n"},
	} {
		tool := "write_file"
		if c.args["patch"] != nil {
			tool = "apply_patch"
		} else if c.args["old_str"] != nil {
			tool = "edit_file"
		}
		f, s := veiledWorld(secret)
		r := call(t, f, tool, c.args)
		name := c.args["path"].(string)
		is := strings.ReplaceAll(read(t, s, name), secret, "@")
		want := c.is
		if want == "" {
			want = veiledFiles[name]
		}
		if r.OK != (c.is != "") || is != want || strings.Contains(r.Output+r.Error, "tortuga") {
			t.Errorf("%s %q: %+v\n%.200q", tool, c.args, r, is)
		}
		if !r.OK && r.Why != filetool.WhyShows && !strings.Contains(r.Error, "cannot be edited") {
			t.Errorf("%s %q: %+v", tool, c.args, r)
		}
	}
}
