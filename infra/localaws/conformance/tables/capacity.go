package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// capacityText returns a ConsumedCapacity as text: the total, the table's own, each index's.
func capacityText(c *types.ConsumedCapacity) string {
	if c == nil {
		return "-"
	}
	out := fmt.Sprint(aws.ToFloat64(c.CapacityUnits))
	if c.Table != nil {
		out += fmt.Sprint(" table ", aws.ToFloat64(c.Table.CapacityUnits))
	}
	var indexes []string
	for name, x := range c.GlobalSecondaryIndexes {
		indexes = append(indexes, fmt.Sprintf(" %s %v", name, aws.ToFloat64(x.CapacityUnits)))
	}
	slices.Sort(indexes)
	return out + strings.Join(indexes, "")
}

// spending is a request with its cost.
type spending struct {
	name, want string
	do         func(t *try) string
}

const (
	total   = types.ReturnConsumedCapacityTotal
	indexes = types.ReturnConsumedCapacityIndexes
)

// joint returns the requests about several items.
func joint(large string) []spending {
	return []spending{
		{"a batch of two puts takes two units", "2 table 2", func(t *try) string {
			out, err := t.Client.BatchWriteItem(t.ctx, &sdk.BatchWriteItemInput{RequestItems: t.requests("hash", putRequest(`{"pk":"`+t.id()+`"}`), putRequest(`{"pk":"`+t.id()+`"}`)), ReturnConsumedCapacity: indexes})
			t.must(err)
			return capacityText(&out.ConsumedCapacity[0])
		}},
		{"a transaction of two puts takes four", "4", func(t *try) string {
			out, err := t.Client.TransactWriteItems(t.ctx, &sdk.TransactWriteItemsInput{
				TransactItems: writes{t.tPut(`{"pk":"`+t.id()+`"}`, ""), t.tPut(`{"pk":"`+t.id()+`"}`, "")}, ReturnConsumedCapacity: total,
			})
			t.must(err)
			return capacityText(&out.ConsumedCapacity[0])
		}},
		{"a transaction repeated by its token only reads", "2 then 2, writing 2 and 0, reading 0 and 2", func(t *try) string {
			pk := t.id()
			in := &sdk.TransactWriteItemsInput{TransactItems: writes{t.tPut(`{"pk":"`+pk+`"}`, "")}, ReturnConsumedCapacity: total, ClientRequestToken: text("c-" + t.prefix + pk)}
			one, err := t.Client.TransactWriteItems(t.ctx, in)
			t.must(err)
			two, err := t.Client.TransactWriteItems(t.ctx, in)
			t.must(err)
			a, b := one.ConsumedCapacity[0], two.ConsumedCapacity[0]
			return fmt.Sprintf("%s then %s, writing %v and %v, reading %v and %v", capacityText(&a), capacityText(&b),
				aws.ToFloat64(a.WriteCapacityUnits), aws.ToFloat64(b.WriteCapacityUnits), aws.ToFloat64(a.ReadCapacityUnits), aws.ToFloat64(b.ReadCapacityUnits))
		}},
		{"a transaction splits what its table took", "2 table 2, writing 2 and 2; 2 table 2, reading 2 and 2", func(t *try) string {
			pk := t.id()
			put, err := t.Client.TransactWriteItems(t.ctx, &sdk.TransactWriteItemsInput{TransactItems: writes{t.tPut(`{"pk":"`+pk+`"}`, "")}, ReturnConsumedCapacity: indexes})
			t.must(err)
			got, err := t.Client.TransactGetItems(t.ctx, &sdk.TransactGetItemsInput{
				TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: t.table("hash"), Key: Key(pk, "")}}}, ReturnConsumedCapacity: indexes,
			})
			t.must(err)
			w, r := put.ConsumedCapacity[0], got.ConsumedCapacity[0]
			return fmt.Sprintf("%s, writing %v and %v; %s, reading %v and %v", capacityText(&w), aws.ToFloat64(w.WriteCapacityUnits), aws.ToFloat64(w.Table.WriteCapacityUnits),
				capacityText(&r), aws.ToFloat64(r.ReadCapacityUnits), aws.ToFloat64(r.Table.ReadCapacityUnits))
		}},
		{"a deletion of 5,000 bytes repeated by its token reads as much as there was", "10 then 4", func(t *try) string {
			pk := t.id()
			t.put("hash", pk, large)
			gone := types.TransactWriteItem{Delete: &types.Delete{TableName: t.table("hash"), Key: Key(pk, "")}}
			in := &sdk.TransactWriteItemsInput{TransactItems: writes{gone}, ReturnConsumedCapacity: total, ClientRequestToken: text("d-" + t.prefix + pk)}
			one, err := t.Client.TransactWriteItems(t.ctx, in)
			t.must(err)
			two, err := t.Client.TransactWriteItems(t.ctx, in)
			t.must(err)
			return capacityText(&one.ConsumedCapacity[0]) + " then " + capacityText(&two.ConsumedCapacity[0])
		}},
		{"a transaction of one get of 5,000 bytes takes four", "4", func(t *try) string {
			pk := t.id()
			t.put("hash", pk, large)
			out, err := t.Client.TransactGetItems(t.ctx, &sdk.TransactGetItemsInput{
				TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: t.table("hash"), Key: Key(pk, "")}}}, ReturnConsumedCapacity: total,
			})
			t.must(err)
			return capacityText(&out.ConsumedCapacity[0])
		}},
	}
}

