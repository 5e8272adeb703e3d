package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
)

// ChainVersion names the form of a link.
const ChainVersion = "piloto.chain/1"

// Link is one head in the chain of its account: that a run had come to a status, of
// which plan, with how many events, the last of which has which hash. Each link names
// the one before it by its hash, and its own is signed. A run of which more is told
// after its end has a further link.
type Link struct {
	Version   string      `json:"version"`
	Account   string      `json:"account"`
	Seq       int         `json:"seq"`  // from 1, without gaps
	Prev      string      `json:"prev"` // the head of the link before; empty in the first
	At        time.Time   `json:"at"`   // when it was put there: never before the one before it
	RunID     string      `json:"run_id"`
	Status    plan.Status `json:"status"`
	Digest    plan.Digest `json:"digest"`
	Events    int         `json:"events"`
	RunHead   string      `json:"run_head"` // of the run's events
	Head      string      `json:"head"`     // of the chain: hex SHA-256 of the canonical form of all above
	Signature *Signature  `json:"signature,omitempty"`
}

// message is what is signed, and what Head is the SHA-256 of.
func (l Link) message() ([]byte, error) {
	return jcs.Canonical(map[string]any{
		"version": l.Version, "account": l.Account, "seq": l.Seq, "prev": l.Prev, "at": l.At.UTC().Format(time.RFC3339Nano),
		"run_id": l.RunID, "status": l.Status, "digest": l.Digest, "events": l.Events, "run_head": l.RunHead,
	})
}

// Chained returns the link as the next one after another, which is the zero Link for
// the first: it is put there at a time, or at that of the other when that is later.
func (l Link) Chained(before Link, at time.Time) (Link, error) {
	l.Version, l.Seq, l.Prev, l.Signature = ChainVersion, before.Seq+1, before.Head, nil
	l.At = at.UTC().Truncate(time.Millisecond)
	if before.At.After(l.At) {
		l.At = before.At.UTC()
	}
	var err error
	l.Head, err = l.sum()
	return l, err
}

func (l Link) sum() (string, error) {
	message, err := l.message()
	if err != nil {
		return "", fmt.Errorf("receipt: link %d: %w", l.Seq, err)
	}
	return hashOf(message), nil
}

func hashOf(message []byte) string {
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:])
}

// SignedBy reports whether the link is signed with one of the keys: ErrUnsigned,
// ErrUnknownKey or ErrForged when it is not.
func (l Link) SignedBy(keys []Key) error {
	message, err := l.message()
	if err != nil || hashOf(message) != l.Head {
		return ErrForged
	}
	return l.Signature.signed(message, keys)
}

// Place is where a receipt stands in the chain of its account.
type Place struct {
	Seq  int       `json:"seq"`
	Prev string    `json:"prev"`
	At   time.Time `json:"at"`
	Head string    `json:"head"` // of the chain, with this receipt as its last
}

// Why a receipt has no signature.
const (
	NotEnded = "not_ended" // the run goes on
	Pending  = "pending"   // it will have one with the next sweep
)

// In returns the receipt with its place in the chain, and its signature; as it is when
// the link has none yet.
func (r Receipt) In(l Link) Receipt {
	if l.Signature == nil {
		return r
	}
	r.Unsigned = ""
	r.Chain, r.Signature = &Place{l.Seq, l.Prev, l.At.UTC(), l.Head}, l.Signature
	return r
}

// link is what a receipt says of its place.
func (r Receipt) link() Link {
	l := Link{
		Version: ChainVersion, Account: r.Account, RunID: r.RunID, Status: r.Status, Digest: r.Digest,
		Events: len(r.Events), RunHead: r.Head, Signature: r.Signature,
	}
	if r.Chain != nil {
		l.Seq, l.Prev, l.At, l.Head = r.Chain.Seq, r.Chain.Prev, r.Chain.At, r.Chain.Head
	}
	return l
}

// SignedBy reports whether all of the receipt was signed with one of the keys, if
// Verify finds nothing wrong in it: ErrUnsigned, ErrUnknownKey or ErrForged when it was
// not.
func (r Receipt) SignedBy(keys []Key) error {
	if r.Signature == nil || r.Chain == nil {
		return ErrUnsigned
	}
	return r.link().SignedBy(keys)
}

