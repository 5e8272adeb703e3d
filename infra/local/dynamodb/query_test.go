package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The sort keys in the partition that each table's checks query, in order.
var partitions = map[string][]string{
	"range":  {`"a"`, `"a\u0000"`, `"a\u0000b"`, `"a\u0001"`, `"aa"`, `"ab"`, `"b"`, `"é"`, `"😀"`},
	"number": {"-1e100", "-20.5", "-20", "-2", "-0.5", "-1e-100", "0", "1e-100", "0.5", "2", "10", "10.5", "1e100"},
	"binary": {`{"$b":"AA=="}`, `{"$b":"AAA="}`, `{"$b":"AAE="}`, `{"$b":"AQ=="}`, `{"$b":"fw=="}`, `{"$b":"gA=="}`, `{"$b":"/w=="}`, `{"$b":"/wA="}`, `{"$b":"//8="}`},
}

type keyCheck struct {
	table, condition, values string
	want                     string // positions in the partition, or the failure
}

const invalidKC = "!ValidationException: Invalid KeyConditionExpression: "

var keyChecks = []keyCheck{
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

func TestSuiteKeyConditions(t *testing.T) {
	e := shared()
	pk := id()
	for table, sorts := range partitions {
		for i, sk := range sorts {
			e.put(t, table, pk, fmt.Sprintf(`{"sk":%s,"i":%d}`, numeral(sk), i))
		}
		e.put(t, table, pk+"x", fmt.Sprintf(`{"sk":%s}`, numeral(sorts[0]))) // a neighbour
	}
	for i, c := range keyChecks {
		for _, forward := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %s forward=%v", i, c.condition, forward), func(t *testing.T) {
				values := item(c.values)
				if values == nil {
					values = map[string]types.AttributeValue{}
				}
				if strings.Contains(c.condition, ":p") {
					values[":p"] = &types.AttributeValueMemberS{Value: pk}
				}
				out, err := e.client.Query(e.ctx, &sdk.QueryInput{
					TableName: e.table(c.table), KeyConditionExpression: &c.condition, ExpressionAttributeValues: values,
					ScanIndexForward: &forward,
				})
				got := ""
				if err == nil {
					got = positions(out.Items)
				}
				want := strings.Fields(c.want)
				if !forward && !strings.HasPrefix(c.want, "!") {
					slices.Reverse(want)
				}
				if strings.HasPrefix(c.want, "!") {
					expect(t, outcome(got, err), c.want)
					return
				}
				expect(t, outcome(got, err), strings.Join(want, " "))
			})
		}
	}
}

// numeral makes 1e100 a number that JSON notation keeps.
func numeral(s string) string {
	if strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "{") {
		return s
	}
	return `{"$n":"` + s + `"}`
}

// positions shows the attribute i of each item.
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

// Every page size, both ways, gives the same items once, and Limit counts what
// was looked at before the filter.
func TestSuitePaging(t *testing.T) {
	e := shared()
	for _, table := range []string{"range", "number", "binary"} {
		pk := id()
		for i, sk := range partitions[table] {
			e.put(t, table, pk, fmt.Sprintf(`{"sk":%s,"i":%d}`, numeral(sk), i))
		}
		n := len(partitions[table])
		for limit := 1; limit <= n+1; limit++ {
			for _, forward := range []bool{true, false} {
				var got []string
				var start map[string]types.AttributeValue
				pages := 0
				for {
					out, err := e.client.Query(e.ctx, &sdk.QueryInput{
						TableName: e.table(table), KeyConditionExpression: text("pk = :p"), FilterExpression: text("i <> :one"),
						ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: pk}, ":one": attributeN("1")},
						Limit:                     aws.Int32(int32(limit)), ExclusiveStartKey: start, ScanIndexForward: &forward,
					})
					if err != nil {
						t.Fatal(err)
					}
					if out.ScannedCount > int32(limit) || int(out.Count) != len(out.Items) {
						t.Errorf("limit %d looked at %d, count %d of %d", limit, out.ScannedCount, out.Count, len(out.Items))
					}
					got = append(got, strings.Fields(positions(out.Items))...)
					pages++
					if start = out.LastEvaluatedKey; start == nil {
						break
					}
				}
				if len(got) != n-1 || pages != n/limit+1 {
					t.Errorf("%s limit %d forward %v: %d pages, items %v", table, limit, forward, pages, got)
				}
			}
		}
	}
}

