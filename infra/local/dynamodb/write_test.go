package dynamodb_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestSuitePutAndDelete(t *testing.T) {
	e := shared()
	put := func(pk, it, condition, values string, returns types.ReturnValue) string {
		x := item(it)
		x["pk"] = &types.AttributeValueMemberS{Value: pk}
		out, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{
			TableName: e.table("hash"), Item: x, ConditionExpression: text(condition), ExpressionAttributeValues: item(values), ReturnValues: returns,
		})
		if err != nil {
			return outcome("", err)
		}
		return show(out.Attributes)
	}
	del := func(pk, condition, values string, returns types.ReturnValue) string {
		out, err := e.client.DeleteItem(e.ctx, &sdk.DeleteItemInput{
			TableName: e.table("hash"), Key: key(pk, ""), ConditionExpression: text(condition), ExpressionAttributeValues: item(values), ReturnValues: returns,
		})
		if err != nil {
			return outcome("", err)
		}
		return show(out.Attributes)
	}
	const failed = "!ConditionalCheckFailedException: The conditional request failed"
	pk := id()
	old := func(rest string) string { return strings.ReplaceAll(rest, "PK", pk) }
	for i, c := range []struct{ got, want string }{
		{put(pk, `{"a":1}`, "attribute_not_exists(pk)", "", ""), ""},
		{put(pk, `{"a":2}`, "attribute_not_exists(pk)", "", ""), failed},
		{e.get(t, "hash", pk, ""), `{"a":1}`},
		{put(pk, `{"b":2}`, "a = :v", `{":v":1}`, types.ReturnValueAllOld), old(`{"a":1,"pk":"PK"}`)},
		{e.get(t, "hash", pk, ""), `{"b":2}`},
		{put(id(), `{"b":2}`, "", "", types.ReturnValueAllOld), ""},
		{put(pk, `{}`, "", "", types.ReturnValueAllNew), "!ValidationException: ReturnValues can only be ALL_OLD or NONE"},
		{put(pk, `{}`, "", `{":v":1}`, ""), "!ValidationException: ExpressionAttributeValues can only be specified when using expressions"},
		{del(pk, "b = :v", `{":v":3}`, ""), failed},
		{del(pk, "b = :v", `{":v":2}`, types.ReturnValueAllOld), old(`{"b":2,"pk":"PK"}`)},
		{e.get(t, "hash", pk, ""), ""},
		{del(pk, "", "", types.ReturnValueAllOld), ""},
		{del(pk, "attribute_exists(pk)", "", ""), failed},
		{del(pk, "", "", types.ReturnValueUpdatedNew), "!ValidationException: ReturnValues can only be ALL_OLD or NONE"},
		{del("", "", "", ""), "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
	} {
		if !matches(c.got, c.want) {
			t.Errorf("step %d:\n got %s\nwant %s", i, c.got, c.want)
		}
	}
}

func TestSuiteKeys(t *testing.T) {
	const mismatch = "!ValidationException: The provided key element does not match the schema"
	e := shared()
	for _, c := range []struct{ table, key, want string }{
		{"hash", `{"pk":"gone"}`, ""},
		{"hash", `{"pk":1}`, mismatch},
		{"hash", `{"other":"x"}`, mismatch},
		{"hash", `{"pk":"x","more":"y"}`, mismatch},
		{"hash", `{}`, mismatch},
		{"range", `{"pk":"x"}`, mismatch},
		{"range", `{"pk":"x","sk":{"$b":"AA=="}}`, mismatch},
		{"number", `{"pk":"x","sk":{"$n":"x"}}`, "!ValidationException: The parameter cannot be converted to a numeric value: x"},
		{"nowhere", `{"pk":"x"}`, "!ResourceNotFoundException: Requested resource not found"},
	} {
		t.Run(c.table+" "+c.key, func(t *testing.T) {
			_, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table(c.table), Key: item(c.key)})
			expect(t, outcome("", err), c.want)
			_, err = e.client.DeleteItem(e.ctx, &sdk.DeleteItemInput{TableName: e.table(c.table), Key: item(c.key)})
			expect(t, outcome("", err), c.want)
			_, err = e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{TableName: e.table(c.table), Key: item(c.key), UpdateExpression: text("REMOVE a")})
			expect(t, outcome("", err), c.want)
		})
	}
}

