package tables

import (
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limits of the service that are easily implemented differently: the bytes that count towards a
// limit, and the order of two faults.

const (
	badAttributeName = "!ValidationException: One or more parameter values were invalid: "
	tooLongName      = "failed to satisfy constraint: Member must have length less than or equal to 255"
)

func boundChecks() []Check {
	return []Check{
		check("transaction", "the 4 MB are of what is sent, not of what is stored", sentNotStored),
		check("transaction", "a wrong key is told before any condition is looked at", keyBeforeCondition),
		check("transaction", "a deep value cancels an update, and a check may compare with one", deepValues),
		check("table", "names of keys have 255 bytes", longKeyNames),
		check("table", "an index includes 1 to 20 attributes, all of them 100", includedAttributes),
		check("alter", "a new index has its keys defined in the request", definedInRequest),
		check("expiry", "the name of the TTL attribute has 1 to 255 bytes", longTTL),
		check("legacy", "names of attributes have 1 to 65535 bytes", longLegacyNames),
		check("description", "no tags are no request", func(t *try) {
			arn := t.arn("hash")
			_, err := t.Client.TagResource(t.ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: []types.Tag{}})
			t.expect(Said("", err), "!ValidationException: Atleast one Tag needs to be provided as Input.")
		}),
		check("protocol", "an expression is a text", expressionTypes),
		check("protocol", "binaries have one spelling", base64Forms),
		check("protocol", "tags are changed without a word", emptyBodies),
	}
}

// sentNotStored has a table of its own, because other checks scan their tables in one page.
func sentNotStored(t *try) {
	name := t.table("heavy")
	t.make(plainTable(name))
	var list writes
	for i := range 12 {
		pk := fmt.Sprint("p", i)
		t.put("heavy", pk, `{"x":"`+strings.Repeat("x", 380_000)+`"}`)
		w := t.tDelete(`{"pk":"` + pk + `"}`)
		w.Delete.TableName = name
		list = append(list, w)
	}
	list[0] = t.tUpdate(`{"pk":"p0"}`, "SET n = :v", `{":v":1}`)
	list[0].Update.TableName = name
	list[1] = t.tCheck(`{"pk":"p1"}`, "attribute_exists(pk)", "")
	list[1].ConditionCheck.TableName = name
	t.expect(t.transact(list), "")
	t.expect(t.get("heavy", "p2", ""), "")
}

func keyBeforeCondition(t *try) {
	pk := t.id()
	fails := t.tCheck(`{"pk":"`+pk+`"}`, "attribute_exists(pk)", "")
	t.expect(t.transact(writes{fails, t.tPut(`{"pk":7}`, ""), t.tPut(`{"pk":8}`, "")}),
		"!cancelled [None; ValidationError: One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N; None]")
}

func deepValues(t *try) {
	pk := t.id()
	key, deep := `{"pk":"`+pk+`"}`, `{":v":`+strings.Repeat("[", 33)+strings.Repeat("]", 33)+`}`
	t.expect(t.transact(writes{t.tUpdate(key, "SET a = :v", deep)}), "!cancelled [ValidationError: Nesting Levels have exceeded supported limits")
	t.expect(t.transact(writes{t.tCheck(key, "a <> :v", deep)}), "")
	t.expect(t.get("hash", pk, ""), "")
}

func longKeyNames(t *try) {
	for n, want := range map[int]string{255: "", 256: "!ValidationException: "} {
		name := strings.Repeat("k", n)
		in := plainTable(t.table(fmt.Sprint("longkey", n)))
		in.AttributeDefinitions = []types.AttributeDefinition{definition(name, "S")}
		in.KeySchema = []types.KeySchemaElement{element(name, "HASH")}
		_, err := t.Client.CreateTable(t.ctx, in)
		got := Said("", err)
		t.expect(got, want)
		if n > 255 && !strings.Contains(got, tooLongName) {
			t.errorf("said %s", got)
		}
	}
}

func includedAttributes(t *try) {
	make := func(name string, indexes, each int) string {
		in := plainTable(t.table(name))
		for i := range indexes {
			p := &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{}}
			for j := range each {
				p.NonKeyAttributes = append(p.NonKeyAttributes, fmt.Sprintf("a%d-%d", i, j))
			}
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
				IndexName: text(fmt.Sprint("index", i)), KeySchema: []types.KeySchemaElement{element("pk", "HASH")}, Projection: p,
			})
		}
		_, err := t.Client.CreateTable(t.ctx, in)
		return Said("", err)
	}
	const refused = "!ValidationException: "
	t.expect(make("includes20", 5, 20), "")
	t.expect(make("includes0", 1, 0), refused+"1 validation error detected: Value '[]' at 'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: Member must have length greater than or equal to 1")
	t.expect(make("includes21", 1, 21), refused)
	t.expect(make("includes101", 6, 17), refused)
}

