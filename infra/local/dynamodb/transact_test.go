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

type writes []types.TransactWriteItem

func (e *env) tPut(it, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: e.table("hash"), Item: item(it), ConditionExpression: text(condition)}}
}

func (e *env) tDelete(k string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: e.table("hash"), Key: item(k)}}
}

func (e *env) tUpdate(k, expression, values string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: e.table("hash"), Key: item(k), UpdateExpression: text(expression), ExpressionAttributeValues: item(values)}}
}

func (e *env) tCheck(k, condition, values string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: e.table("hash"), Key: item(k), ConditionExpression: text(condition), ExpressionAttributeValues: item(values)}}
}

// transact shows the reasons as [Code: message, …] after the failure's type.
func (e *env) transact(w writes) string {
	_, err := e.client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{TransactItems: w})
	return cancellation(err)
}

func cancellation(err error) string {
	var failed *types.TransactionCanceledException
	if !errors.As(err, &failed) {
		return outcome("", err)
	}
	var codes, shown []string
	for _, r := range failed.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		s := aws.ToString(r.Code)
		if r.Message != nil {
			s += ": " + *r.Message
		}
		if r.Item != nil {
			s += " " + show(r.Item)
		}
		shown = append(shown, s)
	}
	if want := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"; failed.ErrorMessage() != want {
		return failed.ErrorMessage() + " is not " + want
	}
	return "!cancelled [" + strings.Join(shown, "; ") + "]"
}

func TestSuiteTransactWrite(t *testing.T) {
	e := shared()
	a, b, c, d := id(), id(), id(), id()
	k := func(pk string) string { return `{"pk":"` + pk + `"}` }
	e.put(t, "hash", b, `{"n":1}`)
	e.put(t, "hash", c, `{"n":1}`)
	e.put(t, "hash", d, `{"n":1}`)
	expect(t, e.transact(writes{
		e.tPut(`{"pk":"`+a+`","n":1}`, "attribute_not_exists(pk)"), e.tUpdate(k(b), "SET n = n + :v", `{":v":1}`), e.tDelete(k(c)), e.tCheck(k(d), "n = :v", `{":v":1}`),
	}), "")
	expect(t, e.get(t, "hash", a, "")+e.get(t, "hash", b, "")+e.get(t, "hash", c, "")+e.get(t, "hash", d, ""), `{"n":1}{"n":2}{"n":1}`)
}

