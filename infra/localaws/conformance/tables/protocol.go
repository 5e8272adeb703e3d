package tables

import (
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// dialogue is a raw request with the expected response.
type dialogue struct {
	name, target, body string
	kind, word         string // in __type, in the body
}

const api = "DynamoDB_20120810."

var dialogues = []dialogue{
	{"an operation that does not exist", api + "Frobnicate", "{}", "UnknownOperationException", ""},
	{"no target", "", "{}", "UnknownOperationException", ""},
	{"no body", api + "GetItem", "", "SerializationException", ""},
	{"cut JSON", api + "GetItem", `{"TableName":"x`, "SerializationException", ""},
	{"a number as name", api + "GetItem", `{"TableName":5}`, "SerializationException", "NUMBER_VALUE cannot be converted to String"},
	{"a list as number", api + "ListTables", `{"Limit":[]}`, "SerializationException", "Unrecognized collection type class java.lang.Integer"},
	{"a number as flag", api + "GetItem", `{"TableName":"abc","Key":{},"ConsistentRead":1}`, "SerializationException", "NUMBER_VALUE cannot be converted to Boolean"},
	{"a list as key", api + "GetItem", `{"TableName":"abc","Key":[]}`, "SerializationException", "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>"},
	{"a name of a bad letter and too short", api + "ListTables", `{"ExclusiveStartTableName":"a;"}`, "ValidationException", "2 validation errors detected: Value 'a;' at 'exclusiveStartTableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; Value 'a;' at"},
	{"faults in the order of the service", api + "GetItem", `{"TableName":"a;b","ReturnConsumedCapacity":"x"}`, "ValidationException", "3 validation errors detected: Value 'x' at 'returnConsumedCapacity'"},
	{"a number as S", api + "GetItem", `{"TableName":"abc","Key":{"a":{"S":5}}}`, "SerializationException", "NUMBER_VALUE cannot be converted to String"},
	{"an empty value", api + "GetItem", `{"TableName":"abc","Key":{"a":{}}}`, "ValidationException", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
	{"a value of two types", api + "GetItem", `{"TableName":"abc","Key":{"a":{"S":"x","N":"1"}}}`, "ValidationException", "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"},
	{"a false NULL", api + "GetItem", `{"TableName":"abc","Key":{"a":{"NULL":false}}}`, "ValidationException", "Null attribute value types must have the value of true"},
	{"nothing", api + "GetItem", `{}`, "ValidationException", "2 validation errors detected: "},
	{"a short table name", api + "DeleteTable", `{}`, "ValidationException", "tableName"},
	{"no key schema", api + "CreateTable", `{"TableName":"abcd","AttributeDefinitions":[]}`, "ValidationException", "Value null at 'keySchema' failed to satisfy constraint: Member must not be null"},
}

func protocolChecks() []Check {
	var out []Check
	for _, d := range dialogues {
		out = append(out, check("protocol", d.name, func(t *try) {
			res := t.post(d.target, d.body)
			if res.status != http.StatusBadRequest || !strings.Contains(res.body, "#"+d.kind+`"`) || !strings.Contains(res.body, d.word) {
				t.errorf("%d %.500s; want 400 %s %s", res.status, res.body, d.kind, d.word)
			}
		}))
	}
	return append(out,
		check("protocol", "an answer has its checksum, its type and an id", func(t *try) {
			res := t.post(api+"ListTables", "{}")
			if want := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(res.body))), 10); res.header.Get("X-Amz-Crc32") != want || res.header.Get("X-Amzn-Requestid") == "" ||
				!strings.HasPrefix(res.header.Get("Content-Type"), "application/x-amz-json-1.0") {
				t.errorf("headers %v", res.header)
			}
		}),
		check("protocol", "members with null are absent", func(t *try) {
			pk := t.id()
			res := t.post(api+"PutItem", `{"TableName":"`+*t.table("hash")+`","Item":{"pk":{"S":"`+pk+`"}},"ConditionExpression":null,"ReturnValues":null}`)
			if res.status != http.StatusOK || res.body != "{}" {
				t.errorf("%d %s", res.status, res.body)
			}
		}),
		check("protocol", "failures have their types in the SDK", errorTypes),
	)
}

func errorTypes(t *try) {
	_, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table("nowhere"), Key: Key("x", "")})
	as[*types.ResourceNotFoundException](t, err)
	_, err = t.Client.CreateTable(t.ctx, plainTable(t.table("hash")))
	as[*types.ResourceInUseException](t, err)
	_, err = t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table("hash"), Item: Key(t.id(), ""), ConditionExpression: text("attribute_exists(pk)")})
	as[*types.ConditionalCheckFailedException](t, err)
	_, err = t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: t.table("nowhere")})
	as[*types.ResourceNotFoundException](t, err)
}
