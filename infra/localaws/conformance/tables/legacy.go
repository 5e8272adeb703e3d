package tables

import (
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The parameters from before expressions, which old clients still send.

const legacyItem = `{"s":"hello","n":5,"ss":{"$ss":["a","b"]},"l":[1,2],"t":true}`

// listValues returns the values of a condition, which are written as the list l of an item.
func listValues(text string) []types.AttributeValue {
	if text == "" {
		return nil
	}
	return Item(`{"l":` + text + `}`)["l"].(*types.AttributeValueMemberL).Value
}

var legacyConditions = []struct {
	attribute string
	operator  types.ComparisonOperator
	values    string
	want      string // true, false or the failure
}{
	{"n", "EQ", `[5]`, "true"},
	{"n", "EQ", `["5"]`, "false"},
	{"n", "NE", `[5]`, "false"},
	{"gone", "NE", `[5]`, "true"},
	{"n", "LE", `[5]`, "true"},
	{"n", "LT", `[5]`, "false"},
	{"n", "GE", `[6]`, "false"},
	{"n", "GT", `[4]`, "true"},
	{"s", "NOT_NULL", ``, "true"},
	{"gone", "NOT_NULL", ``, "false"},
	{"gone", "NULL", ``, "true"},
	{"s", "CONTAINS", `["ell"]`, "true"},
	{"ss", "CONTAINS", `["c"]`, "false"},
	{"ss", "NOT_CONTAINS", `["c"]`, "true"},
	{"s", "BEGINS_WITH", `["he"]`, "true"},
	{"n", "IN", `[1,5]`, "true"},
	{"n", "BETWEEN", `[1,4]`, "false"},
	{"n", "BETWEEN", `[4,1]`, "!ValidationException: The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"},
	{"n", "EQ", `[1,2]`, "!ValidationException: One or more parameter values were invalid: Invalid number of argument(s) for the EQ ComparisonOperator"},
	{"n", "NULL", `[1]`, "!ValidationException: One or more parameter values were invalid: Invalid number of argument(s) for the NULL ComparisonOperator"},
	{"n", "IN", `[1,"x"]`, "!ValidationException: One or more parameter values were invalid: AttributeValues inside AttributeValueList must be of same type"},
	{"n", "LT", `[true]`, "!ValidationException: One or more parameter values were invalid: ComparisonOperator LT is not valid for BOOL AttributeValue type"},
}

var legacyUpdates = []struct {
	attribute string
	action    types.AttributeAction
	value     string // as {"v":…}, "" for none
	want      string // the item afterwards, or the failure
}{
	{"n", "", `{"v":9}`, `{"l":[1,2],"n":9,"s":"hello","ss":{"$ss":["a","b"]},"t":true}`},
	{"n", "PUT", `{"v":"x"}`, `{"l":[1,2],"n":"x","s":"hello","ss":{"$ss":["a","b"]},"t":true}`},
	{"n", "ADD", `{"v":2}`, `{"l":[1,2],"n":7,"s":"hello","ss":{"$ss":["a","b"]},"t":true}`},
	{"ss", "ADD", `{"v":{"$ss":["c"]}}`, `{"l":[1,2],"n":5,"s":"hello","ss":{"$ss":["a","b","c"]},"t":true}`},
	{"l", "ADD", `{"v":[3]}`, `{"l":[1,2,3],"n":5,"s":"hello","ss":{"$ss":["a","b"]},"t":true}`},
	{"n", "DELETE", ``, `{"l":[1,2],"s":"hello","ss":{"$ss":["a","b"]},"t":true}`},
	{"ss", "DELETE", `{"v":{"$ss":["a"]}}`, `{"l":[1,2],"n":5,"s":"hello","ss":{"$ss":["b"]},"t":true}`},
	{"n", "PUT", ``, "!ValidationException: One or more parameter values were invalid: Only DELETE action is allowed when no attribute value is specified"},
	{"n", "DELETE", `{"v":1}`, "!ValidationException: One or more parameter values were invalid: DELETE action with value is not supported for the type N"},
	{"s", "ADD", `{"v":"x"}`, "!ValidationException: One or more parameter values were invalid: ADD action is not supported for the type S"},
	{"s", "ADD", `{"v":1}`, "!ValidationException: Type mismatch for attribute to update"},
	{"pk", "PUT", `{"v":"x"}`, "!ValidationException: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
}

func legacyChecks() []Check {
	var out []Check
	for _, c := range legacyConditions {
		name := c.attribute + " " + string(c.operator) + " " + c.values
		condition := types.Condition{ComparisonOperator: c.operator, AttributeValueList: listValues(c.values)}
		out = append(out, check("legacy", "Expected "+name, func(t *try) {
			pk := t.id()
			t.put("hash", pk, legacyItem)
			_, err := t.Client.DeleteItem(t.ctx, &sdk.DeleteItemInput{TableName: t.table("hash"), Key: Key(pk, ""), Expected: map[string]types.ExpectedAttributeValue{
				c.attribute: {ComparisonOperator: c.operator, AttributeValueList: listValues(c.values)},
			}})
			want := map[string]string{"true": "true", "false": conditionFailed}[c.want]
			if want == "" {
				want = c.want
			}
			t.expect(Said("true", err), want)
		}), check("legacy", "QueryFilter "+name, func(t *try) {
			pk := t.id()
			t.put("hash", pk, legacyItem)
			out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
				TableName: t.table("hash"), KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: "EQ", AttributeValueList: listValues(`["` + pk + `"]`)}},
				QueryFilter: map[string]types.Condition{c.attribute: condition},
			})
			got := "false"
			if err == nil && out.Count == 1 {
				got = "true"
			}
			t.expect(Said(got, err), c.want)
		}))
	}
	for _, c := range legacyUpdates {
		out = append(out, check("legacy", "AttributeUpdates "+c.attribute+" "+string(c.action)+" "+c.value, func(t *try) {
			pk := t.id()
			t.put("hash", pk, legacyItem)
			_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{TableName: t.table("hash"), Key: Key(pk, ""), AttributeUpdates: map[string]types.AttributeValueUpdate{
				c.attribute: {Action: c.action, Value: Item(c.value)["v"]},
			}})
			t.expect(Said(t.get("hash", pk, ""), err), c.want)
		}))
	}
	return append(append(out, legacyOthers()...), legacyProjections()...)
}

