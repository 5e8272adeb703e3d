package mask_test

import (
	"strings"
	"testing"

	"piloto/internal/workspace"
	"piloto/internal/workspace/mask"
)

// TestADiffOfGitHasNoOldSecret: what is gone from a file is masked as it was in the file.
func TestADiffOfGitHasNoOldSecret(t *testing.T) {
	const old = "tortugaverde"
	head := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nindex 1..2 100644\n--- a/" + name + "\n+++ b/" + name + "\n"
	}
	for about, c := range map[string]struct {
		diff  string
		words bool
	}{
		"changed":                {diff: head("conf.yml") + "@@ -1,3 +1,3 @@\n db:\n-  password: tortugaverde\n+  password: [redacted]\n   port: 80\n"},
		"usual":                  {diff: head("prod.tfvars") + "@@ -1 +1 @@\n-db = \"tortugaverde\"\n+db = \"[redacted]\"\n"},
		"deleted":                {diff: "diff --git a/k8.yml b/k8.yml\ndeleted file mode 100644\n--- a/k8.yml\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-kind: Secret\n-stringData:\n-  uno: tortugaverde\n"},
		"new":                    {diff: "diff --git a/k8.yml b/k8.yml\nnew file mode 100644\n--- /dev/null\n+++ b/k8.yml\n@@ -0,0 +1,3 @@\n+kind: Secret\n+stringData:\n+  uno: tortugaverde\n"},
		"far from its kind":      {diff: head("k8.yml") + "@@ -9,3 +9,3 @@ stringData:\n   z: [redacted]\n-  uno: tortugaverde\n+  uno: [redacted]\n"},
		"renamed":                {diff: "diff --git a/x.tfvars b/x.txt\nsimilarity index 90%\nrename from x.tfvars\nrename to x.txt\n--- a/x.tfvars\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a = \"tortugaverde\"\n-b\n+c\n"},
		"quoted":                 {diff: "diff --git \"a/se\\303\\261al.tfvars\" \"b/se\\303\\261al.tfvars\"\n--- \"a/se\\303\\261al.tfvars\"\n+++ \"b/se\\303\\261al.tfvars\"\n@@ -1 +1 @@\n-db = \"tortugaverde\"\n+x\n"},
		"with a blank":           {diff: "diff --git a/my conf.yml b/my conf.yml\n--- a/my conf.yml\t\n+++ b/my conf.yml\t\n@@ -1 +1 @@\n-password: tortugaverde\n+x: 1\n"},
		"combined":               {diff: "diff --cc conf.yml\nindex 1,2..0\n--- a/conf.yml\n+++ b/conf.yml\n@@@ -1,2 -1,2 +1,2 @@@\n  db:\n- password: tortugaverde\n -password: tortugaverde\n++password: [redacted]\n"},
		"combined, usual":        {diff: "diff --combined x.tfvars\nindex 1,2..0\n@@@ -1,2 -1,2 +1,2 @@@\n- a = \"tortugaverde\"\n++a = 1\n"},
		"without prefixes":       {diff: "diff --git x.tfvars x.tfvars\n--- x.tfvars\n+++ x.tfvars\n@@ -1 +1 @@\n-db = \"tortugaverde\"\n+x\n"},
		"other prefixes":         {diff: "diff --git i/x.tfvars w/x.tfvars\n--- i/x.tfvars\n+++ w/x.tfvars\n@@ -1 +1 @@\n-db = \"tortugaverde\"\n+x\n"},
		"in a log":               {diff: "commit 1234\nAuthor: a\n\n    text\n\n" + head("a.go") + "@@ -1 +1 @@\n-a\n+b\n\ncommit 12345\n\n    t\n\n" + head("x.tfvars") + "@@ -1 +1 @@\n-db = \"tortugaverde\"\n+db = \"tortugaverde\"\n"},
		"in a graph":             {diff: "* commit 1234\n| Author: a\n| \n" + strings.ReplaceAll("\n"+head("x.tfvars")+"@@ -1 +1 @@\n-db = \"tortugaverde\"\n+db = 1", "\n", "\n| ") + "\n"},
		"with a prefix":          {diff: strings.ReplaceAll("\n"+head("x.tfvars")+"@@ -1 +1 @@\n-db = \"tortugaverde\"\n+db = 1", "\n", "\n> ") + "\n"},
		"other signs":            {diff: head("x.tfvars") + "@@ -1,2 +1,2 @@\n~db = \"tortugaverde\"\n#db = 1\n a = 1\n"},
		"no head of a diff":      {diff: head("x.tfvars") + "@@ -1,2 +1,2 @@\n-diff --git a/x b/x\n+diff --git a/x b/x\n-db = \"tortugaverde\"\n+x\n"},
		"two parts":              {diff: head("x.tfvars") + "@@ -1 +1 @@\n-db = \"tortugaverde\"\n+x\n@@ -9 +9 @@\n a\n-db = \"tortugaverde\"\n+x\n"},
		"head of a part":         {diff: head("conf.yml") + "@@ -9 +9 @@ password: tortugaverde and mo\n-a\n+b\n"},
		"signs":                  {diff: head("conf.yml") + "@@ -1,3 +1,3 @@\n--- a\n+++ b\n-password: tortugaverde\n+x: 1\n"},
		"a program's":            {diff: "--- old/conf.yml\t2026-01-01\n+++ new/conf.yml\t2026-01-01\n@@ -1 +1 @@\n-password: tortugaverde\n+x: 1\n--- old/x.tfvars\n+++ new/x.tfvars\n@@ -1 +1 @@\n-x = \"tortugaverde\"\n+x: 1\n"},
		"end of a file":          {diff: head("x.tfvars") + "@@ -1 +1 @@\n-db = \"tortugaverde\"\n\\ No newline at end of file\n+db = \"x\"\n\\ No newline at end of file\n"},
		"words":                  {head("conf.yml") + "@@ -1,3 +1,3 @@\ndb:\n  password: [-tortugaverde-]{+[redacted]+}\n  port: 80\n", true},
		"words, usual":           {head("x.tfvars") + "@@ -1,3 +1,3 @@\ndb = [-\"tortugaverde\"-]{+\"[redacted]\"+}\nx = 1\n", true},
		"words in colours":       {head("conf.yml") + "@@ -1,3 +1,3 @@\ndb:\n  password: tortugaverde[redacted]\n  port: 80\n", true},
		"words that are gone":    {head("conf.yml") + "@@ -1,3 +1,3 @@\ndb:\n[-  password: tortugaverde-]\n  port: 80\n", true},
		"words that stay":        {head("conf.yml") + "@@ -1,3 +1,3 @@\ndb:\n  password: tortugaverde\n  port: [-80-]{+81+}\n", true},
		"words of a longer one":  {head("conf.yml") + "@@ -1,3 +1,3 @@\ndb:\n  password: \"[-una-]{+una+} tortugaverde\"\n", true},
		"pieces":                 {head("conf.yml") + "@@ -1,3 +1,3 @@\n db:\n~\n   password: \n-tortugaverde\n+[redacted]\n~\n   port: 80\n~\n", true},
		"pieces that stay":       {head("conf.yml") + "@@ -1,3 +1,3 @@\n   password: tortugaverde\n~\n   port: \n-80\n+81\n~\n", true},
		"pieces of a longer one": {head("conf.yml") + "@@ -1 +1 @@\n   password: \"\n-una\n+otra\n  tortugaverde\"\n~\n", true},
		"pieces, deleted":        {"diff --git a/k8.yml b/k8.yml\ndeleted file mode 100644\n--- a/k8.yml\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-kind: Secret\n~\n-stringData:\n~\n-  uno: tortugaverde\n~\n", true},
	} {
		got := mask.Diffs(workspace.Shown{}, c.diff, c.words)
		if strings.Contains(got, old) || !strings.Contains(got, mask.Mark) || strings.Count(got, "\n") != strings.Count(c.diff, "\n") {
			t.Errorf("%s:\n%s", about, got)
		}
		if again := mask.Diffs(workspace.Shown{}, got, c.words); again != got {
			t.Errorf("%s, again:\n%s", about, again)
		}
	}
	for about, text := range map[string]string{
		"code":          head("a.go") + "@@ -1,3 +1,3 @@ func main() {\n-db = \"tortugaverde\"\n+db = \"x\"\n",
		"after a diff":  head("x.tfvars") + "@@ -1 +1 @@\n-a = 1\n+a = 2\ndb = \"tortugaverde\"\n",
		"beside a diff": head("x.tfvars") + "@@ -1,3 +1,3 @@\n a = 1\n-a = 1\n+a = 2\n a = 1\ndb = \"tortugaverde\"\n",
		"after a log":   head("x.tfvars") + "@@ -1 +1 @@\n-a = 1\n+a = 2\n\ncommit 1\n\n    db = \"tortugaverde\"\n",
		"no diff":       "db = \"tortugaverde\"\n@@ -1 +1 @@\n-db = \"tortugaverde\"\n",
		"an empty line": "@@\n",
	} {
		if got := mask.Diffs(workspace.Shown{}, text, false); got != text {
			t.Errorf("%s:\n%s", about, got)
		}
	}
	shown, err := workspace.Show("x.tfvars")
	if err != nil {
		t.Fatal(err)
	}
	text := head("x.tfvars") + "@@ -1 +1 @@\n-db = \"tortugaverde\"\n+x\n"
	if got := mask.Diffs(shown, text, false); got != text {
		t.Errorf("it is shown: %s", got)
	}
}

