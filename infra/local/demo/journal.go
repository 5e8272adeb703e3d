package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// line is one request as the ledger shows it.
type line struct {
	Seq      int       `json:"seq"`
	At       time.Time `json:"at"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Query    string    `json:"query,omitempty"`
	Key      string    `json:"idempotency_key,omitempty"`
	Status   int       `json:"status"`
	Replayed bool      `json:"replayed,omitempty"`
}

// effect is what a request changed.
type effect struct {
	Put     *Reservation `json:"put,omitempty"`
	Drop    string       `json:"drop,omitempty"`
	Attempt string       `json:"attempt,omitempty"` // a try of /flaky under this key
	Reset   string       `json:"reset,omitempty"`   // /flaky answered this key
}

// entry is one request as the journal keeps it. Final entries answer their key
// from then on.
type entry struct {
	Seq      int       `json:"seq"`
	At       time.Time `json:"at"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Query    string    `json:"query,omitempty"`
	Key      string    `json:"key,omitempty"`
	Print    string    `json:"print,omitempty"`
	Status   int       `json:"status"`
	Replayed bool      `json:"replayed,omitempty"`
	Final    bool      `json:"final,omitempty"`
	Reply    reply     `json:"reply,omitzero"`
	Effect   effect    `json:"effect,omitzero"`
}

// journal is an append-only file of entries. A line that was cut by a crash
// was never answered, so it is cut off on opening.
type journal struct {
	file   *os.File
	broken error // the first failed append; what follows it could not be read back
}

// openJournal opens or creates the file and hands each entry to apply.
func openJournal(path string, apply func(entry)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("demo: open journal: %w", err)
	}
	end, err := replay(file, apply)
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("demo: read journal %s: %w", path, err), file.Close())
	}
	return &journal{file: file}, nil
}

// replay returns the offset after the last whole entry. A broken line that is
// not the last one is damage, not a crash, and an error.
func replay(file io.Reader, apply func(entry)) (int64, error) {
	reader, end := bufio.NewReader(file), int64(0)
	var broken error
	for {
		raw, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil // raw, if any, has no line end: torn
		}
		if err != nil {
			return 0, err
		}
		if broken != nil {
			return 0, broken
		}
		var e entry
		if err := json.Unmarshal(bytes.TrimSpace(raw), &e); err != nil {
			broken = fmt.Errorf("entry at byte %d: %w", end, err)
			continue
		}
		apply(e)
		end += int64(len(raw))
	}
}

func (j *journal) append(e entry) error {
	if j.broken != nil {
		return j.broken
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(append(raw, '\n')); err == nil {
		err = j.file.Sync()
	}
	j.broken = err
	return err
}

// Close closes the file.
func (j *journal) Close() error { return j.file.Close() }