func legacyOthers() []Check {
	return []Check{
		check("legacy", "Expected with Value and Exists", func(t *try) {
			pk := t.id()
			put := func(expected types.ExpectedAttributeValue) string {
				_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key(pk, `{"n":1}`), Expected: map[string]types.ExpectedAttributeValue{"n": expected}})
				return Said("", err)
			}
			yes, no := true, false
			t.expect(put(types.ExpectedAttributeValue{Exists: &no}), "")
			t.expect(put(types.ExpectedAttributeValue{Exists: &no}), conditionFailed)
			t.expect(put(types.ExpectedAttributeValue{Value: attributeN("1")}), "")
			t.expect(put(types.ExpectedAttributeValue{Value: attributeN("1"), Exists: &yes}), "")
			t.expect(put(types.ExpectedAttributeValue{Value: attributeN("2")}), conditionFailed)
			t.expect(put(types.ExpectedAttributeValue{Exists: &yes}), "!ValidationException: One or more parameter values were invalid: Value must be provided when Exists is true for Attribute: n")
			t.expect(put(types.ExpectedAttributeValue{Value: attributeN("2"), Exists: &no}), "!ValidationException: One or more parameter values were invalid: Value cannot be used when Exists is false for Attribute: n")
		}),
		check("legacy", "ConditionalOperator", func(t *try) {
			pk := t.id()
			t.put("hash", pk, legacyItem)
			scan := func(op types.ConditionalOperator, n string) string {
				out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
					TableName: t.table("hash"), KeyConditions: map[string]types.Condition{"pk": {ComparisonOperator: "EQ", AttributeValueList: listValues(`["` + pk + `"]`)}},
					ConditionalOperator: op, QueryFilter: map[string]types.Condition{
						"n": {ComparisonOperator: "EQ", AttributeValueList: listValues(n)}, "s": {ComparisonOperator: "EQ", AttributeValueList: listValues(`["hello"]`)},
					},
				})
				if err != nil || out.Count != 1 {
					return Said("no", err)
				}
				return "yes"
			}
			t.expect(scan("OR", `[6]`)+scan("AND", `[6]`)+scan("", `[6]`)+scan("", `[5]`), "yesnonoyes")
		}),
		check("legacy", "KeyConditions on a sort key", func(t *try) {
			pk := t.partition("range")
			query := func(op types.ComparisonOperator, values string) string {
				out, err := t.Client.Query(t.ctx, &sdk.QueryInput{TableName: t.table("range"), KeyConditions: map[string]types.Condition{
					"pk": {ComparisonOperator: "EQ", AttributeValueList: listValues(`["` + pk + `"]`)}, "sk": {ComparisonOperator: op, AttributeValueList: listValues(values)},
				}})
				if err != nil {
					return Said("", err)
				}
				return positions(out.Items)
			}
			t.expect(query("BEGINS_WITH", `["a"]`), "0 1 2 3 4 5")
			t.expect(query("BETWEEN", `["aa","b"]`), "4 5 6")
			t.expect(query("GT", `["b"]`), "7 8")
			t.expect(query("NE", `["b"]`), "!ValidationException: Attempted conditional constraint is not an indexable operation")
		}),
	}
}

func legacyProjections() []Check {
	return []Check{
		check("legacy", "ScanFilter and AttributesToGet", func(t *try) {
			mark := t.id()
			t.put("hash", mark, `{"mark":"`+mark+`","a":1,"b":2}`)
			out, err := t.Client.Scan(t.ctx, &sdk.ScanInput{
				TableName: t.table("hash"), AttributesToGet: []string{"a", "gone"},
				ScanFilter: map[string]types.Condition{"mark": {ComparisonOperator: "EQ", AttributeValueList: listValues(`["` + mark + `"]`)}},
			})
			t.must(err)
			var shown []string
			for _, it := range out.Items {
				shown = append(shown, Show(it))
			}
			t.expect(strings.Join(shown, " "), `{"a":1}`)
		}),
		check("legacy", "AttributesToGet of a get", func(t *try) {
			pk := t.id()
			t.put("hash", pk, `{"a":1,"b":2}`)
			get := func(names ...string) string {
				out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table("hash"), Key: Key(pk, ""), AttributesToGet: names})
				if err != nil {
					return Said("", err)
				}
				return Show(out.Item)
			}
			t.expect(get("b", "gone"), `{"b":2}`)
			t.expect(get("b", "b"), "!ValidationException: One or more parameter values were invalid: Duplicate value in attribute name: b")
		}),
		check("legacy", "no mixing with expressions", func(t *try) {
			_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
				TableName: t.table("hash"), Key: Key(t.id(), ""), UpdateExpression: text("REMOVE a"),
				AttributeUpdates: map[string]types.AttributeValueUpdate{"b": {Action: "DELETE"}},
			})
			t.expect(Said("", err), "!ValidationException: Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}")
		}),
	}
}
