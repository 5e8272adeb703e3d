package webui

import (
	"encoding/json"
	"strconv"
	"strings"

	"piloto/internal/ground/locale"
)

// count formats a whole number with thousands separators.
func (w words) count(n any) string {
	switch n := n.(type) {
	case int:
		return w.group(strconv.Itoa(n))
	case int64:
		return w.group(strconv.FormatInt(n, 10))
	}
	return ""
}

func (w words) group(digits string) string {
	sign, digits := splitSign(digits)
	mark, least := ",", 4
	if w.tag == locale.Spanish {
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

// splitSign splits a number into its sign and digits. The sign is a minus and not a hyphen.
func splitSign(number string) (sign, digits string) {
	if digits, below := strings.CutPrefix(number, "-"); below {
		return "−", digits
	}
	return "", number
}

// usd formats micro-USD as dollars: to the cent, and a small amount with as many digits as it needs.
func (w words) usd(micros int64) string {
	sign := ""
	if micros < 0 {
		sign, micros = "−", -micros
	}
	least := int64(10_000) // a cent
	switch {
	case micros < 1_000:
		least = 1
	case micros < 100_000:
		least = 100
	}
	micros = (micros + least/2) / least * least
	part := strings.TrimRight(strconv.FormatInt(1_000_000+micros%1_000_000, 10)[1:], "0")
	if len(part) < 2 {
		part = (part + "00")[:2]
	}
	point := "."
	if w.tag == locale.Spanish {
		point = ","
	}
	return sign + w.group(strconv.FormatInt(micros/1_000_000, 10)) + point + part + " USD"
}

// amount formats a number with its sign.
func (w words) amount(n int64) string {
	if n > 0 {
		return "+" + w.count(n)
	}
	return w.count(n)
}

// dollars formats micro-USD as the value of a field; no limit is an empty value.
func dollars(micros int64) string {
	if micros == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64)
}

// marshal returns a value as JSON, for an attribute that the script reads.
func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// number writes a number as it is sent, with the sign of its language before the decimals. The digits of an amount are
// grouped, and those of another number, which may be an id, are not.
func (w words) number(digits, name string) string {
	whole, decimals, broken := strings.Cut(digits, ".")
	if strings.ContainsAny(digits, "eE") {
		return digits
	}
	if isMoney(name) {
		whole = w.group(whole)
	}
	if !broken {
		return whole
	}
	if w.tag == locale.Spanish {
		return whole + "," + decimals
	}
	return whole + "." + decimals
}
