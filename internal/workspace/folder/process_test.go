//go:build linux || darwin

package folder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/folder"
)

// The tasks of the test binary as a child process, and the folder that it uses.
const (
	childTask = "FOLDER_CHILD_TASK"
	childDir  = "FOLDER_CHILD_DIR"
)

// TestMain lets the test binary be a process that is killed, that has a full disk, or that writes beside another one.
func TestMain(m *testing.M) {
	task := map[string]func(*folder.Folder) error{"alternate": alternate, "full": fullDisk, "count": count}[os.Getenv(childTask)]
	if task == nil {
		os.Exit(m.Run())
	}
	dir := os.Getenv(childDir)
	f, err := folder.Open(folder.Config{Root: filepath.Join(dir, "root"), History: filepath.Join(dir, "history"), Now: time.Now})
	if err == nil {
		err = task(f)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("as it must be")
}

func child(t *testing.T, dir, task string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+task, childDir+"="+dir)
	return cmd
}

// dirs makes the folders of a child.
func dirs(t *testing.T) (dir string, c folder.Config) {
	t.Helper()
	dir = t.TempDir()
	c = folder.Config{Root: filepath.Join(dir, "root"), History: filepath.Join(dir, "history")}
	if err := os.Mkdir(c.Root, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, c
}

// whole is a content that cannot be half written without being noticed.
func whole(i int) []byte { return bytes.Repeat([]byte{'a' + byte(i%26)}, 3<<20) }

// alternate writes one file after the other until it is killed. It says when it has begun.
func alternate(f *folder.Folder) error {
	ctx, version := context.Background(), ""
	if now, err := f.Stat(ctx, "dir/file"); err == nil {
		version = now.Version
	}
	for i := 0; ; i++ {
		now, err := f.Write(ctx, "dir/file", whole(i), version)
		if err != nil {
			return err
		}
		version = now.Version
		fmt.Println("written")
	}
}

// TestKilledWriterLeavesOldOrNewContent checks also that the next write removes the temporary files.
func TestKilledWriterLeavesOldOrNewContent(t *testing.T) {
	dir, config := dirs(t)
	rounds, cut := 12, 0
	if testing.Short() {
		rounds = 5
	}
	for i := range rounds {
		cmd := child(t, dir, "alternate")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("written\n"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(2*i) * time.Millisecond) // each round is killed at another moment
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		f := in(t, config)
		content, now, err := f.Read(t.Context(), "dir/file", "", 0, workspace.MaxFileBytes)
		if err != nil || len(content) != 3<<20 || !bytes.Equal(content, bytes.Repeat(content[:1], len(content))) {
			t.Fatalf("%d bytes, %v", len(content), err)
		}
		left := everything(t, config.Root)
		if !slices.Equal(left, []string{"dir", "dir/file"}) {
			cut++
		}
		if _, err := f.Write(t.Context(), "dir/other", []byte(strconv.Itoa(i)), versionOf(t, f, "dir/other")); err != nil {
			t.Fatal(err)
		}
		if err := f.Delete(t.Context(), "dir/other", versionOf(t, f, "dir/other")); err != nil {
			t.Fatal(err)
		}
		if left := everything(t, config.Root); !slices.Equal(left, []string{"dir", "dir/file"}) {
			t.Fatalf("left: %q", left)
		}
		for _, v := range must(f.Versions(t.Context(), "dir/file")) {
			if got, _, err := f.Read(t.Context(), "dir/file", v.Version, 0, workspace.MaxFileBytes); err != nil || int64(len(got)) != now.Size {
				t.Fatalf("version %s: %d bytes, %v", v.Version, len(got), err)
			}
		}
	}
	t.Logf("%d of %d rounds left a file that was being written", cut, rounds)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// fullDisk limits every file of this process to a few pages, as a full disk does.
func fullDisk(f *folder.Folder) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	small, err := f.Write(ctx, "small", []byte("1"), "")
	if err != nil {
		return err
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	full := was
	full.Cur = 64 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	if _, err := f.Write(ctx, "new/dir/file", whole(1), ""); !errors.Is(err, fault.ErrStorage) {
		return fmt.Errorf("a new file: %w", err)
	}
	if _, err := f.Write(ctx, "small", whole(1), small.Version); !errors.Is(err, fault.ErrStorage) {
		return fmt.Errorf("a larger version: %w", err)
	}
	if l, err := f.List(ctx); err != nil || len(l.Files) != 1 || l.Files[0].Version != small.Version {
		return fmt.Errorf("listed %+v, %w", l, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	_, err = f.Write(ctx, "small", whole(1), small.Version)
	return err
}

func TestFullDiskChangesNothing(t *testing.T) {
	dir, config := dirs(t)
	out, err := child(t, dir, "full").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "as it must be") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := everything(t, config.Root); !slices.Equal(left, []string{"small"}) {
		t.Errorf("left: %q", left)
	}
}

const counts = 40

// count adds to a number in a file, and begins again when another process was first.
func count(f *folder.Folder) error {
	ctx := context.Background()
	for done := 0; done < counts; {
		content, now, err := f.Read(ctx, "number", "", 0, 20)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(content))
		if err != nil {
			return err
		}
		_, err = f.Write(ctx, "number", []byte(strconv.Itoa(n+1)), now.Version)
		switch {
		case err == nil:
			done++
		case !errors.Is(err, workspace.ErrMoved):
			return err
		}
	}
	return nil
}

// TestProcessesLoseNoWrite: of two processes that replace one version, one is told that the file moved.
func TestProcessesLoseNoWrite(t *testing.T) {
	dir, config := dirs(t)
	put(t, config.Root, map[string]string{"number": "0"})
	const processes = 4
	var all []*exec.Cmd
	var outs [processes]bytes.Buffer
	for i := range processes {
		cmd := child(t, dir, "count")
		cmd.Stdout = &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &outs[i])
		}
	}
	content, err := os.ReadFile(filepath.Join(config.Root, "number"))
	if err != nil || string(content) != strconv.Itoa(processes*counts) {
		t.Errorf("counted to %s, %v", content, err)
	}
}
