package tables

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type writes []types.TransactWriteItem

func (t *try) tPut(it, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: t.table("hash"), Item: Item(it), ConditionExpression: text(condition)}}
}

func (t *try) tDelete(k string) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: t.table("hash"), Key: Item(k)}}
}

func (t *try) tUpdate(k, expression, values string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: t.table("hash"), Key: Item(k), UpdateExpression: text(expression), ExpressionAttributeValues: Item(values)}}
}

func (t *try) tCheck(k, condition, values string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: t.table("hash"), Key: Item(k), ConditionExpression: text(condition), ExpressionAttributeValues: Item(values)}}
}

// transact returns the reasons as [Code: message, …] after the failure's type.
func (t *try) transact(w writes) string {
	_, err := t.Client.TransactWriteItems(t.ctx, &sdk.TransactWriteItemsInput{TransactItems: w})
	return cancellation(err)
}

func cancellation(err error) string {
	var failed *types.TransactionCanceledException
	if !errors.As(err, &failed) {
		return Said("", err)
	}
	var codes, shown []string
	for _, r := range failed.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		s := aws.ToString(r.Code)
		if r.Message != nil {
			s += ": " + *r.Message
		}
		if r.Item != nil {
			s += " " + Show(r.Item)
		}
		shown = append(shown, s)
	}
	if want := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"; failed.ErrorMessage() != want {
		return failed.ErrorMessage() + " is not " + want
	}
	return "!cancelled [" + strings.Join(shown, "; ") + "]"
}

func transactionChecks() []Check {
	return append(refusals("transaction", transactionRefusals, func(t *try, in writes) string {
		t.put("hash", t.mark+held, `{"n":1,"s":"x"}`)
		got := t.transact(in)
		if after := t.get("hash", t.mark+unwritten, ""); after != "" {
			t.errorf("a cancelled transaction wrote %s", after)
		}
		t.expect(t.get("hash", t.mark+held, ""), `{"n":1,"s":"x"}`)
		return got
	}),
		check("transaction", "does put, update, delete and check together", transacts),
		check("transaction", "is done once for a client request token", tokens),
		check("transaction", "writes and reads 100 items", hundredItems),
		check("transaction", "an action sees the state before all of them", conditionBeforeEffects),
	)
}

// The items of a refused transaction: one that exists and one that does not.
const held, unwritten = "-held", "-unwritten"

func hundredItems(t *try) {
	pk := t.id()
	var put writes
	var get []types.TransactGetItem
	for i := range 100 {
		k := fmt.Sprintf(`{"pk":"%s-%d"}`, pk, i)
		put = append(put, t.tPut(k, "attribute_not_exists(pk)"))
		get = append(get, types.TransactGetItem{Get: &types.Get{TableName: t.table("hash"), Key: Item(k)}})
	}
	t.expect(t.transact(put), "")
	out, err := t.Client.TransactGetItems(t.ctx, &sdk.TransactGetItemsInput{TransactItems: get})
	t.must(err)
	for i, r := range out.Responses {
		t.expect(Show(r.Item), fmt.Sprintf(`{"pk":"%s-%d"}`, pk, i))
	}
	if len(out.Responses) != 100 {
		t.errorf("got %d answers", len(out.Responses))
	}
}

// conditionBeforeEffects checks that a condition does not see the effect of another action.
func conditionBeforeEffects(t *try) {
	a, b := t.id(), t.id()
	t.put("hash", a, `{"n":1}`)
	t.expect(t.transact(writes{
		t.tUpdate(`{"pk":"`+a+`"}`, "SET n = n + :v", `{":v":1}`), t.tPut(`{"pk":"`+b+`"}`, "attribute_not_exists(pk)"),
	}), "")
	t.expect(t.transact(writes{
		t.tDelete(`{"pk":"` + a + `"}`), t.tCheck(`{"pk":"`+b+`"}`, "attribute_not_exists(pk)", ""),
	}), "!cancelled [None; ConditionalCheckFailed: The conditional request failed]")
	t.expect(t.get("hash", a, ""), `{"n":2}`)
}

