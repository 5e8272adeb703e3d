package run

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
)

// cellOf returns a plain value as a person reads it: text on one line. Bytes and markup are named and never printed.
func cellOf(value json.RawMessage) locale.Phrase {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return locale.Verbatim("")
	}
	switch v := v.(type) {
	case bool:
		if v {
			return locale.Say("run.value_yes")
		}
		return locale.Say("run.value_no")
	case string:
		if unprinted := unprintedOf(v); unprinted != nil {
			return unprinted
		}
		return locale.Verbatim(escaped(oneLine(v)))
	case float64:
		return locale.Verbatim(oneLine(string(value))) // as it was written
	}
	return locale.Verbatim("")
}

// oneLine returns a text on one line, without control characters, cut to summaryText characters.
func oneLine(text string) string {
	return clip.Runes(clip.LineWithout(text, isControl), summaryText)
}

// escaped returns a text whose characters mean nothing in Markdown.
func escaped(text string) string {
	var b strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		within := i > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1])
		if strings.ContainsRune("\\`*[]<>|~", r) || r == '_' && !within {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

const (
	fewestEncoded = 80 // characters of a text that may be encoded bytes
	kilobyte      = 1024
)

var (
	dataURI  = lazy.Pattern(`^data:([a-zA-Z]+)/[^;,]*;base64,`)
	encoded  = lazy.Pattern(`^[A-Za-z0-9+/_-]+={0,2}$`)
	hexOnly  = lazy.Pattern(`^[0-9a-fA-F]+$`)
	anyTag   = lazy.Pattern(`<[a-zA-Z!/?][^<>]*>`)
	mediaKey = map[string]string{"image": "run.bytes_image", "audio": "run.bytes_audio", "video": "run.bytes_video"}
)

// beginnings are the first characters of encoded files of a kind.
var beginnings = []struct{ encoded, key string }{
	{"iVBORw0KGgo", "run.bytes_image"},
	{"/9j/", "run.bytes_image"},
	{"R0lGOD", "run.bytes_image"},
	{"UklGR", "run.bytes_image"},
	{"JVBERi0", "run.bytes_pdf"},
	{"UEsDB", "run.bytes_file"},
}

// isControl reports whether a character is neither shown nor white space.
func isControl(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }

// isBinary reports whether a text is bytes that were taken for text: more than one character of ten is a control
// character, or more than one of three was no UTF-8. Words of another encoding have fewer.
func isBinary(text string) bool {
	all, controls, invalid := 0, 0, 0
	for _, r := range text {
		all++
		switch {
		case isControl(r):
			controls++
		case r == utf8.RuneError:
			invalid++
		}
	}
	return controls*10 > all || invalid*3 > all
}

// unprintedOf names a text that is not for reading: bytes, encoded or not, or markup. It returns nil for any other.
func unprintedOf(text string) locale.Phrase {
	if isBinary(text) {
		return locale.Say("run.bytes_binary")
	}
	text = strings.TrimSpace(text)
	if m := dataURI().FindStringSubmatch(text); m != nil {
		key := mediaKey[strings.ToLower(m[1])]
		if key == "" {
			key = "run.bytes_file"
		}
		return sized(key, (len(text)-len(m[0]))*3/4)
	}
	packed := strings.NewReplacer("\n", "", "\r", "").Replace(text)
	if len(packed) >= fewestEncoded && encoded().MatchString(packed) && !hexOnly().MatchString(packed) {
		for _, b := range beginnings {
			if strings.HasPrefix(packed, b.encoded) {
				return sized(b.key, len(packed)*3/4)
			}
		}
		return sized("run.bytes_file", len(packed)*3/4)
	}
	if anyTag().MatchString(text) {
		return sized("run.bytes_markup", len(text))
	}
	return nil
}

// sized says how large something is.
func sized(key string, bytes int) locale.Phrase {
	if bytes < kilobyte {
		return locale.Say(key, "size", locale.Say("run.size_bytes", "n", bytes))
	}
	return locale.Say(key, "size", locale.Say("run.size_kb", "n", (bytes+kilobyte/2)/kilobyte))
}
