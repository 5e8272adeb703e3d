package httpapi

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"piloto/internal/workspace"
)

// fileReply is the bytes of a file. A browser neither runs nor draws any of them but images.
type fileReply struct {
	Status      int
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	ETag        string `header:"ETag"`
	Modified    string `header:"Last-Modified"`
	Ranges      string `header:"Accept-Ranges"`
	Range       string `header:"Content-Range"`
	Body        []byte
}

// readInput asks for a file.
type readInput struct {
	FileInput
	Version string `query:"version" maxLength:"128" doc:"an earlier version; absent: the present one"`
	Range   string `header:"Range" doc:"bytes=FIRST-LAST; at most 4 MB are answered"`
	IfRange string `header:"If-Range" doc:"the range counts for this version only"`
	Known   string `header:"If-None-Match" doc:"304 if the file still has one of these versions"`
}

func (h fileHandler) read(ctx context.Context, in *readInput) (*fileReply, error) {
	_, store, err := h.store(ctx, in.FileInput)
	if err != nil {
		return nil, err
	}
	asked, ranged := parseRange(in.Range)
	most := int64(maxFileBody)
	if ranged && asked.from != 0 {
		most = sniffed
	}
	// The first bytes decide the media type, and f has the size.
	first, f, err := store.Read(ctx, in.Path, in.Version, 0, most)
	if err != nil {
		return nil, err
	}
	out := showBytes(f, first)
	if knows(in.Known, f.Version) {
		out.Status, out.Body = http.StatusNotModified, nil
		return out, nil
	}
	if in.IfRange != "" && in.IfRange != tagOf(f.Version) {
		ranged, asked = false, span{0, -1}
	}
	if !ranged && f.Size > maxFileBody {
		return nil, sized(errFileRanges, f)
	}
	if !ranged && int64(len(first)) == f.Size {
		return out, nil
	}
	from, n, ok := asked.of(f.Size)
	if !ok {
		requestInfoFrom(ctx).header.Set("Content-Range", fmt.Sprintf("bytes */%d", f.Size))
		return nil, sized(errFileRange, f)
	}
	if ranged {
		out.Status, out.Range = http.StatusPartialContent, fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, f.Size)
	}
	if from+n <= int64(len(first)) {
		out.Body = first[from : from+n]
		return out, nil
	}
	out.Body, _, err = store.Read(ctx, in.Path, f.Version, from, n)
	return out, err
}

// showBytes returns the answer with the first bytes of a file.
func showBytes(f workspace.File, content []byte) *fileReply {
	media, inline := mediaOf(content, f.Size)
	out := &fileReply{
		Status: http.StatusOK, ContentType: media, Policy: inertPolicy, ETag: tagOf(f.Version),
		Modified: f.At.UTC().Format(http.TimeFormat), Ranges: "bytes", Body: content,
	}
	if !inline {
		out.Disposition = mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Name)})
	}
	return out
}

// inertPolicy is the Content-Security-Policy of a file: a browser that shows it runs and loads nothing.
const inertPolicy = "default-src 'none'; sandbox"

// sniffed is the number of first bytes that decide the media type of a file.
const sniffed = 8_000

// mediaOf returns the media type of a file of a size by its first bytes, and whether a browser may show it. A text in any
// language is plain, because a browser would run HTML, SVG and scripts.
func mediaOf(first []byte, size int64) (media string, inline bool) {
	head := first[:min(len(first), sniffed)]
	switch media = http.DetectContentType(head); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return media, true
	case "application/pdf":
		return media, false
	}
	if int64(len(head)) < size { // its last character may be cut
		for n := 0; n < utf8.UTFMax-1 && !utf8.Valid(head); n++ {
			head = head[:len(head)-1]
		}
	}
	if utf8.Valid(head) && !workspace.Binary(head) {
		return "text/plain; charset=utf-8", true
	}
	return "application/octet-stream", false
}

func tagOf(version string) string { return strconv.Quote(version) }

// knows reports whether an If-None-Match names a version.
func knows(header, version string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == tagOf(version) {
			return true
		}
	}
	return false
}

// span is one range of bytes, as it was asked for.
type span struct {
	from int64 // -1: to is the number of bytes at the end
	to   int64 // -1: to the end
}

// parseRange reads a Range with one range. Any other one is not ok: the whole file answers it (RFC 9110, 14.2).
func parseRange(header string) (s span, ok bool) {
	unit, rest, _ := strings.Cut(header, "=")
	first, last, ok := strings.Cut(rest, "-")
	if unit != "bytes" || !ok || first == "" && last == "" {
		return span{}, false
	}
	var good, also bool
	s.from, good = bound(first)
	s.to, also = bound(last)
	return s, good && also && (s.from < 0 || s.to < 0 || s.from <= s.to)
}

// bound reads one end of a range; "" is -1.
func bound(text string) (int64, bool) {
	if text == "" {
		return -1, true
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil //nolint:gosec // it has 63 bits
}

// of returns the range in a file of a size, cut to maxFileBody. It is not ok if the file has no such byte.
func (s span) of(size int64) (from, n int64, ok bool) {
	from, to := s.from, size-1
	switch {
	case s.from < 0:
		from = max(size-s.to, 0)
		if s.to == 0 {
			return 0, 0, false
		}
	case s.to >= 0:
		to = min(to, s.to)
	}
	n = min(to-from+1, maxFileBody)
	return from, n, n > 0
}
