package command

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"piloto/internal/ground/locale"
)

type line struct {
	class Class
	text  string
}

// corpus reads the lines of a file: a class, a tab, a command.
func corpus(t testing.TB, name string) []line {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []line
	for s := bufio.NewScanner(f); s.Scan(); {
		class, text, ok := strings.Cut(s.Text(), "\t")
		if !ok {
			continue
		}
		for c := Safe; c <= Destructive; c++ {
			if c.String() == class {
				out = append(out, line{c, strings.ReplaceAll(text, "␤", "\n")})
			}
		}
	}
	return out
}

func TestClassifyPutsNoDangerousCommandBelowItsClass(t *testing.T) {
	lines := corpus(t, "dangerous.txt")
	if len(lines) < 600 {
		t.Fatalf("only %d lines were read", len(lines))
	}
	for _, l := range lines {
		if got := Classify(l.text); got.Class < l.class {
			t.Errorf("%q is %s, below %s: %v", l.text, got.Class, l.class, got.Findings)
		}
	}
}

func TestClassifyPutsReadingCommandsInSafe(t *testing.T) {
	lines := corpus(t, "harmless.txt")
	if len(lines) < 150 {
		t.Fatalf("only %d lines were read", len(lines))
	}
	for _, l := range lines {
		got := Classify(l.text)
		if l.text[0] == '#' {
			continue
		}
		if got.Class != Safe {
			t.Errorf("%q is %s: %v", l.text, got.Class, got.Findings)
		}
	}
}

// A script, a filter or code in the command that writes over a file destroys, as a > does.
func TestClassifyFindsFilesThatCodeWritesOver(t *testing.T) {
	for _, text := range []string{
		"sed -n 'w x' a", "sed 's/a/b/w x' a", "sed 's/a/b/gw x' a", "sed -n '/a/w x' a", "sed '1,5w x' a", "sed -e p -e 'w x' a", "sed -ne 'w x' a", "sed -ew\\ x a", "sed --expression='w x' a",
		"sed 's|a|b|;s|c|d|w x' a", "sed -n '/a/{p;w x\n}' a", "sed 'W x' a", "sed '\\,a,w x' a", "sed 's/[/]/-/w x' a", "gsed -n 'w x' a", "sed '$!w x' a", "sed 'p\nw x' a", "find . -exec sed -n 'w x' {} +",
		"split --filter='cat > $FILE' a", "split -l 5 --filter 'cat > $FILE' a", "split --filt='gzip > $FILE.gz' a", "split --filter='tee $FILE' a",
		"awk '{print > \"x\"}' a", "awk '{printf \"%s\", $1 > \"x\"}' a", "awk '{print $1, $2 > $3}' a", "gawk '{ print>\"out/\" $1 }' a", "mawk 'BEGIN{print \"a\" > ARGV[1]}' x", "awk '{print(1) > \"x\"}' a",
		"perl -e 'open(F, \">x\")'", "perl -e 'open my $f, \">\", $x'", "perl -e 'open(F, \"+>\", \"x\")'", "perl -e 'rename \"a\", \"b\"'",
		"python3 -c 'open(\"x\",\"w\").write(\"y\")'", "python3 -c \"open('x', mode='wb')\"", "python3 -c \"open('x','w+')\"", "python3 -c \"Path('x').open('w')\"", "python -c 'from pathlib import Path; Path(\"x\").write_text(\"y\")'",
		"python3 -c 'import shutil; shutil.copy(\"a\",\"b\")'", "python3 -c 'import os; os.replace(\"a\",\"b\")'", "node -e 'require(\"fs\").writeFileSync(\"x\",\"y\")'", "ruby -e 'File.write(\"x\", \"y\")'",
		"ruby -e 'File.open(\"x\", \"w\")'", "php -r 'file_put_contents(\"x\",\"y\");'", "deno eval 'Deno.writeTextFile(\"x\",\"y\")'", "node -e 'fs.createWriteStream(\"x\")'",
	} {
		text = strings.ReplaceAll(text, `\n`, "\n")
		if got := Classify(text); got.Class != Destructive {
			t.Errorf("%q is %s: %v", text, got.Class, got.Findings)
		}
	}
}

