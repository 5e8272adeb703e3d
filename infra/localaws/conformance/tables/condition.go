package tables

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const conditionItem = `{
	"s":"hello", "n":5, "b":{"$b":"AAEC"}, "t":true, "z":null, "l":[1,"two",[3]], "m":{"a":1,"deep":{"x":"y"}},
	"ss":{"$ss":["a","b"]}, "ns":{"$ns":[1,2]}, "bs":{"$bs":["AA==","AQ=="]}, "n2":5, "big":12345678901234567890.5,
	"status":"open", "blank":"", "clef":"é𝄞"
}`

type conditionCheck struct {
	expression, names, values string
	want                      string // true, false, or the failure's message
}

const syntax = `Syntax error; token: `

// conditions are each tried as the condition of a write and as a filter of a query.
var conditions = []conditionCheck{
	// comparisons
	{"s = :v", "", `{":v":"hello"}`, "true"},
	{"s = :v", "", `{":v":"Hello"}`, "false"},
	{"n = :v", "", `{":v":{"$n":"5.0"}}`, "true"},
	{"n = :v", "", `{":v":"5"}`, "false"},
	{"n <> :v", "", `{":v":"5"}`, "true"},
	{"gone <> :v", "", `{":v":1}`, "true"},
	{"gone = :v", "", `{":v":1}`, "false"},
	{"n < :v", "", `{":v":6}`, "true"},
	{"n < :v", "", `{":v":5}`, "false"},
	{"n <= :v", "", `{":v":5}`, "true"},
	{"n > :v", "", `{":v":-6}`, "true"},
	{"n >= :v", "", `{":v":{"$n":"5.00000000000000000000000000000000001"}}`, "false"},
	{"big > :v", "", `{":v":{"$n":"12345678901234567890.4"}}`, "true"},
	{":v < n", "", `{":v":4}`, "true"},
	{"n < :v", "", `{":v":"6"}`, "false"},
	{"s < :v", "", `{":v":"hellp"}`, "true"},
	{"b < :v", "", `{":v":{"$b":"AAED"}}`, "true"},
	{"b > :v", "", `{":v":{"$b":"AAE="}}`, "true"},
	{"n = n2", "", "", "true"},
	{"n = s", "", "", "false"},
	{"gone = alsogone", "", "", "false"},
	{"l = :v", "", `{":v":[1,"two",[3]]}`, "true"},
	{"m = :v", "", `{":v":{"deep":{"x":"y"},"a":1}}`, "true"},
	{"ss = :v", "", `{":v":{"$ss":["b","a"]}}`, "true"},
	{"ss = :v", "", `{":v":{"$ss":["b"]}}`, "false"},
	{"t = :v", "", `{":v":true}`, "true"},
	{"z = :v", "", `{":v":null}`, "true"},
	{"blank = :v", "", `{":v":""}`, "true"},
	// paths
	{"m.a = :v", "", `{":v":1}`, "true"},
	{"m.deep.x = :v", "", `{":v":"y"}`, "true"},
	{"l[1] = :v", "", `{":v":"two"}`, "true"},
	{"l[2][0] = :v", "", `{":v":3}`, "true"},
	{"l[9] = :v", "", `{":v":3}`, "false"},
	{"#m.#d.x = :v", "#m=m #d=deep", `{":v":"y"}`, "true"},
	{"#st = :v", "#st=status", `{":v":"open"}`, "true"},
	{"attribute_exists(m.a.b)", "", "", "false"},
	{"attribute_exists(s[0])", "", "", "false"},
	// functions
	{"attribute_exists(s)", "", "", "true"},
	{"attribute_exists(gone)", "", "", "false"},
	{"attribute_not_exists(gone)", "", "", "true"},
	{"attribute_not_exists(m.deep)", "", "", "false"},
	{"attribute_exists(l[2])", "", "", "true"},
	{"attribute_type(s, :v)", "", `{":v":"S"}`, "true"},
	{"attribute_type(ss, :v)", "", `{":v":"SS"}`, "true"},
	{"attribute_type(z, :v)", "", `{":v":"NULL"}`, "true"},
	{"attribute_type(t, :v)", "", `{":v":"BOOL"}`, "true"},
	{"attribute_type(n, :v)", "", `{":v":"S"}`, "false"},
	{"begins_with(s, :v)", "", `{":v":"hel"}`, "true"},
	{"begins_with(s, :v)", "", `{":v":"el"}`, "false"},
	{"begins_with(b, :v)", "", `{":v":{"$b":"AAE="}}`, "true"},
	{"begins_with(n, :v)", "", `{":v":"5"}`, "false"},
	{"contains(s, :v)", "", `{":v":"ell"}`, "true"},
	{"contains(ss, :v)", "", `{":v":"a"}`, "true"},
	{"contains(ss, :v)", "", `{":v":"c"}`, "false"},
	{"contains(ns, :v)", "", `{":v":{"$n":"2.0"}}`, "true"},
	{"contains(bs, :v)", "", `{":v":{"$b":"AQ=="}}`, "true"},
	{"contains(b, :v)", "", `{":v":{"$b":"AQI="}}`, "true"},
	{"contains(l, :v)", "", `{":v":"two"}`, "true"},
	{"contains(l, :v)", "", `{":v":[3]}`, "true"},
	{"contains(l, :v)", "", `{":v":3}`, "false"},
	{"contains(s, :v)", "", `{":v":1}`, "false"},
	{"size(s) = :v", "", `{":v":5}`, "true"},
	{"size(b) = :v", "", `{":v":3}`, "true"},
	{"size(clef) = :v", "", `{":v":3}`, "true"}, // UTF-16 units, not bytes
	{"size(l) > :v", "", `{":v":2}`, "true"},
	{"size(m) = :v", "", `{":v":2}`, "true"},
	{"size(ss) BETWEEN :a AND :b", "", `{":a":1,":b":2}`, "true"},
	{"size(n) = :v", "", `{":v":1}`, "false"},
	{"size(gone) = :v", "", `{":v":0}`, "false"},
	{":v = size(blank)", "", `{":v":0}`, "true"},
	// BETWEEN, IN
	{"n BETWEEN :a AND :b", "", `{":a":5,":b":5}`, "true"},
	{"n BETWEEN :a AND :b", "", `{":a":6,":b":7}`, "false"},
	{"s between :a and :b", "", `{":a":"a","` + `:b":"i"}`, "true"},
	{"n IN (:a, :b)", "", `{":a":1,":b":5}`, "true"},
	{"n IN (:a)", "", `{":a":1}`, "false"},
	{"n IN (n2)", "", "", "true"},
	{"gone IN (:a)", "", `{":a":1}`, "false"},
	// AND, OR, NOT
	{"n = :v AND s = :w", "", `{":v":5,":w":"x"}`, "false"},
	{"n = :v OR s = :w", "", `{":v":5,":w":"x"}`, "true"},
	{"NOT n = :v", "", `{":v":5}`, "false"},
	{"NOT n = :v OR s = :w", "", `{":v":5,":w":"hello"}`, "true"},
	{"n = :x OR n = :v AND s = :w", "", `{":x":5,":v":1,":w":"x"}`, "true"},
	{"(n = :x OR n = :v) AND s = :w", "", `{":x":5,":v":1,":w":"x"}`, "false"},
	{"NOT (n = :v AND s = :w)", "", `{":v":5,":w":"x"}`, "true"},
	{"n BETWEEN :a AND :b AND s = :w", "", `{":a":1,":b":9,":w":"hello"}`, "true"},
	{"not attribute_exists(gone) and Attribute_Exists(s)", "", "", "Invalid function name; function: Attribute_Exists"},
	{"(n) = (:v)", "", `{":v":5}`, "true"},
	// refusals
	{"status = :v", "", `{":v":"open"}`, "Attribute name is a reserved keyword; reserved keyword: status"},
	{"m.Name = :v", "", `{":v":1}`, "Attribute name is a reserved keyword; reserved keyword: Name"},
	{"#x = :v", "", `{":v":1}`, "An expression attribute name used in the document path is not defined; attribute name: #x"},
	{"n = :x", "", `{":v":1}`, "An expression attribute value used in expression is not defined; attribute value: :x"},
	{"n = ", "", `{":v":1}`, syntax + `"<EOF>", near: "="`},
	{"n == :v", "", `{":v":1}`, syntax + `"=", near: "==`},
	{"n", "", `{":v":1}`, syntax + `"<EOF>", near: "n"`},
	{"n = :v AND", "", `{":v":1}`, syntax + `"<EOF>", near: "AND"`},
	{"n = :v)", "", `{":v":1}`, syntax + `")", near: ":v)"`},
	{"(n = :v", "", `{":v":1}`, syntax + `"<EOF>", near: ":v"`},
	{"n + n2 = :v", "", `{":v":1}`, syntax + `"+", near: "n + n2"`},
	{"n = !", "", `{":v":1}`, syntax + `"!", near: "= !"`},
	{"_n = :v", "", `{":v":1}`, syntax + `"_", near: "_n"`},
	{"n[-1] = :v", "", `{":v":1}`, syntax + `"-", near: "[-1"`},
	{"n = :v = :v", "", `{":v":1}`, syntax + `"=", near: ":v = :v"`},
	{"((n = :v))", "", `{":v":1}`, "The expression has redundant parentheses;"},
	{"nothing(n)", "", `{":v":1}`, "Invalid function name; function: nothing"},
	{"size(n)", "", `{":v":1}`, "The function is not allowed to be used this way in an expression; function: size"},
	{"contains(n)", "", `{":v":1}`, "Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1"},
	{"attribute_exists(:v)", "", `{":v":1}`, "Operator or function requires a document path; operator or function: attribute_exists"},
	{"begins_with(s, :v)", "", `{":v":1}`, "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
	{"attribute_type(s, :v)", "", `{":v":"X"}`, "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
	{"size(:v) = n", "", `{":v":1}`, "Incorrect operand type for operator or function; operator or function: size, operand type: N"},
	{"n < :v", "", `{":v":true}`, "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"},
	{"n BETWEEN :a AND :b", "", `{":a":7,":b":6}`, "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:7}, upper bound operand: AttributeValue: {N:6}"},
	{"n BETWEEN :a AND :b", "", `{":a":7,":b":"8"}`, "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {N:7}, upper bound operand: AttributeValue: {S:8}"},
	{"n = n", "", "", "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [n]"},
	{"contains(#a, #a)", "#a=l", "", "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [l]"},
	{"n IN (" + strings.TrimSuffix(strings.Repeat("n2, ", 101), ", ") + ")", "", "", "The IN operator is provided with too many operands; number of operands: 101"},
	{"s = :v OR " + strings.Repeat("s", 4096), "", `{":v":1}`, "Expression size has exceeded the maximum allowed size"},
	{"( ( ( size ( l )) < :v ) AND ( n > :w ) )", "", `{":v":4,":w":1}`, "true"},
	{strings.TrimSuffix(strings.Repeat("a=:v OR ", 151), " OR "), "", `{":v":1}`, "The expression contains too many operators; operator count: 301"},
	{strings.TrimSuffix(strings.Repeat("n=:v OR ", 150), " OR "), "", `{":v":5}`, "true"},
	{"(attribute_exists(s)) = :v", "", `{":v":true}`, "The function is not allowed to be used this way in an expression; function: attribute_exists"},
}

func conditionChecks() []Check {
	var out []Check
	for _, c := range conditions {
		name := brief(c.expression, c.values)
		out = append(out, check("condition", name, func(t *try) { t.conditional(c) }), check("filter", name, func(t *try) { t.filters(c) }))
	}
	return out
}

// brief names a check by its expression.
func brief(expression, values string) string {
	name := expression
	if values != "" {
		name += " " + values
	}
	if len(name) > 100 {
		name = fmt.Sprintf("%.90s… (%d bytes)", name, len(name))
	}
	return name
}

// conditionKey returns the key of the item that all conditions are tried on.
func (t *try) conditionKey() string {
	const pk = "conditions"
	t.must(t.once(pk, func() error {
		_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key(pk, conditionItem)})
		return err
	}))
	return pk
}

