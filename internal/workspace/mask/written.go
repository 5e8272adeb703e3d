package mask

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/lazy"
	"piloto/internal/workspace"
)

// mark finds a mask, also one of which a part is missing. like finds the placeholders that people and programs write for a
// secret: a word that says so, in brackets or as a value, and signs.
var (
	mark = lazy.Pattern(`(?i)\[\s*redacted\b\s*\]?|\bredacted\s*\]`)
	like = lazy.Pattern(`(?im)[\[(<{*_«]\s*(?:` + removed + `|existing|existente|same as)(?:\b|_)[^\])>}*_»\n]{0,20}[\])>}*_»]|[:=>"'@]\s*(?:` + removed + `)\s*(?:["'<,;)\]}@#]|$)` +
		`|\*{3,}|x{4,}|[•●∙·]{2,}|[█▓▒░▮■]{2,}|[:=>"']\s*(?:\.{3,}|_{4,}|-{4,}|#{4,}|\?{3,})`)
)

const removed = `redacted|redactad[oa]|masked|enmascarad[oa]|censored|censurad[oa]|sanitized|scrubbed|` +
	`filtered|hidden|ocult(?:ad)?[oa]|omitted|omitid[oa]|removed|eliminad[oa]|suprimid[oa]|withheld|elided|stripped|concealed|obfuscated|unchanged`

// spellings are other ways to write the brackets of a mask, and letters that look like those of its word.
var spellings = strings.NewReplacer(
	`\[`, "[", `\]`, "]", "%5B", "[", "%5b", "[", "%5D", "]", "%5d", "]", `\u005b`, "[", `\u005B`, "[", `\u005d`, "]", `\u005D`, "]", `\x5b`, "[", `\x5d`, "]",
	"&#91;", "[", "&#93;", "]", "&lsqb;", "[", "&rsqb;", "]", "&lbrack;", "[", "&rbrack;", "]", "[[:space:]]", "",
	"【", "[", "】", "]", "〔", "[", "〕", "]", "⟦", "[", "⟧", "]", "❲", "[", "❳", "]", "⁅", "[", "⁆", "]",
	"е", "e", "а", "a", "с", "c", "ԁ", "d", "т", "t",
)

// plainly returns a text with other spellings of a mask written as the mask is. Its lines stay.
func plainly(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		text = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Mn) || r == '\u3164' || r == '\uFFA0' || r == '\u115F' {
				return -1 // it is not seen, or only with the letter before it
			}
			return r
		}, norm.NFKD.String(text))
	}
	return spellings.Replace(text)
}

