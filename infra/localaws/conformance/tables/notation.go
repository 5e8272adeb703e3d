package tables

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// plainTable has a partition key pk of texts.
func plainTable(name *string) *sdk.CreateTableInput {
	return &sdk.CreateTableInput{
		TableName: name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{definition("pk", "S")},
		KeySchema:            []types.KeySchemaElement{element("pk", "HASH")},
	}
}

// Indexed returns a table with the key (pk S, sk S) and three indexes: all (g S, h N; ALL), keys (g
// S; KEYS_ONLY) and some (g S; INCLUDE a).
func Indexed(name string) *sdk.CreateTableInput {
	gsi := func(name string, p types.ProjectionType, include []string, keys ...types.KeySchemaElement) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: keys, Projection: &types.Projection{ProjectionType: p, NonKeyAttributes: include}}
	}
	return &sdk.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{definition("pk", "S"), definition("sk", "S"), definition("g", "S"), definition("h", "N")},
		KeySchema:            []types.KeySchemaElement{element("pk", "HASH"), element("sk", "RANGE")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			gsi("all", types.ProjectionTypeAll, nil, element("g", "HASH"), element("h", "RANGE")),
			gsi("keys", types.ProjectionTypeKeysOnly, nil, element("g", "HASH")),
			gsi("some", types.ProjectionTypeInclude, []string{"a"}, element("g", "HASH")),
		},
	}
}

func definition(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
}

func element(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kind}
}

// Item reads an item written as JSON: text is S, a number N, true BOOL, null NULL, an array L, an
// object M; {"$ss":[…]}, {"$ns":[…]}, {"$bs":[…]} are sets and {"$b":"base64"} a binary. Numbers
// may be text too: {"$n":"1e3"}. "" is no item. It panics on any other text, because its texts are
// constants of checks.
func Item(text string) map[string]types.AttributeValue {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	out := map[string]types.AttributeValue{}
	for name, v := range m {
		out[name] = attribute(v)
	}
	return out
}

func attribute(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}
	case json.Number:
		return &types.AttributeValueMemberN{Value: v.String()}
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}
	case []any:
		l := []types.AttributeValue{}
		for _, e := range v {
			l = append(l, attribute(e))
		}
		return &types.AttributeValueMemberL{Value: l}
	case map[string]any:
		return taggedValue(v)
	default:
		return &types.AttributeValueMemberNULL{Value: true}
	}
}

func taggedValue(v map[string]any) types.AttributeValue {
	texts := func(v any) []string {
		out := []string{}
		for _, e := range v.([]any) {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	raw := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			panic(err)
		}
		return b
	}
	for name, inner := range v {
		switch name {
		case "$n":
			return &types.AttributeValueMemberN{Value: inner.(string)}
		case "$b":
			return &types.AttributeValueMemberB{Value: raw(inner.(string))}
		case "$ss":
			return &types.AttributeValueMemberSS{Value: texts(inner)}
		case "$ns":
			return &types.AttributeValueMemberNS{Value: texts(inner)}
		case "$bs":
			var out [][]byte
			for _, s := range texts(inner) {
				out = append(out, raw(s))
			}
			return &types.AttributeValueMemberBS{Value: out}
		}
	}
	m := map[string]types.AttributeValue{}
	for name, inner := range v {
		m[name] = attribute(inner)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// Show is the reverse of Item: the same notation, with names in order. Sets are in the order of
// their text.
func Show(it map[string]types.AttributeValue) string {
	if it == nil {
		return ""
	}
	m := map[string]any{}
	for name, v := range it {
		m[name] = plain(v)
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return map[string]any{"$b": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		l := []any{}
		for _, e := range v.Value {
			l = append(l, plain(e))
		}
		return l
	case *types.AttributeValueMemberM:
		m := map[string]any{}
		for name, e := range v.Value {
			m[name] = plain(e)
		}
		return m
	case *types.AttributeValueMemberSS:
		return map[string]any{"$ss": inOrder(v.Value)}
	case *types.AttributeValueMemberNS:
		return map[string]any{"$ns": inOrder(v.Value)}
	case *types.AttributeValueMemberBS:
		var texts []string
		for _, b := range v.Value {
			texts = append(texts, base64.StdEncoding.EncodeToString(b))
		}
		return map[string]any{"$bs": inOrder(texts)}
	default:
		return nil
	}
}

// names reads "#a=status #b=x".
func names(text string) map[string]string {
	if text == "" {
		return nil
	}
	out := map[string]string{}
	for _, pair := range strings.Fields(text) {
		placeholder, name, _ := strings.Cut(pair, "=")
		out[placeholder] = name
	}
	return out
}

// text returns nil for "", so that an expression is absent.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func inOrder(texts []string) []string {
	out := slices.Clone(texts)
	slices.Sort(out)
	return out
}

// Key returns a key with that partition key and the other attributes of text.
func Key(pk, rest string) map[string]types.AttributeValue {
	if rest == "" {
		rest = "{}"
	}
	k := Item(rest)
	k["pk"] = &types.AttributeValueMemberS{Value: pk}
	return k
}

func attributeN(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
