package dynamodb

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// itemOf reads a map of attribute values.
func itemOf(n *node) (item, error) {
	if n.given != nil {
		return n.given.item, n.given.err
	}
	switch n.kind {
	case jsonObject:
	case jsonArray:
		return nil, unreadable("Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	default:
		return nil, unreadable("Unexpected field type")
	}
	it := make(item, len(n.fields))
	for i := range n.fields {
		f := &n.fields[i]
		v, err := valueOf(&f.value)
		if err != nil {
			return nil, err
		}
		if err := checkAttributeName(f.name); err != nil {
			return nil, err
		}
		it[f.name] = v
	}
	return it, nil
}

func checkAttributeName(name string) error {
	if name == "" || len(name) > 64<<10-1 {
		return invalidValue("Attribute names must have at least 1 and at most 65535 bytes")
	}
	return nil
}

// valueOf reads one attribute value: its shape, then its content.
func valueOf(n *node) (value, error) {
	if n.given != nil {
		return n.given.value, n.given.err
	}
	if n.kind != jsonObject {
		return value{}, unreadable("Unexpected value type in payload")
	}
	var out value
	found := 0
	for i := range n.fields {
		f := &n.fields[i]
		k, known := kindOf(f.name)
		if !known || f.value.kind == jsonNull {
			continue
		}
		found++
		v, err := contentOf(k, &f.value)
		if err != nil {
			var shape shapeError
			if errors.As(err, &shape) {
				return value{}, unreadable("%s", shape)
			}
			return value{}, err
		}
		out = v
	}
	switch found {
	case 0:
		return value{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case 1:
		return out, nil
	default:
		return value{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
}

func contentOf(k kind, n *node) (value, error) {
	switch k {
	case kindS, kindN, kindB:
		return scalarOf(k, n)
	case kindBool, kindNull:
		if n.kind != jsonBool {
			return value{}, shapeError("Unexpected token received from parser")
		}
		if k == kindNull && !n.bool {
			return value{}, invalidValue("Null attribute value types must have the value of true")
		}
		return value{kind: k, bool: n.bool}, nil
	case kindM:
		m, err := itemOf(n)
		return value{kind: k, m: m}, err
	}
	if n.kind != jsonArray {
		if n.kind == jsonObject {
			return value{}, shapeError("Start of structure or map found where not expected")
		}
		return value{}, shapeError("Unexpected field type")
	}
	v := value{kind: k, list: make([]value, len(n.list))}
	for i := range n.list {
		var err error
		if k == kindL {
			v.list[i], err = valueOf(&n.list[i])
		} else {
			v.list[i], err = scalarOf(k.element(), &n.list[i])
		}
		if err != nil {
			return value{}, err
		}
	}
	if k == kindL {
		return v, nil
	}
	err := checkSet(v)
	v.sortSet()
	return v, err
}

// strictBase64 accepts exactly one encoding for every sequence of bytes.
var strictBase64 = base64.StdEncoding.Strict()

func scalarOf(k kind, n *node) (value, error) {
	if k == kindB {
		if n.kind != jsonString {
			return value{}, shapeError("only base-64-encoded strings are convertible to bytes")
		}
		if len(n.str)%4 != 0 {
			return value{}, shapeError(fmt.Sprintf("Base64 encoded length is expected a multiple of 4 bytes but found: %d", len(n.str)))
		}
		raw, err := strictBase64.DecodeString(n.str)
		if err != nil || strings.ContainsAny(n.str, "\r\n") { // the decoder would skip these characters
			return value{}, shapeError("Invalid last non-pad Base64 character dectected")
		}
		return value{kind: k, s: string(raw)}, nil
	}
	s, err := stringOf(n)
	if err != nil {
		return value{}, err
	}
	if k == kindN {
		num, err := parseNumber(s)
		if err != nil {
			return value{}, err
		}
		return numberValue(num), nil
	}
	return value{kind: k, s: s}, nil
}

func checkSet(v value) error {
	if len(v.list) == 0 {
		switch v.kind {
		case kindSS:
			return invalidValue("An string set  may not be empty")
		case kindNS:
			return invalidValue("An number set  may not be empty")
		default:
			return invalidValue("Binary sets should not be empty")
		}
	}
	if len(v.members()) == len(v.list) {
		return nil
	}
	shown := make([]string, len(v.list))
	for i, e := range v.list {
		shown[i] = e.s
		if v.kind == kindBS {
			shown[i] = base64.StdEncoding.EncodeToString([]byte(e.s))
		}
	}
	list := strings.Join(shown, ", ")
	switch v.kind {
	case kindSS:
		return invalidValue("Input collection [%s] contains duplicates.", list)
	case kindNS:
		return invalid("Input collection contains duplicates")
	default:
		return invalidValue("Input collection [%s]of type BS contains duplicates.", list)
	}
}
