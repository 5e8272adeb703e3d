package workspace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"piloto/internal/ground/fault"
)

// Limits of a name, in bytes.
const (
	maxSegment = 255
	maxName    = 1024
)

// Temporary begins the name of a file that an adapter is writing. A workspace has no file of such a name.
const Temporary = ".piloto-"

// The reasons why a name is refused: Inner["why"] of ErrName.
var (
	whyEmpty     = fault.Reason("workspace.name.empty")
	whyLong      = fault.Reason("workspace.name.long")
	whyUnicode   = fault.Reason("workspace.name.unicode")
	whyUnseen    = fault.Reason("workspace.name.unseen")
	whyAbsolute  = fault.Reason("workspace.name.absolute")
	whySegment   = fault.Reason("workspace.name.segment")
	whyBackslash = fault.Reason("workspace.name.backslash")
	whyPortable  = fault.Reason("workspace.name.portable")
	whyTemporary = fault.Reason("workspace.name.temporary")
	whyCase      = fault.Reason("workspace.name.case")
	whyFolder    = fault.Reason("workspace.name.folder")
	whyHidden    = fault.Reason("workspace.name.hidden")
	whyGit       = fault.Reason("workspace.name.git")
	whyOwn       = fault.Reason("workspace.name.own")
	whyStore     = fault.Reason("workspace.name.store")
)

// CheckName returns ErrName for a name that some system cannot hold, or would take for another one. A name has
// segments that are joined by "/". It is UTF-8 in the form NFC, and has at most 1,024 bytes, each segment at most 255.
func CheckName(name string) error {
	if why := whyNot(name); why != nil {
		return refuse(name, why)
	}
	return nil
}

// CheckLength returns ErrName for a name of more bytes than a store can hold.
func CheckLength(name string, most int) error {
	if len(name) <= most {
		return nil
	}
	return refuse(name, whyStore.With("max", strconv.Itoa(most)))
}

func refuse(name string, why *fault.Error) *fault.Error {
	return ErrName.With("name", Printable(name)).WithFault("why", why)
}

// Printable returns a name for a sentence. A character that is not seen is written as its code, and a long name is cut.
func Printable(name string) string {
	const most = 120 // characters
	var b strings.Builder
	n := 0
	for i, r := range name {
		if n++; n > most {
			return b.String() + "…"
		}
		_, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case unseen(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func whyNot(name string) *fault.Error {
	switch {
	case name == "":
		return whyEmpty
	case len(name) > maxName:
		return whyLong
	case !utf8.ValidString(name) || !norm.NFC.IsNormalString(name):
		return whyUnicode
	case strings.ContainsFunc(name, unseen):
		return whyUnseen
	case strings.Contains(name, `\`):
		return whyBackslash
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return whyAbsolute
	}
	for segment := range strings.SplitSeq(name, "/") {
		if why := whyNotSegment(segment); why != nil {
			return why
		}
	}
	return nil
}

func whyNotSegment(segment string) *fault.Error {
	switch {
	case segment == "" || segment == "." || segment == "..":
		return whySegment
	case len(segment) > maxSegment:
		return whyLong
	case strings.ContainsAny(segment, `:*?"<>|`) || strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ") || isDevice(segment):
		return whyPortable
	case strings.HasPrefix(Fold(segment), Temporary):
		return whyTemporary
	}
	return nil
}

// unseen reports whether a reader does not see a character: a control, a format (such as the direction of writing), a
// filler or a selector. Names that differ only by it cannot be distinguished.
func unseen(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r < ' ' || r == 0x7f
}

// devices are the names that Windows takes for devices, also with an extension.
var devices = map[string]bool{
	"con": true, "prn": true, "aux": true, "nul": true, "conin$": true, "conout$": true, "clock$": true,
}

func isDevice(segment string) bool {
	stem, _, _ := strings.Cut(segment, ".")
	stem = strings.ToLower(strings.TrimRight(stem, " "))
	if devices[stem] {
		return true
	}
	digit, isPort := strings.CutPrefix(stem, "com")
	if !isPort {
		digit, isPort = strings.CutPrefix(stem, "lpt")
	}
	return isPort && utf8.RuneCountInString(digit) == 1 && strings.Contains("0123456789¹²³", digit)
}

// Fold returns the same text for all names that a system may take for one, because it ignores upper and lower case.
func Fold(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(name))
		}
	}
	return strings.ToLower(name)
}

// CheckNew returns ErrName if a file of that name cannot be made beside another. It must not differ from the other by
// upper and lower case only, in any segment, because some systems take both for one. And a file cannot have the name
// of a folder.
func CheckNew(name, other string) error {
	rest, otherRest := name, other
	for rest != "" {
		mine, theirs := "", ""
		var deeper, otherDeeper bool
		mine, rest, deeper = strings.Cut(rest, "/")
		theirs, otherRest, otherDeeper = strings.Cut(otherRest, "/")
		switch {
		case mine != theirs && Fold(mine) != Fold(theirs):
			return nil
		case mine != theirs:
			return refuse(name, whyCase.With("other", Printable(other)))
		case deeper != otherDeeper:
			return refuse(name, whyFolder)
		}
	}
	return nil
}
