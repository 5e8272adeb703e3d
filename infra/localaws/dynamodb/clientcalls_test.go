package dynamodb_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type attributes = map[string]types.AttributeValue

// caller draws calls on a small table, so that they meet. Some calls have a fault, at most one in their items: a
// client may find either of two first.
type caller struct {
	*rand.Rand
	flawed *bool
}

func randomCall(r *rand.Rand) (string, func(itemClient) (any, error)) {
	c := caller{r, new(bool)}
	switch c.IntN(7) {
	case 0:
		return "GetItem", call(itemClient.GetItem, c.get())
	case 1:
		return "PutItem", call(itemClient.PutItem, c.put())
	case 2:
		return "UpdateItem", call(itemClient.UpdateItem, c.update())
	case 3:
		return "DeleteItem", call(itemClient.DeleteItem, c.delete())
	case 4:
		return "Query", call(itemClient.Query, c.query())
	case 5:
		return "BatchWriteItem", call(itemClient.BatchWriteItem, c.batchWrite())
	default:
		return "TransactWriteItems", call(itemClient.TransactWriteItems, c.transaction())
	}
}

func (c caller) one(n int) bool { return c.IntN(n) == 0 }

// flaw reports, for one in n, that an item is to have a fault.
func (c caller) flaw(n int) bool {
	if *c.flawed || !c.one(n) {
		return false
	}
	*c.flawed = true
	return true
}

func (c caller) table() *string {
	if c.one(40) {
		return aws.String("absent")
	}
	return aws.String("calls")
}

func (c caller) key() attributes {
	key := attributes{"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("p", c.IntN(3))}, "sk": &types.AttributeValueMemberN{Value: fmt.Sprint(c.IntN(5))}}
	switch c.IntN(60) {
	case 0:
		delete(key, "sk")
	case 1:
		key["sk"] = &types.AttributeValueMemberS{Value: "1"}
	case 2:
		key["pk"] = &types.AttributeValueMemberS{Value: ""}
	}
	return key
}

func (c caller) item() attributes {
	it := c.key()
	for range c.IntN(4) {
		it[fmt.Sprint("a", c.IntN(4))] = c.value(0)
	}
	if c.one(2) {
		it["list"] = &types.AttributeValueMemberS{Value: fmt.Sprint("l", c.IntN(2))}
	}
	if c.flaw(100) {
		it[""] = c.value(0)
	}
	return it
}

// value draws a value of any type. Some have a fault: an empty set, the same element twice, no number, no UTF-8.
func (c caller) value(depth int) types.AttributeValue {
	kinds := 10
	if depth > 2 {
		kinds = 5
	}
	switch c.IntN(kinds) {
	case 0:
		return &types.AttributeValueMemberS{Value: c.text()}
	case 1:
		return &types.AttributeValueMemberN{Value: c.number()}
	case 2:
		return &types.AttributeValueMemberB{Value: []byte(c.text())}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: c.one(2)}
	case 4:
		return &types.AttributeValueMemberNULL{Value: !c.flaw(20)}
	case 5:
		list := make([]types.AttributeValue, c.IntN(3))
		for i := range list {
			list[i] = c.value(depth + 1)
		}
		return &types.AttributeValueMemberL{Value: list}
	case 6:
		m := attributes{}
		for range c.IntN(3) {
			m[fmt.Sprint("m", c.IntN(3))] = c.value(depth + 1)
		}
		return &types.AttributeValueMemberM{Value: m}
	case 7:
		return &types.AttributeValueMemberSS{Value: c.set([]string{"", "a", "b", "té", "\xff"})}
	case 8:
		return &types.AttributeValueMemberNS{Value: c.set([]string{"0", "1.0", "-7", "1e3", "12345678901234567890"})}
	default:
		var set [][]byte
		for _, text := range c.set([]string{"", "a", "té", "\xff\xfe", "\x00"}) {
			set = append(set, []byte(text))
		}
		return &types.AttributeValueMemberBS{Value: set}
	}
}

// set draws elements of a set, which are distinct and some, unless the set has a fault.
func (c caller) set(of []string) []string {
	if c.flaw(20) {
		return []string{}
	}
	c.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	of = of[:1+c.IntN(3)]
	if c.flaw(20) {
		of = append(of, of[0])
	}
	return of
}

func (c caller) text() string {
	return []string{"", "a", "b", "té", "\"\\\n\u2028", "x\xffy\xfe\xfd", "\x00\x7f", "<>&"}[c.IntN(8)]
}

func (c caller) number() string {
	if c.flaw(40) {
		return []string{"", "x", "1e200", "0x1", " 1"}[c.IntN(5)]
	}
	return []string{"0", "1", "1.0", "-0", "1e3", "1000", "0.10", "-7", "123456789012345678901234567890"}[c.IntN(9)]
}

// expression draws a condition with the names and values that it needs, sometimes with one too many.
func (c caller) expression() (condition *string, names map[string]string, values attributes) {
	values = attributes{":v": c.value(2)}
	switch c.IntN(7) {
	case 0:
		return nil, nil, nil
	case 1:
		return aws.String("attribute_exists(pk)"), nil, nil
	case 2:
		return aws.String("attribute_not_exists(#a)"), map[string]string{"#a": "a0"}, nil
	case 3:
		return aws.String("a1 = :v"), nil, values
	case 4:
		return aws.String("a1 = :v OR size(#b) > :n"), map[string]string{"#b": "a2"}, attributes{":v": c.value(2), ":n": &types.AttributeValueMemberN{Value: "1"}}
	case 5:
		if c.one(4) {
			return aws.String("a1 = "), map[string]string{}, values
		}
		return aws.String("a1 = :v"), nil, attributes{":v": c.value(2), ":unused": c.value(2)}
	default:
		return aws.String("a1 < :v"), nil, values
	}
}

