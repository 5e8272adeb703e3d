package dynamodb

import (
	"encoding/binary"
	"hash/fnv"
)

// schema is the key of a table or an index: names and types of its partition key
// and, if it has one, its sort key.
type schema struct {
	Hash     string
	HashKind kind
	Sort     string `json:",omitempty"`
	SortKind kind   `json:",omitempty"`
}

func (s schema) names() []string {
	if s.Sort == "" {
		return []string{s.Hash}
	}
	return []string{s.Hash, s.Sort}
}

func (s schema) has(name string) bool {
	return name == s.Hash || s.Sort != "" && name == s.Sort
}

// keyOf returns the key attributes of an item.
func (s schema) keyOf(it item) item {
	key := item{s.Hash: it[s.Hash]}
	if s.Sort != "" {
		key[s.Sort] = it[s.Sort]
	}
	return key
}

// A stored key is four bytes of the partition key's hash, the partition key and the sort key. The
// key of an index entry is followed by the key of its item. Keys of one partition are adjacent,
// ordered by sort key; partitions have no useful order, as on the service.

// appendPartition writes the prefix of all keys of a partition.
func appendPartition(dst []byte, hash value) []byte {
	var few [64]byte
	encoded := appendOrdered(few[:0], hash)
	h := fnv.New32a()
	_, _ = h.Write(encoded)
	dst = binary.BigEndian.AppendUint32(dst, h.Sum32())
	return append(dst, encoded...)
}

// appendOrdered writes a key value so that bytes have the order of values and no value's form is a
// prefix of another's.
func appendOrdered(dst []byte, v value) []byte {
	if v.kind == kindN {
		return v.number().appendKey(dst)
	}
	return append(appendEscaped(dst, v.s), 0x00, 0x01)
}

// appendEscaped writes text without its end: the prefix of all texts with this beginning.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}

// storedKey returns the stored key of an item, which must have all key attributes.
func (s schema) storedKey(it item) []byte {
	dst := appendPartition(make([]byte, 0, 64), it[s.Hash])
	if s.Sort != "" {
		dst = appendOrdered(dst, it[s.Sort])
	}
	return dst
}

// prefixEnd returns the least key that is greater than every key with the prefix p, or nil when
// there is none.
func prefixEnd(p []byte) []byte {
	end := append([]byte(nil), p...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xFF {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}

const schemaMismatch = "The provided key element does not match the schema"

// checkKey checks a lookup key against the schema: exactly its attributes, in type and size.
func (s schema) checkKey(key item) error {
	if err := s.checkEmpty(key); err != nil {
		return err
	}
	if len(key) != len(s.names()) || key[s.Hash].kind != s.HashKind || s.Sort != "" && key[s.Sort].kind != s.SortKind {
		return invalid(schemaMismatch)
	}
	return s.checkSizes(key)
}

// checkEmpty refuses empty key values, before anything is compared with the schema.
func (s schema) checkEmpty(it item) error {
	for _, name := range s.names() {
		if kindName, empty := it[name].isEmptyKey(); empty {
			return emptyKey(kindName, name)
		}
	}
	return nil
}

func emptyKey(kindName, name string) error {
	return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kindName, name)
}

func (s schema) checkSizes(it item) error {
	if v := it[s.Hash]; v.kind != kindN && len(v.s) > maxHashKeySize {
		return invalidValue("Size of hashkey has exceeded the maximum size limit of2048 bytes")
	}
	if s.Sort == "" {
		return nil
	}
	if v := it[s.Sort]; v.kind != kindN && len(v.s) > maxSortKeySize {
		return invalidValue("Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
	}
	return nil
}

// checkStored checks a whole item's key against the schema.
func (s schema) checkStored(it item) error {
	if err := s.checkEmpty(it); err != nil {
		return err
	}
	for _, name := range s.names() {
		want := s.HashKind
		if name == s.Sort {
			want = s.SortKind
		}
		v, ok := it[name]
		switch {
		case !ok:
			return invalidValue("Missing the key %s in the item", name)
		case v.kind != want:
			return invalidValue("Type mismatch for key %s expected: %s actual: %s", name, want, v.kind)
		}
	}
	return s.checkSizes(it)
}
