package dynamodb

import (
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// validText returns s, in which each byte that is not UTF-8 is U+FFFD, as the SDK's client writes it.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// itemFrom reads an item of the SDK. Its faults are those of itemOf.
func itemFrom(it map[string]types.AttributeValue) (item, error) {
	out := make(item, len(it))
	for name, v := range it {
		if v == nil {
			continue // the SDK's client leaves it out
		}
		read, err := valueFrom(v)
		if err != nil {
			return nil, err
		}
		if err := checkAttributeName(name); err != nil {
			return nil, err
		}
		out[validText(name)] = read
	}
	return out, nil
}

// valueFrom reads an attribute value of the SDK. Its faults are those of valueOf.
func valueFrom(v types.AttributeValue) (value, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return value{kind: kindS, s: validText(v.Value)}, nil
	case *types.AttributeValueMemberN:
		return numberFrom(v.Value)
	case *types.AttributeValueMemberB:
		return value{kind: kindB, s: string(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return value{kind: kindBool, bool: v.Value}, nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return value{}, invalidValue("Null attribute value types must have the value of true")
		}
		return value{kind: kindNull, bool: true}, nil
	case *types.AttributeValueMemberM:
		m, err := itemFrom(v.Value)
		return value{kind: kindM, m: m}, err
	case *types.AttributeValueMemberL:
		return listFrom(v.Value)
	case *types.AttributeValueMemberSS:
		return setFrom(kindSS, v.Value, func(s string) (value, error) { return value{kind: kindS, s: validText(s)}, nil })
	case *types.AttributeValueMemberNS:
		return setFrom(kindNS, v.Value, numberFrom)
	case *types.AttributeValueMemberBS:
		return setFrom(kindBS, v.Value, func(b []byte) (value, error) { return value{kind: kindB, s: string(b)}, nil })
	default:
		return value{}, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
}

func numberFrom(text string) (value, error) {
	n, err := parseNumber(text)
	if err != nil {
		return value{}, err
	}
	return numberValue(n), nil
}

func listFrom(list []types.AttributeValue) (value, error) {
	out := value{kind: kindL, list: make([]value, 0, len(list))}
	for _, e := range list {
		read, err := valueFrom(e)
		if err != nil {
			return value{}, err
		}
		out.list = append(out.list, read)
	}
	return out, nil
}

func setFrom[E any](k kind, elements []E, read func(E) (value, error)) (value, error) {
	out := value{kind: k, list: make([]value, len(elements))}
	for i, e := range elements {
		var err error
		if out.list[i], err = read(e); err != nil {
			return value{}, err
		}
	}
	err := checkSet(out)
	out.sortSet()
	return out, err
}

func sdkItems(items []item) []map[string]types.AttributeValue {
	list := make([]map[string]types.AttributeValue, len(items))
	for i, it := range items {
		list[i] = sdkItem(it)
	}
	return list
}

// sdkItem returns an item as the SDK has it.
func sdkItem(it item) map[string]types.AttributeValue {
	out := make(map[string]types.AttributeValue, len(it))
	for name, v := range it {
		out[name] = sdkValue(v)
	}
	return out
}

func sdkValue(v value) types.AttributeValue {
	switch v.kind {
	case kindS:
		return &types.AttributeValueMemberS{Value: v.s}
	case kindN:
		return &types.AttributeValueMemberN{Value: v.s}
	case kindB:
		return &types.AttributeValueMemberB{Value: []byte(v.s)}
	case kindBool:
		return &types.AttributeValueMemberBOOL{Value: v.bool}
	case kindNull:
		return &types.AttributeValueMemberNULL{Value: true}
	case kindM:
		return &types.AttributeValueMemberM{Value: sdkItem(v.m)}
	case kindL:
		list := make([]types.AttributeValue, len(v.list))
		for i, e := range v.list {
			list[i] = sdkValue(e)
		}
		return &types.AttributeValueMemberL{Value: list}
	case kindSS:
		return &types.AttributeValueMemberSS{Value: texts(v)}
	case kindNS:
		return &types.AttributeValueMemberNS{Value: texts(v)}
	default:
		list := make([][]byte, len(v.list))
		for i, e := range v.list {
			list[i] = []byte(e.s)
		}
		return &types.AttributeValueMemberBS{Value: list}
	}
}

func texts(set value) []string {
	list := make([]string, 0, len(set.list))
	for _, e := range set.list {
		list = append(list, e.s)
	}
	return list
}
