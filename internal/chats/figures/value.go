package figures

import (
	"math/big"
	"strconv"
	"strings"
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
	whole, fraction, _ := strings.Cut(decimal, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// hundredfold returns the values times 100, as far as they are whole: an amount in cents.
func hundredfold(values []string) []string { return scaled(values, big.NewRat(100, 1)) }

// hundredthOf returns the values divided by 100: what a percentage is.
func hundredthOf(values []string) []string { return scaled(values, big.NewRat(1, 100)) }

func scaled(values []string, by *big.Rat) []string {
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
