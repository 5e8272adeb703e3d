package main

import (
	"crypto/rand"
	"localaws/disk"
	"os"
	"sync"
)

// recordSize is the size of one write of a floor, in bytes.
const recordSize = 1 << 10

// journal is a file to append to. Its writers share fdatasyncs as those of infra/localaws/disk share commits: no
// writer waits for others to come.
type journal struct {
	file *os.File

	mu      sync.Mutex
	queue   []*entry
	leading bool
	syncs   int
}

type entry struct {
	err  error
	done bool
	wake chan struct{} // receives once: the entry was written, or becomes the leader
}

var record = func() []byte {
	b := make([]byte, recordSize)
	_, _ = rand.Read(b) // never fails
	return b
}()

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &journal{file: file}, err
}

// write appends one record and returns when it is on disk.
func (j *journal) write() error {
	e := &entry{wake: make(chan struct{}, 1)}
	j.mu.Lock()
	j.queue = append(j.queue, e)
	follow := j.leading
	j.leading = true
	j.mu.Unlock()
	if follow {
		<-e.wake
	}
	if !e.done {
		j.lead()
	}
	return e.err
}

// writeApart appends one record with its own fdatasync, even when others write.
func (j *journal) writeApart() error {
	_, err := j.file.Write(record)
	if err != nil {
		return err
	}
	return disk.SyncData(j.file)
}

// lead writes everything that waits and makes the first writer that came meanwhile the leader.
func (j *journal) lead() {
	j.mu.Lock()
	group := j.queue
	j.queue = nil
	j.syncs++
	j.mu.Unlock()

	all := record
	if len(group) > 1 {
		all = make([]byte, 0, len(group)*recordSize)
		for range group {
			all = append(all, record...)
		}
	}
	_, err := j.file.Write(all)
	if err == nil {
		err = disk.SyncData(j.file)
	}
	for _, e := range group {
		e.err, e.done = err, true
		e.wake <- struct{}{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) == 0 {
		j.leading = false
		return
	}
	j.queue[0].wake <- struct{}{}
}

func (j *journal) close() error { return j.file.Close() }