func TestSuiteFailedConditionShowsItem(t *testing.T) {
	e := shared()
	pk := id()
	e.put(t, "hash", pk, `{"a":1}`)
	_, err := e.client.UpdateItem(e.ctx, &sdk.UpdateItemInput{
		TableName: e.table("hash"), Key: key(pk, ""), UpdateExpression: text("SET a = :v"), ConditionExpression: text("a = :v"),
		ExpressionAttributeValues: item(`{":v":2}`), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || show(failed.Item) != `{"a":1,"pk":"`+pk+`"}` {
		t.Errorf("got %v, want the failure with the item", err)
	}
}

func TestSuiteConsumedCapacity(t *testing.T) {
	e := shared()
	pk := id()
	units := func(c *types.ConsumedCapacity, err error) float64 {
		if err != nil || c == nil || c.CapacityUnits == nil {
			t.Errorf("no capacity: %v %v", c, err)
			return -1
		}
		return *c.CapacityUnits
	}
	x := item(`{"a":"` + strings.Repeat("x", 5000) + `"}`)
	x["pk"] = &types.AttributeValueMemberS{Value: pk}
	put, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("hash"), Item: x, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if u := units(put.ConsumedCapacity, err); u != 5 {
		t.Errorf("a put of 5,000 bytes took %v units, want 5", u)
	}
	for consistent, want := range map[bool]float64{true: 2, false: 1} {
		get, err := e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: e.table("hash"), Key: key(pk, ""), ConsistentRead: &consistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		if u := units(get.ConsumedCapacity, err); u != want {
			t.Errorf("a get of 5,000 bytes took %v units, want %v", u, want)
		}
	}
}

func (e *env) requests(table string, list ...types.WriteRequest) map[string][]types.WriteRequest {
	return map[string][]types.WriteRequest{*e.table(table): list}
}

func putRequest(it string) types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: item(it)}}
}

func deleteRequest(k string) types.WriteRequest {
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: item(k)}}
}

func TestSuiteBatchWrite(t *testing.T) {
	e := shared()
	a, b := id(), id()
	e.put(t, "hash", b, `{"x":1}`)
	out, err := e.client.BatchWriteItem(e.ctx, &sdk.BatchWriteItemInput{RequestItems: e.requests("hash", putRequest(`{"pk":"`+a+`","x":2}`), deleteRequest(`{"pk":"`+b+`"}`))})
	if err != nil || len(out.UnprocessedItems) != 0 {
		t.Fatal(out, err)
	}
	expect(t, e.get(t, "hash", a, ""), `{"x":2}`)
	expect(t, e.get(t, "hash", b, ""), "")

	var many []types.WriteRequest
	for i := range 26 {
		many = append(many, putRequest(fmt.Sprintf(`{"pk":"%d"}`, i)))
	}
	half := map[string][]types.WriteRequest{*e.table("hash"): many[:13], *e.table("range"): nil}
	for i := range 13 {
		half[*e.table("range")] = append(half[*e.table("range")], putRequest(fmt.Sprintf(`{"pk":"%d","sk":"s"}`, i)))
	}
	fresh := id()
	const mismatch = "!ValidationException: The provided key element does not match the schema"
	for name, c := range map[string]struct {
		in   map[string][]types.WriteRequest
		want string
	}{
		"26 of one table":    {e.requests("hash", many...), "!ValidationException: 1 validation error detected: Value '{"},
		"26 of two":          {half, "!ValidationException: Too many items requested for the BatchWriteItem call"},
		"none":               {map[string][]types.WriteRequest{}, "!ValidationException: The requestItems parameter is required for BatchWriteItem"},
		"none of a table":    {e.requests("hash"), "!ValidationException: 1 validation error detected: Value '{" + *e.table("hash") + "=[]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint"},
		"an empty request":   {e.requests("hash", types.WriteRequest{}), "!ValidationException: Supplied AttributeValue has more than one datatypes set"},
		"duplicates":         {e.requests("hash", putRequest(`{"pk":"d"}`), deleteRequest(`{"pk":"d"}`)), "!ValidationException: Provided list of item keys contains duplicates"},
		"wrong key type":     {e.requests("hash", putRequest(`{"pk":"`+fresh+`"}`), putRequest(`{"pk":1}`)), mismatch},
		"missing key":        {e.requests("hash", putRequest(`{"a":1}`)), mismatch},
		"missing delete key": {e.requests("hash", deleteRequest(`{"a":1}`)), mismatch},
		"empty key":          {e.requests("hash", putRequest(`{"pk":""}`)), "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		"bad number":         {e.requests("hash", putRequest(`{"pk":"`+fresh+`","n":{"$n":"x"}}`)), notNumeric + ": x"},
		"too large":          {e.requests("hash", putRequest(`{"pk":"`+fresh+`","n":"`+strings.Repeat("x", 409_601)+`"}`)), "!ValidationException: Item size has exceeded the maximum allowed size"},
		"unknown table":      {e.requests("nowhere", putRequest(`{"pk":"x"}`)), "!ResourceNotFoundException: Requested resource not found"},
		"bad table name":     {map[string][]types.WriteRequest{"bad!name": {putRequest(`{"pk":"x"}`)}}, "!ValidationException: 1 validation error detected: Value 'bad!name' at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.client.BatchWriteItem(e.ctx, &sdk.BatchWriteItemInput{RequestItems: c.in})
			expect(t, outcome("", err), c.want)
		})
	}
	if got := e.get(t, "hash", fresh, ""); got != "" {
		t.Errorf("a refused batch wrote %s", got)
	}
}

