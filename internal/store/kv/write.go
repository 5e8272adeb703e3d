package kv

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is one conditional write of one row. Stores make writes and hand them to Commit, also those of other stores: that
// is how a transaction spans them. Each method returns another write, and leaves its own as it is.
type Write struct {
	put    Item // the whole row; nil: not a Put
	key    Key  // of an update or a deletion
	update bool

	sets, adds []clause // of an update
	removes    []Path

	holds     []Condition
	otherwise error // returned when the conditions do not hold
	err       error // the row could not be encoded
}

// Put stores a row, which is a struct with dynamodbav names, and overwrites the stored one.
func Put(row any) Write {
	it, err := Encode(row)
	return Write{put: it, err: err}
}

// Insert stores a row when there is none.
func Insert(row any) Write { return Put(row).If(Missing("PK")) }

// Update changes attributes of a row, and makes the row when there is none.
func Update(key Key) Write { return Write{key: key, update: true} }

// Delete removes a row.
func Delete(key Key) Write { return Write{key: key} }

// Set has an update store a value: see IfMissing and Plus for those that depend on the row.
func (w Write) Set(p Path, v any) Write {
	c := clause{"$ = ?", [2]Path{p}, [2]any{v}}
	if to, ok := v.(Operand); ok {
		c = clause{to.form, [2]Path{p, to.path}, [2]any{to.value}}
	}
	w.sets = slices.Concat(w.sets, []clause{c})
	return w
}

// Add has an update add to a number, which is 0 when it is not there, or to a set.
func (w Write) Add(p Path, v any) Write {
	if strings.Contains(string(p), member) { // ADD takes attributes of the row alone
		w.sets = slices.Concat(w.sets, []clause{{"$ = if_not_exists($, ?) + ?", [2]Path{p, p}, [2]any{0, v}}})
		return w
	}
	w.adds = slices.Concat(w.adds, []clause{{"$ ?", [2]Path{p}, [2]any{v}}})
	return w
}

// Remove has an update remove attributes.
func (w Write) Remove(list ...Path) Write {
	w.removes = slices.Concat(w.removes, list)
	return w
}

// If adds conditions.
func (w Write) If(list ...Condition) Write {
	w.holds = slices.Concat(w.holds, list)
	return w
}

// Else sets the error that Commit and Do return when a condition does not hold.
func (w Write) Else(err error) Write {
	w.otherwise = err
	return w
}

// Row returns the row of a Put; nil for other writes.
func (w Write) Row() Item { return w.put }

// IsEmpty reports an update that changes nothing.
func (w Write) IsEmpty() bool { return w.update && len(w.sets)+len(w.removes)+len(w.adds) == 0 }

// ErrTaken is a row that was to be new and is there already.
var ErrTaken = errors.New("kv: the key is taken")

// Unless returns a write that Commit and Do refuse with err, without a call, when err is not nil: a part of its row could
// not be encoded.
func (w Write) Unless(err error) Write {
	if w.err == nil {
		w.err = err
	}
	return w
}

// item returns the write as a part of a transaction over a table.
func (w Write) item(table *string) (item types.TransactWriteItem, err error) {
	var s scope
	change, condition := s.changes(w), s.condition(All(w.holds...))
	switch {
	case w.put != nil:
		item.Put = &types.Put{
			TableName: table, Item: w.put, ConditionExpression: condition, ExpressionAttributeNames: s.names, ExpressionAttributeValues: s.values,
		}
	case w.update:
		item.Update = &types.Update{
			TableName: table, Key: w.key.Item(), UpdateExpression: change, ConditionExpression: condition,
			ExpressionAttributeNames: s.names, ExpressionAttributeValues: s.values,
		}
	default:
		item.Delete = &types.Delete{
			TableName: table, Key: w.key.Item(), ConditionExpression: condition, ExpressionAttributeNames: s.names, ExpressionAttributeValues: s.values,
		}
	}
	return item, cmp.Or(w.err, s.err)
}

// changes returns the update expression of a write.
func (s *scope) changes(w Write) *string {
	var parts []string
	for _, part := range [...]*string{s.expression("SET ", w.sets...), s.expression("REMOVE ", clauses(w.removes)...), s.expression("ADD ", w.adds...)} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return aws.String(strings.Join(parts, " "))
}
