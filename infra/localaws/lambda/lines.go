package lambda

import (
	"bytes"
	"io"
)

// maxLine is the length in bytes of the longest line that is kept whole: longer ones are split.
const maxLine = 256 << 10

// lines writes the output of a process in whole lines, one for each write, so that many processes
// can share a log.
type lines struct {
	to   io.Writer // nil drops them
	rest []byte    // start of a line that has not ended
}

// Write implements io.Writer. It returns no error, so that a failing log does not stop the process.
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

// flush writes the last line when the process did not end it.
func (l *lines) flush() {
	if l.to != nil && len(l.rest) > 0 {
		_, _ = l.to.Write(append(l.rest, '\n'))
	}
	l.rest = nil
}
