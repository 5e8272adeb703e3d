package tables

import (
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	notNumeric = "!ValidationException: The parameter cannot be converted to a numeric value"
	overflow   = "!ValidationException: Number overflow. Attempting to store a number with magnitude larger than supported range"
	underflow  = "!ValidationException: Number underflow. Attempting to store a number with magnitude smaller than supported range"
	tooPrecise = "!ValidationException: Attempting to store more than 38 significant digits in a Number"
)

var numbers = []struct{ in, want string }{
	{"0", "0"},
	{"-0", "0"},
	{"-0.000", "0"},
	{"0e125", "0"},
	{"00042", "42"},
	{"+5", "5"},
	{"1.0", "1"},
	{"1.5E2", "150"},
	{"0042.1200", "42.12"},
	{"-1.50", "-1.5"},
	{".5", "0.5"},
	{"5.", "5"},
	{"1e-7", "0.0000001"},
	{"123456789012345678901234567890.12345678", "123456789012345678901234567890.12345678"},
	{"12345678901234567890123456789012345678", "12345678901234567890123456789012345678"},
	{"1234567895171680000000000000000000000000", "1234567895171680000000000000000000000000"},
	{"1E125", "1" + strings.Repeat("0", 125)},
	{"9.9999999999999999999999999999999999999E+125", strings.Repeat("9", 38) + strings.Repeat("0", 88)},
	{"1E-130", "0." + strings.Repeat("0", 129) + "1"},
	{"-9.9999999999999999999999999999999999999E+125", "-" + strings.Repeat("9", 38) + strings.Repeat("0", 88)},
	{"123456789012345678901234567890123456789", tooPrecise},
	{"1.00000000000000000000000000000000000001", tooPrecise},
	{"1E126", overflow},
	{"-1E126", overflow},
	{"1e99999999999", overflow},
	{"1E-131", underflow},
	{"1e-99999999999", underflow},
	{"0e126", overflow}, // a zero's own exponent is checked too
	{"0e-131", underflow},
	{"1e9223372036854775808", notNumeric},
	{"", notNumeric},
	{"abc", notNumeric + ": abc"},
	{"1.2.3", notNumeric + ": 1.2.3"},
	{" 1", notNumeric + ":  1"},
	{"1 ", notNumeric + ": 1 "},
	{"0x10", notNumeric + ": 0x10"},
	{"1e", notNumeric + ": 1e"},
	{"NaN", notNumeric + ": NaN"},
	{"Infinity", notNumeric + ": Infinity"},
	{"1+2", notNumeric + ": 1+2"},
	{".", notNumeric + ": ."},
	{"-", notNumeric + ": -"},
}

func numberChecks() []Check {
	var out []Check
	for _, c := range numbers {
		out = append(out, check("number", fmt.Sprintf("%q", c.in), func(t *try) {
			pk := t.id()
			it := Key(pk, "")
			it["n"] = attributeN(c.in)
			_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: it})
			got := ""
			if err == nil {
				got = strings.TrimSuffix(strings.TrimPrefix(t.get("hash", pk, ""), `{"n":`), "}")
			}
			t.expect(Said(got, err), c.want)
		}))
	}
	return out
}

const invalidPV = "!ValidationException: One or more parameter values were invalid: "

