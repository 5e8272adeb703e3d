package mask

import (
	"bytes"

	"piloto/internal/workspace"
)

// A Veil is a text file without its secrets. An edit is searched and made in its Text, so that it matches only the text that
// a model may read, and each secret stays where it is.
type Veil struct {
	Text    []byte // a zero byte stands for each stretch that was taken; no text of a model has one
	Safe    []byte // the content with masks, line by line as in Text
	Secrets int    // how many have a mask

	content []byte
	taken   []stretch
	known   *Known
	shown   workspace.Shown
	name    string
}

// stretch is a part of one line, from its first secret to the end of its last one.
type stretch struct {
	plain []byte
	alone []byte // without the parts that are secrets also where no other file is known
}

// gap stands for a stretch.
const gap = "\x00"

// Veil returns the veil of a file, by its name and content. A nil Known knows no other file.
func (k *Known) Veil(shown workspace.Shown, name string, content []byte) Veil {
	v := Veil{content: content, known: k, shown: shown, name: name}
	alone, n := Content(shown, name, content)
	v.Safe, v.Secrets = k.copies(shown, name, alone, n)
	if v.Secrets == 0 && bytes.IndexByte(content, 0) < 0 {
		v.Text = content
		return v
	}
	v.Text, v.taken = split(content, v.Safe, alone)
	return v
}

// Seen returns the veil of a file that a person let the model read as it is. A mask in it harms as in any other.
func (v Veil) Seen() Veil {
	v.Text, v.taken = v.content, nil
	return v
}

// Hides reports whether something was taken from the file.
func (v Veil) Hides() bool { return v.Secrets > 0 && len(v.taken) > 0 }

// split takes the parts from a content that one of two masked forms does not show.
func split(content, safe, alone []byte) (text []byte, taken []stretch) {
	newline := []byte("\n")
	byAll, byItself := bytes.Split(safe, newline), bytes.Split(alone, newline)
	for i, line := range bytes.Split(content, newline) {
		if i > 0 {
			text = append(text, '\n')
		}
		line, isCRLF := bytes.CutSuffix(line, []byte("\r"))
		from, to, has := hidden(line, byAll, i)
		first, last, also := hidden(line, byItself, i)
		switch {
		case also && has:
			from, to = min(from, first), max(to, last)
		case also:
			from, to = first, last
		case !has: // a zero byte of the file stands for itself
			for range bytes.Count(line, []byte(gap)) {
				taken = append(taken, stretch{[]byte(gap), []byte(gap)})
			}
			from, to = len(line), len(line)
		}
		text = append(text, line[:from]...)
		if has || also {
			s := stretch{plain: line[from:to], alone: line[from:to]}
			if also {
				s.alone = bytes.Join([][]byte{line[from:first], line[last:to]}, []byte(gap))
			}
			text, taken = append(text, gap...), append(taken, s)
		}
		text = append(text, line[to:]...)
		if isCRLF {
			text = append(text, '\r')
		}
	}
	return text, taken
}

// hidden returns the part of a line that a masked content does not show: the whole line, if the part is ambiguous.
func hidden(line []byte, masked [][]byte, i int) (from, to int, has bool) {
	var shown []byte
	if i < len(masked) {
		shown = bytes.TrimSuffix(masked[i], []byte("\r"))
	}
	if bytes.Equal(shown, line) {
		return 0, 0, false
	}
	first, last := bytes.Index(shown, []byte(Mark)), bytes.LastIndex(shown, []byte(Mark))
	if first >= 0 {
		before, after := shown[:first], shown[last+len(Mark):]
		fits := bytes.HasPrefix(line, before) && bytes.HasSuffix(line, after) && len(before)+len(after) <= len(line)
		if fits && bytes.IndexByte(before, 0) < 0 && bytes.IndexByte(after, 0) < 0 {
			return len(before), len(line) - len(after), true
		}
	}
	return 0, len(line), true
}

// Whole returns a changed Text with its secrets. Every gap must still be there.
func (v Veil) Whole(text []byte) []byte {
	return v.fill(text, func(s stretch) []byte { return s.plain })
}

func (v Veil) fill(text []byte, with func(stretch) []byte) (whole []byte) {
	for _, s := range v.taken {
		before, after, _ := bytes.Cut(text, []byte(gap))
		whole, text = append(append(whole, before...), with(s)...), after
	}
	return append(whole, text...)
}

// Shows reports whether a changed Text makes more of the file readable: for a model that knows the other files, or for one
// that does not. It does so too if the text beside a secret becomes a part of it. No text of the model is compared with a
// secret, because the answer would confirm a guess.
func (v Veil) Shows(text []byte) bool {
	if !v.Hides() {
		return false
	}
	next := v.known.Veil(v.shown, v.name, v.Whole(text))
	alone := func(s stretch) []byte { return s.alone }
	return !kept(text, next.Text, covers) || !kept(v.fill(text, alone), next.fill(next.Text, alone), bytes.Equal)
}

// kept reports whether each line of a text with a gap is in another text as it should be.
func kept(text, other []byte, as func(line, other []byte) bool) bool {
	is := bytes.Split(other, []byte("\n"))
	for i, line := range bytes.Split(text, []byte("\n")) {
		if bytes.Contains(line, []byte(gap)) && (i >= len(is) || !as(line, is[i])) {
			return false
		}
	}
	return true
}

// covers reports whether the stretch that is taken from a line is taken from another form of it, too.
func covers(line, other []byte) bool {
	before, after, _ := bytes.Cut(line, []byte(gap))
	first, last, has := bytes.Cut(other, []byte(gap))
	return bytes.Equal(line, other) || has && bytes.Count(line, []byte(gap)) == 1 && bytes.HasPrefix(before, first) && bytes.HasSuffix(after, last)
}
