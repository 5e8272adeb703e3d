package dynamodb_test

import (
	"fmt"
	"localaws/conformance/tables"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// row is an item of the model: g and h are the index's keys, "" when absent.
type row struct{ sk, g, h string }

func (r row) write() types.WriteRequest {
	return types.WriteRequest{PutRequest: &types.PutRequest{Item: tables.Key("p", r.rest())}}
}

func (r row) rest() string {
	s := `{"sk":"` + r.sk + `"`
	if r.g != "" {
		s += `,"g":"` + r.g + `"`
	}
	if r.h != "" {
		s += `,"h":` + r.h
	}
	return s + "}"
}

func drawRow(t *rapid.T) row {
	return row{
		strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "sk")), rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "g"),
		rapid.SampledFrom([]string{"", "-10", "0", "0.5", "9", "10"}).Draw(t, "h"),
	}
}

// TestIndexesAreRecomputable: an index always holds exactly the entries that its definition
// computes from the items, after any writes, and also when it is created again. Its pages, of any
// size and in both directions, together equal one query.
func TestIndexesAreRecomputable(t *testing.T) {
	fewerChecks(t, "10")
	client, _ := engineClient(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		e := &env{client: client, ctx: t.Context(), prefix: fmt.Sprintf("index-%d-", round)}
		e.create(tables.Indexed(*e.table("t")))
		model := map[string]row{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { e.compareIndex(t, model) },
			"put": func(t *rapid.T) {
				r := drawRow(t)
				e.must(t, func() error {
					_, err := client.PutItem(e.ctx, &sdk.PutItemInput{TableName: e.table("t"), Item: tables.Key("p", r.rest())})
					return err
				})
				model[r.sk] = r
			},
			"update": func(t *rapid.T) {
				r := drawRow(t)
				e.must(t, func() error { return e.rewrite(r) })
				model[r.sk] = r
			},
			"delete": func(t *rapid.T) {
				sk := drawRow(t).sk
				e.must(t, func() error {
					_, err := client.DeleteItem(e.ctx, &sdk.DeleteItemInput{TableName: e.table("t"), Key: tables.Key("p", `{"sk":"`+sk+`"}`)})
					return err
				})
				delete(model, sk)
			},
			"batch": func(t *rapid.T) {
				var list []types.WriteRequest
				for _, r := range rapid.SliceOfNDistinct(rapid.Custom(drawRow), 1, 4, func(r row) string { return r.sk }).Draw(t, "rows") {
					list = append(list, r.write())
					model[r.sk] = r
				}
				e.must(t, func() error {
					_, err := client.BatchWriteItem(e.ctx, &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*e.table("t"): list}})
					return err
				})
			},
			"make anew": func(t *rapid.T) { e.must(t, e.remakeIndex) },
		})
	})
}

func (e *env) must(t *rapid.T, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes the item to the row by an update.
func (e *env) rewrite(r row) error {
	var sets, removes []string
	values := []string{}
	for name, v := range map[string]string{"g": r.g, "h": r.h} {
		if v == "" {
			removes = append(removes, name)
			continue
		}
		if name == "g" {
			v = `"` + v + `"`
		}
		sets = append(sets, name+" = :"+name)
		values = append(values, `":`+name+`":`+v)
	}
	expression := ""
	if sets != nil {
		expression += "SET " + strings.Join(sets, ", ")
	}
	if removes != nil {
		expression += " REMOVE " + strings.Join(removes, ", ")
	}
	in := &sdk.UpdateItemInput{TableName: e.table("t"), Key: tables.Key("p", `{"sk":"`+r.sk+`"}`), UpdateExpression: &expression}
	if len(values) > 0 {
		in.ExpressionAttributeValues = tables.Item("{" + strings.Join(values, ",") + "}")
	} else if _, err := e.client.PutItem(e.ctx, &sdk.PutItemInput{TableName: in.TableName, Item: in.Key}); err != nil {
		return err // an update with removals only does not create the item
	}
	_, err := e.client.UpdateItem(e.ctx, in)
	return err
}

func (e *env) remakeIndex() error {
	if _, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{TableName: e.table("t"), GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{
		{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: text("all")}},
	}}); err != nil {
		return err
	}
	made := tables.Indexed("").GlobalSecondaryIndexes[0]
	_, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{
		TableName: e.table("t"), AttributeDefinitions: []types.AttributeDefinition{definition("g", "S"), definition("h", "N")},
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
			IndexName: made.IndexName, KeySchema: made.KeySchema, Projection: made.Projection,
		}}},
	})
	return err
}

// compareIndex reads each partition of the index, in one query and in pages.
func (e *env) compareIndex(t *rapid.T, model map[string]row) {
	forward := rapid.Bool().Draw(t, "forward")
	limit := int32(rapid.IntRange(1, 4).Draw(t, "limit"))
	for _, g := range []string{"x", "y"} {
		var want []row
		for _, r := range model {
			if r.g == g && r.h != "" {
				want = append(want, r)
			}
		}
		whole := e.inIndex(t, g, forward, nil)
		if pages := e.inIndex(t, g, forward, &limit); !slices.Equal(pages, whole) {
			t.Fatalf("pages of %d are %v, one query is %v", limit, pages, whole)
		}
		inOrder := slices.IsSortedFunc(whole, func(a, b row) int {
			if forward {
				return int(a.number() - b.number())
			}
			return int(b.number() - a.number())
		})
		sorted := slices.Clone(whole)
		for _, list := range [][]row{want, sorted} {
			slices.SortFunc(list, func(a, b row) int { return strings.Compare(a.sk, b.sk) })
		}
		if !slices.Equal(sorted, want) || !inOrder {
			t.Fatalf("the index holds %v, want %v in order of h", whole, want)
		}
	}
}

// number returns h in tenths.
func (r row) number() float64 {
	f, _ := strconv.ParseFloat(r.h, 64)
	return f * 10
}

func (e *env) inIndex(t *rapid.T, g string, forward bool, limit *int32) []row {
	in := &sdk.QueryInput{
		TableName: e.table("t"), IndexName: text("all"), KeyConditionExpression: text("g = :g"), ScanIndexForward: &forward,
		ExpressionAttributeValues: tables.Item(`{":g":"` + g + `"}`), Limit: limit,
	}
	var out []row
	for {
		page, err := e.client.Query(e.ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			out = append(out, row{it["sk"].(*types.AttributeValueMemberS).Value, it["g"].(*types.AttributeValueMemberS).Value, it["h"].(*types.AttributeValueMemberN).Value})
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return out
		}
	}
}