func attributeN(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// A page ends after 1 MB of items, whatever the filter leaves of them.
func TestSuitePageSize(t *testing.T) {
	e := shared()
	pk := id()
	for i := range 5 {
		e.put(t, "range", pk, fmt.Sprintf(`{"sk":"%d","i":%d,"x":"%s"}`, i, i, strings.Repeat("x", 300_000)))
	}
	out, err := e.client.Query(e.ctx, &sdk.QueryInput{
		TableName: e.table("range"), KeyConditionExpression: text("pk = :p"), FilterExpression: text("i = :i"), Select: types.SelectCount,
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: pk}, ":i": attributeN("4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.LastEvaluatedKey == nil || out.ScannedCount < 3 || out.ScannedCount > 4 || out.Count != 0 || out.Items != nil {
		t.Errorf("scanned %d, count %d, more %v; want a page of 1 MB", out.ScannedCount, out.Count, out.LastEvaluatedKey != nil)
	}
}

func TestSuiteQueryRefusals(t *testing.T) {
	e := shared()
	base := func() *sdk.QueryInput {
		return &sdk.QueryInput{TableName: e.table("indexed"), KeyConditionExpression: text("pk = :p"), ExpressionAttributeValues: item(`{":p":"p"}`)}
	}
	onIndex := func(name string) *sdk.QueryInput {
		in := base()
		in.IndexName, in.KeyConditionExpression = &name, text("g = :p")
		return in
	}
	with := func(in *sdk.QueryInput, change func(*sdk.QueryInput)) *sdk.QueryInput { change(in); return in }
	for name, c := range map[string]struct {
		in   *sdk.QueryInput
		want string
	}{
		"no condition": {with(base(), func(in *sdk.QueryInput) { in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil }), "!ValidationException: Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
		"limit 0":      {with(base(), func(in *sdk.QueryInput) { in.Limit = aws.Int32(0) }), "!ValidationException: 1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
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
		"short start key":    {with(base(), func(in *sdk.QueryInput) { in.ExclusiveStartKey = item(`{"pk":"p"}`) }), "!ValidationException: The provided starting key is invalid"},
		"start key of another partition": {
			with(base(), func(in *sdk.QueryInput) { in.ExclusiveStartKey = item(`{"pk":"q","sk":"1"}`) }),
			"!ValidationException: The provided starting key is outside query boundaries based on provided conditions",
		},
		"start key outside the range": {with(base(), func(in *sdk.QueryInput) {
			in.KeyConditionExpression, in.ExpressionAttributeValues = text("pk = :p AND sk > :s"), item(`{":p":"p",":s":"5"}`)
			in.ExclusiveStartKey = item(`{"pk":"p","sk":"1"}`)
		}), "!ValidationException: The provided starting key does not match the range key predicate"},
		"index start key without the table's": {with(onIndex("keys"), func(in *sdk.QueryInput) { in.ExclusiveStartKey = item(`{"g":"p"}`) }), "!ValidationException: The provided starting key is invalid"},
		"not projected":                       {with(onIndex("keys"), func(in *sdk.QueryInput) { in.ProjectionExpression = text("a") }), invalidPV + "Global secondary index keys does not project [a]"},
		"path into a key":                     {with(base(), func(in *sdk.QueryInput) { in.FilterExpression = text("g.x = :p") }), "!ValidationException: Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g"},
		"legacy":                              {&sdk.QueryInput{TableName: e.table("indexed"), KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{attributeN("1")}}}}, "!ValidationException: This engine does not support the legacy parameters {KeyConditions}"},
		"legacy mixed":                        {with(base(), func(in *sdk.QueryInput) { in.AttributesToGet = []string{"a"} }), "!ValidationException: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributesToGet} Expression parameters: {KeyConditionExpression}"},
		"count and projection":                {with(base(), func(in *sdk.QueryInput) { in.Select, in.ProjectionExpression = types.SelectCount, text("a") }), "!ValidationException: Cannot specify the ProjectionExpression when choosing to get only the Count"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.client.Query(e.ctx, c.in)
			expect(t, outcome("", err), c.want)
		})
	}
}

func TestSuiteIndexes(t *testing.T) {
	e := shared()
	g := id()
	rows := []string{
		`{"sk":"1","g":"G","h":3,"a":"x","b":"y","i":0}`,
		`{"sk":"2","g":"G","h":-1,"a":"x","b":"y","i":1}`,
		`{"sk":"3","g":"G","a":"x","i":2}`, // in "keys" and "some" only: all needs h
		`{"sk":"4","h":3,"i":3}`,           // in none
		`{"sk":"5","g":"other","h":1,"i":4}`,
	}
	for _, r := range rows {
		e.put(t, "indexed", g, strings.ReplaceAll(strings.ReplaceAll(r, `"G"`, `"`+g+`"`), `"other"`, `"`+g+`o"`))
	}
	query := func(index string) string {
		out, err := e.client.Query(e.ctx, &sdk.QueryInput{
			TableName: e.table("indexed"), IndexName: &index, KeyConditionExpression: text("g = :g"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":g": &types.AttributeValueMemberS{Value: g}},
		})
		if err != nil {
			return outcome("", err)
		}
		var shown []string
		for _, it := range out.Items {
			delete(it, "pk")
			delete(it, "g")
			shown = append(shown, show(it))
		}
		if index != "all" {
			slices.Sort(shown)
		}
		return strings.Join(shown, " ")
	}
	expect(t, query("all"), `{"a":"x","b":"y","h":-1,"i":1,"sk":"2"} {"a":"x","b":"y","h":3,"i":0,"sk":"1"}`)
	expect(t, query("keys"), `{"sk":"1"} {"sk":"2"} {"sk":"3"}`)
	expect(t, query("some"), `{"a":"x","sk":"1"} {"a":"x","sk":"2"} {"a":"x","sk":"3"}`)

	t.Run("an update moves the entry", func(t *testing.T) {
		if _, err := e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
			TableName: e.table("indexed"), Key: key(g, `{"sk":"2"}`), UpdateExpression: text("SET h = :h REMOVE b"), ExpressionAttributeValues: item(`{":h":7}`),
		}); err != nil {
			t.Fatal(err)
		}
		expect(t, query("all"), `{"a":"x","b":"y","h":3,"i":0,"sk":"1"} {"a":"x","h":7,"i":1,"sk":"2"}`)
	})
	t.Run("an attribute removed takes the entry along", func(t *testing.T) {
		if _, err := e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{TableName: e.table("indexed"), Key: key(g, `{"sk":"2"}`), UpdateExpression: text("REMOVE g")}); err != nil {
			t.Fatal(err)
		}
		expect(t, query("keys"), `{"sk":"1"} {"sk":"3"}`)
	})
	t.Run("a deleted item leaves no entry", func(t *testing.T) {
		if _, err := e.client.DeleteItem(e.ctx, &sdk.DeleteItemInput{TableName: e.table("indexed"), Key: key(g, `{"sk":"1"}`)}); err != nil {
			t.Fatal(err)
		}
		expect(t, query("all"), "")
		expect(t, query("keys"), `{"sk":"3"}`)
	})
	t.Run("an update to a wrong type is refused", func(t *testing.T) {
		_, err := e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
			TableName: e.table("indexed"), Key: key(g, `{"sk":"3"}`), UpdateExpression: text("SET g = :v"), ExpressionAttributeValues: item(`{":v":1}`),
		})
		expect(t, outcome("", err), invalidPV+"Type mismatch for Index Key g Expected: S Actual: N IndexName: all")
	})
	for expression, want := range map[string]string{
		"SET g = i":      "The update expression attempted to update the secondary index key to unsupported type",
		"SET g = :empty": "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.",
		"SET g = :large": "The update expression attempted to update the secondary index key beyond allowed size limits",
	} {
		t.Run(expression, func(t *testing.T) {
			_, err := e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
				TableName: e.table("indexed"), Key: key(g, `{"sk":"3"}`), UpdateExpression: &expression,
				ExpressionAttributeValues: map[string]map[string]types.AttributeValue{"SET g = :empty": item(`{":empty":""}`), "SET g = :large": item(`{":large":"` + strings.Repeat("x", 2049) + `"}`)}[expression],
			})
			expect(t, outcome("", err), "!ValidationException: "+want)
		})
	}
}

