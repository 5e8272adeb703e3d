package s3

import (
	"crypto/md5" //nolint:gosec // S3's ETag is the MD5 of the content
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"localaws/disk"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"
)

// The version ids that this engine makes, and the names of the contents: rand.Text.
const (
	idLength = 26
	base32   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// checkBody compares the body with the sums that were sent with it.
func (in *request) checkBody() error {
	if given := in.Header.Get("X-Amz-Content-Sha256"); len(given) == 2*sha256.Size && given != sum(in.body) {
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	if strings.HasPrefix(in.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return notImplemented("X-Amz-Content-Sha256: " + in.Header.Get("X-Amz-Content-Sha256"))
	}
	hash, crc := sha256.Sum256(in.body), binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(in.body))
	md := md5.Sum(in.body) //nolint:gosec // as above
	for _, c := range []struct {
		header, name string
		sum          []byte
	}{
		{"Content-Md5", "Content-MD5", md[:]},
		{"X-Amz-Checksum-Crc32", "CRC32", crc},
		{"X-Amz-Checksum-Sha256", "SHA256", hash[:]},
	} {
		given := in.Header.Get(c.header)
		if given == "" {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(given)
		switch {
		case err == nil && len(decoded) == len(c.sum) && string(decoded) == string(c.sum):
		case err == nil && len(decoded) == len(c.sum):
			return badDigest(c.name)
		case c.header == "Content-Md5":
			return refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
		default:
			return refuse(http.StatusBadRequest, "InvalidRequest", "Value for %s header is invalid.", strings.ToLower(c.header))
		}
	}
	return nil
}

func (e *Engine) putObject(in *request) (*response, error) {
	if none := in.Header.Get("If-None-Match"); none != "" && (none != "*" || in.Header.Get("If-Match") != "") {
		return nil, notImplemented("If-None-Match")
	}
	switch {
	case in.Header.Get("If-Match") == "*":
		return nil, notImplemented("If-Match")
	case len(in.key) > maxKey:
		return nil, refuse(http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	case !utf8.ValidString(in.key) || strings.Contains(in.key, "\x00"):
		return nil, notImplemented("keys that are not UTF-8, or have a zero byte")
	}
	if err := e.sweep(); err != nil {
		return nil, err
	}
	// A look before the content is written spares most writers that lose the work. The second one decides.
	look := func(tx *disk.Tx) (*disk.Bucket, error) { return in.mayPut(tx) }
	if err := e.store.View(func(tx *disk.Tx) error { _, err := look(tx); return err }); err != nil {
		return nil, err
	}
	name, err := e.contents.add(in.body)
	if err != nil {
		return nil, err
	}
	v := in.version(e, name)
	err = e.store.Update(func(tx *disk.Tx) error {
		table, err := look(tx)
		if err != nil {
			return err
		}
		return addVersion(table, in.key, v)
	})
	if err != nil {
		var f *failure
		if errors.As(err, &f) || errors.Is(err, disk.ErrUnwritable) { // else the commit may be on the disk
			err = errors.Join(err, e.contents.remove(name))
		}
		return nil, err
	}
	h := http.Header{}
	h.Set("ETag", quoted(v.ETag))
	h.Set("X-Amz-Version-Id", v.ID)
	v.checksums(h)
	return &response{status: http.StatusOK, header: h}, nil
}

// version describes the content of a request.
func (in *request) version(e *Engine, file string) version {
	md := md5.Sum(in.body) //nolint:gosec // as above
	v := version{
		ID: rand.Text(), Made: e.seconds(), ETag: hex.EncodeToString(md[:]), Size: int64(len(in.body)),
		Type: in.Header.Get("Content-Type"), SHA256: sum(in.body), Content: file,
		CRC32: in.Header.Get("X-Amz-Checksum-Crc32"), Sent: in.Header.Get("X-Amz-Checksum-Sha256") != "",
	}
	if v.Type == "" {
		v.Type = "binary/octet-stream"
	}
	for name, values := range in.Header {
		if end, ok := strings.CutPrefix(name, metaPrefix); ok {
			if v.Meta == nil {
				v.Meta = map[string]string{}
			}
			v.Meta[strings.ToLower(end)] = strings.Join(values, ",")
		}
	}
	return v
}

// mayPut returns the table of a request's bucket, if the request's conditions hold.
func (in *request) mayPut(tx *disk.Tx) (*disk.Bucket, error) {
	b, table, err := bucketOf(tx, in.bucket)
	if err != nil {
		return nil, err
	}
	if !b.Versioned {
		return nil, notImplemented("buckets without versioning")
	}
	now, found, err := current(table, in.key)
	if err != nil {
		return nil, err
	}
	there := found && !now.Marker
	match := in.Header.Get("If-Match")
	switch {
	case in.Header.Get("If-None-Match") == "*" && there:
		return nil, preconditionFailed("If-None-Match")
	case match != "" && !there:
		return nil, noSuchKey(in.key)
	case match != "" && !now.matches(match):
		return nil, preconditionFailed("If-Match")
	}
	return table, nil
}

// marker returns a new mark that an object is deleted.
func (e *Engine) marker() version {
	return version{ID: rand.Text(), Made: e.seconds(), Marker: true}
}

func (e *Engine) deleteObject(in *request) (*response, error) {
	if in.query.Has("versionId") {
		return e.deleteVersion(in)
	}
	marker := e.marker()
	err := e.store.Update(func(tx *disk.Tx) error {
		b, table, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		if !b.Versioned {
			return notImplemented("buckets without versioning")
		}
		now, found, err := current(table, in.key)
		if err != nil {
			return err
		}
		match := in.Header.Get("If-Match")
		switch {
		case match != "" && !found:
			return noSuchKey(in.key)
		case match != "" && (now.Marker || match != "*" && !now.matches(match)):
			return preconditionFailed("If-Match")
		}
		return addVersion(table, in.key, marker)
	})
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	marker.mark(h)
	return &response{status: http.StatusNoContent, header: h}, nil
}

// deleteVersion removes one version for good; one that is not there is removed already. The version before it, if it
// was the newest, is the current one.
func (e *Engine) deleteVersion(in *request) (*response, error) {
	id := in.query.Get("versionId")
	if id == "" || in.Header.Get("If-Match") != "" {
		return nil, notImplemented("If-Match with versionId")
	}
	var gone version
	err := e.store.Update(func(tx *disk.Tx) error {
		_, table, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		gone = version{}
		r := readerOf(table)
		for more := r.seek(in.key + "\x00"); more && r.key == in.key; more = r.next() {
			if r.version.ID == id {
				gone = r.version
				return table.Delete(r.row)
			}
		}
		return r.err
	})
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set("X-Amz-Version-Id", id)
	if gone.Marker {
		h.Set("X-Amz-Delete-Marker", "true")
	}
	return &response{status: http.StatusNoContent, header: h}, e.drop(gone)
}

// drop removes the content of a version that is gone, unless somebody holds the contents: then the next start does.
func (e *Engine) drop(gone version) error {
	e.sweeping.Lock()
	defer e.sweeping.Unlock()
	if gone.Content == "" || e.held > 0 {
		return nil
	}
	if err := e.contents.remove(gone.Content); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// getObject serves GET and HEAD.
func (e *Engine) getObject(in *request) (*response, error) {
	v, content, err := e.load(in)
	if errors.Is(err, fs.ErrNotExist) { // its version may have expired meanwhile
		v, content, err = e.load(in)
	}
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	v.describe(h)
	match, none := in.Header.Get("If-Match"), in.Header.Get("If-None-Match")
	switch {
	case match != "" && match != "*" && !v.matches(match):
		return nil, preconditionFailed("If-Match")
	case none == "*" || none != "" && v.matches(none):
		return &response{status: http.StatusNotModified, header: h}, nil
	}
	status := http.StatusOK
	if asked := in.Header.Get("Range"); asked != "" {
		from, to, err := readRange(asked, v.Size)
		if err != nil {
			return nil, err
		}
		content, status = content[from:to], http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(to-1, 10)+"/"+strconv.FormatInt(v.Size, 10))
	} else if in.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		v.checksums(h)
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	return &response{status: status, header: h, content: content}, nil
}

// load returns the version that a request asks for, with its content.
func (e *Engine) load(in *request) (v version, content []byte, err error) {
	err = e.store.View(func(tx *disk.Tx) error {
		_, table, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		v, err = in.find(table)
		return err
	})
	if err == nil {
		content, err = e.contents.read(v)
	}
	return v, content, err
}

// find returns the version that a request asks for. It is no marker.
func (in *request) find(table *disk.Bucket) (version, error) {
	if !in.query.Has("versionId") {
		v, found, err := current(table, in.key)
		if err == nil && (!found || v.Marker) {
			f := noSuchKey(in.key)
			if found {
				f.header = http.Header{}
				v.mark(f.header)
			}
			err = f
		}
		return v, err
	}
	id := in.query.Get("versionId")
	if len(id) != idLength || strings.Trim(id, base32) != "" {
		return version{}, invalidArgument("versionId", "Invalid version id specified")
	}
	v, found, err := versionOf(table, in.key, id)
	switch {
	case err != nil:
	case !found:
		err = noSuchVersion(in.key, id)
	case v.Marker:
		f := refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
		f.header = http.Header{"Allow": {http.MethodDelete}, "Last-Modified": {v.Made.Format(http.TimeFormat)}}
		v.mark(f.header)
		err = f
	}
	return v, err
}

// readRange returns the bytes of one range of a content, to not included.
func readRange(asked string, size int64) (from, to int64, err error) {
	invalid := refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	first, last, ok := strings.Cut(strings.TrimPrefix(asked, "bytes="), "-")
	from, err = strconv.ParseInt(first, 10, 64)
	if !ok || err != nil || !strings.HasPrefix(asked, "bytes=") {
		return 0, 0, notImplemented("Range: " + asked) // also the end of a content, and several ranges
	}
	to = size
	if last != "" {
		end, err := strconv.ParseInt(last, 10, 64)
		if err != nil || end < from {
			return 0, 0, notImplemented("Range: " + asked)
		}
		to = min(size, end+1)
	}
	if from >= size {
		return 0, 0, invalid
	}
	return from, to, nil
}

// describe sets the headers of a version.
func (v version) describe(h http.Header) {
	h.Set("ETag", quoted(v.ETag))
	h.Set("Last-Modified", v.Made.Format(http.TimeFormat))
	h.Set("Content-Type", v.Type)
	h.Set("Accept-Ranges", "bytes")
	h.Set("X-Amz-Version-Id", v.ID)
	for name, value := range v.Meta {
		h.Set(metaPrefix+name, value)
	}
}

// checksums sets the headers of the sums that were sent with the content.
func (v version) checksums(h http.Header) {
	if v.CRC32 != "" {
		h.Set("X-Amz-Checksum-Crc32", v.CRC32)
	}
	if raw, err := hex.DecodeString(v.SHA256); err == nil && v.Sent {
		h.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(raw))
	}
	if v.CRC32 != "" || v.Sent {
		h.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
}

// mark sets the headers of a marker.
func (v version) mark(h http.Header) {
	h.Set("X-Amz-Delete-Marker", "true")
	h.Set("X-Amz-Version-Id", v.ID)
}

// matches compares with an ETag of a header, which may lack its quotes.
func (v version) matches(etag string) bool { return strings.Trim(etag, `"`) == v.ETag }

func quoted(etag string) string { return `"` + etag + `"` }