func TestSuiteTransactRefusals(t *testing.T) {
	e := shared()
	b := id()
	e.put(t, "hash", b, `{"n":1,"s":"x"}`)
	pk := func(s string) string { return `{"pk":"` + s + `"}` }
	fresh := id()
	first := e.tPut(pk(fresh), "")
	var many writes
	for i := range 101 {
		many = append(many, e.tPut(fmt.Sprintf(`{"pk":"many-%d"}`, i), ""))
	}
	var large writes
	for i := range 11 {
		large = append(large, e.tPut(fmt.Sprintf(`{"pk":"large-%d","x":"%s"}`, i, strings.Repeat("x", 400_000)), ""))
	}
	showing := e.tPut(pk(b), "attribute_not_exists(pk)")
	showing.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	elsewhere := e.tPut(pk("x"), "")
	elsewhere.Put.TableName = e.table("nowhere")
	both := e.tPut(pk("x"), "")
	both.Delete = e.tDelete(pk("x")).Delete
	unusedValue := e.tPut(pk("x"), "attribute_not_exists(pk)")
	unusedValue.Put.ExpressionAttributeValues = item(`{":v":1}`)
	indexed := types.TransactWriteItem{Put: &types.Put{TableName: e.table("indexed"), Item: item(`{"pk":"x","sk":"y","g":1}`)}}
	const failed = "ConditionalCheckFailed: The conditional request failed"
	const mismatch = "ValidationError: The provided key element does not match the schema"
	for name, c := range map[string]struct {
		in   writes
		want string
	}{
		"a failed condition":              {writes{first, e.tPut(pk(b), "attribute_not_exists(pk)")}, "!cancelled [None; " + failed + "]"},
		"two failed conditions":           {writes{e.tCheck(pk(b), "n > :v", `{":v":1}`), first, e.tPut(pk(b+"y"), "attribute_exists(pk)")}, "!cancelled [" + failed + "; None; " + failed + "]"},
		"the item of a failed put":        {writes{showing}, "!cancelled [" + failed + ` {"n":1,"pk":"` + b + `","s":"x"}]`},
		"an update of the wrong type":     {writes{first, e.tUpdate(pk(b), "SET s = s + :v", `{":v":1}`)}, "!cancelled [None; ValidationError: An operand in the update expression has an incorrect data type]"},
		"a missing attribute":             {writes{first, e.tUpdate(pk(b), "SET s = gone", "")}, "!cancelled [None; ValidationError: The provided expression refers to an attribute that does not exist in the item]"},
		"an update of a key":              {writes{first, e.tUpdate(pk(b), "SET pk = :v", `{":v":"x"}`)}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key]"},
		"an update beyond 400 KB":         {writes{first, e.tUpdate(pk(b), "SET x = :v", `{":v":"`+strings.Repeat("x", 409_600)+`"}`)}, "!cancelled [None; ValidationError: Item size to update has exceeded the maximum allowed size]"},
		"a put with a wrong key":          {writes{first, e.tPut(`{"pk":5}`, "")}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N]"},
		"a put without its key":           {writes{first, e.tPut(`{"a":5}`, "")}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Missing the key pk in the item]"},
		"a put with a wrong index key":    {writes{first, indexed}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: all]"},
		"an update to an empty index key": {writes{first, {Update: &types.Update{TableName: e.table("indexed"), Key: item(`{"pk":"x","sk":"y"}`), UpdateExpression: text("SET g = :v"), ExpressionAttributeValues: item(`{":v":""}`)}}}, "!ValidationException: One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported."},
		"a delete with a wrong key":       {writes{first, e.tDelete(`{"pk":5}`)}, "!cancelled [None; " + mismatch + "]"},
		"a check with a wrong key":        {writes{first, e.tCheck(`{"pk":5}`, "attribute_exists(pk)", "")}, "!cancelled [None; " + mismatch + "]"},
		"an empty key":                    {writes{first, e.tDelete(`{"pk":""}`)}, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		"a syntax error":                  {writes{elsewhere, e.tCheck(pk("y"), "attribute_not_exists(", "")}, `!ValidationException: Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("`},
		"an unused value":                 {writes{elsewhere, unusedValue}, "!ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"},
		"an unknown table":                {writes{first, elsewhere}, "!ResourceNotFoundException: Requested resource not found"},
		"two on one item":                 {writes{first, e.tDelete(pk(fresh))}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"a check and a put on one item":   {writes{first, e.tCheck(pk(fresh), "attribute_exists(pk)", "")}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"two actions in one":              {writes{first, both}, "!ValidationException: TransactItems can only contain one of Check, Put, Update or Delete"},
		"none":                            {writes{}, "!ValidationException: 1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"101":                             {many, "!ValidationException: 1 validation error detected: Value '["},
		"4 MB":                            {large, "!ValidationException: "},
		"a large item":                    {writes{first, e.tPut(`{"pk":"x","y":"`+strings.Repeat("x", 409_600)+`"}`, "")}, "!ValidationException: Item size has exceeded the maximum allowed size"},
		"a deep item":                     {writes{first, e.tPut(`{"pk":"x","y":`+strings.Repeat("[", 33)+strings.Repeat("]", 33)+`}`, "")}, "!ValidationException: Nesting Levels have exceeded supported limits"},
		"a bad number":                    {writes{first, e.tPut(`{"pk":"x","y":{"$n":"x"}}`, "")}, notNumeric + ": x"},
		"a check without condition":       {writes{first, {ConditionCheck: &types.ConditionCheck{TableName: e.table("hash"), Key: item(pk("x")), ConditionExpression: aws.String("")}}}, "!ValidationException: Invalid ConditionExpression: The expression can not be empty;"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, e.transact(c.in), c.want)
			if got := e.get(t, "hash", fresh, ""); got != "" {
				t.Fatalf("a cancelled transaction wrote %s", got)
			}
		})
	}
	expect(t, e.get(t, "hash", b, ""), `{"n":1,"s":"x"}`)
}

func TestSuiteTransactToken(t *testing.T) {
	e := shared()
	pk := id()
	token := "token-" + e.prefix
	add := func(n, token string) string {
		_, err := e.client.TransactWriteItems(e.ctx, &sdk.TransactWriteItemsInput{
			TransactItems: writes{e.tUpdate(`{"pk":"`+pk+`"}`, "ADD n :a, m :b", `{":a":`+n+`,":b":1}`)}, ClientRequestToken: &token,
		})
		return cancellation(err)
	}
	for range 5 { // members go out in random order; it is the same request
		expect(t, add("1", token), "")
	}
	expect(t, e.get(t, "hash", pk, ""), `{"m":1,"n":1}`)
	expect(t, add("2", token), "!IdempotentParameterMismatchException: ")
	expect(t, add("2", token+"x"), "")
	expect(t, e.get(t, "hash", pk, ""), `{"m":2,"n":3}`)
	expect(t, add("2", strings.Repeat("x", 37)), "!ValidationException: 1 validation error detected: Value '"+strings.Repeat("x", 37)+"' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")
}

func TestSuiteTransactGet(t *testing.T) {
	e := shared()
	a := id()
	e.put(t, "hash", a, `{"x":1,"y":2}`)
	get := func(table, k, projection string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: e.table(table), Key: item(k), ProjectionExpression: text(projection)}}
	}
	pk := func(s string) string { return `{"pk":"` + s + `"}` }
	var many []types.TransactGetItem
	for i := range 101 {
		many = append(many, get("hash", pk(fmt.Sprint(i)), ""))
	}
	for name, c := range map[string]struct {
		in   []types.TransactGetItem
		want string
	}{
		"found, projected, missing": {[]types.TransactGetItem{get("hash", pk(a), "x"), get("hash", pk("gone"), "")}, `{"x":1} -`},
		"none":                      {[]types.TransactGetItem{}, "!ValidationException: 1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"101":                       {many, "!ValidationException: 1 validation error detected: Value '["},
		"twice":                     {[]types.TransactGetItem{get("hash", pk(a), ""), get("hash", pk(a), "x")}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"wrong key":                 {[]types.TransactGetItem{get("hash", pk(a), ""), get("hash", `{"pk":1}`, "")}, "!cancelled [None; ValidationError: The provided key element does not match the schema]"},
		"empty key":                 {[]types.TransactGetItem{get("hash", `{}`, "")}, "!cancelled [ValidationError: The provided key element does not match the schema]"},
		"unknown table":             {[]types.TransactGetItem{get("nowhere", pk(a), "")}, "!ResourceNotFoundException: Requested resource not found"},
		"syntax":                    {[]types.TransactGetItem{get("hash", pk(a), "!!!")}, `!ValidationException: Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := e.client.TransactGetItems(e.ctx, &sdk.TransactGetItemsInput{TransactItems: c.in})
			got := cancellation(err)
			if err == nil {
				var shown []string
				for _, r := range out.Responses {
					s := show(r.Item)
					if r.Item == nil {
						s = "-"
					}
					shown = append(shown, s)
				}
				got = strings.Join(shown, " ")
			}
			expect(t, got, c.want)
		})
	}
}
