package receipt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/runs/plan"
)

// ChainVersion is the version of the link format.
const ChainVersion = "piloto.chain/1"

// Link is one entry in the chain of its account. It records that a run reached a status, with which
// plan, with how many events, and the hash of the last one. Each link holds the hash of the link
// before it, and its own hash is signed. A run whose history grows after its end gets a further
// link.
type Link struct {
	Version   string      `json:"version"`
	Account   ids.Account `json:"account"`
	Seq       int         `json:"seq"`  // from 1, without gaps
	Prev      string      `json:"prev"` // the head of the previous link; empty in the first
	At        time.Time   `json:"at"`   // when it was appended: never before the previous one
	RunID     string      `json:"run_id"`
	Status    plan.Status `json:"status"`
	Digest    plan.Digest `json:"digest"`
	Events    int         `json:"events"`
	RunHead   string      `json:"run_head"` // hash of the run's last event
	Head      string      `json:"head"`     // of the chain: hex SHA-256 of the canonical form of all members above
	Signature *Signature  `json:"signature,omitempty"`
}

// message returns the signed message. Head is its SHA-256.
func (l Link) message() ([]byte, error) {
	return jcs.Canonical(map[string]any{
		"version": l.Version, "account": l.Account, "seq": l.Seq, "prev": l.Prev, "at": l.At.UTC().Format(time.RFC3339Nano),
		"run_id": l.RunID, "status": l.Status, "digest": l.Digest, "events": l.Events, "run_head": l.RunHead,
	})
}

// Chained returns the link as the successor of before, which is the zero Link for the first one.
// The link gets the time at, or the time of before when that is later.
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

// SignedBy returns nil if one of the keys signed the link, else ErrUnsigned, ErrUnknownKey or
// ErrForged.
func (l Link) SignedBy(keys []Key) error {
	message, err := l.message()
	if err != nil || hashOf(message) != l.Head {
		return ErrForged
	}
	return l.Signature.verify(message, keys)
}

// Place is the position of a receipt in the chain of its account.
type Place struct {
	Seq  int       `json:"seq"`
	Prev string    `json:"prev"`
	At   time.Time `json:"at"`
	Head string    `json:"head"` // of the chain, with this receipt as its last
}

// The reasons why a receipt has no signature.
const (
	NotEnded = "not_ended" // the run is active
	Pending  = "pending"   // the next sweep signs it
)

// In returns the receipt with its position in the chain and its signature; unchanged when the link has no signature yet.
func (r Receipt) In(l Link) Receipt {
	if l.Signature == nil {
		return r
	}
	r.Unsigned = ""
	r.Chain, r.Signature = &Place{l.Seq, l.Prev, l.At.UTC(), l.Head}, l.Signature
	return r
}

// link returns the link that the receipt describes.
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

// SignedBy returns nil if one of the keys signed the receipt, else ErrUnsigned, ErrUnknownKey or
// ErrForged. It covers the whole receipt if Verify finds no problem.
func (r Receipt) SignedBy(keys []Key) error {
	if r.Signature == nil || r.Chain == nil {
		return ErrUnsigned
	}
	return r.link().SignedBy(keys)
}

// checkPlace compares the position and the signature of a receipt with the rest of it.
func (v *verifier) checkPlace() {
	r, ended := v.r, v.r.Status.Terminal()
	switch {
	case (r.Signature == nil) != (r.Chain == nil):
		v.report("signature", "there is a signature without a place in the chain, or a place without one")
	case r.Signature != nil && r.Unsigned != "":
		v.report("unsigned", "it says that it is not signed, and is")
	case r.Signature == nil && !slices.Contains([]string{NotEnded, Pending}, r.Unsigned):
		v.report("unsigned", "it is not signed, and says not why")
	case r.Signature == nil && (r.Unsigned == Pending) != ended:
		v.report("unsigned", "is %q, and the run is %q", r.Unsigned, r.Status)
	case r.Signature != nil && !ended:
		v.report("signature", "it is signed, and the run is %q", r.Status)
	}
	if r.Chain == nil {
		return
	}
	if sum, err := r.link().sum(); err != nil || sum != r.Chain.Head {
		v.report("chain", "its head is not the hash of what the receipt says")
	}
	if (r.Chain.Seq == 1) != (r.Chain.Prev == "") || r.Chain.Seq < 1 {
		v.report("chain", "link %d has another before it than it says", r.Chain.Seq)
	}
}

// VerifyChain returns all faults of an account's chain. links are all links, from the first one on,
// in their order. Their signatures are checked unless keys is empty. A chain without its last links
// is still valid: only an earlier head that the user stored detects the cut (see Pinned).
func VerifyChain(links []Link, keys []Key) []Problem {
	var v verifier
	if len(links) == 0 {
		v.report("chain", "it has no links")
	}
	before, events := Link{}, map[string]int{}
	for i, l := range links {
		where := fmt.Sprintf("link %d", l.Seq)
		switch {
		case l.Seq < i+1:
			v.report(where, "stands where number %d belongs: it is there twice, or in another order", i+1)
		case l.Seq > i+1:
			v.report(where, "stands where number %d belongs: a link is missing, or they are in another order", i+1)
		}
		if sum, err := l.sum(); err != nil || sum != l.Head {
			v.report(where, "its head is not the hash of what it says")
		}
		if l.Prev != before.Head {
			v.report(where, "does not follow the link before it: the chain has a gap or a fork")
		}
		if l.Version != ChainVersion || l.Account == "" || i > 0 && l.Account != before.Account {
			v.report(where, "is of another chain than the one before it")
		}
		if l.At.Before(before.At) {
			v.report(where, "was put there before the one before it")
		}
		if l.Events <= events[l.RunID] {
			v.report(where, "tells nothing of run %s that a link before it does not", l.RunID)
		}
		if len(keys) > 0 {
			if err := l.SignedBy(keys); err != nil {
				v.report(where, "%s", err)
			}
		}
		before, events[l.RunID] = l, max(l.Events, events[l.RunID])
	}
	return v.problems
}

// ErrNotInChain means that the chain does not contain the head.
var ErrNotInChain = errors.New("the chain does not have it")

// Pinned returns nil if a chain contains a head that the user stored earlier: then all links up to
// it are still there.
func Pinned(links []Link, head string) error {
	if slices.ContainsFunc(links, func(l Link) bool { return l.Head == head }) {
		return nil
	}
	return fmt.Errorf("the head %.64s that was kept: %w: links were cut off, or others took their place", head, ErrNotInChain)
}

// VerifyPlace returns the differences between a receipt and a chain: the chain must have the receipt at its position, and no
// newer link of its run.
func VerifyPlace(r Receipt, links []Link) []Problem {
	var v verifier
	if r.Chain == nil {
		return v.problems
	}
	at := slices.IndexFunc(links, func(l Link) bool { return l.Head == r.Chain.Head })
	if at < 0 || links[at].RunID != r.RunID || links[at].Seq != r.Chain.Seq {
		v.report("chain", "does not have this receipt as its link %d", r.Chain.Seq)
	}
	for _, l := range links {
		if l.RunID == r.RunID && l.Events > len(r.Events) {
			v.report("chain", "link %d tells more of this run: %d events, and the receipt has %d", l.Seq, l.Events, len(r.Events))
		}
	}
	return v.problems
}
