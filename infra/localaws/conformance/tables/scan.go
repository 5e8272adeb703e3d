package tables

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func scanChecks() []Check {
	out := refusals("scan", scanRefusals, func(t *try, in *sdk.ScanInput) string {
		in.TableName = t.table("hash")
		_, err := t.Client.Scan(t.ctx, in)
		return Said("", err)
	})
	for name, s := range map[string]scanOptions{
		"whole": {}, "in pages": {limit: 7}, "of an index, in pages": {limit: 3, index: text("keys")},
		"in 1 segment": {segments: 1}, "in 2 segments": {segments: 2, limit: 4}, "in 3 segments": {segments: 3, limit: 4},
		"in 7 segments": {segments: 7, limit: 4}, "in 100 segments": {segments: 100, limit: 4},
	} {
		out = append(out, check("scan", "gives each item once: "+name, func(t *try) { t.scansOnce(s) }))
	}
	return out
}

// scanOptions is one way to read the whole table.
type scanOptions struct {
	limit, segments int32
	index           *string
}

func (t *try) scansOnce(s scanOptions) {
	const n = 40
	mark := t.id()
	for i := range n {
		t.put("indexed", fmt.Sprint(mark, "-", i), fmt.Sprintf(`{"sk":"s","mark":"%s","i":%d,"g":"%s"}`, mark, i, mark))
	}
	seen := map[string]int{}
	used := 0
	for segment := range max(1, s.segments) {
		before := len(seen)
		t.scanInto(seen, mark, s, segment)
		if len(seen) > before {
			used++
		}
	}
	if len(seen) != n {
		t.errorf("saw %d of %d items", len(seen), n)
	}
	for pk, times := range seen {
		if times != 1 {
			t.errorf("%s came %d times", pk, times)
		}
	}
	if s.segments > 1 && used < 2 {
		t.errorf("all items are in one of %d segments", s.segments)
	}
}

func (t *try) scanInto(seen map[string]int, mark string, s scanOptions, segment int32) {
	in := &sdk.ScanInput{
		TableName: t.table("indexed"), IndexName: s.index, FilterExpression: text("mark = :m"), ExpressionAttributeValues: Item(`{":m":"` + mark + `"}`),
	}
	if s.index != nil {
		in.FilterExpression = text("begins_with(pk, :m)")
		in.ExpressionAttributeValues = Item(`{":m":"` + mark + `-"}`)
	}
	if s.limit > 0 {
		in.Limit = &s.limit
	}
	if s.segments > 0 {
		in.Segment, in.TotalSegments = &segment, &s.segments
	}
	for {
		out, err := t.Client.Scan(t.ctx, in)
		t.must(err)
		for _, it := range out.Items {
			pk, _ := it["pk"].(*types.AttributeValueMemberS)
			seen[pk.Value]++
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return
		}
	}
}

func scanRefusals(*try) map[string]refusal[*sdk.ScanInput] {
	return map[string]refusal[*sdk.ScanInput]{
		"segment without total": {&sdk.ScanInput{Segment: aws.Int32(0)}, "!ValidationException: The TotalSegments parameter is required but was not present in the request when Segment parameter is present"},
		"total without segment": {&sdk.ScanInput{TotalSegments: aws.Int32(2)}, "!ValidationException: The Segment parameter is required but was not present in the request when parameter TotalSegments is present"},
		"segment beyond total":  {&sdk.ScanInput{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)}, "!ValidationException: The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 2 is not less than TotalSegments: 2"},
		"values alone":          {&sdk.ScanInput{ExpressionAttributeValues: Item(`{":v":1}`)}, "!ValidationException: ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null"},
		"names alone":           {&sdk.ScanInput{ExpressionAttributeNames: names("#a=a")}, "!ValidationException: ExpressionAttributeNames can only be specified when using expressions"},
		"no values":             {&sdk.ScanInput{FilterExpression: text("a = b"), ExpressionAttributeValues: map[string]types.AttributeValue{}}, "!ValidationException: ExpressionAttributeValues must not be empty"},
		"bad value":             {&sdk.ScanInput{FilterExpression: text("a = :v"), ExpressionAttributeValues: Item(`{":v":{"$n":"x"}}`)}, "!ValidationException: ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :v"},
		"bad placeholder":       {&sdk.ScanInput{FilterExpression: text("a = :v"), ExpressionAttributeValues: Item(`{"v":1}`)}, `!ValidationException: ExpressionAttributeValues contains invalid key: Syntax error; key: "v"`},
		"bad name placeholder":  {&sdk.ScanInput{FilterExpression: text("a = b"), ExpressionAttributeNames: names("a=x")}, `!ValidationException: ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`},
		"empty filter":          {&sdk.ScanInput{FilterExpression: aws.String("")}, "!ValidationException: Invalid FilterExpression: The expression can not be empty;"},
		"specific without any":  {&sdk.ScanInput{Select: types.SelectSpecificAttributes}, "!ValidationException: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"},
		"bad start key":         {&sdk.ScanInput{ExclusiveStartKey: Item(`{"pk":1}`)}, "!ValidationException: The provided starting key is invalid: The provided key element does not match the schema"},
	}
}

func projectionChecks() []Check {
	const seed = `{"a":1,"b":{"c":2,"d":{"e":3}},"l":[{"x":1,"y":2},"two",[3,4]],"status":"open"}`
	var out []Check
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
		out = append(out, check("projection", c.expression+" "+c.names, func(t *try) {
			pk := t.id()
			t.put("hash", pk, seed)
			out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{
				TableName: t.table("hash"), Key: Key(pk, ""), ProjectionExpression: &c.expression, ExpressionAttributeNames: names(c.names),
			})
			got := ""
			if err == nil {
				got = Show(out.Item)
			}
			t.expect(strings.ReplaceAll(Said(got, err), pk, "PK"), c.want)
		}))
	}
	return out
}
