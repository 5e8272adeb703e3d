package dynamodb

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"
)

// appendItem writes an item as JSON.
func appendItem(dst []byte, it item) []byte {
	dst = append(dst, '{')
	first := true
	for name, v := range it {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendString(dst, name)
		dst = append(dst, ':')
		dst = appendValue(dst, v)
	}
	return append(dst, '}')
}

// appendItems writes a list of items as JSON.
func appendItems(dst []byte, items []item) []byte {
	dst = append(dst, '[')
	for i, it := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendItem(dst, it)
	}
	return append(dst, ']')
}

func appendValue(dst []byte, v value) []byte {
	dst = append(dst, `{"`...)
	dst = append(dst, v.kind.String()...)
	dst = append(dst, `":`...)
	switch v.kind {
	case kindBool:
		dst = strconv.AppendBool(dst, v.bool)
	case kindNull:
		dst = append(dst, "true"...)
	case kindM:
		dst = appendItem(dst, v.m)
	case kindL, kindSS, kindNS, kindBS:
		dst = append(dst, '[')
		for i, e := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.kind == kindL {
				dst = appendValue(dst, e)
			} else {
				dst = appendScalar(dst, e)
			}
		}
		dst = append(dst, ']')
	default:
		dst = appendScalar(dst, v)
	}
	return append(dst, '}')
}

func appendScalar(dst []byte, v value) []byte {
	if v.kind == kindB {
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.s))
		return append(dst, '"')
	}
	return appendString(dst, v.s)
}

// appendString writes a JSON string. The text is valid UTF-8, because other text was refused
// before.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f || c >= utf8.RuneSelf {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendNode writes a parsed JSON value.
func appendNode(dst []byte, n *node) []byte {
	switch n.kind {
	case jsonBool:
		return strconv.AppendBool(dst, n.bool)
	case jsonNumber:
		return append(dst, n.str...)
	case jsonString:
		return appendString(dst, n.str)
	case jsonArray:
		dst = append(dst, '[')
		for i := range n.list {
			dst = appendNode(comma(dst, i), &n.list[i])
		}
		return append(dst, ']')
	case jsonObject:
		dst = append(dst, '{')
		for i := range n.fields {
			dst = appendString(comma(dst, i), n.fields[i].name)
			dst = append(dst, ':')
			dst = appendNode(dst, &n.fields[i].value)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}
