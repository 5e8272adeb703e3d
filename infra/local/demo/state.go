package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// The limits of the memory and of the file. The oldest requests, with the answers under their keys,
// are dropped.
const (
	mostEntries      = 1000
	mostReservations = 500
)

// entry is one request. A final entry answers later requests with its key.
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
	Base     *state    `json:"base,omitempty"` // not a request, but the state that the requests before it led to
}

// effect holds the changes of a request.
type effect struct {
	Put  *Reservation `json:"put,omitempty"`
	Drop string       `json:"drop,omitempty"`
}

// state holds everything in the service's memory and in its file.
type state struct {
	Reservations []Reservation `json:"reservations"`
	Created      int           `json:"created"`
	Seq          int           `json:"seq"`    // of the newest request
	Recent       []entry       `json:"recent"` // the newest requests, the oldest first
}

// apply adds an entry. It changes no list in place, so that a copy of the state stays as it is.
func (st *state) apply(e entry) {
	if e.Base != nil {
		*st = *e.Base
		return
	}
	st.Seq = e.Seq
	st.Reservations = slices.DeleteFunc(slices.Clone(st.Reservations), func(r Reservation) bool { return r.ID == e.Effect.Drop })
	if put := e.Effect.Put; put != nil {
		if at := st.find(put.ID); at >= 0 {
			st.Reservations[at] = *put
		} else {
			st.Reservations, st.Created = append(st.Reservations, *put), st.Created+1
		}
	}
	e.Effect, e.Query = effect{}, e.Query[:min(len(e.Query), maxTarget)] // the effect is in the reservations
	st.Recent = append(st.Recent[max(0, len(st.Recent)-mostEntries+1):], e)
}

// find returns the index of a reservation; «7» is read as r-7.
func (st *state) find(id string) int {
	if _, err := strconv.ParseUint(id, 10, 32); err == nil {
		id = "r-" + id
	}
	return slices.IndexFunc(st.Reservations, func(r Reservation) bool { return r.ID == id })
}

// load applies the entries of the file at path, each a line of JSON that ends with its CRC-32C. A file
// that is not there is empty.
func (st *state) load(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("demo: read: %w", err)
	}
	for line := range bytes.Lines(raw) {
		var e entry
		cut := len(line) - len(lineEnd(nil))
		if cut < 0 || lineEnd(append(line[:cut:cut], '}')) != string(line[cut:]) || json.Unmarshal(line, &e) != nil {
			return fmt.Errorf("demo: %s is damaged; put it back from a backup, or remove it to begin the demonstration anew", path)
		}
		st.apply(e)
	}
	return nil
}

// save replaces the file at path by one line with the state. It happens whole or not at all.
func (st *state) save(path string) error {
	folder, name := filepath.Split(path)
	file, err := os.CreateTemp(folder, "."+name+".new-") // with mode 0600; the next start removes it if it is left over
	if err != nil {
		return err
	}
	text := encode(entry{Base: st})
	if _, err = file.Write(append(text[:len(text)-1:len(text)-1], lineEnd(text)...)); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	parent, err := os.Open(filepath.Clean(folder))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// lineEnd returns the end of a line whose JSON, with its last brace, is text.
func lineEnd(text []byte) string {
	return fmt.Sprintf(`,"crc":"%08x"}`+"\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}
