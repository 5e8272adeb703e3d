package dynamodb

import (
	"strconv"
)

// capacity is the value of ReturnConsumedCapacity: nothing, TOTAL or INDEXES.
type capacity string

func readCapacity(r request) capacity {
	c := r.oneOf("ReturnConsumedCapacity", "INDEXES", "TOTAL", "NONE")
	if c == "NONE" {
		return ""
	}
	return capacity(c)
}

// usage counts capacity units: of the table, and of each of its indexes.
type usage struct {
	table   float64
	indexes map[string]float64
}

func (u *usage) addIndex(name string, units float64) {
	if units == 0 {
		return
	}
	if u.indexes == nil {
		u.indexes = map[string]float64{}
	}
	u.indexes[name] += units
}

// blocks returns the number of blocks of a size that hold so many bytes, at least one.
func blocks(bytes, size int) float64 { return float64(max(1, (bytes+size-1)/size)) }

const (
	writeBlock = 1 << 10
	readBlock  = 4 << 10
)

// writeUsage counts a write: one unit per KB of the larger item, and the same for the part of the
// item that is in each index.
func writeUsage(t *table, old, next item) usage {
	u := usage{table: blocks(max(itemSize(old), itemSize(next)), writeBlock)}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		was, is := x.indexes(old), x.indexes(next)
		switch {
		case was && is && (value{kind: kindM, m: t.view(x, old)}).equal(value{kind: kindM, m: t.view(x, next)}):
		case was && is && (value{kind: kindM, m: x.Key.keyOf(old)}).equal(value{kind: kindM, m: x.Key.keyOf(next)}):
			u.addIndex(x.Name, blocks(max(itemSize(t.view(x, old)), itemSize(t.view(x, next))), writeBlock))
		default:
			if was {
				u.addIndex(x.Name, blocks(itemSize(t.view(x, old)), writeBlock))
			}
			if is {
				u.addIndex(x.Name, blocks(itemSize(t.view(x, next)), writeBlock))
			}
		}
	}
	return u
}

// readUsage counts a read of so many bytes: one unit per 4 KB, half for an eventually consistent
// read.
func readUsage(x *index, bytes int, consistent bool) usage {
	units := blocks(bytes, readBlock)
	if !consistent {
		units /= 2
	}
	if x == nil {
		return usage{table: units}
	}
	var u usage
	u.addIndex(x.Name, units)
	return u
}

func (c capacity) appendWrite(dst []byte, t *table, old, next item) []byte {
	if c == "" {
		return dst
	}
	return c.member(dst, t.Name, writeUsage(t, old, next))
}

// appendRead appends the member for a read; factor is 2 in a transaction.
func (c capacity) appendRead(dst []byte, t *table, x *index, bytes int, consistent bool, factor float64) []byte {
	if c == "" {
		return dst
	}
	u := readUsage(x, bytes, consistent)
	u.table *= factor
	return c.member(dst, t.Name, u)
}

func (c capacity) member(dst []byte, name string, u usage) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, `"ConsumedCapacity":`...)
	return c.appendUsage(dst, name, u, "")
}

// appendUsage writes one ConsumedCapacity. split names a member that repeats the units, in total
// and for the table, as transactions have it.
func (c capacity) appendUsage(dst []byte, name string, u usage, split string) []byte {
	total := u.table
	for _, units := range u.indexes {
		total += units
	}
	dst = append(dst, `{"TableName":`...)
	dst = appendString(dst, name)
	dst = append(dst, ',')
	dst = appendSplit(dst, total, split)
	if c == "INDEXES" {
		dst = append(dst, `,"Table":{`...)
		dst = appendSplit(dst, u.table, split)
		dst = append(dst, '}')
		if len(u.indexes) > 0 {
			dst = append(dst, `,"GlobalSecondaryIndexes":{`...)
			first := true
			for index, units := range u.indexes {
				if !first {
					dst = append(dst, ',')
				}
				first = false
				dst = appendString(dst, index)
				dst = append(dst, `:{"CapacityUnits":`...)
				dst = appendUnits(dst, units)
				dst = append(dst, '}')
			}
			dst = append(dst, '}')
		}
	}
	return append(dst, '}')
}

func appendSplit(dst []byte, units float64, split string) []byte {
	dst = append(dst, `"CapacityUnits":`...)
	dst = appendUnits(dst, units)
	if split == "" {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, split...)
	dst = append(dst, `":`...)
	return appendUnits(dst, units)
}

func appendUnits(dst []byte, units float64) []byte {
	return strconv.AppendFloat(dst, units, 'f', 1, 64)
}