// What keeps the files that are there can be taken back.
func TestClassifyPutsWhatKeepsFilesBelowDestructive(t *testing.T) {
	for _, text := range []string{
		"echo x >> f", "echo x &>> f", "cat <> f", "exec 3<> f", "ls | tee -a f", "tee --append f", "cp -n a b", "cp --backup a b", "cp -an a b", "cp -n a dir/", "cp -rn a b",
		"mv -n a b", "mv -bv a b", "mv -n -tDIR a", "install -d dir", "install -b a b", "ln -s a b", "ln a b", "mkdir d", "touch f", "split a",
		"rsync -a --ignore-existing a b", "rsync -avn a b", "rsync -ab a b", "rsync host:", "curl https://x", "curl -o - https://x", "curl -o /dev/null https://x", "wget https://x/f",
		"wget -P dir https://x/f", "tar xkf a.tar", "tar -x --skip-old-files -f a.tar", "tar xOf a.tar", "tar tfx.tar", "tar cf - a", "tar cf /dev/null a", "gzip f", "unzip a.zip", "unzip -n a.zip", "7z x a.7z",
		"git mv a b", "sed -i.bak s/a/b/ f", "sed --in-place=.bak s/a/b/ f", "perl -pi.bak -e s/a/b/ f", "dd if=x of=/dev/null", "dd if=x", "ls > >(cat)", "ls 2>&1 | cat <<E",
		"sed -n 'p' a", "sed 's/ w x/y/' a", "sed 's/a/b/w /dev/stdout' a", "sed -n '/w x/p' a", "sed 'y/w x/abc/' a", "sed -e 'a w x' a", "sed -n 'w /dev/stderr' a", "sed '#w x' a",
		"sed 's,a,b,g' w x", "split --filter='gzip -c' a", "split --filter='cat >> $FILE' a", "split -l 5 a",
		"awk '{print $1}' a", "awk '$1 > 5 {print $2}' a", "awk '{print ($1 > 5)}' a", "awk '{print \"a > b\"}' a", "awk '{print > \"/dev/stderr\"}' a", "awk '{print >> \"x\"}' a",
		"awk '{if ($1>=3) print; else if ($2 > 4) {print $1}}' a", "python3 -c 'print(open(\"x\").read())'", "python3 -c 'open(\"x\",\"a\").write(\"y\")'", "python3 -c 'open(\"w\", \"r\")'",
		"perl -ne 'print if /a/' x", "perl -e 'open(F, \">>x\")'", "perl -e 'open(F, \"<\", \"w\")'", "node -e 'console.log(1 > 0)'", "ruby -e 'puts File.read(\"w\")'",
		"aws s3 cp s3://b/k -", "aws s3 ls", "docker ps", "crontab -e", "git merge main",
	} {
		if got := Classify(text); got.Class == Destructive {
			t.Errorf("%q is %s: %v", text, got.Class, got.Findings)
		}
	}
}

// These lines were labelled from the rules of the class Safe, before its code was written.
func TestClassifyFollowsRulesOfSafe(t *testing.T) {
	lines := append(corpus(t, "ruled.txt"), corpus(t, "unseen.txt")...)
	if len(lines) < 980 {
		t.Fatalf("only %d lines were read", len(lines))
	}
	for _, l := range lines {
		if got := Classify(l.text); got.Class < l.class || l.class == Safe && got.Class > Safe {
			t.Errorf("%q is %s, and was labelled %s: %v", l.text, got.Class, l.class, got.Findings)
		}
	}
}

// However long a word is, it is read without failure.
func TestClassifyReadsLongWords(t *testing.T) {
	if testing.Short() {
		t.Skip("large commands")
	}
	for _, l := range append(corpus(t, "dangerous.txt"), corpus(t, "harmless.txt")...) {
		words := strings.Split(l.text, " ")
		for i := range words {
			for _, more := range []string{"=a=b", "=", "==", ":", "-", "/", "{}", ""} {
				row := strings.Join(words[:i], " ") + " " + words[i] + more
				Classify(row)
				Classify(row + " " + strings.Join(words[i+1:], " "))
			}
		}
	}
}

