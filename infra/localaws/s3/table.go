package s3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"localaws/disk"
	"time"
)

// The tables in the data file: bucketTable has a bucket under its name; versionTable has a table for each
// bucket, with its versions. A version's row is under its key, a zero byte, and a number that falls, so that
// rows are in the order of keys, and those of a key begin with the newest.
var (
	bucketTable  = []byte("s3.buckets")
	versionTable = []byte("s3.versions")
)

// bucket is the stored form of a bucket.
type bucket struct {
	Made      time.Time `json:"made"`
	Versioned bool      `json:"versioned,omitempty"`
	Rules     []rule    `json:"rules,omitempty"`
}

// version is the stored form of a version. A marker says that the object was deleted, and has no content.
type version struct {
	ID      string            `json:"id"`
	Made    time.Time         `json:"made"` // in whole seconds
	Marker  bool              `json:"marker,omitempty"`
	ETag    string            `json:"etag,omitempty"` // without quotes
	Size    int64             `json:"size,omitempty"`
	Type    string            `json:"type,omitempty"` // Content-Type
	Meta    map[string]string `json:"meta,omitempty"` // x-amz-meta-…, by the end of the header's name
	SHA256  string            `json:"sha256,omitempty"`
	CRC32   string            `json:"crc32,omitempty"`   // as it was sent
	Sent    bool              `json:"sent,omitempty"`    // the SHA-256 was sent as a checksum
	Content string            `json:"content,omitempty"` // the name of the file
}

// rowOf is the length of a row's key after the object's key.
const rowOf = 1 + 8

func makeTables(tx *disk.Tx) error {
	for _, name := range [][]byte{bucketTable, versionTable} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// bucketOf returns a bucket and the table of its versions.
func bucketOf(tx *disk.Tx, name string) (bucket, *disk.Bucket, error) {
	var b bucket
	row := tx.Bucket(bucketTable).Get([]byte(name))
	if row == nil {
		return b, nil, noSuchBucket(name)
	}
	if err := json.Unmarshal(row, &b); err != nil {
		return b, nil, fmt.Errorf("s3: bucket %s: %w", name, err)
	}
	return b, tx.Bucket(versionTable).Bucket([]byte(name)), nil
}

func putBucket(tx *disk.Tx, name string, b bucket) error {
	row, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return tx.Bucket(bucketTable).Put([]byte(name), row)
}

// addVersion makes a version the current one.
func addVersion(table *disk.Bucket, key string, v version) error {
	n, err := table.NextSequence()
	if err != nil {
		return err
	}
	row, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return table.Put(binary.BigEndian.AppendUint64(append([]byte(key), 0), ^n), row)
}

// reader moves over the versions of a bucket: by key, and the newest version of a key first.
type reader struct {
	rows    *disk.Cursor
	row     []byte // the key of the row
	key     string
	version version
	newest  bool // the version is the current one of its key
	err     error
}

// seek moves to the first version of a key, or of the next one.
func (r *reader) seek(key string) bool {
	r.key = ""
	r.row = nil
	return r.read(r.rows.Seek([]byte(key)))
}

// next moves to the next version.
func (r *reader) next() bool { return r.read(r.rows.Next()) }

// nextKey moves to the newest version of the next key.
func (r *reader) nextKey() bool { return r.seek(r.key + "\x01") }

// read reports false at the end, and after an error.
func (r *reader) read(row, value []byte) bool {
	if row == nil {
		return false
	}
	if len(row) <= rowOf || row[len(row)-rowOf] != 0 {
		r.err = fmt.Errorf("s3: %q is no row of a version", row)
		return false
	}
	key := string(row[:len(row)-rowOf])
	r.newest = r.row == nil || key != r.key
	r.key, r.row, r.version = key, bytes.Clone(row), version{}
	if err := json.Unmarshal(value, &r.version); err != nil {
		r.err = fmt.Errorf("s3: a version of %q: %w", key, err)
		return false
	}
	return true
}

func readerOf(table *disk.Bucket) *reader { return &reader{rows: table.Cursor()} }

// current returns the current version of an object; false if there was none ever. It may be a marker.
func current(table *disk.Bucket, key string) (version, bool, error) {
	r := readerOf(table)
	found := r.seek(key+"\x00") && r.key == key
	return r.version, found, r.err
}

// versionOf returns the version of an object that has an id.
func versionOf(table *disk.Bucket, key, id string) (version, bool, error) {
	r := readerOf(table)
	for more := r.seek(key + "\x00"); more && r.key == key; more = r.next() {
		if r.version.ID == id {
			return r.version, true, nil
		}
	}
	return version{}, false, r.err
}

// eachVersion passes the versions of all buckets.
func eachVersion(tx *disk.Tx, fn func(bucket string, v version)) error {
	return tx.Bucket(bucketTable).ForEach(func(name, _ []byte) error {
		r := readerOf(tx.Bucket(versionTable).Bucket(name))
		for more := r.seek(""); more; more = r.next() {
			fn(string(name), r.version)
		}
		return r.err
	})
}