func (c caller) failed() types.ReturnValuesOnConditionCheckFailure {
	return []types.ReturnValuesOnConditionCheckFailure{"", "ALL_OLD", "NONE"}[c.IntN(3)]
}

func (c caller) get() *sdk.GetItemInput {
	in := &sdk.GetItemInput{TableName: c.table(), Key: c.key()}
	if c.one(2) {
		in.ConsistentRead = aws.Bool(c.one(2))
	}
	if c.one(3) {
		in.ProjectionExpression, in.ExpressionAttributeNames = aws.String("#a, a1, a2.m0"), map[string]string{"#a": "a0"}
	}
	return in
}

func (c caller) put() *sdk.PutItemInput {
	in := &sdk.PutItemInput{TableName: c.table(), Item: c.item(), ReturnValuesOnConditionCheckFailure: c.failed()}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = c.expression()
	in.ReturnValues = []types.ReturnValue{"", "ALL_OLD", "NONE", "ALL_NEW"}[c.IntN(4)]
	return in
}

func (c caller) updateExpression() (*string, attributes) {
	switch c.IntN(5) {
	case 0:
		return aws.String("SET a0 = if_not_exists(a0, :one) + :one"), attributes{":one": &types.AttributeValueMemberN{Value: "1"}}
	case 1:
		return aws.String("REMOVE a1, a2.m0"), nil
	case 2:
		return aws.String("ADD a3 :set"), attributes{":set": &types.AttributeValueMemberNS{Value: []string{"1", "2"}}}
	case 3:
		return aws.String("SET pk = :x"), attributes{":x": c.value(2)}
	default:
		return aws.String("SET a1 = :x, list = :l"), attributes{":x": c.value(0), ":l": &types.AttributeValueMemberS{Value: fmt.Sprint("l", c.IntN(2))}}
	}
}

func (c caller) update() *sdk.UpdateItemInput {
	in := &sdk.UpdateItemInput{TableName: c.table(), Key: c.key(), ReturnValuesOnConditionCheckFailure: c.failed()}
	in.UpdateExpression, in.ExpressionAttributeValues = c.updateExpression()
	if c.one(2) {
		in.ConditionExpression = aws.String("attribute_exists(pk)")
	}
	in.ReturnValues = []types.ReturnValue{"", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}[c.IntN(5)]
	return in
}

func (c caller) delete() *sdk.DeleteItemInput {
	in := &sdk.DeleteItemInput{TableName: c.table(), Key: c.key(), ReturnValuesOnConditionCheckFailure: c.failed(), ReturnValues: types.ReturnValueAllOld}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = c.expression()
	return in
}

func (c caller) query() *sdk.QueryInput {
	in := &sdk.QueryInput{TableName: c.table(), KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: attributes{":pk": &types.AttributeValueMemberS{Value: fmt.Sprint("p", c.IntN(3))}}}
	if c.one(3) {
		in.IndexName, in.KeyConditionExpression = aws.String("lists"), aws.String("list = :pk")
		in.ExpressionAttributeValues[":pk"] = &types.AttributeValueMemberS{Value: fmt.Sprint("l", c.IntN(2))}
	}
	if c.one(3) {
		in.KeyConditionExpression = aws.String(*in.KeyConditionExpression + " AND sk > :from")
		in.ExpressionAttributeValues[":from"] = &types.AttributeValueMemberN{Value: c.number()}
	}
	if c.one(2) {
		in.Limit = aws.Int32(int32(c.IntN(4)))
	}
	if c.one(3) {
		in.ExclusiveStartKey = c.key()
	}
	if c.one(3) {
		in.FilterExpression, in.ExpressionAttributeNames = aws.String("attribute_exists(#f)"), map[string]string{"#f": "a1"}
	}
	if c.one(4) {
		in.ProjectionExpression = aws.String("pk, a0")
	}
	in.ScanIndexForward = []*bool{nil, aws.Bool(true), aws.Bool(false)}[c.IntN(3)]
	in.ConsistentRead = []*bool{nil, aws.Bool(true)}[c.IntN(2)]
	in.Select = []types.Select{"", types.SelectCount, types.SelectAllAttributes}[c.IntN(3)]
	return in
}

func (c caller) batchWrite() *sdk.BatchWriteItemInput {
	var list []types.WriteRequest
	for range c.IntN(4) {
		if c.one(3) {
			list = append(list, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: c.key()}})
			continue
		}
		list = append(list, types.WriteRequest{PutRequest: &types.PutRequest{Item: c.item()}})
	}
	return &sdk.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*c.table(): list}}
}

func (c caller) transaction() *sdk.TransactWriteItemsInput {
	in := &sdk.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{}}
	for range c.IntN(4) {
		condition, names, values := c.expression()
		var it types.TransactWriteItem
		switch c.IntN(4) {
		case 0:
			it.Put = &types.Put{TableName: c.table(), Item: c.item(), ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: c.failed()}
		case 1:
			it.Delete = &types.Delete{TableName: c.table(), Key: c.key(), ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: c.failed()}
		case 2:
			it.ConditionCheck = &types.ConditionCheck{TableName: c.table(), Key: c.key(), ConditionExpression: aws.String("attribute_exists(pk)"), ReturnValuesOnConditionCheckFailure: c.failed()}
		default:
			it.Update = &types.Update{TableName: c.table(), Key: c.key(), ReturnValuesOnConditionCheckFailure: c.failed()}
			it.Update.UpdateExpression, it.Update.ExpressionAttributeValues = c.updateExpression()
		}
		in.TransactItems = append(in.TransactItems, it)
	}
	return in
}
