package dynamodb

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"localaws/disk"
	"slices"
	"strings"
	"time"
)

// tokenLife is the time for which a client request token is kept.
const tokenLife = 10 * time.Minute

// forgetAtOnce bounds the number of old tokens that one transaction deletes. It is more than one,
// so that the buckets shrink.
const forgetAtOnce = 4

var (
	// bucketTokens maps a token to its time (8 bytes), its fingerprint (32) and
	// the size of each of its items (4 each);
	// bucketTokenTimes holds time and token as keys, to find the old ones.
	bucketTokens     = []byte("ddb/tokens")
	bucketTokenTimes = []byte("ddb/tokens-at")
)

// fingerprint identifies a request's parameters in any order of their members on the wire.
func fingerprint(n *node) []byte {
	h := sha256.Sum256(appendNode(nil, sortNode(n)))
	return h[:]
}

func sortNode(n *node) *node {
	out := *n
	out.list = make([]node, len(n.list))
	for i := range n.list {
		out.list[i] = *sortNode(&n.list[i])
	}
	out.fields = make([]field, len(n.fields))
	for i := range n.fields {
		out.fields[i] = field{name: n.fields[i].name, value: *sortNode(&n.fields[i].value)}
	}
	slices.SortStableFunc(out.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return &out
}

// findRepeated reports whether the token's transaction was executed already, and returns the sizes of
// its items. It fails when the token belongs to another transaction.
func (e *Engine) findRepeated(tx *disk.Tx, token string, print []byte) (again bool, sizes []int, err error) {
	seen := tx.Bucket(bucketTokens).Get([]byte(token))
	if seen == nil || e.now().UnixNano()-int64(binary.BigEndian.Uint64(seen)) > int64(tokenLife) {
		return false, nil, nil
	}
	seen = seen[8:]
	if !bytes.Equal(seen[:len(print)], print) {
		return false, nil, clientError(serviceNamespace+"IdempotentParameterMismatchException",
			"DynamoDB rejected the request because you retried a request with a different payload but with an idempotent token that was already used.")
	}
	for rest := seen[len(print):]; len(rest) > 0; rest = rest[4:] {
		sizes = append(sizes, int(binary.BigEndian.Uint32(rest)))
	}
	return true, sizes, nil
}

// remember stores a token with its transaction, and deletes a few old ones.
func (e *Engine) remember(tx *disk.Tx, token string, print []byte, sizes []int) error {
	tokens, times := tx.Bucket(bucketTokens), tx.Bucket(bucketTokenTimes)
	if seen := tokens.Get([]byte(token)); seen != nil {
		if err := times.Delete(append(bytes.Clone(seen[:8]), token...)); err != nil {
			return err
		}
	}
	now := e.now()
	at := binary.BigEndian.AppendUint64(nil, uint64(now.UnixNano()))
	record := append(bytes.Clone(at), print...)
	for _, size := range sizes {
		record = binary.BigEndian.AppendUint32(record, uint32(size))
	}
	if err := tokens.Put([]byte(token), record); err != nil {
		return err
	}
	if err := times.Put(append(bytes.Clone(at), token...), []byte{}); err != nil {
		return err
	}
	end := binary.BigEndian.AppendUint64(nil, uint64(now.Add(-tokenLife).UnixNano()))
	var old [][]byte
	c := times.Cursor()
	for k, _ := c.First(); k != nil && bytes.Compare(k, end) < 0 && len(old) < forgetAtOnce; k, _ = c.Next() {
		old = append(old, bytes.Clone(k))
	}
	for _, k := range old {
		if err := times.Delete(k); err != nil {
			return err
		}
		if err := tokens.Delete(k[8:]); err != nil {
			return err
		}
	}
	return nil
}