// place holds what a receipt says of its place and signature to the rest of it.
func (v *verifier) place() {
	r, ended := v.r, v.r.Status.Terminal()
	switch {
	case (r.Signature == nil) != (r.Chain == nil):
		v.say("signature", "there is a signature without a place in the chain, or a place without one")
	case r.Signature != nil && r.Unsigned != "":
		v.say("unsigned", "it says that it is not signed, and is")
	case r.Signature == nil && !slices.Contains([]string{NotEnded, Pending}, r.Unsigned):
		v.say("unsigned", "it is not signed, and says not why")
	case r.Signature == nil && (r.Unsigned == Pending) != ended:
		v.say("unsigned", "is %q, and the run is %q", r.Unsigned, r.Status)
	case r.Signature != nil && !ended:
		v.say("signature", "it is signed, and the run is %q", r.Status)
	}
	if r.Chain == nil {
		return
	}
	if sum, err := r.link().sum(); err != nil || sum != r.Chain.Head {
		v.say("chain", "its head is not the hash of what the receipt says")
	}
	if (r.Chain.Seq == 1) != (r.Chain.Prev == "") || r.Chain.Seq < 1 {
		v.say("chain", "link %d has another before it than it says", r.Chain.Seq)
	}
}

// VerifyChain returns everything in an account's chain that does not hold; nothing when
// it does. links are all there are, from the first on, in their order; they are held to
// the keys unless there are none. A chain from which the last links were cut holds:
// only a head that somebody kept tells (see Pinned).
func VerifyChain(links []Link, keys []Key) []Problem {
	var v verifier
	if len(links) == 0 {
		v.say("chain", "it has no links")
	}
	before, told := Link{}, map[string]int{}
	for i, l := range links {
		where := fmt.Sprintf("link %d", l.Seq)
		switch {
		case l.Seq < i+1:
			v.say(where, "stands where number %d belongs: it is there twice, or in another order", i+1)
		case l.Seq > i+1:
			v.say(where, "stands where number %d belongs: a link is missing, or they are in another order", i+1)
		}
		if sum, err := l.sum(); err != nil || sum != l.Head {
			v.say(where, "its head is not the hash of what it says")
		}
		if l.Prev != before.Head {
			v.say(where, "does not follow the link before it: the chain has a gap or a fork")
		}
		if l.Version != ChainVersion || l.Account == "" || i > 0 && l.Account != before.Account {
			v.say(where, "is of another chain than the one before it")
		}
		if l.At.Before(before.At) {
			v.say(where, "was put there before the one before it")
		}
		if l.Events <= told[l.RunID] {
			v.say(where, "tells nothing of run %s that a link before it does not", l.RunID)
		}
		if len(keys) > 0 {
			if err := l.SignedBy(keys); err != nil {
				v.say(where, "%s", err)
			}
		}
		before, told[l.RunID] = l, max(l.Events, told[l.RunID])
	}
	return v.problems
}

// ErrNotInChain means that a chain does not have what was looked for.
var ErrNotInChain = errors.New("the chain does not have it")

// Pinned reports whether a chain has a head that somebody kept: what was there then is
// there still.
func Pinned(links []Link, head string) error {
	if slices.ContainsFunc(links, func(l Link) bool { return l.Head == head }) {
		return nil
	}
	return fmt.Errorf("the head %.64s that was kept: %w: links were cut off, or others took their place", head, ErrNotInChain)
}

// VerifyPlace returns what in a chain is not as a receipt says: that it has the receipt
// at its place, and nothing newer of its run.
func VerifyPlace(r Receipt, links []Link) []Problem {
	var v verifier
	if r.Chain == nil {
		return v.problems
	}
	at := slices.IndexFunc(links, func(l Link) bool { return l.Head == r.Chain.Head })
	if at < 0 || links[at].RunID != r.RunID || links[at].Seq != r.Chain.Seq {
		v.say("chain", "does not have this receipt as its link %d", r.Chain.Seq)
	}
	for _, l := range links {
		if l.RunID == r.RunID && l.Events > len(r.Events) {
			v.say("chain", "link %d tells more of this run: %d events, and the receipt has %d", l.Seq, l.Events, len(r.Events))
		}
	}
	return v.problems
}