// Items that are returned unchanged, or refused.
var items = []struct{ table, item, want string }{
	{"hash", `{"a":"é\n\"\\ \u0000 😀","b":true,"c":false,"d":null,"e":""}`, ""},
	{"hash", `{"a":{"$b":""},"b":{"$b":"AAECAwQ="},"c":{"$bs":["AAE=","Ag=="]}}`, ""},
	{"hash", `{"a":[],"b":{},"c":[[],{}],"d":{"x":{"y":[1,{"z":"deep"}]}}}`, ""},
	{"hash", `{"a":{"$ss":["a","b"]},"b":{"$ns":["1","2"]}}`, ""},
	{"hash", `{"a":{"$ss":["", "x"]}}`, ""},
	{"hash", `{"a":` + strings.Repeat(`{"m":`, 31) + `1` + strings.Repeat(`}`, 31) + `}`, ""},
	{"hash", `{"a":` + strings.Repeat(`[`, 31) + `1` + strings.Repeat(`]`, 31) + `}`, ""},
	{"hash", `{"a":` + strings.Repeat(`{"m":`, 32) + `1` + strings.Repeat(`}`, 32) + `}`, "!ValidationException: Nesting Levels have exceeded supported limits"},
	{"hash", `{"a":{"$ss":[]}}`, invalidPV + "An string set  may not be empty"},
	{"hash", `{"a":{"$ns":[]}}`, invalidPV + "An number set  may not be empty"},
	{"hash", `{"a":{"$bs":[]}}`, invalidPV + "Binary sets should not be empty"},
	{"hash", `{"a":{"$ss":["x","x"]}}`, invalidPV + "Input collection [x, x] contains duplicates."},
	{"hash", `{"a":{"$ns":["1","1.0"]}}`, "!ValidationException: Input collection contains duplicates"},
	{"hash", `{"a":{"$bs":["AA==","AA=="]}}`, invalidPV + "Input collection [AA==, AA==]of type BS contains duplicates."},
	{"hash", `{"a":{"$ns":["x"]}}`, notNumeric + ": x"},
	{"hash", `{"pk":1}`, invalidPV + "Type mismatch for key pk expected: S actual: N"},
	{"hash", `{"pk":["x"]}`, invalidPV + "Type mismatch for key pk expected: S actual: L"},
	{"hash", `{"pk":""}`, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
	{"range", `{"a":1}`, invalidPV + "Missing the key sk in the item"},
	{"range", `{"sk":1}`, invalidPV + "Type mismatch for key sk expected: S actual: N"},
	{"range", `{"sk":""}`, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk"},
	{"binary", `{"sk":{"$b":""}}`, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty binary value. Key: sk"},
	{"hash", `{"pk":"` + strings.Repeat("p", 2048) + `"}`, ""},
	{"hash", `{"pk":"` + strings.Repeat("p", 2049) + `"}`, invalidPV + "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
	{"range", `{"sk":"` + strings.Repeat("s", 1024) + `"}`, ""},
	{"range", `{"sk":"` + strings.Repeat("s", 1025) + `"}`, invalidPV + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"},
	{"indexed", `{"sk":"1","g":5}`, invalidPV + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all"},
	{"indexed", `{"sk":"1","g":""}`, "!ValidationException: One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: all, IndexKey: g"},
	{"indexed", `{"sk":"1","h":5}`, ""},
	{"hash", `{"":1}`, invalidPV},
	{"hash", `{"a":{"":1}}`, invalidPV},
	{"nowhere", `{"a":1}`, "!ResourceNotFoundException: Requested resource not found"},
}

func itemChecks() []Check {
	out := []Check{check("item", "sets come back in order", orderedSets)}
	for _, c := range items {
		out = append(out, check("item", c.table+" "+brief(c.item, ""), func(t *try) {
			it := Item(c.item)
			if it["pk"] == nil {
				it["pk"] = &types.AttributeValueMemberS{Value: t.id()}
			}
			_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table(c.table), Item: it})
			t.expect(Said("", err), c.want)
			if err != nil {
				return
			}
			k := map[string]types.AttributeValue{"pk": it["pk"]}
			if c.table != "hash" {
				k["sk"] = it["sk"]
			}
			out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table(c.table), Key: k})
			t.must(err)
			t.expect(Show(out.Item), Show(it))
		}))
	}
	return out
}

// orderedSets checks the order of sets that were written in any order.
func orderedSets(t *try) {
	pk := t.id()
	t.put("hash", pk, `{"s":{"$ss":["b","","a"]},"n":{"$ns":["10","-1","9"]}}`)
	_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
		TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text("ADD s :s, n :n"),
		ExpressionAttributeValues: Item(`{":s":{"$ss":["aa"]},":n":{"$ns":["2"]}}`),
	})
	t.must(err)
	out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table("hash"), Key: Key(pk, "")})
	t.must(err)
	s, _ := out.Item["s"].(*types.AttributeValueMemberSS)
	n, _ := out.Item["n"].(*types.AttributeValueMemberNS)
	if s == nil || n == nil {
		t.errorf("got %s", Show(out.Item))
		return
	}
	t.expect(fmt.Sprintf("%q %q", s.Value, n.Value), `["" "a" "aa" "b"] ["-1" "2" "9" "10"]`)
}

// sizeChecks: an item may have 409,600 bytes: names, values, and for numbers the bytes of their
// digits in pairs.
func sizeChecks() []Check {
	var out []Check
	for _, c := range []struct {
		number string
		cost   int
	}{
		{"0", 1}, {"1", 2}, {"12", 2}, {"123", 3}, {"-1", 3}, {"1E125", 2}, {"3.14159", 5}, {"123456", 4}, {"0.01", 2}, {"100.001", 5},
	} {
		out = append(out, check("item size", "of the number "+c.number, func(t *try) {
			pk := t.id()
			pad := 409_600 - len("pk") - len(pk) - len("n") - c.cost - len("p")
			for extra, want := range []string{"", "!ValidationException: Item size has exceeded the maximum allowed size"} {
				it := Key(pk, "")
				it["n"], it["p"] = attributeN(c.number), &types.AttributeValueMemberS{Value: strings.Repeat("x", pad+extra)}
				_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: it})
				t.expect(Said("", err), want)
			}
			_, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{TableName: t.table("hash"), Key: Key(pk, "")})
			t.must(err)
		}))
	}
	return out
}
