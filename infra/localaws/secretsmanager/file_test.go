package secretsmanager_test

import (
	"bufio"
	"fmt"
	"localaws/secretsmanager"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

func content(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFileIsPrivate(t *testing.T) {
	path := file(t)
	c := open(t, path)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("there is a file before the first write: %v", err)
	}
	for round := range 3 {
		if round == 0 {
			create(t, c, "k", "one")
		} else {
			put(t, c, "k", fmt.Sprint(round))
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the file: %v %v", info.Mode(), err)
		}
		folder, err := os.Stat(filepath.Dir(path))
		if err != nil || folder.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v %v", folder.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the file: %v %v", entries, err)
	}
}

func TestOpenRefusesReachableFile(t *testing.T) {
	path := file(t)
	create(t, open(t, path), "k", "canary-in-file")
	for _, mode := range []os.FileMode{0o640, 0o620, 0o604, 0o602, 0o610, 0o666, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := secretsmanager.Open(path)
		if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%04o: %v", mode, err)
		}
		if info, _ := os.Stat(path); info.Mode() != mode {
			t.Errorf("its mode was changed to %v, behind its owner's back", info.Mode())
		}
	}
	for _, mode := range []os.FileMode{0o600, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := value(open(t, path), "k"); got != "canary-in-file" {
			t.Errorf("%04o: %s", mode, got)
		}
	}
}

func TestOpenRefusesForeignFile(t *testing.T) {
	whole := file(t)
	create(t, open(t, whole), "k", "canary-in-file")
	text := content(t, whole)
	for name, x := range map[string]struct{ text, says string }{
		"cut":            {text[:len(text)-20], "damaged"},
		"cut in a value": {text[:strings.Index(text, "canary-in")+8], "damaged"},
		"empty":          {"", "damaged"},
		"zeros":          {strings.Repeat("\x00", 512), "damaged"},
		"a list":         {"[]", "damaged"},
		"another key":    {strings.Replace(text, "canary-in", "canary-on", 1), "sum up"},
		"no sum":         {strings.Replace(text, `"sum"`, `"som"`, 1), "sum up"},
		"of tomorrow":    {strings.Replace(text, `"format": 2`, `"format": 3`, 1), "format is 3"},
		"another ARN":    {strings.Replace(text, ":secret:k-", ":secret:q-", 1), "not whole"},
		"no ARN":         {strings.Replace(text, "arn:", "urn:", 1), "not whole"},
		"another label":  {strings.Replace(text, "AWSCURRENT", "AWSPREVIOUS", 1), "not whole"},
		"a null":         {`{"format":2,"secrets":[null]}`, "not whole"},
	} {
		path := file(t)
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := secretsmanager.Open(path)
		if err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if content(t, path) != x.text {
			t.Errorf("%s: the file was changed", name)
		}
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(whole, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Dir(whole)} {
		if _, err := secretsmanager.Open(path); err == nil || !strings.Contains(err.Error(), "not a plain file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestOpenDetectsFlippedBits flips one bit of every byte: a file that opens has exactly the same
// secrets.
func TestOpenDetectsFlippedBits(t *testing.T) {
	whole := file(t)
	create(t, open(t, whole), "k", "canary-one")
	put(t, open(t, whole), "k", "canary-two")
	text := []byte(content(t, whole))
	path := file(t)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := range text {
		bit := byte(1) << (i % 8)
		text[i] ^= bit
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := secretsmanager.Open(path)
		switch {
		case err != nil:
			refused++
			if !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "canary") {
				t.Errorf("byte %d: %v", i, err)
			}
		case value(client(e), "k") != "canary-two":
			t.Errorf("byte %d: it was opened with another secret", i)
		}
		text[i] ^= bit
	}
	if refused < len(text)/2 {
		t.Errorf("%d of %d were refused", refused, len(text))
	}
}

func TestOpenRemovesUnfinishedFile(t *testing.T) {
	path := file(t)
	create(t, open(t, path), "k", "one")
	half := filepath.Join(filepath.Dir(path), ".secrets.json.12345.tmp")
	theirs := filepath.Join(filepath.Dir(path), "secrets.json.bak")
	for _, name := range []string{half, theirs} {
		if err := os.WriteFile(name, []byte(content(t, path)[:40]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(open(t, path), "k"); got != "one" {
		t.Error(got)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) {
		t.Error("what was half written, and holds secrets, was left there")
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error("a file of somebody else was removed")
	}
}

// TestFailedWriteChangesNothing makes the file impossible to replace.
func TestFailedWriteChangesNothing(t *testing.T) {
	path := file(t)
	c := open(t, path)
	create(t, c, "k", "one")
	before := content(t, path)
	away := path + ".away"
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := c.PutSecretValue(t.Context(), &sdk.PutSecretValueInput{SecretId: aws.String("k"), SecretString: aws.String("canary-two")})
	mustFail(t, err, "InternalServiceError: The secrets could not be written")
	if got := value(c, "k"); got != "one" {
		t.Errorf("it reads %s, which no restart would", got)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 2 {
		t.Errorf("the unfinished file was left: %v", entries)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, path); err != nil {
		t.Fatal(err)
	}
	if content(t, path) != before {
		t.Error("the file changed")
	}
	if put(t, c, "k", "three"); value(open(t, path), "k") != "three" {
		t.Error("it does not write again")
	}
}

const crashFile = "SECRETSMANAGER_CRASH_FILE"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv(crashFile); path != "" {
		crashChild(path)
	}
	os.Exit(m.Run())
}

// crashChild writes values that count up, and prints each acknowledged one, until it is killed.
func crashChild(path string) {
	e, err := secretsmanager.Open(path)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	c := client(e)
	last, _ := strconv.Atoi(strings.TrimLeft(value(c, "k"), "x"))
	for n := last + 1; ; n++ {
		in := &sdk.PutSecretValueInput{SecretId: aws.String("k"), SecretString: aws.String(paddedNumber(n))}
		if _, err := c.PutSecretValue(ctx, in); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// paddedNumber returns a number as a text that takes a while to write.
func paddedNumber(n int) string { return strings.Repeat("x", 60_000) + strconv.Itoa(n) }

func TestKillLosesNothingAcknowledged(t *testing.T) {
	path := file(t)
	create(t, open(t, path), "k", paddedNumber(0))
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashFile+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines, acknowledged := bufio.NewScanner(out), 0
		for seen := 0; seen < 5+round*3 && lines.Scan(); seen++ {
			if acknowledged, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatalf("round %d: %s", round, lines.Text())
			}
		}
		_ = child.Process.Kill()
		for lines.Scan() { // output from before it was killed
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = n
			}
		}
		_ = child.Wait()
		got, err := strconv.Atoi(strings.TrimLeft(value(open(t, path), "k"), "x"))
		if err != nil || got < acknowledged || got > acknowledged+1 {
			t.Fatalf("round %d: %d is kept after %d was acknowledged: %v", round, got, acknowledged, err)
		}
	}
}
