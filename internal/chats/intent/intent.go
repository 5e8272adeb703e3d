// Package intent classifies a user's message before any action: does it agree or refuse, and does it name the plan? The whole
// message must be on a closed list, unchanged or without hesitations, repeated letters and a few known typing errors. The list is
// closed because the cost is one-sided: a missed confirmation costs a second message, a false confirmation has an effect in the
// world.
//
// Invariant: a message with a question, a negation, a quotation, a contradicting emoji or any
// word beyond the list never agrees. The text does not show which message a bare yes or no
// answers: package turn checks the last message of the chat.
package intent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Intent is the meaning of a user's whole message, if it is only a yes or a no.
type Intent int

const (
	// Other is every message that is not on a list; it goes to the model.
	Other Intent = iota
	// Assent is a bare yes: it answers the last message of the chat.
	Assent
	// Confirm is a yes that names the plan, confirming it or running it.
	Confirm
	// Refusal is a bare no: it answers the last message of the chat.
	Refusal
	// Cancel is a no that drops the plan, or forbids it.
	Cancel
	// Stop ends the active run.
	Stop
)

// String returns "other", "assent", "confirm", "refusal", "cancel" or "stop".
func (i Intent) String() string {
	return [...]string{"other", "assent", "confirm", "refusal", "cancel", "stop"}[i]
}

// Agrees reports whether the intent is a yes, bare or not.
func (i Intent) Agrees() bool { return i == Assent || i == Confirm }

// Refuses reports whether the intent is a no, bare or not, or a stop.
func (i Intent) Refuses() bool { return i == Refusal || i == Cancel || i == Stop }

// Named reports whether the message is about a plan or a run, independent of the last message.
// Without a plan or a run it gets a notice, unless it answers a text; a bare yes or no goes to the model.
func (i Intent) Named() bool { return i == Confirm || i == Cancel || i == Stop }

// Classify returns the intent of a message. It never fails: an unknown text, of any size or
// encoding, is Other.
func Classify(message string) Intent {
	if HasQuestionMark(message) || hasQuotation(message) {
		return Other
	}
	text := Normalize(message)
	if text == "" {
		return classifyEmoji(message)
	}
	if kind := onList(text, message); kind != Other {
		return kind
	}
	return onList(repair(text), message)
}

// onList returns the intent of a message in normal form, by the lists.
func onList(text, message string) Intent {
	if kind := yeses()[text]; kind != Other && !contradicts(message) {
		return kind
	}
	return cmp.Or(noes()[text], noes()[trimCourtesy(text)])
}

// Words returns the normalised messages with an intent, sorted.
func Words(i Intent) []string {
	set := yeses()
	if i.Refuses() {
		set = noes()
	}
	var out []string
	for text, kind := range set {
		if kind == i {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// Normalize brings a message to the form in which the lists are written:
// compatibility-composed, lower case, without accents, punctuation, emoji and
// zero-width characters, words separated by one space. It is idempotent.
//
// Only the accents of Spanish and English are removed. An overlay («c̶o̶n̶f̶i̶r̶m̶o̶») strikes a
// word out, and directional controls reorder the visible text, so both stay and keep the message
// off every list. Letters of other scripts stay too.
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
		case isSilent(r):
		case unicode.IsSpace(r) || unicode.Is(unicode.P, r) || isEmoji(r):
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

// isSilent reports whether a rune is dropped without splitting its word.
func isSilent(r rune) bool {
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

// isEmoji reports whether a rune is an emoji. The object and replacement characters are none,
// because they stand for unknown content.
func isEmoji(r rune) bool {
	return r > 0xff && r != '\ufffc' && r != '\ufffd' && unicode.Is(unicode.So, r)
}

// HasQuestionMark reports a question mark of any script, emoji included.
func HasQuestionMark(message string) bool {
	return strings.ContainsRune(message, '\u037e') || // folds to a semicolon
		strings.ContainsAny(norm.NFKC.String(message), "?¿؟‽⸮⸘❓❔𖡄")
}

// IsPlain reports whether a message has no question mark, no quotation and no emoji that may revoke its words.
func IsPlain(message string) bool {
	return !HasQuestionMark(message) && !hasQuotation(message) && !contradicts(message)
}

// hasQuotation reports a message that quotes or encodes a word.
func hasQuotation(message string) bool {
	text := strings.TrimSpace(message)
	return strings.ContainsAny(text, "\"“”„«»‹›`\\＂「」『』") ||
		strings.HasPrefix(text, "'") || strings.HasPrefix(text, "‘") || strings.HasPrefix(text, "/")
}

// agreeing lists the emoji that do not change the meaning of the words beside them.
const agreeing = "👍👌✅✔☑🆗🙏👏🙌💪🤝👊✊🫡🫶👋😀😃😄😁😆😊🙂😉😍🥰🥳🤩😎🤗😇😺☺🎉🎊🥂🚀✨⭐🌟🔥💯⚡▶⏩❤♥🧡💛💚💙💜🤍"

// Lists holds the lists with which a page finds confirmations, cancellations and stops, as
// Classify does. All are in the form of Normalize.
type Lists struct {
	Confirm     []string          `json:"confirm"`     // whole messages
	Assent      []string          `json:"assent"`      // whole messages that are a bare yes
	Cancel      []string          `json:"cancel"`      // whole messages that cancel or stop
	Agree       []string          `json:"agree"`       // emoji that may stand beside a confirmation
	Polite      []string          `json:"polite"`      // may stand before or after a message of Cancel
	Hesitations []string          `json:"hesitations"` // words without meaning, at any position
	Slips       map[string]string `json:"slips"`       // mistyped words, with their correction
}

// Listed returns the lists of Classify.
func Listed() Lists {
	return Lists{
		Confirm: Words(Confirm), Assent: Words(Assent), Cancel: slices.Concat(Words(Cancel), Words(Stop)), Agree: strings.Split(agreeing, ""),
		Polite: polite, Hesitations: hesitations, Slips: slips,
	}
}

// nodding lists the emoji that mean yes without a word. The others may refer to the sentence
// before them.
const nodding = "👍👌"

// refusing lists the emoji that mean no without a word.
const refusing = "👎"

// classifyEmoji returns the intent of a message of only nodding, or only refusing, emoji.
func classifyEmoji(message string) Intent {
	result := Other
	for _, r := range message {
		meant := Other
		switch {
		case strings.ContainsRune(nodding, r):
			meant = Assent
		case strings.ContainsRune(refusing, r):
			meant = Refusal
		case unicode.IsSpace(r) || isSilent(r):
			continue
		}
		if meant == Other || result != Other && result != meant {
			return Other
		}
		result = meant
	}
	return result
}

// frown matches an emoticon that does not agree, or an empty check box.
var frown = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[:;=]['’-]?[(\[{/|]|\[\s*\]`) })

// contradicts reports an emoji or an emoticon that may doubt or revoke the words beside it: any
// emoji that is not known to agree, because a list of contradicting ones could never be
// complete.
func contradicts(message string) bool {
	if frown().MatchString(message) {
		return true
	}
	return strings.ContainsFunc(norm.NFKC.String(message), func(r rune) bool { return isEmoji(r) && !strings.ContainsRune(agreeing, r) })
}