func TestClassIsThatOfWorstFinding(t *testing.T) {
	for _, l := range append(corpus(t, "dangerous.txt"), corpus(t, "harmless.txt")...) {
		r, worst := Classify(l.text), Safe
		for _, f := range r.Findings {
			worst = max(worst, f.Class)
			if _, ok := locale.Lookup(locale.Spanish, "command.why."+f.Why); !ok {
				t.Errorf("%q: nothing says what %q is", l.text, f.Why)
			}
		}
		if r.Class != worst {
			t.Errorf("%q is %s, and its worst finding %s", l.text, r.Class, worst)
		}
	}
}

func TestClassOfListIsThatOfWorstCommand(t *testing.T) {
	dangerous, harmless := corpus(t, "dangerous.txt"), corpus(t, "harmless.txt")
	for i, l := range dangerous {
		if _, ok := parse(l.text); !ok || strings.ContainsAny(l.text, "#\n") || strings.HasSuffix(l.text, "&") {
			continue
		}
		other := harmless[i%len(harmless)].text
		for _, row := range []string{other + "\n" + l.text, l.text + " || true", "{ " + l.text + "; }", "(" + l.text + "\n)", "echo \"$(" + l.text + "\n)\"", "if true; then " + l.text + "\nfi"} {
			if got := Classify(row); got.Class < l.class {
				t.Errorf("%q is %s, and %q in it %s", row, got.Class, l.text, l.class)
			}
		}
	}
}

func TestTooLongOrTooDeepTextIsSensitive(t *testing.T) {
	for name, text := range map[string]string{
		"long":          "echo " + strings.Repeat("a ", maxText),
		"brackets":      strings.Repeat("(", 8000) + "ls" + strings.Repeat(")", 8000),
		"substitutions": strings.Repeat("$(", 5000) + "ls" + strings.Repeat(")", 5000),
		"arithmetic":    strings.Repeat("$((", 4000),
		"quotes":        strings.Repeat(`"$(echo `, 1500),
		"wrappers":      strings.Repeat("nice ", 3000) + "ls",
		"keywords":      strings.Repeat("if ", 5000),
		"negations":     strings.Repeat("! ", 8000) + "ls",
		"backquotes":    strings.Repeat("`", 16000),
		"variables":     "A=aaaaaaaaaaaaaaaa; " + strings.Repeat("A=$A$A$A$A; ", 1000) + "$A",
		"pipes":         strings.Repeat("ls | ", 3000) + "./x",
		"heredocs":      strings.Repeat("cat <<A; ", 1700),
		"globs":         strings.Repeat("[*?", 5000),
	} {
		if got := Classify(text); got.Class < Sensitive {
			t.Errorf("%s: %s", name, got.Class)
		}
	}
	if got := Classify(strings.Repeat("a ", maxText) + "; rm -rf /"); got.Class != Destructive {
		t.Errorf("a long text that destroys is %s", got.Class)
	}
}

// The cost is counted in bytes of texts, words and nodes of syntax. It grows linearly with the
// text, for every kind of text.
func TestClassifyCostIsLinear(t *testing.T) {
	repeated := func(head, part, tail string) func(int) string {
		return func(n int) string { return head + strings.Repeat(part, n/len(part)) + tail }
	}
	for name, text := range map[string]func(int) string{
		"words":        repeated("ls ", "a ", ""),
		"commands":     repeated("", "ls; ", "ls"),
		"variables":    repeated("A=aaaaaaaa; ", "A=$A$A; ", "$A"),
		"substitution": repeated("echo ", "$(ls) ", ""),
		"executions":   repeated("find . ", "-exec x ", ""),
		"remotes":      repeated("rsync ", "-e a ", ""),
		"functions":    repeated("", "f(){ ls; }; f a; ", ""),
		"loops":        repeated("", "for i in a b; do sleep 1; done; ", ""),
		"patterns":     repeated("", "r? a; ", ""),
		"arrays":       repeated("x=(", "ls ", "); $x"),
		"texts":        repeated("", "sh -c 'ls'; ", ""),
		"unparsed":     repeated("(", "ls a; ", ""),
		"wrappers":     repeated("", "nice sudo env ls; ", ""),
		"statements":   repeated("psql -c '", "select (1); ", "'"),
		"nested": func(n int) string {
			d := min(n/24, 45)
			return strings.Repeat("f(){ for i in a; do ", d) + strings.Repeat("ls; ", n/8) + strings.Repeat("done; }; ", d)
		},
	} {
		small, large := analyse(text(4000)), analyse(text(8000))
		if len(large.text) > maxText {
			t.Fatalf("%s: %d bytes", name, len(large.text))
		}
		if large.spent > 3*small.spent+1000 {
			t.Errorf("%s: %d for %d bytes, and %d for %d", name, small.spent, len(small.text), large.spent, len(large.text))
		}
		for _, j := range []*analysis{small, large} {
			if most := (perByte + 8) * (len(j.text) + 256); j.spent > most {
				t.Errorf("%s: %d for %d bytes is above %d", name, j.spent, len(j.text), most)
			}
		}
	}
}

