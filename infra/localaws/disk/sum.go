package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// contentSum is a sum over contents: the number of keys and buckets, and the sum of their digests,
// lane by lane modulo 2^64. The order of the summands does not matter. So a write adjusts the sum
// only by its changes, and a pass over the whole file may run in parallel.
type contentSum struct {
	count uint64
	lanes [2]uint64
}

func (t contentSum) plus(o contentSum) contentSum {
	return contentSum{t.count + o.count, [2]uint64{t.lanes[0] + o.lanes[0], t.lanes[1] + o.lanes[1]}}
}

func (t contentSum) minus(o contentSum) contentSum {
	return contentSum{t.count - o.count, [2]uint64{t.lanes[0] - o.lanes[0], t.lanes[1] - o.lanes[1]}}
}

// place names a bucket by its path: a digest of its parent's place and its name. The top has the
// zero place.
type place [16]byte

// The kinds of digests, so that digests of different kinds never match.
const (
	digestKey byte = iota
	digestBucket
	digestPlace
)

// digester computes the digests, each the beginning of a SHA-256. Only one goroutine may use it.
type digester struct {
	hash hash.Hash
	head [25]byte
	out  []byte
}

func newDigester() *digester {
	return &digester{hash: sha256.New(), out: make([]byte, 0, sha256.Size)}
}

// digest covers a kind, a place, a number and two texts; the number separates inputs whose
// concatenation is the same.
func (d *digester) digest(kind byte, at place, number uint64, a, b []byte) []byte {
	d.hash.Reset()
	d.head[0] = kind
	copy(d.head[1:], at[:])
	binary.LittleEndian.PutUint64(d.head[17:], number)
	d.hash.Write(d.head[:])
	d.hash.Write(a)
	d.hash.Write(b)
	d.out = d.hash.Sum(d.out[:0])
	return d.out
}

func summand(digest []byte) contentSum {
	return contentSum{1, [2]uint64{binary.LittleEndian.Uint64(digest), binary.LittleEndian.Uint64(digest[8:])}}
}

// key returns the summand of a key and its value.
func (d *digester) key(at place, key, value []byte) contentSum {
	return summand(d.digest(digestKey, at, uint64(len(key)), key, value))
}

// bucket returns the summand of a bucket, without its contents.
func (d *digester) bucket(at place, sequence uint64) contentSum {
	return summand(d.digest(digestBucket, at, sequence, nil, nil))
}

// within returns the place of a bucket in another.
func (d *digester) within(at place, name []byte) place {
	return place(d.digest(digestPlace, at, 0, name, nil)[:len(place{})])
}

// The record of the sum is in a bucket of its own, which is not part of the sum: a format, the
// transaction that wrote it, the sum, the position in the log, and a CRC-32C of these.
var (
	recordBucket = []byte("\x00disk")
	recordKey    = []byte("sum")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
)

const (
	recordFormat = 2
	logAt        = 4 + 4*8 // where the position in the log begins
	recordSize   = logAt + 16 + 2*8 + 16 + 1 + 4
)

type record struct {
	tx    uint64
	total contentSum
	log   position // the contents have all commits of the log up to here
}

func (r record) encode() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, recordSize), recordFormat)
	for _, n := range []uint64{r.tx, r.total.count, r.total.lanes[0], r.total.lanes[1]} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = append(b, r.log.store[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.log.segment)
	b = binary.LittleEndian.AppendUint64(b, r.log.number)
	b = append(b, r.log.sum[:]...)
	alone := byte(0)
	if r.log.alone {
		alone = 1
	}
	return seal(append(b, alone))
}

func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeRecord(b []byte) (record, error) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b[len(b)-4:]) != crc32.Checksum(b[:len(b)-4], castagnoli) {
		return record{}, fmt.Errorf("%w: its sum cannot be read", ErrDamaged)
	}
	format := binary.LittleEndian.Uint32(b)
	if format != recordFormat {
		return record{}, fmt.Errorf("%w %d, and this version reads format %d", ErrFormat, format, recordFormat)
	}
	if len(b) != recordSize {
		return record{}, fmt.Errorf("%w: its sum cannot be read", ErrDamaged)
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[4+8*i:]) }
	r, log := record{tx: at(0), total: contentSum{at(1), [2]uint64{at(2), at(3)}}}, b[logAt:]
	copy(r.log.store[:], log)
	r.log.segment, r.log.number = binary.LittleEndian.Uint64(log[16:]), binary.LittleEndian.Uint64(log[24:])
	copy(r.log.sum[:], log[32:])
	r.log.alone = log[48] != 0
	return r, nil
}

// readRecord returns the record in a transaction.
func readRecord(tx *bolt.Tx) (record, error) {
	b := tx.Bucket(recordBucket)
	if b == nil {
		return record{}, errNoRecord
	}
	return decodeRecord(b.Get(recordKey))
}

// writeRecord writes the sum and the position in the log into its transaction.
func writeRecord(tx *bolt.Tx, total contentSum, log position) error {
	b, err := tx.CreateBucketIfNotExists(recordBucket)
	if err != nil {
		return err
	}
	return b.Put(recordKey, record{uint64(tx.ID()), total, log}.encode())
}
