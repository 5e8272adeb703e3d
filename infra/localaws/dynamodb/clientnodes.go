package dynamodb

import (
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// members is an input of the SDK as the members of a request.
type members struct {
	node
	refused string // a member that a client of this process does not have
}

func newMembers(room int) *members {
	return &members{node: node{kind: jsonObject, fields: make([]field, 0, room)}}
}

func (m *members) add(name string, n node) { m.fields = append(m.fields, field{name, n}) }

// refuse records a member that is not carried, when it is given.
func (m *members) refuse(name string, given bool) {
	if given {
		m.refused = name
	}
}

func (m *members) text(name string, s *string) {
	if s != nil {
		m.add(name, textNode(*s))
	}
}

// choice adds a member of a closed set; empty: it is absent.
func (m *members) choice(name, s string) {
	if s != "" {
		m.add(name, textNode(s))
	}
}

func (m *members) flag(name string, b *bool) {
	if b != nil {
		m.add(name, node{kind: jsonBool, bool: *b})
	}
}

func (m *members) item(name string, it map[string]types.AttributeValue) {
	if it != nil {
		m.add(name, itemNode(it))
	}
}

func (m *members) names(all map[string]string) {
	if all == nil {
		return
	}
	n := node{kind: jsonObject, fields: make([]field, 0, len(all))}
	for placeholder, name := range all {
		n.fields = append(n.fields, field{placeholder, textNode(name)})
	}
	m.add("ExpressionAttributeNames", n)
}

func (m *members) values(all map[string]types.AttributeValue) {
	if all == nil {
		return
	}
	n := node{kind: jsonObject, fields: make([]field, 0, len(all))}
	for placeholder, v := range all {
		g := &given{}
		g.value, g.err = valueFrom(v)
		n.fields = append(n.fields, field{placeholder, node{kind: jsonObject, given: g}})
	}
	m.add("ExpressionAttributeValues", n)
}

func textNode(s string) node { return node{kind: jsonString, str: validText(s)} }

func itemNode(it map[string]types.AttributeValue) node {
	g := &given{}
	g.item, g.err = itemFrom(it)
	return node{kind: jsonObject, given: g}
}

func getNode(in *sdk.GetItemInput) *members {
	m := newMembers(5)
	m.text("TableName", in.TableName)
	m.item("Key", in.Key)
	m.flag("ConsistentRead", in.ConsistentRead)
	m.text("ProjectionExpression", in.ProjectionExpression)
	m.names(in.ExpressionAttributeNames)
	m.refuse("AttributesToGet", in.AttributesToGet != nil)
	m.refuse("ReturnConsumedCapacity", in.ReturnConsumedCapacity != "")
	return m
}

// write is the members that the writes have in common, alone and in a transaction.
type write struct {
	table     *string
	body      string // "Item" or "Key"
	item      map[string]types.AttributeValue
	update    *string
	condition *string
	names     map[string]string
	values    map[string]types.AttributeValue
	failed    types.ReturnValuesOnConditionCheckFailure
}

func (w write) members() *members {
	m := newMembers(8)
	m.text("TableName", w.table)
	m.item(w.body, w.item)
	m.text("UpdateExpression", w.update)
	m.text("ConditionExpression", w.condition)
	m.names(w.names)
	m.values(w.values)
	m.choice("ReturnValuesOnConditionCheckFailure", string(w.failed))
	return m
}

// alone adds the members that only a write outside of a transaction has.
func (m *members) alone(returns types.ReturnValue, capacity types.ReturnConsumedCapacity, metrics types.ReturnItemCollectionMetrics, expected map[string]types.ExpectedAttributeValue, operator types.ConditionalOperator) *members {
	m.choice("ReturnValues", string(returns))
	m.refuse("ReturnConsumedCapacity", capacity != "")
	m.refuse("ReturnItemCollectionMetrics", metrics != "")
	m.refuse("Expected", expected != nil)
	m.refuse("ConditionalOperator", operator != "")
	return m
}

func putNode(in *sdk.PutItemInput) *members {
	return write{
		table: in.TableName, body: "Item", item: in.Item, condition: in.ConditionExpression, names: in.ExpressionAttributeNames,
		values: in.ExpressionAttributeValues, failed: in.ReturnValuesOnConditionCheckFailure,
	}.members().alone(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, in.Expected, in.ConditionalOperator)
}

func updateNode(in *sdk.UpdateItemInput) *members {
	m := write{
		table: in.TableName, body: "Key", item: in.Key, update: in.UpdateExpression, condition: in.ConditionExpression, names: in.ExpressionAttributeNames,
		values: in.ExpressionAttributeValues, failed: in.ReturnValuesOnConditionCheckFailure,
	}.members().alone(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, in.Expected, in.ConditionalOperator)
	m.refuse("AttributeUpdates", in.AttributeUpdates != nil)
	return m
}

func deleteNode(in *sdk.DeleteItemInput) *members {
	return write{
		table: in.TableName, body: "Key", item: in.Key, condition: in.ConditionExpression, names: in.ExpressionAttributeNames,
		values: in.ExpressionAttributeValues, failed: in.ReturnValuesOnConditionCheckFailure,
	}.members().alone(in.ReturnValues, in.ReturnConsumedCapacity, in.ReturnItemCollectionMetrics, in.Expected, in.ConditionalOperator)
}

func queryNode(in *sdk.QueryInput) *members {
	m := newMembers(11)
	m.text("TableName", in.TableName)
	m.text("IndexName", in.IndexName)
	m.flag("ConsistentRead", in.ConsistentRead)
	m.item("ExclusiveStartKey", in.ExclusiveStartKey)
	m.names(in.ExpressionAttributeNames)
	m.values(in.ExpressionAttributeValues)
	m.text("KeyConditionExpression", in.KeyConditionExpression)
	m.text("FilterExpression", in.FilterExpression)
	m.text("ProjectionExpression", in.ProjectionExpression)
	if in.Limit != nil {
		m.add("Limit", node{kind: jsonNumber, str: strconv.FormatInt(int64(*in.Limit), 10)})
	}
	m.flag("ScanIndexForward", in.ScanIndexForward)
	m.choice("Select", string(in.Select))
	m.refuse("AttributesToGet", in.AttributesToGet != nil)
	m.refuse("ConditionalOperator", in.ConditionalOperator != "")
	m.refuse("KeyConditions", in.KeyConditions != nil)
	m.refuse("QueryFilter", in.QueryFilter != nil)
	m.refuse("ReturnConsumedCapacity", in.ReturnConsumedCapacity != "")
	return m
}

func scanNode(in *sdk.ScanInput) *members {
	m := newMembers(11)
	m.text("TableName", in.TableName)
	m.text("IndexName", in.IndexName)
	m.flag("ConsistentRead", in.ConsistentRead)
	m.item("ExclusiveStartKey", in.ExclusiveStartKey)
	m.names(in.ExpressionAttributeNames)
	m.values(in.ExpressionAttributeValues)
	m.text("FilterExpression", in.FilterExpression)
	m.text("ProjectionExpression", in.ProjectionExpression)
	for name, n := range map[string]*int32{"Limit": in.Limit, "Segment": in.Segment, "TotalSegments": in.TotalSegments} {
		if n != nil {
			m.add(name, node{kind: jsonNumber, str: strconv.FormatInt(int64(*n), 10)})
		}
	}
	m.choice("Select", string(in.Select))
	m.refuse("AttributesToGet", in.AttributesToGet != nil)
	m.refuse("ConditionalOperator", in.ConditionalOperator != "")
	m.refuse("ScanFilter", in.ScanFilter != nil)
	m.refuse("ReturnConsumedCapacity", in.ReturnConsumedCapacity != "")
	return m
}

func batchWriteNode(in *sdk.BatchWriteItemInput) *members {
	m := newMembers(1)
	tables := node{kind: jsonObject}
	for table, requests := range in.RequestItems {
		list := node{kind: jsonArray}
		for _, r := range requests {
			one := newMembers(1)
			if r.PutRequest != nil {
				put := newMembers(1)
				put.item("Item", r.PutRequest.Item)
				one.add("PutRequest", put.node)
			}
			if r.DeleteRequest != nil {
				del := newMembers(1)
				del.item("Key", r.DeleteRequest.Key)
				one.add("DeleteRequest", del.node)
			}
			list.list = append(list.list, one.node)
		}
		tables.fields = append(tables.fields, field{table, list})
	}
	if in.RequestItems != nil {
		m.add("RequestItems", tables)
	}
	m.refuse("ReturnConsumedCapacity", in.ReturnConsumedCapacity != "")
	m.refuse("ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != "")
	return m
}

func transactNode(in *sdk.TransactWriteItemsInput) *members {
	m := newMembers(1)
	if in.TransactItems != nil {
		list := node{kind: jsonArray, list: make([]node, 0, len(in.TransactItems))}
		for i := range in.TransactItems {
			list.list = append(list.list, actionNode(&in.TransactItems[i]))
		}
		m.add("TransactItems", list)
	}
	m.refuse("ClientRequestToken", in.ClientRequestToken != nil)
	m.refuse("ReturnConsumedCapacity", in.ReturnConsumedCapacity != "")
	m.refuse("ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != "")
	return m
}

// actionNode returns one of the actions of a transaction.
func actionNode(it *types.TransactWriteItem) node {
	m := newMembers(1)
	add := func(action string, w write) { m.add(action, w.members().node) }
	if a := it.ConditionCheck; a != nil {
		add(actionCheck, write{a.TableName, "Key", a.Key, nil, a.ConditionExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure})
	}
	if a := it.Put; a != nil {
		add(actionPut, write{a.TableName, "Item", a.Item, nil, a.ConditionExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure})
	}
	if a := it.Delete; a != nil {
		add(actionDelete, write{a.TableName, "Key", a.Key, nil, a.ConditionExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure})
	}
	if a := it.Update; a != nil {
		add(actionUpdate, write{a.TableName, "Key", a.Key, a.UpdateExpression, a.ConditionExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues, a.ReturnValuesOnConditionCheckFailure})
	}
	return m.node
}
