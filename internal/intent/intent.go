// Package intent reads what a text means before anything acts on it. It owns
// two decisions, both pure functions of the text:
//
//   - Classify: does a person's message confirm the pending plan, cancel it, or
//     neither? The whole message must be on a closed list. The list is closed
//     because the cost is one-sided: a confirmation that was missed is a second
//     message, a confirmation that was imagined is an effect in the world.
//   - Ghost: does a model's text pose as a plan, or ask for a confirmation,
//     although no tool call is behind it?
//
// What must stay true: no message that holds a question, a negation, a
// quotation, a contradicting emoji or any word beyond the list confirms. A
// message of nothing but emoji is neither: «👍» under a plan may as well be
// meant for the sentence above it.
package intent

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Intent is what a person's whole message does to the pending plan.
type Intent int

const (
	// Other is everything that is not on a list; it goes to the model.
	Other Intent = iota
	// Confirm starts the pending plan.
	Confirm
	// Cancel drops the pending plan.
	Cancel
)

// String returns "other", "confirm" or "cancel".
func (i Intent) String() string {
	switch i {
	case Confirm:
		return "confirm"
	case Cancel:
		return "cancel"
	default:
		return "other"
	}
}

// Classify decides what message does. It never fails: text it cannot place,
// of whatever size or encoding, is Other.
func Classify(message string) Intent {
	if asks(message) || quotes(message) {
		return Other
	}
	text := Normalize(message)
	switch {
	case confirmations()[text] && !contradicts(message):
		return Confirm
	case cancellations()[text]:
		return Cancel
	default:
		return Other
	}
}

// Confirmations returns the normalised messages that confirm, sorted.
func Confirmations() []string { return sorted(confirmations()) }

// Cancellations returns the normalised messages that cancel, sorted.
func Cancellations() []string { return sorted(cancellations()) }

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for text := range set {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// Normalize brings a message to the form in which the lists are written:
// compatibility-composed, lower case, without accents, punctuation, emoji and
// zero-width characters, words separated by one space. It is idempotent.
//
// Only the accents of Spanish and English go. An overlay («c̶o̶n̶f̶i̶r̶m̶o̶») is a
// word struck out, and directional controls reorder what was read, so both
// stay and keep the message off every list. Letters of other scripts stay too.
func Normalize(message string) string {
	text := message
	for range 8 {
		next := normalizeOnce(text)
		if next == text {
			break
		}
		text = next
	}
	return text
}

func normalizeOnce(message string) string {
	text := norm.NFKD.String(strings.ToLower(norm.NFKC.String(message)))
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for _, r := range text {
		switch {
		case silent(r):
		case unicode.IsSpace(r) || unicode.Is(unicode.P, r) || emoji(r):
			gap = true
		default:
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(r)
		}
	}
	return norm.NFKC.String(b.String())
}

// silent reports a rune that is dropped without parting the word around it.
func silent(r rune) bool {
	switch r {
	case '\u0300', '\u0301', '\u0302', '\u0303', '\u0308', '\u0327': // accents
		return true
	case '\'', '’', 'ʼ', '´': // an apostrophe: don't, let's
		return true
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\ufe0e', '\ufe0f':
		return true
	}
	return r >= 0x1F3FB && r <= 0x1F3FF // skin tones
}

// emoji excludes the object and replacement characters: they stand for
// something that was not read.
func emoji(r rune) bool {
	return r > 0xff && r != '\ufffc' && r != '\ufffd' && unicode.Is(unicode.So, r)
}

// asks reports a question mark of any script, emoji included.
func asks(message string) bool {
	return strings.ContainsRune(message, '\u037e') || // folds to a semicolon
		strings.ContainsAny(norm.NFKC.String(message), "?¿؟‽⸮⸘❓❔𖡄")
}

// quotes reports a message that cites or encodes a word instead of saying it.
func quotes(message string) bool {
	text := strings.TrimSpace(message)
	return strings.ContainsAny(text, "\"“”„«»‹›`\\＂「」『』") ||
		strings.HasPrefix(text, "'") || strings.HasPrefix(text, "‘") || strings.HasPrefix(text, "/")
}

// agreeing are the emoji that say no more than the words beside them.
const agreeing = "👍👌✅✔☑🆗🙏👏🙌💪🤝👊✊🫡🫶👋😀😃😄😁😆😊🙂😉😍🥰🥳🤩😎🤗😇😺☺🎉🎊🥂🚀✨⭐🌟🔥💯⚡▶⏩❤♥🧡💛💚💙💜🤍"

// Agreeing returns the emoji that may stand beside a confirmation.
func Agreeing() string { return agreeing }

// contradicts reports an emoji that may doubt or take back the words beside it:
// any that is not known to agree. A list of those that contradict would never be
// whole.
func contradicts(message string) bool {
	return strings.ContainsFunc(norm.NFKC.String(message), func(r rune) bool { return emoji(r) && !strings.ContainsRune(agreeing, r) })
}