func definedInRequest(t *try) {
	in := Indexed(*t.table("redefined"))
	t.make(in)
	index := &types.CreateGlobalSecondaryIndexAction{
		IndexName: text("later"), KeySchema: []types.KeySchemaElement{element("g", "HASH")}, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}
	alter := func(u types.GlobalSecondaryIndexUpdate, defined ...types.AttributeDefinition) string {
		_, err := t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: in.TableName, AttributeDefinitions: defined, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{u}})
		return Said("", err)
	}
	const wrong = "!ValidationException: One or more parameter values were invalid: "
	t.expect(alter(types.GlobalSecondaryIndexUpdate{Create: index}), wrong+"Some index key attributes are not defined in AttributeDefinitions.")
	t.expect(alter(types.GlobalSecondaryIndexUpdate{Create: index}, definition("g", "N")), wrong+"Attributes cannot be redefined.")
	t.expect(alter(types.GlobalSecondaryIndexUpdate{}), wrong+"One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
	t.expect(alter(types.GlobalSecondaryIndexUpdate{Create: index, Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: text("all")}}, definition("g", "S")), wrong)
	t.expect(alter(types.GlobalSecondaryIndexUpdate{Create: index}, definition("g", "S")), "")
}

func longTTL(t *try) {
	in := plainTable(t.table("longttl"))
	t.make(in)
	on := true
	for _, name := range []string{"", strings.Repeat("t", 256)} {
		_, err := t.Client.UpdateTimeToLive(t.ctx, &sdk.UpdateTimeToLiveInput{TableName: in.TableName, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}})
		t.expect(Said("", err), "!ValidationException: 1 validation error detected: Value '"+name+"' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must have length ")
	}
}

func longLegacyNames(t *try) {
	pk := t.id()
	for _, name := range []string{"", strings.Repeat("n", 65536)} {
		_, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table("hash"), Key: Key(pk, ""), AttributesToGet: []string{name}})
		t.expect(Said("", err), badAttributeName)
		_, err = t.Client.UpdateItem(t.ctx, &sdk.UpdateItemInput{TableName: t.table("hash"), Key: Key(pk, ""), AttributeUpdates: map[string]types.AttributeValueUpdate{name: {Value: attributeN("1")}}})
		t.expect(Said("", err), badAttributeName)
	}
}

func expressionTypes(t *try) {
	at := `"TableName":"` + *t.table("hash") + `"`
	key := `,"Key":{"pk":{"S":"x"}}`
	for target, body := range map[string]string{
		"PutItem":    `{` + at + `,"Item":{"pk":{"S":"x"}},"ConditionExpression":1}`,
		"UpdateItem": `{` + at + key + `,"UpdateExpression":1}`,
		"GetItem":    `{` + at + key + `,"ProjectionExpression":1}`,
		"Query":      `{` + at + `,"KeyConditionExpression":1}`,
		"Scan":       `{` + at + `,"FilterExpression":1}`,
	} {
		if res := t.post(api+target, body); res.status != http.StatusBadRequest || !strings.Contains(res.body, "#SerializationException") ||
			!strings.Contains(res.body, "NUMBER_VALUE cannot be converted to String") {
			t.errorf("%s: %d %.300s", target, res.status, res.body)
		}
	}
}

func base64Forms(t *try) {
	for bad, word := range map[string]string{
		"A": "multiple of 4 bytes but found: 1", "AQ": "multiple of 4 bytes but found: 2", "AR==": "last non-pad", "-_8=": "last non-pad", "AQ\\n=": "last non-pad",
	} {
		res := t.post(api+"GetItem", `{"TableName":"`+*t.table("binary")+`","Key":{"pk":{"S":"x"},"sk":{"B":"`+bad+`"}}}`)
		if res.status != http.StatusBadRequest || !strings.Contains(res.body, "#SerializationException") || !strings.Contains(res.body, word) {
			t.errorf("%s: %d %.300s", bad, res.status, res.body)
		}
	}
}

func emptyBodies(t *try) {
	t.make(plainTable(t.table("wordless")))
	arn := t.arn("wordless")
	for target, body := range map[string]string{"TagResource": `"Tags":[{"Key":"k","Value":"v"}]`, "UntagResource": `"TagKeys":["k"]`} {
		if res := t.post(api+target, `{"ResourceArn":"`+arn+`",`+body+`}`); res.status != http.StatusOK || res.body != "" {
			t.errorf("%s: %d %.300s", target, res.status, res.body)
		}
	}
}
