package thought

import "strings"

// Signs of the messages into which Harmony divides a text (gpt-oss):
// <|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{…}<|call|>. The first one may lack its
// start, and the last one its end.
const (
	startSign   = "<|start|>"
	channelSign = "<|channel|>"
	messageSign = "<|message|>"
	callSign    = "<|call|>"
)

var endSigns = []string{"<|end|>", "<|return|>", callSign}

// signAt returns the sign with which a text begins. wait: it may become one.
func signAt(s string) (sign string, wait bool) {
	for _, one := range append([]string{startSign, channelSign}, endSigns...) {
		if strings.HasPrefix(s, one) {
			return one, false
		}
		wait = wait || strings.HasPrefix(one, s)
	}
	return "", wait
}

// frame reads what may be a sign of a message. read says that it was one; wait, that more must arrive to know it.
func (r *Reader) frame(ended bool) (read, wait bool) {
	sign, wait := signAt(r.held)
	switch {
	case sign == "":
		return false, wait && !ended
	case sign == startSign, sign == channelSign:
		return r.head(ended)
	case r.framed:
		r.skip(len(sign))
		return true, false
	case sign != endSigns[0]:
		return false, false
	}
	next := r.held[len(sign):]
	if !strings.HasPrefix(next, startSign) {
		return false, !ended && strings.HasPrefix(startSign, next)
	}
	r.framed = true // the template began the message that ends
	r.skip(len(sign))
	r.takeBack()
	return true, false
}

// head reads the head of a message.
func (r *Reader) head(ended bool) (read, wait bool) {
	at := strings.Index(r.held, messageSign)
	head := r.held[:max(at, 0)]
	if at < 0 {
		head = r.held
	}
	switch {
	case len(head) > mostTag, strings.ContainsAny(head, "\n{}\"`"), !begins(head[strings.IndexByte(head, '>')+1:], at >= 0):
		return false, false
	case at < 0 && !ended:
		return false, true
	case at < 0: // it was cut
		r.skip(len(r.held))
		return true, false
	}
	r.framed, r.indent = true, true
	r.skip(at + len(messageSign))
	_, channel, _ := strings.Cut(head, channelSign)
	_, to, _ := strings.Cut(head, "to=")
	channel, to = word(channel), word(to)
	switch {
	case to != "" && r.Block != nil && r.tried < mostBlocks:
		r.in, r.block, r.settled = inBlock, Block{Open: head + messageSign, Close: callSign, To: to}, 0
		r.tried++
	case to != "", channel != "" && channel != "final" && channel != "commentary":
		r.in, r.message = inThought, true
	}
	return true, false
}

// begins reports whether a head goes on as heads do: with the model's role, or the name of a channel. One that is not whole may
// have only a part of it.
func begins(rest string, whole bool) bool {
	first := word(rest)
	for _, known := range []string{"assistant", "analysis", "commentary", "final"} {
		if first == known && strings.HasPrefix(rest, known) || !whole && first == rest && strings.HasPrefix(known, first) {
			return true
		}
	}
	return false
}

// word returns the first word of a part of a head.
func word(s string) string {
	s = strings.TrimSpace(s)
	if at := strings.IndexAny(s, " \t<"); at >= 0 {
		s = s[:at]
	}
	return s
}

// thinkMessage reads on in a message that is a thought, up to its end or the next one. The text that is held begins with «<».
func (r *Reader) thinkMessage(ended bool) bool {
	sign, wait := signAt(r.held)
	switch {
	case sign == "" && wait && !ended:
		return false
	case sign == "":
		r.thought(1)
		return true
	}
	r.in, r.message, r.indent = inText, false, true
	if sign != startSign && sign != channelSign {
		r.skip(len(sign))
	}
	return true
}
