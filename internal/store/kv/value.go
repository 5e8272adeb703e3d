package kv

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type (
	// Item is a row as DynamoDB takes it: attributes by name.
	Item = map[string]types.AttributeValue
	// Value is one attribute.
	Value = types.AttributeValue
)

// S is a string.
func S(s string) Value { return &types.AttributeValueMemberS{Value: s} }

// N is a number.
func N(n int64) Value { return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)} }

// Strings is a set of strings, which must not be empty.
func Strings(set ...string) Value { return &types.AttributeValueMemberSS{Value: set} }

// Map reads a map of a row; nil where there is none.
func Map(it Item, attribute string) Item {
	if v, ok := it[attribute].(*types.AttributeValueMemberM); ok {
		return v.Value
	}
	return nil
}

// Text reads a string of a row; "" where there is none.
func Text(it Item, attribute string) string {
	if v, ok := it[attribute].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// Bytes reads bytes of a row; nil where there are none.
func Bytes(it Item, attribute string) []byte {
	if v, ok := it[attribute].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

// Int reads a number of a row; ok is false where there is none.
func Int(it Item, attribute string) (n int64, ok bool, err error) {
	v, ok := it[attribute].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(v.Value, 10, 64)
	return n, err == nil, err
}

// Millis is a time as it is stored: milliseconds since 1970, 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time reads a stored time, in UTC.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Encode returns a row, which is a struct with dynamodbav names.
func Encode(row any) (Item, error) { return attributevalue.MarshalMap(row) }

// DecodeOfFormat is Decode of a row of a kind that says its format.
func DecodeOfFormat(it Item, row any) error {
	if _, ok := it["v"]; !ok {
		return errors.Join(ErrUnreadable, ErrFormat)
	}
	return Decode(it, row)
}

// Decode reads a row into a pointer to such a struct; ErrUnreadable.
func Decode(it Item, row any) error {
	if v, ok, err := Int(it, "v"); err != nil || ok && v != Format {
		return errors.Join(ErrUnreadable, ErrFormat, err)
	}
	if err := attributevalue.UnmarshalMap(it, row); err != nil {
		return errors.Join(ErrUnreadable, err)
	}
	return nil
}

// Readable reads the rows of a list. read makes a thing of a row. A row that cannot be read is logged and left out, so that
// it takes nothing else with it; where a row counts, as one of a ledger does, DecodeAll is used.
func Readable[R, T any](ctx context.Context, t *Table, items []Item, read func(R) (T, error)) ([]T, error) {
	list := make([]T, 0, len(items))
	for _, it := range items {
		var row R
		var v T
		err := Decode(it, &row)
		if err == nil {
			v, err = read(row)
		}
		switch {
		case err == nil:
			list = append(list, v)
		case !t.LeavesOut(ctx, KeyOf(it), err):
			return nil, err
		}
	}
	return list, nil
}

// LeavesOut reports whether a list leaves a row out because of an error, and logs it: ErrUnreadable, but no failed read.
func (t *Table) LeavesOut(ctx context.Context, key Key, err error) bool {
	if !errors.Is(err, ErrUnreadable) {
		return false
	}
	t.Log.ErrorContext(ctx, "store.unreadable", "pk", key.PK, "sk", key.SK, "error", err)
	return true
}

// DecodeAll reads rows; ErrUnreadable when one cannot be read.
func DecodeAll[T any](items []Item) ([]T, error) {
	rows := make([]T, len(items))
	for i, it := range items {
		if err := Decode(it, &rows[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