// Equal index keys are told apart by the table's, and paging needs both.
func TestSuiteIndexPaging(t *testing.T) {
	e := shared()
	g := id()
	for i := range 7 {
		e.put(t, "indexed", fmt.Sprint(g, i%3), fmt.Sprintf(`{"sk":"%d","g":"%s","h":%d,"i":%d}`, i, g, i%2, i))
	}
	for _, forward := range []bool{true, false} {
		seen := map[string]bool{}
		var start map[string]types.AttributeValue
		for {
			out, err := e.client.Query(e.ctx, &sdk.QueryInput{
				TableName: e.table("indexed"), IndexName: text("all"), KeyConditionExpression: text("g = :g AND h >= :h"), Limit: aws.Int32(2),
				ExpressionAttributeValues: item(`{":g":"` + g + `",":h":0}`), ExclusiveStartKey: start, ScanIndexForward: &forward,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range strings.Fields(positions(out.Items)) {
				if seen[i] {
					t.Errorf("item %s came twice", i)
				}
				seen[i] = true
			}
			if start = out.LastEvaluatedKey; start == nil {
				break
			}
			if len(start) != 4 {
				t.Fatalf("LastEvaluatedKey %s lacks a key", show(start))
			}
		}
		if len(seen) != 7 {
			t.Errorf("forward %v: saw %d of 7 items", forward, len(seen))
		}
	}
}