// TestAHeadOfAPartHasNoSecret: git shows the beginning of a line there. Whether it is that of a secret makes no difference.
func TestAHeadOfAPartHasNoSecret(t *testing.T) {
	const other = " and one that is as long as what git shows of a line"
	k, _ := known("password: correct horse battery staple correct horse\nport: 80\n")
	for _, guess := range []string{"c", "d", "correct horse bat", "cat", "correct horse battery staple correct horse", "correct horse b\uFFFD", "co" + other} {
		for _, head := range []string{"@@ -19,7 +19,7 @@ ", "@@ -1 +1 @@ ", "@@@ -1,2 -1,2 +1,3 @@@ ", "| @@ -1 +1 @@ ", "3:@@ -1,2 +1 @@ "} {
			got, n := k.Output(head + "password: " + guess + "\n x\n")
			if strings.TrimSuffix(got, "\uFFFD\n x\n") != head+"password: [redacted]" && got != head+"password: [redacted]\n x\n" || n != 1 {
				t.Errorf("%s%s: %q, %d", head, guess, got, n)
			}
		}
	}
	k, _ = known("token: |\n  correcthorse\n  stapler\nport: 80\n")
	for _, long := range []string{"correcthorse" + other, "zebra" + other} { // a line that is all secret
		if got, _ := k.Output("@@ -1 +1 @@ " + long); got != "@@ -1 +1 @@ [redacted]" {
			t.Errorf("%q", got)
		}
	}
	for _, text := range []string{
		"@@ -1 +1 @@ port: 80\n", "@@ -1 +1 @@ token:\n", "@@ -1 +1 @@\n", "@@ pass\n", "@@ -1 +1 @@ func main() {\n",
		"@@ -1 +1 @@ c\n", "@@ -1 +1 @@ correcthors\n",
	} {
		if got, _ := k.Output(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}
