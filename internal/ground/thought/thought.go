// Package thought takes what a model thinks aloud out of its text: <think>…</think> and its relatives, and the messages of
// Harmony, of models that have no other place for it.
//
// A tag counts outside of code: a fence of three backticks, or a span between backticks of one line. A thought that is not
// closed goes on to the end. A closing tag without an opening one ends a thought that began with the text, because the
// template of the model wrote the opening tag.
package thought

import "strings"

// Without returns a text without its thoughts, and without the white space around it.
func Without(text string) string {
	if !strings.ContainsAny(text, "<[") {
		return text
	}
	var rest strings.Builder
	r := Reader{Text: func(s string) { rest.WriteString(s) }, Drop: rest.Reset}
	r.Write(text)
	r.End()
	if rest.Len() == len(text) {
		return text
	}
	return strings.TrimSpace(rest.String())
}

// Block is a piece of a text that a reader wants apart. Without Close it goes on to the end of the text. To is whom a message
// of Harmony is for, which is no text for a person in any case.
type Block struct{ Open, Close, To string }

// Reader takes the thoughts out of a text that arrives in parts. Every byte that is not of a thought or of a block is given
// to Text, as soon as it is known to be such.
type Reader struct {
	Text    func(string)
	Drop    func()       // all that Text was given is a thought
	Thought func(string) // may be nil
	Blocks  []Block
	Block   func(b Block, inner string) bool // false: it is text

	in      place
	held    string // what arrived and is not decided
	framed  bool   // the text is one of messages
	message bool   // the thought is one
	before  byte   // what was read last
	indent  bool   // nothing but spaces was read of the line
	begun   bool
	mark    string // the fence that is open
	block   Block
	inner   strings.Builder
	settled int // of inner, where the end of the block is not
	tried   int // blocks that were begun
}

// place is where the text is that is read.
type place int

const (
	inText place = iota
	inFence
	inThought
	inBlock
)

const (
	mostSpan   = 4 << 10 // bytes of a span of code
	mostTag    = 256     // bytes of a tag
	mostBlocks = 64      // of a text: further ones are text
	fenceRuns  = 3       // signs of a fence
)

// Write adds a part of the text.
func (r *Reader) Write(part string) {
	if !r.begun {
		r.begun, r.indent = true, true
	}
	r.held += part
	for r.step(false) {
	}
}

// End ends the text.
func (r *Reader) End() {
	for r.step(true) || r.in == inBlock {
		if r.held == "" && r.in == inBlock { // its end is missing
			r.leave("")
		}
	}
}

// step decides the beginning of what is held. It returns false when nothing can be decided before more arrives.
func (r *Reader) step(ended bool) bool {
	if r.held == "" {
		return false
	}
	switch r.in {
	case inThought:
		return r.think(ended)
	case inBlock:
		return r.gather()
	case inFence:
		return r.fenced(ended)
	}
	return r.say(ended)
}

// pass gives the first n bytes to Text.
func (r *Reader) pass(n int) bool {
	if n == 0 {
		return false
	}
	out := r.held[:n]
	r.held = r.held[n:]
	r.before = out[n-1]
	line := out
	if at := strings.LastIndexByte(out, '\n'); at >= 0 {
		line, r.indent = out[at+1:], true
	}
	r.indent = r.indent && strings.Trim(line, " ") == ""
	r.Text(out)
	return true
}

// skip drops the first n bytes.
func (r *Reader) skip(n int) {
	r.before = r.held[n-1]
	r.held = r.held[n:]
}

func (r *Reader) say(ended bool) bool {
	at := strings.IndexAny(r.held, "<[`~\n")
	switch {
	case at < 0:
		return r.pass(len(r.held))
	case at > 0:
		return r.pass(at)
	}
	switch first := r.held[0]; first {
	case '\n':
		return r.pass(1)
	case '`', '~':
		return r.code(first, ended)
	}
	return r.tag(ended)
}

// code reads a sign of code: a fence, or a span that closes in its line.
func (r *Reader) code(sign byte, ended bool) bool {
	n := runOf(r.held, sign)
	if n == len(r.held) && !ended {
		return false
	}
	line, whole := r.held[n:], ended
	if at := strings.IndexByte(line, '\n'); at >= 0 {
		line, whole = line[:at], true
	}
	switch fence := r.indent && n >= fenceRuns; {
	case fence && (sign == '~' || strings.IndexByte(line, sign) < 0 && (whole || len(line) >= mostTag)):
		r.in, r.mark = inFence, r.held[:n]
		return r.pass(n)
	case fence && !whole && strings.IndexByte(line, sign) < 0:
		return false
	case sign == '~':
		return r.pass(n)
	}
	for at := 0; at < len(line); {
		next := strings.IndexByte(line[at:], sign)
		if next < 0 {
			break
		}
		at += next
		run := runOf(line[at:], sign)
		if at+run == len(line) && !whole {
			return false // the run may go on
		}
		if run == n {
			return r.pass(n + at + run)
		}
		at += run
	}
	if !whole && len(line) < mostSpan {
		return false
	}
	return r.pass(n)
}

