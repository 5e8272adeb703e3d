package tables

import (
	"errors"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func putChecks() []Check {
	return []Check{
		check("write", "puts and deletes hold to their conditions, and return what was asked for", putsAndDeletes),
		check("write", "a failed condition shows the item when asked to", failedShowsItem),
	}
}

func putsAndDeletes(t *try) {
	put := func(pk, it, condition, values string, returns types.ReturnValue) string {
		x := Item(it)
		x["pk"] = &types.AttributeValueMemberS{Value: pk}
		out, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{
			TableName: t.table("hash"), Item: x, ConditionExpression: text(condition), ExpressionAttributeValues: Item(values), ReturnValues: returns,
		})
		if err != nil {
			return Said("", err)
		}
		return Show(out.Attributes)
	}
	del := func(pk, condition, values string, returns types.ReturnValue) string {
		out, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{
			TableName: t.table("hash"), Key: Key(pk, ""), ConditionExpression: text(condition), ExpressionAttributeValues: Item(values), ReturnValues: returns,
		})
		if err != nil {
			return Said("", err)
		}
		return Show(out.Attributes)
	}
	pk := t.id()
	old := func(rest string) string { return strings.ReplaceAll(rest, "PK", pk) }
	for i, c := range []struct{ got, want string }{
		{put(pk, `{"a":1}`, "attribute_not_exists(pk)", "", ""), ""},
		{put(pk, `{"a":2}`, "attribute_not_exists(pk)", "", ""), conditionFailed},
		{t.get("hash", pk, ""), `{"a":1}`},
		{put(pk, `{"b":2}`, "a = :v", `{":v":1}`, types.ReturnValueAllOld), old(`{"a":1,"pk":"PK"}`)},
		{t.get("hash", pk, ""), `{"b":2}`},
		{put(t.id(), `{"b":2}`, "", "", types.ReturnValueAllOld), ""},
		{put(pk, `{}`, "", "", types.ReturnValueAllNew), "!ValidationException: ReturnValues can only be ALL_OLD or NONE"},
		{put(pk, `{}`, "", `{":v":1}`, ""), "!ValidationException: ExpressionAttributeValues can only be specified when using expressions"},
		{del(pk, "b = :v", `{":v":3}`, ""), conditionFailed},
		{del(pk, "b = :v", `{":v":2}`, types.ReturnValueAllOld), old(`{"b":2,"pk":"PK"}`)},
		{t.get("hash", pk, ""), ""},
		{del(pk, "", "", types.ReturnValueAllOld), ""},
		{del(pk, "attribute_exists(pk)", "", ""), conditionFailed},
		{del(pk, "", "", types.ReturnValueUpdatedNew), "!ValidationException: ReturnValues can only be ALL_OLD or NONE"},
		{del("", "", "", ""), "!ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk"},
	} {
		if !matches(c.got, c.want) {
			t.errorf("step %d:\n got %s\nwant %s", i, c.got, c.want)
		}
	}
}

func failedShowsItem(t *try) {
	pk := t.id()
	t.put("hash", pk, `{"a":1}`)
	_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
		TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text("SET a = :v"), ConditionExpression: text("a = :v"),
		ExpressionAttributeValues: Item(`{":v":2}`), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || Show(failed.Item) != `{"a":1,"pk":"`+pk+`"}` {
		t.errorf("got %v, want the failure with the item", err)
	}
}

// keyChecks: a lookup key has exactly the schema's attributes, of its types.
func keyChecks() []Check {
	const mismatch = "!ValidationException: The provided key element does not match the schema"
	var out []Check
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
		for verb, call := range map[string]func(t *try) error{
			"get": func(t *try) error {
				_, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table(c.table), Key: Item(c.key)})
				return err
			},
			"delete": func(t *try) error {
				_, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{TableName: t.table(c.table), Key: Item(c.key)})
				return err
			},
			"update": func(t *try) error {
				_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{TableName: t.table(c.table), Key: Item(c.key), UpdateExpression: text("REMOVE a")})
				return err
			},
		} {
			out = append(out, check("key", verb+" "+c.table+" "+c.key, func(t *try) { t.expect(Said("", call(t)), c.want) }))
		}
	}
	return out
}