// quotes are the characters that a shell drops inside a word.
var quotes = strings.NewReplacer(`"`, "", "'", "", `\`, "")

// In reports whether a text has a mask, or a part of one.
func In(text string) bool { return hasMark(plainly(text)) }

// hasMark is In for a text that is plainly written. A word is found much faster than a pattern, and files are large.
func hasMark(text string) bool {
	return strings.Contains(strings.ToLower(text), "redacted") && mark().MatchString(text)
}

// longestAlike is the longest line in which something other than a mask is taken for one, in bytes.
const longestAlike = 64 << 10

// InCommand reports whether a line for a shell has a mask, also one in which quotes stand.
func InCommand(line string) bool { return In(line) || In(quotes.Replace(plainly(line))) }

// Like reports whether a text has a mask or a placeholder.
func Like(text string) bool {
	text = plainly(text)
	return hasMark(text) || isAlike(text)
}

// isAlike reports whether a text has a placeholder. Its signs are found much faster than the pattern, and files are large.
func isAlike(text string) bool {
	low := strings.ToLower(text)
	return strings.Contains(low, "redacted") || (strings.ContainsAny(text, alikeSigns) || strings.Contains(low, "xxxx")) && like().MatchString(text)
}

// alikeSigns has a sign of each text that like finds, but for its letters.
const alikeSigns = `[(<{*_«:=>"'@•●∙·█▓▒░▮■`

// Harms reports whether a file would lose a secret for a mask when it has another content. anew says that the content was
// written as a whole; otherwise it is a change of v.Text, which keeps each secret.
//
// In a file that has secrets, each line with a mask must be there already, and a content that is written anew has no new
// placeholder. In any other file a mask is ordinary text, except in settings, where one as the value of a secret was copied
// from a masked file. The secrets themselves change nothing, because a refusal would reveal them.
func (v Veil) Harms(is []byte, anew bool) bool {
	if v.shown.Names(v.name) {
		return false
	}
	was := v.content
	if anew {
		was = v.Text
	}
	before, after := newLines(was), lines([]byte(plainly(string(is))))
	fresh := map[int]bool{} // lines that are not there yet
	marked, alike := false, false
	for i, line := range after {
		if before[line]--; before[line] < 0 {
			fresh[i] = true
			marked = marked || hasMark(line)
			alike = alike || anew && len(line) <= longestAlike && isAlike(line)
		}
	}
	if v.Secrets > 0 {
		return marked || alike
	}
	return marked && standsForSecret(v.shown, v.name, after, fresh)
}

// newLines returns how often each line of a content is there.
func newLines(content []byte) map[string]int {
	all := map[string]int{}
	for _, line := range lines([]byte(plainly(string(content)))) {
		all[line]++
	}
	return all
}

// sampleSecret is one that each rule takes for a secret.
const sampleSecret = "Zk4481aaQ9x7Rr2T5vB8"

// standsForSecret reports whether a mask of a fresh line is where a file of settings has a secret.
func standsForSecret(shown workspace.Shown, name string, all []string, fresh map[int]bool) bool {
	if !isSettings(name) && shown.Secrets(name) == workspace.NoSecrets {
		return false
	}
	for i := range all {
		if fresh[i] {
			all[i] = mark().ReplaceAllLiteralString(all[i], sampleSecret)
		}
	}
	return hasSample(shown, name, strings.Join(all, "\n"))
}

// hasSample reports whether a text has the sample where it is a secret.
func hasSample(shown workspace.Shown, name, text string) bool {
	safe, _ := Content(shown, name, []byte(text))
	return strings.Count(string(safe), sampleSecret) < strings.Count(text, sampleSecret)
}

// Stands reports whether a mask of a file is where it has a secret.
func Stands(shown workspace.Shown, name string, content []byte) bool {
	return !shown.Names(name) && In(string(content)) &&
		hasSample(shown, name, mark().ReplaceAllLiteralString(plainly(string(content)), sampleSecret))
}

// Lost reports whether a content with masks has one of a file's secrets no more.
func Lost(secrets []Secret, content []byte) bool {
	if len(secrets) == 0 || !In(string(content)) {
		return false
	}
	now := newLines(content)
	return slices.ContainsFunc(secrets, func(s Secret) bool {
		stays := func(value string) bool { return strings.Contains(string(content), value) }
		return now[s.line] == 0 && (now[s.masked] > 0 || !slices.ContainsFunc(s.values, stays))
	})
}

// Restored returns the content of a file in which each mask of a line that had a secret is that secret again. It is not ok if
// the secret is ambiguous: another line has the same mask, and the text between the masks changed. The secrets stay masked: a
// model reads the result as it reads the content.
func Restored(shown workspace.Shown, name string, secrets []Secret, content []byte) (whole []byte, ok bool) {
	whole, ok = Filled(secrets, content)
	is, _ := Content(shown, name, whole)
	safe, _ := Content(shown, name, content) // new text may be a secret, too
	return whole, ok && !bytes.Equal(whole, content) && bytes.Equal(is, safe) && !Lost(secrets, whole) && !Stands(shown, name, whole)
}

// Filled is Restored for lines that nothing else masks where they are: they are copies of secrets.
func Filled(secrets []Secret, content []byte) (whole []byte, ok bool) {
	of, order := map[string]string{}, []string{}
	several := false
	for _, s := range secrets {
		if was, known := of[s.masked]; known && was != s.line {
			several = true
		}
		if !strings.Contains(s.masked, Mark) { // a line of a longer secret
			return nil, false
		}
		of[s.masked] = s.line
		order = append(order, s.masked)
	}
	all := strings.Split(string(content), "\n")
	var found []int
	var masks []string
	for i, line := range all {
		if text := strings.TrimSpace(line); of[text] != "" {
			found, masks = append(found, i), append(masks, text)
		}
	}
	if several && !slices.Equal(masks, order) {
		return nil, false
	}
	from := 0
	for n, i := range found {
		since := joined(all[from : i+1])
		if from = i + 1; several && since != secrets[n].since && (n > 0 || !strings.HasSuffix(since, "\n"+secrets[0].since)) {
			return nil, false
		}
		line := of[masks[n]]
		if several {
			line = secrets[n].line
		}
		all[i] = strings.Replace(all[i], masks[n], line, 1)
	}
	return []byte(strings.Join(all, "\n")), true
}
