//go:build unix

package disk

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The tasks of the test binary as a child process, and the file that they use.
const (
	childTask = "DISK_CHILD_TASK"
	childFile = "DISK_CHILD_FILE"
)

// TestMain lets the test binary be a process that a fault may kill.
func TestMain(m *testing.M) {
	var err error
	switch path := os.Getenv(childFile); os.Getenv(childTask) {
	case "cut":
		err = cutWhileOpen(path)
	case "full":
		err = fullDisk(path)
	case "read":
		err = readOnly(path)
	case "engines":
		err = FullEngines(path)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("as it must be")
}

func runInChild(t *testing.T, task string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childTask+"="+task, childFile+"="+t.TempDir()+"/data.db")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "as it must be") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFullDiskLosesNothingAcknowledged: a write that does not fit is an error for its caller, all
// other data stays, and writes succeed again when there is room.
func TestFullDiskLosesNothingAcknowledged(t *testing.T) { runInChild(t, "full") }

// TestFullDiskIsReportedAtOnceByBothEngines, without retries, while reads succeed; all requests
// succeed again when there is room.
func TestFullDiskIsReportedAtOnceByBothEngines(t *testing.T) { runInChild(t, "engines") }

// TestFullDiskIsLoggedOnceAMinute, for any number of refused writes, and its end is logged too.
func TestFullDiskIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, err := Open(filepath.Join(t.TempDir(), "data.db"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		both, err := rootsOf(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for range 250 { // in 125 seconds
			if err := s.commitError(both.newest(), syscall.ENOSPC); !errors.Is(err, ErrUnwritable) || !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			time.Sleep(time.Second / 2)
		}
		if n := strings.Count(log.String(), "disk.unwritable"); n != 3 || !strings.Contains(log.String(), "refused=120") {
			t.Errorf("it was said %d times: %s", n, log.String())
		}
		folder := filepath.Dir(s.Path())
		if err := os.Rename(folder, folder+".away"); err != nil { // nothing can be written there
			t.Fatal(err)
		}
		time.Sleep(checkInterval)
		if s.Unwritable() == nil {
			t.Error("nothing can be written, and it says otherwise")
		}
		if err := os.Rename(folder+".away", folder); err != nil {
			t.Fatal(err)
		}
		if s.Unwritable() == nil {
			t.Error("it is tried at every question")
		}
		time.Sleep(checkInterval)
		if err := s.Unwritable(); err != nil || strings.Count(log.String(), "disk.writable") != 1 {
			t.Errorf("it can be written again: %v: %s", err, log.String())
		}
		if left, _ := filepath.Glob(folder + "/.*"); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// fullDisk limits every file of this process to a few pages, as a full disk does.
func fullDisk(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(path)
	if err != nil {
		return err
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	full := was
	full.Cur = 256 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	value := strings.Repeat("v", 3000)
	var acknowledged []string
	const tries = 150
	for i := range tries {
		key := fmt.Sprintf("key %d", i)
		switch err := s.Update(put(key, value)); {
		case err == nil:
			acknowledged = append(acknowledged, key)
		case !strings.Contains(err.Error(), path) || errors.Is(err, ErrFailed) || !errors.Is(err, ErrUnwritable) || s.Unwritable() == nil:
			return fmt.Errorf("it says %w", err)
		}
	}
	if n := len(acknowledged); n == 0 || n == tries {
		return fmt.Errorf("%d of %d were acknowledged", n, tries)
	}
	if err := compareKeys(s, acknowledged, tries); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	s.TimePassed()
	if err := s.Unwritable(); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	last := fmt.Sprintf("key %d", tries-1)
	if err := s.Update(put(last, value)); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(path); err != nil {
		return err
	}
	return errors.Join(compareKeys(s, append(acknowledged, last), tries), s.Close())
}

// compareKeys compares the keys of a store with the acknowledged ones.
func compareKeys(s *Store, acknowledged []string, tries int) error {
	return s.View(func(tx *Tx) error {
		for i := range tries {
			key := fmt.Sprintf("key %d", i)
			there := tx.Bucket(bucket).Get([]byte(key)) != nil
			if want := slices.Contains(acknowledged, key); there != want {
				return fmt.Errorf("%s is there: %v, acknowledged: %v", key, there, want)
			}
		}
		return nil
	})
}

// TestUncertainCommitStopsStore: the root page was written, and flushing it failed.
func TestUncertainCommitStopsStore(t *testing.T) {
	s, path := openTemp(t)
	if err := s.Update(put("a", "1")); err != nil {
		t.Fatal(err)
	}
	both, err := rootsOf(s.path)
	if err != nil {
		t.Fatal(err)
	}
	toFile(t, s)
	err = s.commitError(both.newest(), syscall.EIO)
	if !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), path) {
		t.Errorf("it says %v", err)
	}
	select {
	case <-s.Failed():
	default:
		t.Error("nobody is told")
	}
	for _, err := range []error{s.Err(), s.Update(put("b", "1")), s.View(func(*Tx) error { return nil }), s.Backup(path + ".copy")} {
		if !errors.Is(err, ErrFailed) {
			t.Errorf("it goes on: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// TestCutFileDoesNotKillProcess: reading behind its end is a fault.
func TestCutFileDoesNotKillProcess(t *testing.T) { runInChild(t, "cut") }

func cutWhileOpen(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	err = s.Update(func(tx *Tx) error {
		for i := range 300 {
			if err := put(fmt.Sprintf("key %d", i), strings.Repeat("x", 1000))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		s, err = Open(path)
	}
	if err = errors.Join(err, os.Truncate(path, int64(3*os.Getpagesize()))); err != nil {
		return err
	}
	read := s.View(func(tx *Tx) error { return tx.Bucket(bucket).ForEach(func(_, _ []byte) error { return nil }) })
	wrote := s.Update(put("key 7", "y"))
	if !errors.Is(read, ErrDamaged) || !errors.Is(wrote, ErrDamaged) {
		return fmt.Errorf("it read: %w, and wrote: %w", read, wrote)
	}
	return nil
}
