package tables

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func batchChecks() []Check {
	return append(append(refusals("batch write", batchWriteRefusals, func(t *try, in map[string][]types.WriteRequest) string {
		_, err := t.Client.BatchWriteItem(t.ctx, &sdk.BatchWriteItemInput{RequestItems: in})
		return Said("", err)
	}), refusals("batch get", batchGetRefusals, func(t *try, in map[string]types.KeysAndAttributes) string {
		_, err := t.Client.BatchGetItem(t.ctx, &sdk.BatchGetItemInput{RequestItems: in})
		return Said("", err)
	})...),
		check("batch write", "puts and deletes together", batchWrites),
		check("batch write", "a refused batch writes nothing", func(t *try) {
			pk := t.id()
			_, err := t.Client.BatchWriteItem(t.ctx, &sdk.BatchWriteItemInput{RequestItems: t.requests("hash", putRequest(`{"pk":"`+pk+`"}`), putRequest(`{"pk":1}`))})
			t.expect(Said("", err), "!ValidationException: ")
			t.expect(t.get("hash", pk, ""), "")
		}),
		check("batch get", "from several tables, each in its own way", batchGets),
		check("batch get", "answers at most 16 MB and gives the rest back", boundedBatch),
	)
}

func (t *try) requests(table string, list ...types.WriteRequest) map[string][]types.WriteRequest {
	return map[string][]types.WriteRequest{*t.table(table): list}
}

func putRequest(it string) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: Item(it)}}
}

func deleteRequest(k string) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: Item(k)}}
}

func batchWrites(t *try) {
	a, b := t.id(), t.id()
	t.put("hash", b, `{"x":1}`)
	out, err := t.Client.BatchWriteItem(t.ctx, &sdk.BatchWriteItemInput{RequestItems: t.requests("hash", putRequest(`{"pk":"`+a+`","x":2}`), deleteRequest(`{"pk":"`+b+`"}`))})
	t.must(err)
	if len(out.UnprocessedItems) != 0 {
		t.errorf("unprocessed: %v", out.UnprocessedItems)
	}
	t.expect(t.get("hash", a, ""), `{"x":2}`)
	t.expect(t.get("hash", b, ""), "")
}

func batchWriteRefusals(t *try) map[string]refusal[map[string][]types.WriteRequest] {
	var many []types.WriteRequest
	for i := range 26 {
		many = append(many, putRequest(fmt.Sprintf(`{"pk":"%d"}`, i)))
	}
	half := map[string][]types.WriteRequest{*t.table("hash"): many[:13], *t.table("range"): nil}
	for i := range 13 {
		half[*t.table("range")] = append(half[*t.table("range")], putRequest(fmt.Sprintf(`{"pk":"%d","sk":"s"}`, i)))
	}
	fresh := t.id()
	const mismatch = "!ValidationException: The provided key element does not match the schema"
	return map[string]refusal[map[string][]types.WriteRequest]{
		"26 of one table":    {t.requests("hash", many...), "!ValidationException: 1 validation error detected: Value '{"},
		"26 of two":          {half, "!ValidationException: Too many items requested for the BatchWriteItem call"},
		"none":               {map[string][]types.WriteRequest{}, "!ValidationException: The requestItems parameter is required for BatchWriteItem"},
		"none of a table":    {t.requests("hash"), "!ValidationException: 1 validation error detected: Value '{" + *t.table("hash") + "=[]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint"},
		"an empty request":   {t.requests("hash", types.WriteRequest{}), "!ValidationException: Supplied AttributeValue has more than one datatypes set"},
		"duplicates":         {t.requests("hash", putRequest(`{"pk":"d"}`), deleteRequest(`{"pk":"d"}`)), "!ValidationException: Provided list of item keys contains duplicates"},
		"wrong key type":     {t.requests("hash", putRequest(`{"pk":"`+fresh+`"}`), putRequest(`{"pk":1}`)), mismatch},
		"missing key":        {t.requests("hash", putRequest(`{"a":1}`)), mismatch},
		"missing delete key": {t.requests("hash", deleteRequest(`{"a":1}`)), mismatch},
		"empty key":          {t.requests("hash", putRequest(`{"pk":""}`)), "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		"bad number":         {t.requests("hash", putRequest(`{"pk":"`+fresh+`","n":{"$n":"x"}}`)), notNumeric + ": x"},
		"too large":          {t.requests("hash", putRequest(`{"pk":"`+fresh+`","n":"`+strings.Repeat("x", 409_601)+`"}`)), "!ValidationException: Item size has exceeded the maximum allowed size"},
		"unknown table":      {t.requests("nowhere", putRequest(`{"pk":"x"}`)), "!ResourceNotFoundException: Requested resource not found"},
		"bad table name":     {map[string][]types.WriteRequest{"bad!name": {putRequest(`{"pk":"x"}`)}}, "!ValidationException: 1 validation error detected: Value 'bad!name' at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint"},
	}
}

func lookups(ks ...string) []map[string]types.AttributeValue {
	out := []map[string]types.AttributeValue{}
	for _, k := range ks {
		out = append(out, Item(k))
	}
	return out
}

func batchGets(t *try) {
	a, b := t.id(), t.id()
	t.put("hash", a, `{"x":1,"y":2}`)
	t.put("range", b, `{"sk":"s","x":3}`)
	out, err := t.Client.BatchGetItem(t.ctx, &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		*t.table("hash"):  {Keys: lookups(`{"pk":"`+a+`"}`, `{"pk":"gone"}`), ProjectionExpression: text("#x"), ExpressionAttributeNames: names("#x=x")},
		*t.table("range"): {Keys: lookups(`{"pk":"` + b + `","sk":"s"}`), ConsistentRead: aws.Bool(true)},
	}})
	t.must(err)
	got := out.Responses[*t.table("hash")]
	if len(got) != 1 || Show(got[0]) != `{"x":1}` || len(out.Responses[*t.table("range")]) != 1 || len(out.UnprocessedKeys) != 0 {
		t.errorf("got %v", out.Responses)
	}
}

