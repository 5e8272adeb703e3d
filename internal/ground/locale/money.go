package locale

import (
	"strconv"
	"strings"
)

// USD is an amount of money in micro-USD. It reads as people write it: 1,234.50 USD, or 1234,50 USD in Spanish.
type USD int64

// unit returns the smallest part of an amount that is written, in micro-USD.
func (m USD) unit() USD {
	switch {
	case m < 1_000:
		return 1
	case m < 100_000:
		return 100
	}
	return 10_000 // a cent
}

// Up returns the amount, rounded up to what is written of it.
func (m USD) Up() USD { return (m + m.unit() - 1) / m.unit() * m.unit() }

// In returns the amount to the cent, and a small one with as many digits as it needs.
func (m USD) In(tag Tag) string {
	sign := ""
	if m < 0 {
		sign, m = "−", -m
	}
	micros := int64((m + m.unit()/2) / m.unit() * m.unit())
	part := strings.TrimRight(strconv.FormatInt(1_000_000+micros%1_000_000, 10)[1:], "0")
	if len(part) < 2 {
		part = (part + "00")[:2]
	}
	return sign + Grouped(tag, strconv.FormatInt(micros/1_000_000, 10)) + Point(tag) + part + " USD"
}

// Point returns the sign of a language before the decimals.
func Point(tag Tag) string {
	if tag == Spanish {
		return ","
	}
	return "."
}

// Grouped writes digits with the sign of a language between the thousands. A sign before them is a minus, not a hyphen.
func Grouped(tag Tag, digits string) string {
	sign := ""
	if rest, below := strings.CutPrefix(digits, "-"); below {
		sign, digits = "−", rest
	}
	mark, least := ",", 4
	if tag == Spanish {
		mark, least = ".", 5 // four digits are not grouped
	}
	if len(digits) < least {
		return sign + digits
	}
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, parts...), mark)
}
