package tables

import (
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func readTransactionChecks() []Check {
	return refusals("transaction of reads", readTransactions, func(t *try, in []types.TransactGetItem) string {
		t.must(t.once("read", func() error {
			_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key("read", `{"x":1,"y":2}`)})
			return err
		}))
		out, err := t.Client.TransactGetItems(t.ctx, &sdk.TransactGetItemsInput{TransactItems: in})
		if err != nil {
			return cancellation(err)
		}
		var shown []string
		for _, r := range out.Responses {
			s := Show(r.Item)
			if r.Item == nil {
				s = "-"
			}
			shown = append(shown, s)
		}
		return strings.Join(shown, " ")
	})
}

func readTransactions(t *try) map[string]refusal[[]types.TransactGetItem] {
	a := "read"
	get := func(table, k, projection string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: t.table(table), Key: Item(k), ProjectionExpression: text(projection)}}
	}
	pk := func(s string) string { return `{"pk":"` + s + `"}` }
	var many []types.TransactGetItem
	for i := range 101 {
		many = append(many, get("hash", pk(fmt.Sprint(i)), ""))
	}
	named := get("hash", pk(a), "")
	named.Get.ExpressionAttributeNames = names("#x=x")
	return map[string]refusal[[]types.TransactGetItem]{
		"nothing is left of it":     {[]types.TransactGetItem{get("hash", pk(a), "z")}, "-"},
		"names without projection":  {[]types.TransactGetItem{named}, `{"pk":"read","x":1,"y":2}`},
		"found, projected, missing": {[]types.TransactGetItem{get("hash", pk(a), "x"), get("hash", pk("gone"), "")}, `{"x":1} -`},
		"none":                      {[]types.TransactGetItem{}, "!ValidationException: 1 validation error detected: Value '[]' at 'transactItems' failed to satisfy constraint: Member must have length greater than or equal to 1"},
		"101":                       {many, "!ValidationException: 1 validation error detected: Value '["},
		"twice":                     {[]types.TransactGetItem{get("hash", pk(a), ""), get("hash", pk(a), "x")}, "!ValidationException: Transaction request cannot include multiple operations on one item"},
		"wrong key":                 {[]types.TransactGetItem{get("hash", pk(a), ""), get("hash", `{"pk":1}`, "")}, "!cancelled [None; ValidationError: The provided key element does not match the schema]"},
		"empty key":                 {[]types.TransactGetItem{get("hash", `{}`, "")}, "!cancelled [ValidationError: The provided key element does not match the schema]"},
		"unknown table":             {[]types.TransactGetItem{get("nowhere", pk(a), "")}, "!ResourceNotFoundException: Requested resource not found"},
		"syntax":                    {[]types.TransactGetItem{get("hash", pk(a), "!!!")}, `!ValidationException: Invalid ProjectionExpression: Syntax error; token: "!", near: "!!"`},
	}
}
