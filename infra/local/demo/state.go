package demo

import (
	"maps"
	"slices"
	"strconv"
)

// The limits of the memory. The oldest requests, answers under keys and failures of /flaky are
// dropped.
const (
	mostEntries      = 1000
	mostBytes        = 512 << 10 // of those entries, in their file format
	mostReservations = 500
)

// state holds everything in the service's memory; only apply changes it.
type state struct {
	reservations []Reservation
	created      int
	seq          int     // of the newest request
	recent       []entry // the newest requests, the oldest first
	bytes        int     // of recent
	answers      map[string]entry
	attempts     map[string]int
}

// base is the state that all earlier requests led to, in one line of the journal.
type base struct {
	Reservations []Reservation  `json:"reservations"`
	Created      int            `json:"created"`
	Seq          int            `json:"seq"`
	Recent       []entry        `json:"recent"`
	Attempts     map[string]int `json:"attempts,omitempty"`
}

func newState() state {
	return state{answers: map[string]entry{}, attempts: map[string]int{}}
}

func (st *state) apply(e entry) {
	if e.Base != nil {
		st.restore(*e.Base)
		return
	}
	st.seq = e.Seq
	if e.Effect.Attempt != "" {
		st.attempts[e.Effect.Attempt]++
	}
	if e.Effect.Reset != "" {
		delete(st.attempts, e.Effect.Reset)
	}
	if put := e.Effect.Put; put != nil {
		if at := st.find(put.ID); at >= 0 {
			st.reservations = slices.Clone(st.reservations)
			st.reservations[at] = *put
		} else {
			st.reservations = append(st.reservations, *put)
			st.created++
		}
	}
	if e.Effect.Drop != "" {
		st.reservations = slices.DeleteFunc(slices.Clone(st.reservations), func(r Reservation) bool { return r.ID == e.Effect.Drop })
	}
	e.Effect = effect{Attempt: e.Effect.Attempt} // the rest is in reservations
	st.remember(e)
}

// remember stores a request, and drops the oldest ones over the limits.
func (st *state) remember(e entry) {
	e.size = len(encode(e))
	st.recent, st.bytes = append(st.recent, e), st.bytes+e.size
	if e.Final {
		st.answers[e.Key] = e
	}
	for len(st.recent) > mostEntries || st.bytes > mostBytes {
		st.forgetOldest()
	}
}

func (st *state) forgetOldest() {
	e := st.recent[0]
	st.recent[0] = entry{} // frees the memory of the dropped entry
	st.recent, st.bytes = st.recent[1:], st.bytes-e.size
	if e.Final && st.answers[e.Key].Seq == e.Seq {
		delete(st.answers, e.Key)
	}
	if key := e.Effect.Attempt; key != "" && st.attempts[key] > 0 {
		if st.attempts[key]--; st.attempts[key] == 0 {
			delete(st.attempts, key)
		}
	}
}

// snapshot returns the entry that replaces all entries so far.
func (st *state) snapshot() entry {
	return entry{Base: &base{st.reservations, st.created, st.seq, st.recent, st.attempts}}
}

func (st *state) restore(b base) {
	*st = newState()
	st.reservations, st.created, st.seq = b.Reservations, b.Created, b.Seq
	maps.Copy(st.attempts, b.Attempts)
	for _, e := range b.Recent {
		st.remember(e)
	}
}

// find returns the index of a reservation; «7» is read as r-7.
func (st *state) find(id string) int {
	if _, err := strconv.ParseUint(id, 10, 32); err == nil {
		id = "r-" + id
	}
	return slices.IndexFunc(st.reservations, func(r Reservation) bool { return r.ID == id })
}
