package kv

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is one conditional write of one row. Stores make writes and hand them to Commit, also
// those of other stores: that is how a transaction spans them.
type Write struct {
	put Item // the whole row; nil: not a Put

	key Item   // of an update or a deletion
	set string // the update expression; "": not an update

	holds     string // the condition; "": none
	names     map[string]string
	values    Item
	otherwise error // returned when the condition does not hold
	err       error // the row could not be encoded
}

// Put stores a row, which is a struct with dynamodbav names, in place of the stored one. Commit and
// Do return otherwise when the condition ("": none) does not hold.
func Put(row any, condition string, otherwise error) Write {
	it, err := Encode(row)
	return Write{put: it, holds: condition, otherwise: otherwise, err: err}
}

// Update changes attributes of a row, and makes the row when there is none.
func Update(pk, sk, set, condition string, values Item, otherwise error) Write {
	return Write{key: Key(pk, sk), set: set, holds: condition, values: values, otherwise: otherwise}
}

// Delete removes a row.
func Delete(pk, sk, condition string, otherwise error) Write {
	return Write{key: Key(pk, sk), holds: condition, otherwise: otherwise}
}

// With returns the write with the values of its condition.
func (w Write) With(values Item) Write {
	w.values = values
	return w
}

// If returns the write with another condition, and its values.
func (w Write) If(condition string, values Item) Write {
	w.holds, w.values = condition, values
	return w
}

// Named returns the write with more names for its expressions: attributes whose names are
// reserved words of DynamoDB.
func (w Write) Named(placeholder, attribute string) Write {
	names := map[string]string{placeholder: attribute}
	for k, v := range w.names {
		names[k] = v
	}
	w.names = names
	return w
}

// Otherwise returns the write with another error for a condition that does not hold.
func (w Write) Otherwise(err error) Write {
	w.otherwise = err
	return w
}

// Row returns the row of a Put; nil for other writes.
func (w Write) Row() Item { return w.put }

func (w Write) condition() *string {
	if w.holds == "" {
		return nil
	}
	return &w.holds
}

// item returns the write as a part of a transaction over a table.
func (w Write) item(table *string) types.TransactWriteItem {
	switch {
	case w.put != nil:
		return types.TransactWriteItem{Put: &types.Put{
			TableName: table, Item: w.put, ConditionExpression: w.condition(),
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		}}
	case w.set != "":
		return types.TransactWriteItem{Update: &types.Update{
			TableName: table, Key: w.key, UpdateExpression: &w.set, ConditionExpression: w.condition(),
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		}}
	default:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: table, Key: w.key, ConditionExpression: w.condition(),
			ExpressionAttributeNames: w.names, ExpressionAttributeValues: w.values,
		}}
	}
}

// ErrTaken is a row that was to be new and is there already.
var ErrTaken = errors.New("kv: the key is taken")

// Unless returns a write that Commit and Do refuse with err, without a call, when err is not
// nil: a part of its row could not be encoded.
func (w Write) Unless(err error) Write {
	if w.err == nil {
		w.err = err
	}
	return w
}
