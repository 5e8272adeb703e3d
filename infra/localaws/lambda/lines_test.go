package lambda

import (
	"slices"
	"strings"
	"testing"
)

// writes stores the writes to a log, one by one.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestLinesAreWrittenWhole(t *testing.T) {
	long := strings.Repeat("x", maxLine+1)
	for _, c := range []struct{ written, want []string }{
		{[]string{"one\n"}, []string{"one\n"}},
		{[]string{"o", "n", "e\ntw", "o\n"}, []string{"one\n", "two\n"}},
		{[]string{"one\ntwo\nthree\n"}, []string{"one\n", "two\n", "three\n"}},
		{[]string{"no end"}, []string{"no end\n"}},
		{[]string{"\n\n"}, []string{"\n", "\n"}},
		{[]string{long, "y\n"}, []string{long + "\n", "y\n"}},
		{nil, nil},
	} {
		var got writes
		l := &lines{to: &got}
		for _, text := range c.written {
			if n, err := l.Write([]byte(text)); n != len(text) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
		}
		l.flush()
		if !slices.Equal(got, c.want) {
			t.Errorf("%.40q became %.40q", c.written, got)
		}
	}
}
