package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// pagingChecks checks that every page size, in both directions, returns the same items once, and
// that Limit counts the items before the filter.
func pagingChecks() []Check {
	out := []Check{check("paging", "a page ends after 1 MB, whatever the filter leaves", pageSize)}
	for _, table := range []string{"range", "number", "binary"} {
		for limit := 1; limit <= len(partitions[table])+1; limit += 3 {
			for _, forward := range []bool{true, false} {
				name := fmt.Sprintf("%s keys, limit %d, forward %v", table, limit, forward)
				out = append(out, check("paging", name, func(t *try) { t.pages(table, int32(limit), forward) }))
			}
		}
	}
	return out
}

func (t *try) pages(table string, limit int32, forward bool) {
	var got []string
	in := &sdk.QueryInput{
		TableName: t.table(table), KeyConditionExpression: text("pk = :p"), FilterExpression: text("i <> :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: t.partition(table)}, ":one": attributeN("1")},
		Limit:                     &limit, ScanIndexForward: &forward,
	}
	pages := 0
	for {
		out, err := t.Client.Query(t.ctx, in)
		t.must(err)
		if out.ScannedCount > limit || int(out.Count) != len(out.Items) {
			t.errorf("looked at %d, count %d of %d", out.ScannedCount, out.Count, len(out.Items))
		}
		got = append(got, strings.Fields(positions(out.Items))...)
		pages++
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	n := len(partitions[table])
	var want []string
	for i := range n {
		if i != 1 {
			want = append(want, fmt.Sprint(i))
		}
	}
	if !forward {
		slices.Reverse(want)
	}
	if !slices.Equal(got, want) || pages != n/int(limit)+1 {
		t.errorf("%d pages, items %v; want %d, %v", pages, got, n/int(limit)+1, want)
	}
}

func pageSize(t *try) {
	pk := t.id()
	for i := range 5 {
		t.put("range", pk, fmt.Sprintf(`{"sk":"%d","i":%d,"x":"%s"}`, i, i, strings.Repeat("x", 300_000)))
	}
	out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
		TableName: t.table("range"), KeyConditionExpression: text("pk = :p"), FilterExpression: text("i = :i"), Select: types.SelectCount,
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: pk}, ":i": attributeN("4")},
	})
	t.must(err)
	if out.LastEvaluatedKey == nil || out.ScannedCount < 3 || out.ScannedCount > 4 || out.Count != 0 || out.Items != nil {
		t.errorf("scanned %d, count %d, more %v; want a page of 1 MB", out.ScannedCount, out.Count, out.LastEvaluatedKey != nil)
	}
}

func indexChecks() []Check {
	out := []Check{
		check("index", "equal keys are told apart in pages", func(t *try) { t.pagesOfIndex(true) }),
		check("index", "equal keys are told apart in pages, backwards", func(t *try) { t.pagesOfIndex(false) }),
		check("index", "has the items with all of its keys, as it projects them", func(t *try) {
			g := t.indexRows()
			t.expect(t.inIndex("all", g), `{"a":"x","b":"y","h":-1,"i":1,"sk":"2"} {"a":"x","b":"y","h":3,"i":0,"sk":"1"}`)
			t.expect(t.inIndex("keys", g), `{"sk":"1"} {"sk":"2"} {"sk":"3"}`)
			t.expect(t.inIndex("some", g), `{"a":"x","sk":"1"} {"a":"x","sk":"2"} {"a":"x","sk":"3"}`)
		}),
		check("index", "an update moves the entry", func(t *try) {
			g := t.indexRows()
			t.must(t.alter(g, "2", "SET h = :h REMOVE b", `{":h":7}`))
			t.expect(t.inIndex("all", g), `{"a":"x","b":"y","h":3,"i":0,"sk":"1"} {"a":"x","h":7,"i":1,"sk":"2"}`)
		}),
		check("index", "an attribute removed takes the entry along", func(t *try) {
			g := t.indexRows()
			t.must(t.alter(g, "2", "REMOVE g", ""))
			t.expect(t.inIndex("keys", g), `{"sk":"1"} {"sk":"3"}`)
		}),
		check("index", "a deleted item leaves no entry", func(t *try) {
			g := t.indexRows()
			_, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{TableName: t.table("indexed"), Key: Key(g, `{"sk":"1"}`)})
			t.must(err)
			t.expect(t.inIndex("all", g), `{"a":"x","b":"y","h":-1,"i":1,"sk":"2"}`)
			t.expect(t.inIndex("keys", g), `{"sk":"2"} {"sk":"3"}`)
		}),
		check("index", "a put in place of an item moves the entry", func(t *try) {
			g := t.indexRows()
			t.put("indexed", g, `{"sk":"1","g":"`+g+`","h":-5,"i":9}`)
			t.expect(t.inIndex("all", g), `{"h":-5,"i":9,"sk":"1"} {"a":"x","b":"y","h":-1,"i":1,"sk":"2"}`)
		}),
	}
	for _, c := range []struct{ name, expression, values, want string }{
		{"a constant of the wrong type", "SET g = :v", `{":v":1}`, invalidPV + "Type mismatch for Index Key g Expected: S Actual: N IndexName: all"},
		{"a copy of the wrong type", "SET g = i", "", "!ValidationException: The update expression attempted to update the secondary index key to unsupported type"},
		{"an empty text", "SET g = :v", `{":v":""}`, "!ValidationException: One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."},
		{"a text too large", "SET g = :v", `{":v":"` + strings.Repeat("x", 2049) + `"}`, "!ValidationException: The update expression attempted to update the secondary index key beyond allowed size limits"},
	} {
		out = append(out, check("index", "an update to "+c.name+" is refused", func(t *try) {
			t.expect(Said("", t.alter(t.indexRows(), "3", c.expression, c.values)), c.want)
		}))
	}
	return out
}

