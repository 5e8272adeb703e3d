package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"
)

// line is one request in the ledger.
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

// effect holds the changes of a request.
type effect struct {
	Put     *Reservation `json:"put,omitempty"`
	Drop    string       `json:"drop,omitempty"`
	Attempt string       `json:"attempt,omitempty"` // key of a failed try of /flaky
	Reset   string       `json:"reset,omitempty"`   // key that /flaky answered
}

// entry is one request in the journal. A final entry answers later requests with its key.
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
	Base     *base     `json:"base,omitempty"` // not a request, but the state that the requests before it led to

	size int // in bytes, in memory
}

// mostFile is the largest size of the file in bytes. A larger file is replaced by one of less than
// half that size.
const mostFile = 4 << 20

// journal is a file of entries, each a line of JSON that ends with its CRC-32C. A line that a crash
// cut short was never answered, so it is removed on opening. A complete line with a wrong checksum
// is damage.
type journal struct {
	path   string
	file   *os.File
	size   int64
	broken error // the first failed append; entries after it could not be read back
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
	return &journal{path: path, file: file, size: end}, nil
}

// replay returns the offset after the last whole entry.
func replay(file io.Reader, apply func(entry)) (int64, error) {
	reader, end := bufio.NewReader(file), int64(0)
	for {
		raw, err := reader.ReadBytes('\n')
		torn := errors.Is(err, io.EOF) // raw, if any, has no line end
		if err != nil && !torn {
			return 0, err
		}
		if torn && !hasChangedEnd(raw) {
			return end, nil
		}
		e, err := decodeEntry(raw)
		if err != nil {
			return 0, fmt.Errorf("it is damaged at byte %d: %w; put it back from a backup, or remove it to begin the demonstration anew", end, err)
		}
		apply(e)
		end += int64(len(raw))
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lineEnd returns the end of a line whose JSON, with its last brace, is text.
func lineEnd(text []byte) string {
	return fmt.Sprintf(`,"crc":"%08x"}`+"\n", crc32.Checksum(text, castagnoli))
}

func encodeEntry(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	end := lineEnd(text)
	return append(text[:len(text)-1], end...), nil
}

func decodeEntry(raw []byte) (e entry, err error) {
	cut := len(raw) - len(lineEnd(nil))
	if cut < 0 {
		return e, errors.New("a line is too short")
	}
	text := append(bytes.Clone(raw[:cut]), '}')
	if lineEnd(text) != string(raw[cut:]) {
		return e, errors.New("a line is not what was written")
	}
	return e, json.Unmarshal(text, &e)
}

// hasChangedEnd reports whether a line is complete except that its last byte is wrong: no crash
// causes that.
func hasChangedEnd(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	_, err := decodeEntry(append(bytes.Clone(raw[:len(raw)-1]), '\n'))
	return err == nil
}

func (j *journal) append(e entry) error {
	if j.broken != nil {
		return j.broken
	}
	raw, err := encodeEntry(e)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(raw); err == nil {
		err = j.file.Sync()
	}
	j.broken, j.size = err, j.size+int64(len(raw))
	return err
}

// compact replaces the file by one with the single entry e, which is equivalent. It happens whole
// or not at all.
func (j *journal) compact(e entry) error {
	raw, err := encodeEntry(e)
	if err != nil {
		return err
	}
	folder, name := filepath.Split(j.path)
	file, err := os.CreateTemp(folder, "."+name+".new-") // with mode 0600; the next start removes it if it is left over
	if err != nil {
		return err
	}
	if _, err = file.Write(raw); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(file.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	old := j.file
	j.file, j.size = file, int64(len(raw))
	return errors.Join(old.Close(), syncFolder(folder))
}

// syncFolder flushes the list of files of a folder.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Close closes the file.
func (j *journal) Close() error { return j.file.Close() }
