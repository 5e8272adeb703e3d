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

func (w words) group(digits string) string { return locale.Grouped(w.tag, digits) }

// usd formats micro-USD as dollars.
func (w words) usd(micros int64) string { return locale.USD(micros).In(w.tag) }

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
	return whole + locale.Point(w.tag) + decimals
}