// indexRows writes five items and returns their partition key, which is also g.
func (t *try) indexRows() string {
	g := t.id()
	for _, r := range []string{
		`{"sk":"1","g":"G","h":3,"a":"x","b":"y","i":0}`,
		`{"sk":"2","g":"G","h":-1,"a":"x","b":"y","i":1}`,
		`{"sk":"3","g":"G","a":"x","i":2}`, // in "keys" and "some" only: all needs h
		`{"sk":"4","h":3,"i":3}`,           // in no index
		`{"sk":"5","g":"Go","h":1,"i":4}`,
	} {
		t.put("indexed", g, strings.ReplaceAll(r, `"G`, `"`+g))
	}
	return g
}

func (t *try) alter(pk, sk, expression, values string) error {
	_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
		TableName: t.table("indexed"), Key: Key(pk, `{"sk":"`+sk+`"}`), UpdateExpression: &expression, ExpressionAttributeValues: Item(values),
	})
	return err
}

func (t *try) inIndex(index, g string) string {
	out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
		TableName: t.table("indexed"), IndexName: &index, KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: Item(`{":g":"` + g + `"}`),
	})
	t.must(err)
	var shown []string
	for _, it := range out.Items {
		delete(it, "pk")
		delete(it, "g")
		shown = append(shown, Show(it))
	}
	if index != "all" {
		slices.Sort(shown)
	}
	return strings.Join(shown, " ")
}

// pagesOfIndex checks that the table's keys distinguish equal index keys, and that paging needs
// both.
func (t *try) pagesOfIndex(forward bool) {
	g := t.id()
	for i := range 7 {
		t.put("indexed", fmt.Sprint(g, i%3), fmt.Sprintf(`{"sk":"%d","g":"%s","h":%d,"i":%d}`, i, g, i%2, i))
	}
	seen := map[string]bool{}
	in := &sdk.QueryInput{
		TableName: t.table("indexed"), IndexName: text("all"), KeyConditionExpression: text("g = :g AND h >= :h"), Limit: aws.Int32(2),
		ExpressionAttributeValues: Item(`{":g":"` + g + `",":h":0}`), ScanIndexForward: &forward,
	}
	for {
		out, err := t.Client.Query(t.ctx, in)
		t.must(err)
		for _, i := range strings.Fields(positions(out.Items)) {
			if seen[i] {
				t.errorf("item %s came twice", i)
			}
			seen[i] = true
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
		if len(in.ExclusiveStartKey) != 4 {
			t.errorf("LastEvaluatedKey %s lacks a key", Show(in.ExclusiveStartKey))
			return
		}
	}
	if len(seen) != 7 {
		t.errorf("saw %d of 7 items", len(seen))
	}
}
