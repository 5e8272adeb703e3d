package sandbox

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"piloto/internal/ground/locale"
)

func outputOf(writes ...string) string {
	o := &output{}
	for _, w := range writes {
		if n, err := o.Write([]byte(w)); n != len(w) || err != nil {
			return "a short write"
		}
	}
	return shortened(o.text(locale.English))
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for n, want := range map[int]string{
		1:   numbers(1, 1),
		100: numbers(1, 100),
		200: numbers(1, 200),
		201: numbers(1, 100) + "[… 1 line left out]\n" + numbers(102, 201),
		777: numbers(1, 100) + "[… 577 lines left out]\n" + numbers(678, 777),
	} {
		if got := outputOf(numbers(1, n)); got != strings.TrimSuffix(want, "\n") {
			t.Errorf("%d lines give\n%s", n, got)
		}
	}
}

func TestOutputIsClean(t *testing.T) {
	for _, c := range []struct {
		want   string
		writes []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"ab\nc", []string{"a", "b\nc"}},
		{"a\n\nb", []string{"a\n\nb\n"}},
		{"a\nb", []string{"a\r", "\nb\r\n"}},
		{"100 %", []string{"1 %\r50 %\r", "100 %\n"}},
		{"red plain", []string{"\x1b[1;31mred\x1b[0m plain"}},
		{"title", []string{"\x1b]0;evil\x07title"}},
		{"ab", []string{"a\x00\x07\x08\u009bb"}},
		{"a\tb", []string{"a\tb"}},
		{"\uFFFDa", []string{"\xff\xfea"}},
		{"ñ", []string{"\xc3", "\xb1"}},
		{strings.Repeat("x", maxLine), []string{strings.Repeat("x", maxLine)}},
		{strings.Repeat("x", maxLine-len("…")) + "…\ny", []string{strings.Repeat("x", maxLine), "xx\ny"}},
	} {
		if got := outputOf(c.writes...); got != c.want {
			t.Errorf("%q gives %q, want %q", c.writes, got, c.want)
		}
	}
}

// The output does not depend on how a program splits its writes, and nothing in it can change a terminal.
func TestOutputIsBoundedAndTheSameForAnyWrites(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", "\n", "\r", "\r\n", "\x1b[", "m", "\x1b]", "\x07", "\xff", "é", "\x00", strings.Repeat("y", 700), strings.Repeat("\n", 120)})
	rapid.Check(t, func(t *rapid.T) {
		writes := rapid.SliceOf(pieces).Draw(t, "writes")
		got := outputOf(writes...)
		if whole := outputOf(strings.Join(writes, "")); got != whole {
			t.Fatalf("%q in parts, %q at once", got, whole)
		}
		lines := strings.Split(got, "\n")
		if len(lines) > headLines+1+tailLines || !utf8.ValidString(got) {
			t.Fatalf("%d lines: %q", len(lines), got)
		}
		for _, line := range lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) || len(line) > 3*maxLine+3 {
				t.Fatalf("a line is %q", line)
			}
		}
	})
}