func TestSuiteBatchGet(t *testing.T) {
	e := shared()
	a, b := id(), id()
	e.put(t, "hash", a, `{"x":1,"y":2}`)
	e.put(t, "range", b, `{"sk":"s","x":3}`)
	keys := func(ks ...string) []map[string]types.AttributeValue {
		out := []map[string]types.AttributeValue{}
		for _, k := range ks {
			out = append(out, item(k))
		}
		return out
	}
	out, err := e.client.BatchGetItem(e.ctx, &sdk.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		*e.table("hash"):  {Keys: keys(`{"pk":"`+a+`"}`, `{"pk":"gone"}`), ProjectionExpression: text("#x"), ExpressionAttributeNames: names("#x=x")},
		*e.table("range"): {Keys: keys(`{"pk":"` + b + `","sk":"s"}`), ConsistentRead: aws.Bool(true)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := out.Responses[*e.table("hash")]
	if len(got) != 1 || show(got[0]) != `{"x":1}` || len(out.Responses[*e.table("range")]) != 1 || len(out.UnprocessedKeys) != 0 {
		t.Errorf("got %v", out.Responses)
	}
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf(`{"pk":"%d"}`, i))
	}
	for name, c := range map[string]struct {
		in   map[string]types.KeysAndAttributes
		want string
	}{
		"none":          {map[string]types.KeysAndAttributes{}, "!ValidationException: The requestItems parameter is required for BatchGetItem"},
		"no keys":       {map[string]types.KeysAndAttributes{*e.table("hash"): {Keys: keys()}}, "!ValidationException: 1 validation error detected"},
		"101":           {map[string]types.KeysAndAttributes{*e.table("hash"): {Keys: keys(many...)}}, "!ValidationException: 1 validation error detected"},
		"duplicates":    {map[string]types.KeysAndAttributes{*e.table("hash"): {Keys: keys(`{"pk":"a"}`, `{"pk":"a"}`)}}, "!ValidationException: Provided list of item keys contains duplicates"},
		"wrong key":     {map[string]types.KeysAndAttributes{*e.table("hash"): {Keys: keys(`{"pk":1}`)}}, "!ValidationException: The provided key element does not match the schema"},
		"unknown table": {map[string]types.KeysAndAttributes{*e.table("nowhere"): {Keys: keys(`{"pk":"a"}`)}}, "!ResourceNotFoundException: Requested resource not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.client.BatchGetItem(e.ctx, &sdk.BatchGetItemInput{RequestItems: c.in})
			expect(t, outcome("", err), c.want)
		})
	}
}

// A batch answers at most 16 MB and gives the rest back to ask again.
func TestSuiteBatchGetBounded(t *testing.T) {
	e := shared()
	pk := id()
	var keys []map[string]types.AttributeValue
	for i := range 50 {
		e.put(t, "range", pk, fmt.Sprintf(`{"sk":"%d","x":"%s"}`, i, strings.Repeat("x", 390_000)))
		keys = append(keys, key(pk, fmt.Sprintf(`{"sk":"%d"}`, i)))
	}
	in := map[string]types.KeysAndAttributes{*e.table("range"): {Keys: keys, ProjectionExpression: text("#s"), ExpressionAttributeNames: names("#s=sk")}}
	seen, calls := 0, 0
	for len(in) > 0 {
		out, err := e.client.BatchGetItem(e.ctx, &sdk.BatchGetItemInput{RequestItems: in})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Responses[*e.table("range")] {
			if len(it) != 1 {
				t.Fatalf("projection was lost: %d attributes", len(it))
			}
			seen++
		}
		calls++
		in = out.UnprocessedKeys
	}
	if seen != 50 || calls < 2 {
		t.Errorf("%d items in %d calls, want 50 in more than one", seen, calls)
	}
}
