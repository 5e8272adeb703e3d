package figures

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// valuesOf returns the values that a number may have, as it is written: a point or a comma may group, or begin the
// fraction.
func valuesOf(text string) []string {
	text = strings.NewReplacer("'", "", "’", "", "\u00a0", "", "\u202f", "", " ", "").Replace(text)
	point, comma := strings.LastIndexByte(text, '.'), strings.LastIndexByte(text, ',')
	switch {
	case point < 0 && comma < 0:
		return []string{canonical(text)}
	case point >= 0 && comma >= 0: // the last one begins the fraction
		group, mark := ",", "."
		if comma > point {
			group, mark = ".", ","
		}
		return []string{canonical(strings.Replace(strings.ReplaceAll(text, group, ""), mark, ".", 1))}
	}
	mark := text[max(point, comma)]
	sign := string(mark)
	whole, fraction, _ := strings.Cut(text, sign)
	grouped := canonical(strings.ReplaceAll(text, sign, ""))
	switch {
	case strings.Count(text, sign) > 1:
		return []string{grouped}
	case len(fraction) == 3 && len(whole) <= 3:
		return []string{grouped, canonical(whole + "." + fraction)}
	}
	return []string{canonical(whole + "." + fraction)}
}

// canonical returns a decimal number in one form: without zeros that say nothing.
func canonical(decimal string) string {
	if rest, negative := strings.CutPrefix(decimal, "-"); negative {
		return "-" + canonical(rest)
	}
	whole, fraction, _ := strings.Cut(decimal, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// scaled returns the values times a power of ten.
func scaled(values []string, power int) []string {
	by := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil))
	if power < 0 {
		by.Inv(by)
	}
	var list []string
	for _, v := range values {
		if r, ok := new(big.Rat).SetString(v); ok && len(v) < 40 {
			list = append(list, canonical(r.Mul(r, by).FloatString(8)))
		}
	}
	return list
}

// digitsOf returns the digits of a text alone.
func digitsOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// smallOf returns a number of at most four digits.
func smallOf(text string) (int, bool) {
	if len(text) > 4 {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// plain returns a text with the decimal digits of every script as 0 to 9, and with one sign for all hyphens. Bytes that
// are not UTF-8 become U+FFFD.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u2010' || r == '\u2011' {
			return '-'
		}
		if r < 0x80 || !unicode.IsDigit(r) {
			return r
		}
		for _, t := range unicode.Digit.R16 { // each range has the digits 0 to 9, once or several times
			if rune(t.Lo) <= r && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		for _, t := range unicode.Digit.R32 {
			if rune(t.Lo) <= r && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		return r
	}, text)
}

// deepest is how far JSON within texts of JSON is read.
const deepest = 3

// valuesIn returns the names and values of an object or a list of JSON, a line each; "" of any other text.
func valuesIn(text string, depth int) string {
	text = strings.TrimSpace(text)
	if text == "" || !strings.Contains(`{["`, text[:1]) || depth == deepest {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var root any
	if d.Decode(&root) != nil {
		return ""
	}
	if _, err := d.Token(); err != io.EOF {
		return ""
	}
	var b strings.Builder
	writeValues(&b, root, depth)
	return b.String()
}

func writeValues(b *strings.Builder, value any, depth int) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			writeValues(b, e, depth)
		}
		return
	case map[string]any:
		for name, e := range v {
			b.WriteString(name + "\n")
			writeValues(b, e, depth)
		}
		return
	case json.Number:
		b.WriteString(v.String())
	case string:
		b.WriteString(v)
		b.WriteString("\n" + valuesIn(v, depth+1))
	}
	b.WriteByte('\n')
}
