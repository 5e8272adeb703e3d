package webui

import (
	"encoding/json"
	"strconv"
	"strings"

	"piloto/internal/ground/locale"
)

// count writes a whole number with its thousands apart.
func (w words) count(n any) string {
	switch n := n.(type) {
	case int:
		return w.grouped(strconv.Itoa(n))
	case int64:
		return w.grouped(strconv.FormatInt(n, 10))
	}
	return ""
}

func (w words) grouped(digits string) string {
	sign, digits := cut(digits)
	mark, least := ",", 4
	if w.tag == locale.Spanish {
		mark, least = ".", 5 // four digits stay together
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

// cut parts a number from its sign, which is written as a minus and no hyphen.
func cut(number string) (sign, digits string) {
	if digits, below := strings.CutPrefix(number, "-"); below {
		return "−", digits
	}
	return "", number
}

// usd writes micro-USD as dollars: to the cent, and of what is next to nothing as
// many digits as it takes to show it.
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
	return sign + w.grouped(strconv.FormatInt(micros/1_000_000, 10)) + point + part + " USD"
}

// amount is a number with its sign, for what is added and taken.
func (w words) amount(n int64) string {
	if n > 0 {
		return "+" + w.count(n)
	}
	return w.count(n)
}

// dollars is micro-USD as the value of a field; no limit is an empty one.
func dollars(micros int64) string {
	if micros == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64)
}

// marshal is a value for the script, in an attribute.
func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