func batchGetRefusals(t *try) map[string]refusal[map[string]types.KeysAndAttributes] {
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf(`{"pk":"%d"}`, i))
	}
	return map[string]refusal[map[string]types.KeysAndAttributes]{
		"none":                           {map[string]types.KeysAndAttributes{}, "!ValidationException: 1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"no keys":                        {map[string]types.KeysAndAttributes{*t.table("hash"): {Keys: lookups()}}, "!ValidationException: 1 validation error detected"},
		"101":                            {map[string]types.KeysAndAttributes{*t.table("hash"): {Keys: lookups(many...)}}, "!ValidationException: 1 validation error detected"},
		"duplicates":                     {map[string]types.KeysAndAttributes{*t.table("hash"): {Keys: lookups(`{"pk":"a"}`, `{"pk":"a"}`)}}, "!ValidationException: Provided list of item keys contains duplicates"},
		"duplicates of an unknown table": {map[string]types.KeysAndAttributes{*t.table("nowhere"): {Keys: lookups(`{"pk":1}`, `{"pk":{"$n":"1.0"}}`)}}, "!ValidationException: Provided list of item keys contains duplicates"},
		"wrong key":                      {map[string]types.KeysAndAttributes{*t.table("hash"): {Keys: lookups(`{"pk":1}`)}}, "!ValidationException: The provided key element does not match the schema"},
		"unknown table":                  {map[string]types.KeysAndAttributes{*t.table("nowhere"): {Keys: lookups(`{"pk":"a"}`)}}, "!ResourceNotFoundException: Requested resource not found"},
	}
}

// boundedBatch checks that a batch returns at most 16 MB and the unprocessed keys.
func boundedBatch(t *try) {
	pk := t.id()
	var keys []map[string]types.AttributeValue
	for i := range 50 {
		t.put("range", pk, fmt.Sprintf(`{"sk":"%d","x":"%s"}`, i, strings.Repeat("x", 390_000)))
		keys = append(keys, Key(pk, fmt.Sprintf(`{"sk":"%d"}`, i)))
	}
	in := map[string]types.KeysAndAttributes{*t.table("range"): {Keys: keys, ProjectionExpression: text("#s"), ExpressionAttributeNames: names("#s=sk")}}
	seen, calls := 0, 0
	for len(in) > 0 {
		out, err := t.Client.BatchGetItem(t.ctx, &sdk.BatchGetItemInput{RequestItems: in})
		t.must(err)
		for _, it := range out.Responses[*t.table("range")] {
			if len(it) != 1 {
				t.errorf("projection was lost: %d attributes", len(it))
			}
			seen++
		}
		if n := len(out.Responses[*t.table("range")]); n*390_000 > 16<<20 {
			t.errorf("%d items of 390,000 bytes in one answer", n)
		}
		calls++
		in = out.UnprocessedKeys
	}
	if seen != 50 || calls < 2 {
		t.errorf("%d items in %d calls, want 50 in more than one", seen, calls)
	}
}