func transacts(t *try) {
	a, b, c, d := t.id(), t.id(), t.id(), t.id()
	k := func(pk string) string { return `{"pk":"` + pk + `"}` }
	t.put("hash", b, `{"n":1}`)
	t.put("hash", c, `{"n":1}`)
	t.put("hash", d, `{"n":1}`)
	t.expect(t.transact(writes{
		t.tPut(`{"pk":"`+a+`","n":1}`, "attribute_not_exists(pk)"), t.tUpdate(k(b), "SET n = n + :v", `{":v":1}`), t.tDelete(k(c)), t.tCheck(k(d), "n = :v", `{":v":1}`),
	}), "")
	t.expect(t.get("hash", a, "")+t.get("hash", b, "")+t.get("hash", c, "")+t.get("hash", d, ""), `{"n":1}{"n":2}{"n":1}`)
}

func transactionRefusals(t *try) map[string]refusal[writes] {
	b, fresh := t.mark+held, t.mark+unwritten
	pk := func(s string) string { return `{"pk":"` + s + `"}` }
	first := t.tPut(pk(fresh), "")
	var many writes
	for i := range 101 {
		many = append(many, t.tPut(fmt.Sprintf(`{"pk":"many-%d"}`, i), ""))
	}
	var large writes
	for i := range 11 {
		large = append(large, t.tPut(fmt.Sprintf(`{"pk":"large-%d","x":"%s"}`, i, strings.Repeat("x", 400_000)), ""))
	}
	showing := t.tPut(pk(b), "attribute_not_exists(pk)")
	showing.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	elsewhere := t.tPut(pk("x"), "")
	elsewhere.Put.TableName = t.table("nowhere")
	both := t.tPut(pk("x"), "")
	both.Delete = t.tDelete(pk("x")).Delete
	unusedValue := t.tPut(pk("x"), "attribute_not_exists(pk)")
	unusedValue.Put.ExpressionAttributeValues = Item(`{":v":1}`)
	indexed := types.TransactWriteItem{Put: &types.Put{TableName: t.table("indexed"), Item: Item(`{"pk":"x","sk":"y","g":1}`)}}
	const failed = "ConditionalCheckFailed: The conditional request failed"
	const mismatch = "ValidationError: The provided key element does not match the schema"
	return map[string]refusal[writes]{
		"a failed condition":              {writes{first, t.tPut(pk(b), "attribute_not_exists(pk)")}, "!cancelled [None; " + failed + "]"},
		"two failed conditions":           {writes{t.tCheck(pk(b), "n > :v", `{":v":1}`), first, t.tPut(pk(b+"y"), "attribute_exists(pk)")}, "!cancelled [" + failed + "; None; " + failed + "]"},
		"the item of a failed put":        {writes{showing}, "!cancelled [" + failed + ` {"n":1,"pk":"` + b + `","s":"x"}]`},
		"an update of the wrong type":     {writes{first, t.tUpdate(pk(b), "SET s = s + :v", `{":v":1}`)}, "!cancelled [None; ValidationError: An operand in the update expression has an incorrect data type]"},
		"a missing attribute":             {writes{first, t.tUpdate(pk(b), "SET s = gone", "")}, "!cancelled [None; ValidationError: The provided expression refers to an attribute that does not exist in the item]"},
		"an update of a key":              {writes{first, t.tUpdate(pk(b), "SET pk = :v", `{":v":"x"}`)}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key]"},
		"an update beyond 400 KB":         {writes{first, t.tUpdate(pk(b), "SET x = :v", `{":v":"`+strings.Repeat("x", 409_600)+`"}`)}, "!cancelled [None; ValidationError: Item size to update has exceeded the maximum allowed size]"},
		"a put with a wrong key":          {writes{first, t.tPut(`{"pk":5}`, "")}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N]"},
		"a put without its key":           {writes{first, t.tPut(`{"a":5}`, "")}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Missing the key pk in the item]"},
		"a put with a wrong index key":    {writes{first, indexed}, "!cancelled [None; ValidationError: One or more parameter values were invalid: Type mismatch for Index Key g Expected: S Actual: N IndexName: all]"},
		"a delete with a wrong key":       {writes{first, t.tDelete(`{"pk":5}`)}, "!cancelled [None; " + mismatch + "]"},
		"a check with a wrong key":        {writes{first, t.tCheck(`{"pk":5}`, "attribute_exists(pk)", "")}, "!cancelled [None; " + mismatch + "]"},
		"an update to an empty index key": {writes{first, {Update: &types.Update{TableName: t.table("indexed"), Key: Item(`{"pk":"x","sk":"y"}`), UpdateExpression: text("SET g = :v"), ExpressionAttributeValues: Item(`{":v":""}`)}}}, "!ValidationException: One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported."},
		"an empty key":                    {writes{first, t.tDelete(`{"pk":""}`)}, "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
		"a syntax error":                  {writes{elsewhere, t.tCheck(pk("y"), "attribute_not_exists(", "")}, `!ValidationException: Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "("`},
		"an unused value":                 {writes{elsewhere, unusedValue}, "!ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"},
		"an unknown table":                {writes{first, elsewhere}, "!ResourceNotFoundException: Requested resource not found"},
		"two on one item":                 {writes{first, t.tDelete(pk(fresh))}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"a check and a put on one item":   {writes{first, t.tCheck(pk(fresh), "attribute_exists(pk)", "")}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"two actions in one":              {writes{first, both}, "!ValidationException: TransactItems can only contain one of Check, Put, Update or Delete"},
		"none":                            {writes{}, "!ValidationException: 1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"101":                             {many, "!ValidationException: 1 validation error detected: Value '["},
		"4 MB":                            {large, "!ValidationException: Transaction payload size cannot exceed 4MB."},
		"a large item":                    {writes{first, t.tPut(`{"pk":"x","y":"`+strings.Repeat("x", 409_600)+`"}`, "")}, "!ValidationException: Item size has exceeded the maximum allowed size"},
		"a deep item":                     {writes{first, t.tPut(`{"pk":"x","y":`+strings.Repeat("[", 33)+strings.Repeat("]", 33)+`}`, "")}, "!ValidationException: Nesting Levels have exceeded supported limits"},
		"a bad number":                    {writes{first, t.tPut(`{"pk":"x","y":{"$n":"x"}}`, "")}, notNumeric + ": x"},
		"a check without condition":       {writes{first, {ConditionCheck: &types.ConditionCheck{TableName: t.table("hash"), Key: Item(pk("x")), ConditionExpression: aws.String("")}}}, "!ValidationException: Invalid ConditionExpression: The expression can not be empty;"},
	}
}

func tokens(t *try) {
	pk := t.id()
	token := "t-" + t.prefix + pk
	add := func(n, token string) string {
		_, err := t.Client.TransactWriteItems(t.ctx, &sdk.TransactWriteItemsInput{
			TransactItems: writes{t.tUpdate(`{"pk":"`+pk+`"}`, "ADD n :a, m :b", `{":a":`+n+`,":b":1}`)}, ClientRequestToken: &token,
		})
		return cancellation(err)
	}
	for range 5 { // members are sent in random order; the request is the same
		t.expect(add("1", token), "")
	}
	t.expect(t.get("hash", pk, ""), `{"m":1,"n":1}`)
	t.expect(add("2", token), "!IdempotentParameterMismatchException: ")
	t.expect(add("2", token+"x"), "")
	t.expect(t.get("hash", pk, ""), `{"m":2,"n":3}`)
	t.expect(add("2", strings.Repeat("x", 37)), "!ValidationException: 1 validation error detected: Value '"+strings.Repeat("x", 37)+"' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")
}