// conditional tries the condition on a write.
func (t *try) conditional(c conditionCheck) {
	_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
		TableName: t.table("hash"), Key: Key(t.conditionKey(), ""), ConditionExpression: &c.expression, UpdateExpression: text("REMOVE nothing"),
		ExpressionAttributeNames: names(c.names), ExpressionAttributeValues: Item(c.values),
	})
	want := c.want
	switch want {
	case "true":
	case "false":
		want = conditionFailed
	default:
		want = "!ValidationException: Invalid ConditionExpression: " + c.want
	}
	t.expect(Said("true", err), want)
}

const conditionFailed = "!ConditionalCheckFailedException: The conditional request failed"

// filters tries the condition as the filter of a query.
func (t *try) filters(c conditionCheck) {
	values := Key("", c.values)
	delete(values, "pk")
	values[":pk"] = &types.AttributeValueMemberS{Value: t.conditionKey()}
	out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
		TableName: t.table("hash"), KeyConditionExpression: aws.String("pk = :pk"), FilterExpression: &c.expression,
		ExpressionAttributeNames: names(c.names), ExpressionAttributeValues: values,
	})
	got := ""
	if err == nil {
		got = fmt.Sprint(out.Count == 1)
	}
	want := c.want
	if want != "true" && want != "false" {
		want = "!ValidationException: Invalid FilterExpression: " + want
	}
	t.expect(Said(got, err), want)
}
