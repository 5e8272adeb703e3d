package sandbox

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A configuration is read as git reads it: otherwise git would run an unseen setting.
func TestAConfigurationIsReadAsByGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	for _, text := range []string{
		"[core]\n\tbare = false\n[remote \"a\"]\n\turl = https://x\n",
		"[core] hooksPath = a\n[Core]hookspath=b\n[core]\neditor\n",
		"[core]\n\thooksPath = \\\n a b \\\n c\n",
		"[include]\npath = \"a # b\" c ; comment\npath = a#b\npath = a;b\npath=\n",
		"[includeIf \"gitdir:~/a/\"]\n\tpath = \"~/x\\\"y\\\\z\\t\"\n",
		"[a \"x\\\"y\\\\z\\q]\"]\nb = c\n[a.B.C]\nd = e\n",
		"\xef\xbb\xbf[core]\r\n\tx = y\r\n# [d]\r\n; e = f\r\n",
		"[core]\nx = a  b c  \ny = \"  a  \"\nz = a\"b\"c\n",
		"[core]\nx = a\\",
		"[core]\n\tx = \"a\\\nb\"\n",
		"[core] # c\n x = y # z\n",
		"   \n\t[core]\n\n\n   x   =   y   \n",
		"[core]\nx = y",
		"[core]\nx",
		"[core]\nx1-2 = y\n",
		"[core \t \"A b\" ]\nx = y\n", "[core \"a\nb\"]\nx = y\n", "[core\n]\nx = y\n", "[]\nx = y\n", "[core]\n1x = y\n", "[core]\nx y = z\n",
		"[core]\nx = \"y\nz = a\n", "[core]\nx = \\q\n", "[core]\nx # y\n",
	} {
		path := filepath.Join(t.TempDir(), "config")
		write(t, path, text)
		out, err := exec.Command("git", "config", "--null", "--list", "--file", path).Output()
		var want []string
		for s := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if name, value, _ := strings.Cut(s, "\n"); s != "" {
				want = append(want, name+"="+value)
			}
		}
		all, plain := parse(text)
		var got []string
		for _, s := range all {
			got = append(got, s.name+"="+s.value)
		}
		if err != nil && !plain { // git reads nothing of it
			continue
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, plain %v, want %q, %v", text, got, plain, want, err)
		}
	}
}
