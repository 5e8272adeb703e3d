package dynamodb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestSuiteScan(t *testing.T) {
	e := shared()
	mark := id()
	for i := range 40 {
		e.put(t, "indexed", fmt.Sprint(mark, "-", i), fmt.Sprintf(`{"sk":"s","mark":"%s","i":%d,"g":"%s"}`, mark, i, mark))
	}
	scan := func(t *testing.T, limit int32, segment, segments int32, index *string) map[string]int {
		t.Helper()
		seen := map[string]int{}
		in := &sdk.ScanInput{
			TableName: e.table("indexed"), IndexName: index, FilterExpression: text("mark = :m"), ExpressionAttributeValues: item(`{":m":"` + mark + `"}`),
		}
		if index != nil {
			in.FilterExpression = text("g = :m")
		}
		if limit > 0 {
			in.Limit = aws.Int32(limit)
		}
		if segments > 0 {
			in.Segment, in.TotalSegments = aws.Int32(segment), aws.Int32(segments)
		}
		for {
			out, err := e.client.Scan(e.ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range out.Items {
				seen[it["pk"].(*types.AttributeValueMemberS).Value]++
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				return seen
			}
		}
	}
	once := func(t *testing.T, seen map[string]int) {
		t.Helper()
		if len(seen) != 40 {
			t.Errorf("saw %d of 40 items", len(seen))
		}
		for pk, n := range seen {
			if n != 1 {
				t.Errorf("%s came %d times", pk, n)
			}
		}
	}
	t.Run("whole", func(t *testing.T) { once(t, scan(t, 0, 0, 0, nil)) })
	t.Run("in pages", func(t *testing.T) { once(t, scan(t, 7, 0, 0, nil)) })
	t.Run("of an index", func(t *testing.T) { once(t, scan(t, 3, 0, 0, text("keys"))) })
	for _, segments := range []int32{1, 2, 3, 7, 1000} {
		t.Run(fmt.Sprintf("in %d segments", segments), func(t *testing.T) {
			all := map[string]int{}
			used := 0
			for s := range segments {
				part := scan(t, 4, s, segments, nil)
				if len(part) > 0 {
					used++
				}
				for pk, n := range part {
					all[pk] += n
				}
			}
			once(t, all)
			if segments == 2 && used != 2 {
				t.Error("all items are in one of two segments")
			}
		})
	}
}

func TestSuiteScanRefusals(t *testing.T) {
	e := shared()
	for name, c := range map[string]struct {
		in   *sdk.ScanInput
		want string
	}{
		"segment without total": {&sdk.ScanInput{Segment: aws.Int32(0)}, "!ValidationException: The TotalSegments parameter is required but was not present in the request when Segment parameter is present"},
		"total without segment": {&sdk.ScanInput{TotalSegments: aws.Int32(2)}, "!ValidationException: The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
		"segment beyond total":  {&sdk.ScanInput{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)}, "!ValidationException: The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less than TotalSegments: 2"},
		"values alone":          {&sdk.ScanInput{ExpressionAttributeValues: item(`{":v":1}`)}, "!ValidationException: ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"},
		"names alone":           {&sdk.ScanInput{ExpressionAttributeNames: names("#a=a")}, "!ValidationException: ExpressionAttributeNames can only be specified when using expressions"},
		"no values":             {&sdk.ScanInput{FilterExpression: text("a = b"), ExpressionAttributeValues: map[string]types.AttributeValue{}}, "!ValidationException: ExpressionAttributeValues must not be empty"},
		"bad value":             {&sdk.ScanInput{FilterExpression: text("a = :v"), ExpressionAttributeValues: item(`{":v":{"$n":"x"}}`)}, "!ValidationException: ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :v"},
		"bad placeholder":       {&sdk.ScanInput{FilterExpression: text("a = :v"), ExpressionAttributeValues: item(`{"v":1}`)}, `!ValidationException: ExpressionAttributeValues contains invalid key: Syntax error; key: "v"`},
		"bad name placeholder":  {&sdk.ScanInput{FilterExpression: text("a = b"), ExpressionAttributeNames: names("a=x")}, `!ValidationException: ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		"empty filter":          {&sdk.ScanInput{FilterExpression: aws.String("")}, "!ValidationException: Invalid FilterExpression: The expression can not be empty;"},
		"specific without any":  {&sdk.ScanInput{Select: types.SelectSpecificAttributes}, "!ValidationException: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"},
		"legacy":                {&sdk.ScanInput{AttributesToGet: []string{"a"}}, "!ValidationException: This engine does not support the legacy parameters {AttributesToGet}"},
		"bad start key":         {&sdk.ScanInput{ExclusiveStartKey: item(`{"pk":1}`)}, "!ValidationException: The provided starting key is invalid: The provided key element does not match the schema"},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.TableName = e.table("hash")
			_, err := e.client.Scan(e.ctx, c.in)
			expect(t, outcome("", err), c.want)
		})
	}
}

func TestSuiteProjections(t *testing.T) {
	e := shared()
	pk := id()
	e.put(t, "hash", pk, `{"a":1,"b":{"c":2,"d":{"e":3}},"l":[{"x":1,"y":2},"two",[3,4]],"status":"open"}`)
	for _, c := range []struct{ expression, names, want string }{
		{"a", "", `{"a":1}`},
		{"a, b.c", "", `{"a":1,"b":{"c":2}}`},
		{"b.d.e, b.c", "", `{"b":{"c":2,"d":{"e":3}}}`},
		{"l[1]", "", `{"l":["two"]}`},
		{"l[2][1], l[0].y", "", `{"l":[{"y":2},[4]]}`},
		{"#s, #b.#c", "#s=status #b=b #c=c", `{"b":{"c":2},"status":"open"}`},
		{"gone, b.gone, l[9], a.x, a[0]", "", "!ValidationException: Invalid ProjectionExpression: Two document paths conflict"},
		{"gone, b.gone, l[9], a.x", "", "{}"},
		{"pk", "", `{"pk":"PK"}`},
		{"a, a", "", "!ValidationException: Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"},
		{"b, b.c", "", "!ValidationException: Invalid ProjectionExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [b], path two: [b, c]"},
		{"status", "", "!ValidationException: Invalid ProjectionExpression: Attribute name is a reserved keyword; reserved keyword: status"},
		{"a,", "", `!ValidationException: Invalid ProjectionExpression: Syntax error; token: "<EOF>", near: ","`},
		{"!!!", "", `!ValidationException: Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"`},
		{"a b", "", `!ValidationException: Invalid ProjectionExpression: Syntax error; token: "b", near: "a b"`},
		{":v", "", `!ValidationException: Invalid ProjectionExpression: Syntax error; token: ":v", near: ":v"`},
		{"#x", "", "!ValidationException: Invalid ProjectionExpression: An expression attribute name used in the document path is not defined; attribute name: #x"},
		{"a", "#x=y", "!ValidationException: Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"},
		{"pk.x", "", "!ValidationException: Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"},
	} {
		t.Run(c.expression, func(t *testing.T) {
			out, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{
				TableName: e.table("hash"), Key: key(pk, ""), ProjectionExpression: &c.expression, ExpressionAttributeNames: names(c.names),
			})
			got := ""
			if err == nil {
				got = show(out.Item)
			}
			expect(t, strings.ReplaceAll(outcome(got, err), pk, "PK"), c.want)
		})
	}
}
