package lambda

import (
	"bytes"
	"io"
)

// maxLine is the longest line that is kept whole, in bytes: what is longer is cut
// into several.
const maxLine = 256 << 10

// lines hands on what a process writes in whole lines, one for each write, so that
// those of many processes can share a log.
type lines struct {
	to   io.Writer // nil drops them
	rest []byte    // of a line that has not ended
}

// Write implements io.Writer. What cannot be logged does not keep a process from
// writing.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	if l.to == nil {
		return n, nil
	}
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			break
		}
		_, _ = l.to.Write(append(l.rest, p[:end+1]...))
		l.rest, p = l.rest[:0], p[end+1:]
	}
	l.rest = append(l.rest, p...)
	if len(l.rest) > maxLine {
		l.flush()
	}
	return n, nil
}

// flush ends a line that the process did not end.
func (l *lines) flush() {
	if l.to != nil && len(l.rest) > 0 {
		_, _ = l.to.Write(append(l.rest, '\n'))
	}
	l.rest = nil
}
