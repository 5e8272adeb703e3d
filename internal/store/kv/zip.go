package kv

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"
)

// zips are writers to use again, because each has 0.8 MB of tables; unzips are readers, each with a window of 32 KB.
var (
	zips   = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}
	unzips = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

// Zip compresses bytes with gzip when that makes them shorter.
func Zip(raw []byte) ([]byte, error) {
	if len(raw) < 1024 {
		return raw, nil
	}
	var b bytes.Buffer
	z, _ := zips.Get().(*gzip.Writer)
	defer zips.Put(z)
	z.Reset(&b)
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() >= len(raw) {
		return raw, nil
	}
	return b.Bytes(), nil
}

// maxUnzipped bounds the bytes of one stored value.
const maxUnzipped = 64 << 20

// Unzip returns the bytes that Zip was given. Bytes that are not gzip are returned as they are.
func Unzip(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != 0x1f || raw[1] != 0x8b {
		return raw, nil
	}
	z, _ := unzips.Get().(*gzip.Reader)
	defer unzips.Put(z)
	if err := z.Reset(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, maxUnzipped+1))
	if len(out) > maxUnzipped {
		return nil, errors.New("kv: a stored value is larger than any that is written")
	}
	return out, err
}
