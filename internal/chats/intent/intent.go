// Package intent reads what a text means before anything acts on it. It owns
// two decisions, both pure functions of the text:
//
//   - Classify: does a person's message agree or refuse, and does it name what it
//     agrees to or refuses? The whole message must be on a closed list, as it is or
//     without hesitations, held keys and a few known slips of the fingers. The list is
//     closed because the cost is one-sided: a confirmation that was missed is a second
//     message, a confirmation that was imagined is an effect in the world.
//   - Poses: does a model's text pose as a plan, ask for a confirmation, or claim that
//     something was done, although no tool call is behind it?
//
// What must stay true: no message that holds a question, a negation, a
// quotation, a contradicting emoji or any word beyond the list agrees. What a bare
// yes or no is said to is not in the text: package turn asks what was said last.
package intent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Intent is what a person's whole message says, if it says no more than yes or no.
type Intent int

const (
	// Other is everything that is not on a list; it goes to the model.
	Other Intent = iota
	// Assent is a bare yes: it answers whatever was said last.
	Assent
	// Confirm is a yes that names the plan, confirming it or running it.
	Confirm
	// Refusal is a bare no: it answers whatever was said last.
	Refusal
	// Cancel is a no that names dropping the plan, or not doing it.
	Cancel
	// Stop tells what is going on to end.
	Stop
)

// String returns "other", "assent", "confirm", "refusal", "cancel" or "stop".
func (i Intent) String() string {
	return [...]string{"other", "assent", "confirm", "refusal", "cancel", "stop"}[i]
}

// Agrees reports a yes, bare or not.
func (i Intent) Agrees() bool { return i == Assent || i == Confirm }

// Refuses reports a no, bare or not, or a stop.
func (i Intent) Refuses() bool { return i == Refusal || i == Cancel || i == Stop }

// Named reports words that are about a plan or a run whatever was said last. Where
// there is neither, they are answered by saying so; a bare yes or no goes to the model.
func (i Intent) Named() bool { return i == Confirm || i == Cancel || i == Stop }

// Classify decides what message says. It never fails: text it cannot place,
// of whatever size or encoding, is Other.
func Classify(message string) Intent {
	if asks(message) || quotes(message) {
		return Other
	}
	text := Normalize(message)
	if text == "" {
		return gesture(message)
	}
	if kind := onList(text, message); kind != Other {
		return kind
	}
	return onList(repaired(text), message)
}

// onList is what the lists say of a message in normal form.
func onList(text, message string) Intent {
	if kind := yeses()[text]; kind != Other && !contradicts(message) {
		return kind
	}
	return cmp.Or(noes()[text], noes()[curt(text)])
}

// Words returns the normalised messages that say an intent, sorted.
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

// Lists are what a page needs to find the messages that name confirming, cancelling or
// stopping, as Classify does. All are in the form of Normalize.
type Lists struct {
	Confirm     []string          `json:"confirm"`     // whole messages
	Cancel      []string          `json:"cancel"`      // whole messages that cancel or stop
	Agree       []string          `json:"agree"`       // emoji that may stand beside a confirmation
	Polite      []string          `json:"polite"`      // may stand before or after a message of Cancel
	Hesitations []string          `json:"hesitations"` // words that say nothing, wherever they stand
	Slips       map[string]string `json:"slips"`       // words as fingers miss them, and the words that were meant
}

// Listed returns the lists of Classify.
func Listed() Lists {
	return Lists{
		Confirm: Words(Confirm), Cancel: slices.Concat(Words(Cancel), Words(Stop)), Agree: strings.Split(agreeing, ""),
		Polite: polite, Hesitations: hesitations, Slips: slips,
	}
}

// nodding are the emoji that say yes without a word. The others may as well be meant for
// the sentence above them.
const nodding = "👍👌"

// refusing is the emoji that says no without a word.
const refusing = "👎"

// gesture is what a message says that is nothing but nods, or nothing but refusals.
func gesture(message string) Intent {
	said := Other
	for _, r := range message {
		meant := Other
		switch {
		case strings.ContainsRune(nodding, r):
			meant = Assent
		case strings.ContainsRune(refusing, r):
			meant = Refusal
		case unicode.IsSpace(r) || silent(r):
			continue
		}
		if meant == Other || said != Other && said != meant {
			return Other
		}
		said = meant
	}
	return said
}

// frown is a face of letters that does not agree, or a box that nobody ticked.
var frown = regexp.MustCompile(`[:;=]['’-]?[(\[{/|]|\[\s*\]`)

// contradicts reports an emoji that may doubt or take back the words beside it:
// any that is not known to agree. A list of those that contradict would never be
// whole. So may what stood for emoji before there were any.
func contradicts(message string) bool {
	if frown.MatchString(message) {
		return true
	}
	return strings.ContainsFunc(norm.NFKC.String(message), func(r rune) bool { return emoji(r) && !strings.ContainsRune(agreeing, r) })
}