// fenced reads the lines of a fence.
func (r *Reader) fenced(ended bool) bool {
	line, whole := r.held, ended
	if at := strings.IndexByte(line, '\n'); at >= 0 {
		line, whole = line[:at+1], true
	}
	if !r.indent {
		return r.pass(len(line))
	}
	if !whole && len(line) < mostTag {
		return false
	}
	bare := strings.TrimSpace(line)
	if strings.HasPrefix(bare, r.mark) && strings.Trim(bare, r.mark[:1]) == "" {
		r.in = inText
	}
	return r.pass(len(line))
}

// tag reads what may be a tag.
func (r *Reader) tag(ended bool) bool {
	kind, n := tagOf(r.held)
	switch {
	case kind == partOfTag && !ended:
		return false
	case kind == opening:
		r.in = inThought
		r.skip(n)
		return true
	case kind == empty:
		r.skip(n)
		return true
	case kind == closing:
		r.skip(n)
		r.takeBack()
		return true
	}
	if read, wait := r.frame(ended); read || wait {
		return read
	}
	for _, b := range r.Blocks {
		switch {
		case r.tried == mostBlocks:
		case strings.HasPrefix(r.held, b.Open):
			r.in, r.block, r.settled = inBlock, b, 0
			r.tried++
			r.skip(len(b.Open))
			return true
		case strings.HasPrefix(b.Open, r.held) && !ended:
			return false
		}
	}
	return r.pass(1)
}

// takeBack says that all of the text so far is a thought.
func (r *Reader) takeBack() {
	if r.Drop != nil {
		r.Drop()
	}
}

// think reads on in a thought.
func (r *Reader) think(ended bool) bool {
	at := strings.IndexAny(r.held, "<[")
	if at != 0 {
		if at < 0 {
			at = len(r.held)
		}
		r.thought(at)
		return true
	}
	if r.message {
		return r.thinkMessage(ended)
	}
	kind, n := tagOf(r.held)
	switch {
	case kind == partOfTag && !ended, kind == closing && r.before == '`' && n == len(r.held) && !ended:
		return false
	case kind == closing && !(r.before == '`' && strings.HasPrefix(r.held[n:], "`")):
		r.in = inText
		r.skip(n)
		r.indent = true
		return true
	}
	r.thought(1)
	return true
}

func (r *Reader) thought(n int) {
	if r.Thought != nil {
		r.Thought(r.held[:n])
	}
	r.skip(n)
}

// gather reads on in a block.
func (r *Reader) gather() bool {
	r.inner.WriteString(r.held)
	r.held = ""
	if r.block.Close == "" {
		return false
	}
	all := r.inner.String()
	at := strings.Index(all[r.settled:], r.block.Close)
	if at < 0 {
		r.settled = max(0, len(all)-len(r.block.Close))
		return false
	}
	at += r.settled
	r.held = all[at+len(r.block.Close):]
	r.inner.Reset()
	r.inner.WriteString(all[:at])
	r.leave(r.block.Close)
	return true
}

// leave ends a block that has this end.
func (r *Reader) leave(end string) {
	inner := r.inner.String()
	r.in, r.indent, r.before = inText, false, '>'
	r.inner.Reset()
	switch {
	case r.Block(r.block, inner):
	case r.block.To != "":
		if r.Thought != nil {
			r.Thought(inner)
		}
	default:
		r.held = r.block.Open + inner + end + r.held
		r.pass(len(r.block.Open))
	}
}

func runOf(s string, sign byte) int {
	n := 0
	for n < len(s) && s[n] == sign {
		n++
	}
	return n
}

// kindOfTag is what stands at the beginning of a text.
type kindOfTag int

const (
	noTag kindOfTag = iota
	partOfTag
	opening
	closing
	empty // it is opened and closed
)

// names are those of the tags between angle brackets, in lower case.
var names = []string{"think", "thought", "thoughts", "thinking", "reasoning", "seed:think"}

// tagOf returns the tag with which a text begins, and its length.
func tagOf(s string) (kindOfTag, int) {
	if s[0] == '[' { // as Mistral's models write it
		return literal(s, "[THINK]", "[/THINK]")
	}
	if kind, n := literal(s, "<|channel>thought", "<channel|>"); kind != noTag { // Gemma
		return kind, n
	}
	rest, kind := s[1:], opening
	if strings.HasPrefix(rest, "/") {
		rest, kind = rest[1:], closing
	}
	n := 0
	for n < len(rest) && (rest[n] == ':' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
		n++
	}
	name := strings.ToLower(rest[:n])
	known, begins := false, false
	for _, full := range names {
		known = known || full == name
		begins = begins || strings.HasPrefix(full, name)
	}
	switch {
	case n == len(rest) && begins:
		return partOfTag, 0
	case !known:
		return noTag, 0
	}
	if !strings.ContainsRune("> \t\r\n/", rune(rest[n])) {
		return noTag, 0
	}
	end := strings.IndexAny(rest[n:], "<>")
	switch {
	case end < 0 && len(rest) < mostTag:
		return partOfTag, 0
	case end < 0 || rest[n+end] == '<':
		return noTag, 0
	}
	if kind == opening && strings.HasSuffix(rest[n:n+end], "/") {
		kind = empty
	}
	return kind, len(s) - len(rest) + n + end + 1
}

func literal(s, open, end string) (kindOfTag, int) {
	switch {
	case strings.HasPrefix(s, open):
		return opening, len(open)
	case strings.HasPrefix(s, end):
		return closing, len(end)
	case strings.HasPrefix(open, s), strings.HasPrefix(end, s):
		return partOfTag, 0
	}
	return noTag, 0
}
