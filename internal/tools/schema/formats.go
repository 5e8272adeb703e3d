package schema

import (
	"encoding/json"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// formats are the checks of the formats that are checked. Each accepts values of other types.
var formats = map[string]func(v any) bool{
	"date":      onText(func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }),
	"date-time": onText(func(s string) bool { _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); return err == nil }),
	"uuid":      onText(isUUID),
	"email":     onText(func(s string) bool { _, err := mail.ParseAddress("<" + s + ">"); return err == nil }),
	"ipv4":      onText(func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }),
	"ipv6":      onText(func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() }),
	"int32":     onNumber(32),
	"int64":     onNumber(64),
}

func onText(check func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || check(s)
	}
}

// isUUID reports whether a text is hexadecimal digits in groups of 8, 4, 4, 4 and 12.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f'):
			return false
		}
	}
	return true
}

// onNumber checks that a plainly written integer fits into bits. 1e3 and 1.0 are left to the type.
func onNumber(bits int) func(any) bool {
	return func(v any) bool {
		n, ok := v.(json.Number)
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			return true
		}
		_, err := strconv.ParseInt(n.String(), 10, bits)
		return err == nil
	}
}
