package dynamodb

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// A stored item is a CRC-32C of the following bytes (4 bytes), a format byte, and the attributes: a
// count, then name and value each. Lengths and counts are varints; a value is its kind's byte and
// content. Numbers are stored as canonical text.
const itemFormat = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("a stored item is damaged: restore the data file from a backup")
)

func encodeItem(it item) []byte {
	dst := make([]byte, 4, 5+itemSize(it)*5/4+16*len(it))
	dst = append(dst, itemFormat)
	dst = encodeMap(dst, it)
	binary.LittleEndian.PutUint32(dst, crc32.Checksum(dst[4:], castagnoli))
	return dst
}

// encodeMap writes attributes in order of name, so that equal items have equal bytes.
func encodeMap(dst []byte, m map[string]value) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(m)))
	var few [16]string
	names := few[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		dst = encodeText(dst, name)
		dst = encodeValue(dst, m[name])
	}
	return dst
}

func encodeText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func encodeValue(dst []byte, v value) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case kindBool:
		if v.bool {
			return append(dst, 1)
		}
		return append(dst, 0)
	case kindNull:
		return dst
	case kindM:
		return encodeMap(dst, v.m)
	case kindL:
		dst = binary.AppendUvarint(dst, uint64(len(v.list)))
		for _, e := range v.list {
			dst = encodeValue(dst, e)
		}
		return dst
	case kindSS, kindNS, kindBS:
		dst = binary.AppendUvarint(dst, uint64(len(v.list)))
		for _, e := range v.list {
			dst = encodeText(dst, e.s)
		}
		return dst
	default:
		return encodeText(dst, v.s)
	}
}

// decodeItem reads a stored item. It copies the bytes once, because they are valid only during the
// transaction.
func decodeItem(stored []byte) (item, error) {
	if len(stored) < 5 || stored[4] != itemFormat ||
		binary.LittleEndian.Uint32(stored) != crc32.Checksum(stored[4:], castagnoli) {
		return nil, errDamaged
	}
	d := decoder{s: string(stored[5:])}
	it := d.attributes()
	if d.bad || d.s != "" {
		return nil, errDamaged
	}
	return it, nil
}

// decoder consumes s. A length beyond its end sets bad. After the checksum such a length can only
// come from a fault of this code, not of the disk.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) length() int {
	var n uint64
	for shift := 0; shift < 64 && d.s != ""; shift += 7 {
		c := d.s[0]
		d.s = d.s[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if n <= uint64(len(d.s)) {
				return int(n)
			}
			break
		}
	}
	d.bad = true
	d.s = ""
	return 0
}

func (d *decoder) text() string {
	n := d.length()
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) byte() byte {
	if d.s == "" {
		d.bad = true
		return 0
	}
	c := d.s[0]
	d.s = d.s[1:]
	return c
}

func (d *decoder) attributes() map[string]value {
	n := d.length()
	m := make(map[string]value, n)
	for range n {
		name := d.text()
		m[name] = d.value()
		if d.bad {
			break
		}
	}
	return m
}

func (d *decoder) value() value {
	v := value{kind: kind(d.byte())}
	switch v.kind {
	case kindBool:
		v.bool = d.byte() == 1
	case kindNull:
		v.bool = true
	case kindM:
		v.m = d.attributes()
	case kindL, kindSS, kindNS, kindBS:
		n := d.length()
		v.list = make([]value, n)
		for i := range n {
			if v.kind == kindL {
				v.list[i] = d.value()
			} else {
				v.list[i] = value{kind: v.kind.element(), s: d.text()}
			}
			if d.bad {
				break
			}
		}
	case kindS, kindN, kindB:
		v.s = d.text()
	default:
		d.bad = true
	}
	return v
}