// wrappings returns texts that run a command and more. None of them may have a lower class than the
// command alone.
func wrappings(text string) map[string]string {
	return map[string]string{
		"sudo": "sudo " + text, "timeout": "timeout 5 " + text, "nohup": "nohup " + text, "env": "env " + text, "busybox": "busybox " + text, "nice": "nice -n 5 " + text,
		"doas": "doas " + text, "true": text + "; true", "a line": "ls\n" + text, "a group": "{ " + text + "\n}", "a subshell": "(" + text + "\n)",
	}
}

// quotedAt returns the text with one plain word of a command in quotes.
func quotedAt(text string, nth int) (string, bool) {
	file, ok := parse(text)
	if !ok {
		return "", false
	}
	var plain []*syntax.Lit
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for _, w := range c.Args {
				lit, ok := w.Parts[0].(*syntax.Lit)
				if ok && len(w.Parts) == 1 && lit.Value != "" && strings.Trim(lit.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
					plain = append(plain, lit)
				}
			}
		}
		return true
	})
	if len(plain) == 0 {
		return "", false
	}
	lit := plain[nth%len(plain)]
	from, to := lit.ValuePos.Offset(), lit.ValueEnd.Offset()
	if text[from:to] != lit.Value { // a word that is split by an escaped newline
		return "", false
	}
	return text[:from] + "'" + lit.Value + "'" + text[to:], true
}

func FuzzClassify(f *testing.F) {
	for _, l := range append(corpus(f, "dangerous.txt"), corpus(f, "harmless.txt")...) {
		f.Add(l.text, 0)
		f.Add(l.text, 1)
	}
	f.Fuzz(func(t *testing.T, text string, nth int) {
		if len(text) > maxText-64 {
			return
		}
		class := Classify(text).Class
		if _, ok := parse(text); !ok {
			if class < Sensitive {
				t.Errorf("%q does not parse and is %s", text, class)
			}
			return
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		for with, row := range wrappings(text) {
			if got := Classify(row).Class; got < class {
				t.Errorf("%q is %s, and with %s %s", text, class, with, got)
			}
		}
		if row := text + "\nrm -rf /"; Classify(row).Class != Destructive {
			if _, ok := parse(row); ok && !strings.Contains(text, "<<") {
				t.Errorf("%q is %s", row, Classify(row).Class)
			}
		}
		if j := analyse(text); j.spent > (perByte+8)*(len(text)+256) {
			t.Errorf("%q cost %d", text, j.spent)
		}
		if quoted, ok := quotedAt(text, max(nth, 0)); ok {
			if got := Classify(quoted).Class; got < class {
				t.Errorf("%q is %s, and quoted, %q, %s", text, class, quoted, got)
			}
		}
	})
}

// TestWhatAWorkspaceMasksIsNotSafeToRead: the names of its list count here, too.
func TestWhatAWorkspaceMasksIsNotSafeToRead(t *testing.T) {
	for _, name := range []string{
		"prod.tfvars", "terraform.tfstate", "deploy/client.ovpn", "rclone.conf", "db.passwd", "server.ppk", "wp-config.php", "redis.conf", "secrets/db", "smbcreds",
		"kubeconfig", "htpasswd", "token.txt", "release.jks", "kaggle.json", "a/auth-user-pass.txt",
	} {
		if got := Classify("cat " + name); got.Class == Safe {
			t.Errorf("cat %s is safe", name)
		}
	}
	if got := Classify("cat main.go"); got.Class != Safe {
		t.Error("cat main.go is not safe")
	}
}