func capacityChecks() []Check {
	large := `{"a":"` + strings.Repeat("x", 5000) + `"}`
	list := []spending{
		{"nothing is said when nothing was asked", "-", func(t *try) string {
			out, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key(t.id(), "")})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"a put of 5,000 bytes takes 5 units", "5", func(t *try) string {
			out, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key(t.id(), large), ReturnConsumedCapacity: total})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"an update is as large as the item, before or after", "5", func(t *try) string {
			pk := t.id()
			t.put("hash", pk, large)
			out, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text("REMOVE a"), ReturnConsumedCapacity: total})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"a delete of nothing takes one unit", "1", func(t *try) string {
			out, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{TableName: t.table("hash"), Key: Key(t.id(), ""), ReturnConsumedCapacity: total})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"a put counts each index that it writes to", "3 table 1 keys 1 some 1", func(t *try) string {
			out, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("indexed"), Item: Key(t.id(), `{"sk":"s","g":"c"}`), ReturnConsumedCapacity: indexes})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"a query of nothing takes half a unit", "0.5", func(t *try) string {
			out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
				TableName: t.table("hash"), KeyConditionExpression: text("pk = :p"), ExpressionAttributeValues: Item(`{":p":"` + t.id() + `"}`), ReturnConsumedCapacity: total,
			})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
		{"a query of 3 items of 3,000 bytes adds them up first", "1.5", func(t *try) string {
			pk := t.id()
			for i := range 3 {
				t.put("range", pk, fmt.Sprintf(`{"sk":"%d","a":"%s"}`, i, strings.Repeat("x", 3000)))
			}
			out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
				TableName: t.table("range"), KeyConditionExpression: text("pk = :p"), ExpressionAttributeValues: Item(`{":p":"` + pk + `"}`), ReturnConsumedCapacity: total,
			})
			t.must(err)
			return capacityText(out.ConsumedCapacity)
		}},
	}
	var out []Check
	for _, c := range append(list, joint(large)...) {
		out = append(out, check("capacity", c.name, func(t *try) { t.expect(c.do(t), c.want) }))
	}
	for consistent, want := range map[bool]string{true: "2", false: "1"} {
		out = append(out, check("capacity", fmt.Sprintf("a get of 5,000 bytes, consistent %v", consistent), func(t *try) {
			pk := t.id()
			t.put("hash", pk, large)
			got, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table("hash"), Key: Key(pk, ""), ConsistentRead: &consistent, ReturnConsumedCapacity: total})
			t.must(err)
			t.expect(capacityText(got.ConsumedCapacity), want)
		}))
	}
	return out
}
