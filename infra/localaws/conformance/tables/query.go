package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// partitions holds the sort keys in the partition that each table's checks query, in order.
var partitions = map[string][]string{
	"range":  {`"a"`, `"a\u0000"`, `"a\u0000b"`, `"a\u0001"`, `"aa"`, `"ab"`, `"b"`, `"é"`, `"😀"`},
	"number": {"-1e100", "-20.5", "-20", "-2", "-0.5", "-1e-100", "0", "1e-100", "0.5", "2", "10", "10.5", "1e100"},
	"binary": {`{"$b":"AA=="}`, `{"$b":"AAA="}`, `{"$b":"AAE="}`, `{"$b":"AQ=="}`, `{"$b":"fw=="}`, `{"$b":"gA=="}`, `{"$b":"/w=="}`, `{"$b":"/wA="}`, `{"$b":"//8="}`},
}

type keyTry struct {
	table, condition, values string
	want                     string // positions in the partition, or the failure
}

const invalidKC = "!ValidationException: Invalid KeyConditionExpression: "

var keyTries = []keyTry{
	{"range", "pk = :p", "", "0 1 2 3 4 5 6 7 8"},
	{"range", ":p = pk", "", "0 1 2 3 4 5 6 7 8"},
	{"range", "pk = :p AND sk = :v", `{":v":"aa"}`, "4"},
	{"range", "sk = :v AND pk = :p", `{":v":"aa"}`, "4"},
	{"range", "(pk = :p) AND (sk = :v)", `{":v":"aa"}`, "4"},
	{"range", "pk = :p AND sk < :v", `{":v":"aa"}`, "0 1 2 3"},
	{"range", "pk = :p AND sk <= :v", `{":v":"aa"}`, "0 1 2 3 4"},
	{"range", "pk = :p AND sk > :v", `{":v":"aa"}`, "5 6 7 8"},
	{"range", "pk = :p AND :v < sk", `{":v":"aa"}`, "5 6 7 8"},
	{"range", "pk = :p AND sk >= :v", `{":v":"aa"}`, "4 5 6 7 8"},
	{"range", "pk = :p AND sk BETWEEN :v AND :w", `{":v":"a",":w":"ab"}`, "0 1 2 3 4 5"},
	{"range", "pk = :p AND begins_with(sk, :v)", `{":v":"a"}`, "0 1 2 3 4 5"},
	{"range", "pk = :p AND begins_with(sk, :v)", `{":v":"a\u0000"}`, "1 2"},
	{"range", "pk = :p AND begins_with(sk, :v)", `{":v":"zzz"}`, ""},
	{"range", "pk = :p AND sk = :v", `{":v":"gone"}`, ""},
	{"number", "pk = :p", "", "0 1 2 3 4 5 6 7 8 9 10 11 12"},
	{"number", "pk = :p AND sk = :v", `{":v":{"$n":"10.50"}}`, "11"},
	{"number", "pk = :p AND sk < :v", `{":v":0}`, "0 1 2 3 4 5"},
	{"number", "pk = :p AND sk > :v", `{":v":-2}`, "4 5 6 7 8 9 10 11 12"},
	{"number", "pk = :p AND sk >= :v", `{":v":10}`, "10 11 12"},
	{"number", "pk = :p AND sk BETWEEN :v AND :w", `{":v":-20,":w":2}`, "2 3 4 5 6 7 8 9"},
	{"binary", "pk = :p", "", "0 1 2 3 4 5 6 7 8"},
	{"binary", "pk = :p AND sk > :v", `{":v":{"$b":"fw=="}}`, "5 6 7 8"},
	{"binary", "pk = :p AND begins_with(sk, :v)", `{":v":{"$b":"/w=="}}`, "6 7 8"},
	{"binary", "pk = :p AND begins_with(sk, :v)", `{":v":{"$b":"AA=="}}`, "0 1 2"},

	{"range", "sk = :v", `{":v":"a"}`, "!ValidationException: Query condition missed key schema element: pk"},
	{"range", "pk = :p AND a = :v", `{":v":"a"}`, "!ValidationException: Query condition missed key schema element: sk"},
	{"range", "pk > :p", "", "!ValidationException: Query key condition not supported"},
	{"range", "pk = :p OR sk = :v", `{":v":"a"}`, "!ValidationException: Invalid operator used in KeyConditionExpression: OR"},
	{"range", "pk = :p AND NOT sk = :v", `{":v":"a"}`, "!ValidationException: Invalid operator used in KeyConditionExpression: NOT"},
	{"range", "pk = :p AND sk <> :v", `{":v":"a"}`, "!ValidationException: Invalid operator used in KeyConditionExpression: <>"},
	{"range", "pk = :p AND sk IN (:v)", `{":v":"a"}`, "!ValidationException: Invalid operator used in KeyConditionExpression: IN"},
	{"range", "pk = :p AND contains(sk, :v)", `{":v":"a"}`, "!ValidationException: Invalid operator used in KeyConditionExpression: contains"},
	{"range", "pk = :p AND sk > :v AND sk < :w", `{":v":"a",":w":"b"}`, invalidKC + "KeyConditionExpressions must only contain one condition per key"},
	{"range", "pk = :p AND sk > :v AND a = :w", `{":v":"a",":w":"b"}`, "!ValidationException: The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"},
	{"range", "pk = :p AND sk = :v", `{":v":1}`, invalidPV + "Condition parameter type does not match schema type"},
	{"number", "pk = :p AND begins_with(sk, :v)", `{":v":"a"}`, invalidPV + "Condition parameter type does not match schema type"},
	{"number", "pk = :p AND begins_with(sk, :v)", `{":v":1}`, invalidKC + "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
	{"number", "pk = :p AND sk < :v", `{":v":true}`, invalidKC + "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL"},
	{"range", "pk = :p AND sk = :v", `{":v":""}`, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk"},
	{"range", "pk = :p AND", "", invalidKC + `Syntax error; token: "<EOF>", near: "AND"`},
	{"range", "pk = :p AND sk = :gone", "", invalidKC + "An expression attribute value used in expression is not defined; attribute value: :gone"},
	{"range", "pk = :p AND m.sk = :v", `{":v":"a"}`, "!ValidationException: KeyConditionExpressions cannot have conditions on nested attributes"},
	{"nowhere", "pk = :p", "", "!ResourceNotFoundException: Requested resource not found"},
}

func queryChecks() []Check {
	out := refusals("query", queryRefusals, func(t *try, in *sdk.QueryInput) string {
		_, err := t.Client.Query(t.ctx, in)
		return Said("", err)
	})
	for _, c := range keyTries {
		for _, forward := range []bool{true, false} {
			name := c.table + ": " + c.condition + " " + c.values
			if !forward {
				name += " backwards"
			}
			out = append(out, check("query", name, func(t *try) { t.queries(c, forward) }))
		}
	}
	return out
}

// partition returns the key of the partition with the table's sort keys.
func (t *try) partition(table string) string {
	const pk = "partition"
	t.must(t.once(pk+table, func() error {
		for i, sk := range partitions[table] {
			for _, it := range []map[string]types.AttributeValue{
				Key(pk, fmt.Sprintf(`{"sk":%s,"i":%d}`, numeral(sk), i)), Key(pk+"x", fmt.Sprintf(`{"sk":%s}`, numeral(sk))), // a neighbour
			} {
				if _, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table(table), Item: it}); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	return pk
}

func (t *try) queries(c keyTry, forward bool) {
	pk := t.partition(c.table)
	values := Item(c.values)
	if values == nil {
		values = map[string]types.AttributeValue{}
	}
	if strings.Contains(c.condition, ":p") {
		values[":p"] = &types.AttributeValueMemberS{Value: pk}
	}
	out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
		TableName: t.table(c.table), KeyConditionExpression: &c.condition, ExpressionAttributeValues: values, ScanIndexForward: &forward,
	})
	got := ""
	if err == nil {
		got = positions(out.Items)
	}
	want := c.want
	if !forward && !strings.HasPrefix(c.want, "!") {
		list := strings.Fields(c.want)
		slices.Reverse(list)
		want = strings.Join(list, " ")
	}
	t.expect(Said(got, err), want)
}

// numeral writes 1e100 as a number that JSON notation keeps.
func numeral(s string) string {
	if strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "{") {
		return s
	}
	return `{"$n":"` + s + `"}`
}

// positions returns the attribute i of each item.
func positions(items []map[string]types.AttributeValue) string {
	var out []string
	for _, it := range items {
		n, ok := it["i"].(*types.AttributeValueMemberN)
		if !ok {
			out = append(out, "?")
			continue
		}
		out = append(out, n.Value)
	}
	return strings.Join(out, " ")
}

func queryRefusals(t *try) map[string]refusal[*sdk.QueryInput] {
	base := func() *sdk.QueryInput {
		return &sdk.QueryInput{TableName: t.table("indexed"), KeyConditionExpression: text("pk = :p"), ExpressionAttributeValues: Item(`{":p":"p"}`)}
	}
	onIndex := func(name string) *sdk.QueryInput {
		in := base()
		in.IndexName, in.KeyConditionExpression = &name, text("g = :p")
		return in
	}
	with := func(in *sdk.QueryInput, change func(*sdk.QueryInput)) *sdk.QueryInput { change(in); return in }
	return map[string]refusal[*sdk.QueryInput]{
		"no condition": {with(base(), func(in *sdk.QueryInput) { in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil }), "!ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
		"key too large": {with(base(), func(in *sdk.QueryInput) {
			in.ExpressionAttributeValues = Item(`{":p":"` + strings.Repeat("a", 2049) + `"}`)
		}), invalidPV + "Size of hashkey has exceeded the maximum size limit of2048 bytes"},
		"limit 0": {with(base(), func(in *sdk.QueryInput) { in.Limit = aws.Int32(0) }), "!ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		"filter on key": {
			with(base(), func(in *sdk.QueryInput) { in.FilterExpression = text("sk = :p") }),
			"!ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
		},
		"filter on the index's key": {
			with(onIndex("all"), func(in *sdk.QueryInput) { in.FilterExpression = text("h = :p") }),
			"!ValidationException: Filter Expression can only contain non-primary key attributes: Primary key attribute: h",
		},
		"unknown index":      {onIndex("nope"), "!ValidationException: The table does not have the specified index: nope"},
		"consistent index":   {with(onIndex("all"), func(in *sdk.QueryInput) { in.ConsistentRead = aws.Bool(true) }), "!ValidationException: Consistent reads are not supported on global secondary indexes"},
		"all of keys only":   {with(onIndex("keys"), func(in *sdk.QueryInput) { in.Select = types.SelectAllAttributes }), invalidPV + "Select type ALL_ATTRIBUTES is not supported for global secondary index keys because its projection type is not ALL"},
		"projected of table": {with(base(), func(in *sdk.QueryInput) { in.Select = types.SelectAllProjectedAttributes }), "!ValidationException: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"},
		"short start key":    {with(base(), func(in *sdk.QueryInput) { in.ExclusiveStartKey = Item(`{"pk":"p"}`) }), "!ValidationException: The provided starting key is invalid"},
		"start key of another partition": {
			with(base(), func(in *sdk.QueryInput) { in.ExclusiveStartKey = Item(`{"pk":"q","sk":"1"}`) }),
			"!ValidationException: The provided starting key is outside query boundaries based on provided conditions",
		},
		"start key outside the range": {with(base(), func(in *sdk.QueryInput) {
			in.KeyConditionExpression, in.ExpressionAttributeValues = text("pk = :p AND sk > :s"), Item(`{":p":"p",":s":"5"}`)
			in.ExclusiveStartKey = Item(`{"pk":"p","sk":"1"}`)
		}), "!ValidationException: The provided starting key does not match the range key predicate"},
		"index start key without the table's": {with(onIndex("keys"), func(in *sdk.QueryInput) { in.ExclusiveStartKey = Item(`{"g":"p"}`) }), "!ValidationException: The provided starting key is invalid"},
		"not projected":                       {with(onIndex("keys"), func(in *sdk.QueryInput) { in.ProjectionExpression = text("a") }), invalidPV + "Global secondary index keys does not project [a]"},
		"path into a key":                     {with(base(), func(in *sdk.QueryInput) { in.FilterExpression = text("g.x = :p") }), "!ValidationException: Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g"},
		"legacy mixed":                        {with(base(), func(in *sdk.QueryInput) { in.AttributesToGet = []string{"a"} }), "!ValidationException: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {KeyConditionExpression}"},
		"count and projection":                {with(base(), func(in *sdk.QueryInput) { in.Select, in.ProjectionExpression = types.SelectCount, text("a") }), "!ValidationException: Cannot specify the ProjectionExpression when choosing to get only the Count"},
	}
}
