package tables

import (
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type updateCheck struct {
	seed                      string // "" for no item
	expression, names, values string
	want                      string // the item afterwards, or the failure
}

const (
	wrongType = "!ValidationException: An operand in the update expression has an incorrect data type"
	wrongPath = "!ValidationException: The document path provided in the update expression is invalid for update"
	invalidUE = "!ValidationException: Invalid UpdateExpression: "
)

var updates = []updateCheck{
	// SET
	{"", "SET a = :v", "", `{":v":1}`, `{"a":1}`},
	{`{"a":1}`, "SET a = :v, b = :w", "", `{":v":"x",":w":[1]}`, `{"a":"x","b":[1]}`},
	{`{"a":1}`, "set a = a + :v", "", `{":v":2}`, `{"a":3}`},
	{`{"a":1}`, "SET a = a - :v", "", `{":v":2.5}`, `{"a":-1.5}`},
	{`{"a":1,"b":2}`, "SET a = b, b = a", "", "", `{"a":2,"b":1}`},
	{`{"a":1}`, "SET c = :v - a", "", `{":v":10}`, `{"a":1,"c":9}`},
	{`{"a":1}`, "SET a = if_not_exists(a, :v)", "", `{":v":9}`, `{"a":1}`},
	{`{"b":1}`, "SET a = if_not_exists(a, :v)", "", `{":v":9}`, `{"a":9,"b":1}`},
	{"", "SET a = if_not_exists(a, :z) + :v", "", `{":z":0,":v":1}`, `{"a":1}`},
	{`{"l":[1]}`, "SET l = list_append(l, :v)", "", `{":v":[2]}`, `{"l":[1,2]}`},
	{`{"l":[1]}`, "SET l = list_append(:v, l)", "", `{":v":[2]}`, `{"l":[2,1]}`},
	{"", "SET l = list_append(if_not_exists(l, :e), :v)", "", `{":e":[],":v":[2]}`, `{"l":[2]}`},
	{`{"m":{"x":1}}`, "SET m.y = :v", "", `{":v":2}`, `{"m":{"x":1,"y":2}}`},
	{`{"m":{"x":{"y":1}}}`, "SET m.x.y = m.x.y + :v", "", `{":v":2}`, `{"m":{"x":{"y":3}}}`},
	{`{"m":{"x":1}}`, "SET #m.#s = :v", "#m=m #s=status", `{":v":2}`, `{"m":{"status":2,"x":1}}`},
	{`{"l":[1,2,3]}`, "SET l[1] = :v", "", `{":v":9}`, `{"l":[1,9,3]}`},
	{`{"l":[1]}`, "SET l[7] = :v", "", `{":v":9}`, `{"l":[1,9]}`},
	{`{"l":[1]}`, "SET l[9] = :v, l[5] = :w", "", `{":v":9,":w":5}`, `{"l":[1,5,9]}`},
	{`{"l":[]}`, "SET l[0] = :v", "", `{":v":9}`, `{"l":[9]}`},
	{`{"l":[[1],{"a":1}]}`, "SET l[0][0] = :v, l[1].a = :v", "", `{":v":9}`, `{"l":[[9],{"a":9}]}`},
	{`{"a":1}`, "SET #n = :v", "#n=dotted.name", `{":v":1}`, `{"a":1,"dotted.name":1}`},
	{`{"a":1}`, "SET a = (a + :v)", "", `{":v":1}`, `{"a":2}`},
	// REMOVE
	{`{"a":1,"b":2}`, "REMOVE a", "", "", `{"b":2}`},
	{`{"b":2}`, "REMOVE a", "", "", `{"b":2}`},
	{`{"m":{"x":1,"y":2}}`, "REMOVE m.x", "", "", `{"m":{"y":2}}`},
	{`{"l":[0,1,2,3]}`, "REMOVE l[1], l[2]", "", "", `{"l":[0,3]}`},
	{`{"l":[0,1,2,3]}`, "REMOVE l[0], l[3], l[9]", "", "", `{"l":[1,2]}`},
	{`{"l":[0,1]}`, "REMOVE l[0] SET l[5] = :v", "", `{":v":9}`, `{"l":[1,9]}`},
	{`{"a":1,"b":2}`, "REMOVE a SET c = a", "", "", `{"b":2,"c":1}`},
	// ADD
	{"", "ADD n :v", "", `{":v":5}`, `{"n":5}`},
	{`{"n":1}`, "ADD n :v", "", `{":v":-5}`, `{"n":-4}`},
	{`{"n":0.1}`, "ADD n :v", "", `{":v":0.2}`, `{"n":0.3}`},
	{"", "ADD s :v", "", `{":v":{"$ss":["a"]}}`, `{"s":{"$ss":["a"]}}`},
	{`{"s":{"$ss":["a"]}}`, "ADD s :v", "", `{":v":{"$ss":["a","b"]}}`, `{"s":{"$ss":["a","b"]}}`},
	{`{"s":{"$ns":[1]}}`, "ADD s :v", "", `{":v":{"$ns":["1.0",2]}}`, `{"s":{"$ns":["1","2"]}}`},
	{`{"m":{}}`, "ADD m.n :v", "", `{":v":5}`, `{"m":{"n":5}}`},
	// DELETE
	{`{"s":{"$ss":["a","b"]}}`, "DELETE s :v", "", `{":v":{"$ss":["a","z"]}}`, `{"s":{"$ss":["b"]}}`},
	{`{"s":{"$ss":["a"]},"x":1}`, "DELETE s :v", "", `{":v":{"$ss":["a"]}}`, `{"x":1}`},
	{`{"x":1}`, "DELETE s :v", "", `{":v":{"$ss":["a"]}}`, `{"x":1}`},
	// together
	{`{"a":1,"b":1,"n":1,"s":{"$ss":["x","y"]}}`, "SET a = :v REMOVE b ADD n :v DELETE s :s", "", `{":v":2,":s":{"$ss":["x"]}}`, `{"a":2,"n":3,"s":{"$ss":["y"]}}`},
	{"", "REMOVE a", "", "", ""},
	// refusals that need the item
	{`{"a":"x"}`, "SET a = a + :v", "", `{":v":1}`, wrongType},
	{`{"a":1}`, "SET b = gone", "", "", "!ValidationException: The provided expression refers to an attribute that does not exist in the item"},
	{`{"a":1}`, "SET b = gone + :v", "", `{":v":1}`, "!ValidationException: The provided expression refers to an attribute that does not exist in the item"},
	{`{"a":1}`, "SET m.x = :v", "", `{":v":1}`, wrongPath},
	{`{"a":1}`, "SET a.x = :v", "", `{":v":1}`, wrongPath},
	{`{"l":[1]}`, "SET l.x = :v", "", `{":v":1}`, wrongPath},
	{`{"a":1}`, "REMOVE m.x", "", "", wrongPath},
	{`{"a":"x"}`, "ADD a :v", "", `{":v":1}`, wrongType},
	{`{"a":{"$ss":["x"]}}`, "ADD a :v", "", `{":v":{"$ns":[1]}}`, wrongType},
	{`{"a":1}`, "DELETE a :v", "", `{":v":{"$ss":["x"]}}`, wrongType},
	{`{"l":1}`, "SET l = list_append(l, :v)", "", `{":v":[1]}`, wrongType},
	{`{"a":9e125}`, "SET a = a + :v", "", `{":v":9e125}`, "!ValidationException: Number overflow"},
	{`{"a":1e50}`, "SET a = a + :v", "", `{":v":1}`, "!ValidationException: Number overflow"},
	{`{"a":1}`, "SET big = :v", "", `{":v":"` + strings.Repeat("x", 409_600) + `"}`, "!ValidationException: Item size to update has exceeded the maximum allowed size"},
	// refusals that do not
	{"", "SET pk = :v", "", `{":v":"x"}`, "!ValidationException: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
	{"", "REMOVE pk", "", "", "!ValidationException: One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
	{"", "INVALID SYNTAX HERE", "", `{":v":1}`, invalidUE + `Syntax error; token: "INVALID", near: "INVALID SYNTAX"`},
	{"", "SET a = :v + :v + :v", "", `{":v":1}`, invalidUE + `Syntax error; token: "+", near: ":v + :v"`},
	{"", "SET a :v", "", `{":v":1}`, invalidUE + `Syntax error; token: ":v", near: "a :v"`},
	{"", "SET a = :v,", "", `{":v":1}`, invalidUE + `Syntax error; token: "<EOF>", near: ","`},
	{"", "SET a = :v SET b = :v", "", `{":v":1}`, invalidUE + `The "SET" section can only be used once in an update expression;`},
	{"", "SET a = :v, a = :v", "", `{":v":1}`, invalidUE + "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]"},
	{"", "SET a = :v REMOVE a.b", "", `{":v":1}`, invalidUE + "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]"},
	{"", "SET a.b = :v, a[0] = :v", "", `{":v":1}`, invalidUE + "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [a, b], path two: [a, [0]]"},
	{"", "SET status = :v", "", `{":v":1}`, invalidUE + "Attribute name is a reserved keyword; reserved keyword: status"},
	{"", "SET a = :x", "", `{":v":1}`, invalidUE + "An expression attribute value used in expression is not defined; attribute value: :x"},
	{"", "SET #a = :v", "", `{":v":1}`, invalidUE + "An expression attribute name used in the document path is not defined; attribute name: #a"},
	{"", "SET a = :v", "", `{":v":1,":w":2}`, "!ValidationException: Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"},
	{"", "SET a = :v", "#x=y", `{":v":1}`, "!ValidationException: Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"},
	{"", "SET a = attribute_exists(b)", "", "", invalidUE + "The function is not allowed in an update expression; function: attribute_exists"},
	{"", "SET a = foo(b)", "", "", invalidUE + "Invalid function name; function: foo"},
	{"", "SET a = list_append(b, :v)", "", `{":v":1}`, invalidUE + "Incorrect operand type for operator or function; operator or function: list_append, operand type: N"},
	{"", "SET a = list_append(b)", "", "", invalidUE + "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1"},
	{"", "SET a = if_not_exists(:v, b)", "", `{":v":1}`, invalidUE + "Operator or function requires a document path; operator or function: if_not_exists"},
	{"", "SET a = b + :v", "", `{":v":"x"}`, invalidUE + "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
	{"", "ADD a :v", "", `{":v":"x"}`, invalidUE + "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND"},
	{"", "DELETE a :v", "", `{":v":1}`, invalidUE + "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_ADD_OPERAND"},
	{"", "ADD a b", "", "", invalidUE + `Syntax error; token: "b", near: "a b"`},
}

func updateChecks() []Check {
	var out []Check
	for _, c := range updates {
		name := brief(strings.TrimSpace(c.expression+" "+c.names), c.values)
		if c.seed != "" {
			name += " on " + c.seed
		}
		out = append(out, check("update", name, func(t *try) {
			pk := t.id()
			if c.seed != "" {
				t.put("hash", pk, c.seed)
			}
			before := t.get("hash", pk, "")
			_, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
				TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: &c.expression,
				ExpressionAttributeNames: names(c.names), ExpressionAttributeValues: Item(c.values),
			})
			after := t.get("hash", pk, "")
			t.expect(Said(after, err), c.want)
			if err != nil && after != before {
				t.errorf("a refused update changed the item to %s", after)
			}
		}))
	}
	return out
}

func returnChecks() []Check {
	const seed = `{"a":1,"b":2,"l":[1,2,3],"m":{"x":1,"y":2}}`
	const expression = "SET a = :v, m.x = :v, l[1] = :v REMOVE b"
	out := []Check{
		check("return values", "an update without expression creates the item", func(t *try) {
			pk := t.id()
			out, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{TableName: t.table("hash"), Key: Key(pk, ""), ReturnValues: types.ReturnValueAllNew})
			t.must(err)
			t.expect(Show(out.Attributes), `{"pk":"`+pk+`"}`)
		}),
		check("return values", "UPDATED_OLD of an item that was not there is nothing", func(t *try) {
			out, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
				TableName: t.table("hash"), Key: Key(t.id(), ""), UpdateExpression: text("SET a = :v"),
				ExpressionAttributeValues: Item(`{":v":1}`), ReturnValues: types.ReturnValueUpdatedOld,
			})
			t.must(err)
			if len(out.Attributes) != 0 {
				t.errorf("got %s", Show(out.Attributes))
			}
		}),
	}
	for _, c := range []struct {
		returns types.ReturnValue
		want    string
	}{
		{"", ""},
		{types.ReturnValueNone, ""},
		{types.ReturnValueAllOld, `{"a":1,"b":2,"l":[1,2,3],"m":{"x":1,"y":2},"pk":"PK"}`},
		{types.ReturnValueAllNew, `{"a":9,"l":[1,9,3],"m":{"x":9,"y":2},"pk":"PK"}`},
		{types.ReturnValueUpdatedOld, `{"a":1,"b":2,"l":[2],"m":{"x":1}}`},
		{types.ReturnValueUpdatedNew, `{"a":9,"l":[9],"m":{"x":9}}`},
		{"BOGUS", "!ValidationException: 1 validation error detected: Value 'BOGUS' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"},
	} {
		out = append(out, check("return values", "of an update: "+string(c.returns), func(t *try) {
			pk := t.id()
			t.put("hash", pk, seed)
			out, err := t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{
				TableName: t.table("hash"), Key: Key(pk, ""), UpdateExpression: text(expression),
				ExpressionAttributeValues: Item(`{":v":9}`), ReturnValues: c.returns,
			})
			got := ""
			if err == nil {
				got = Show(out.Attributes)
			}
			t.expect(strings.ReplaceAll(Said(got, err), pk, "PK"), c.want)
		}))
	}
	return out
}
