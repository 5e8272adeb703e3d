package kv

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The indexes of the table, as template.yaml names them.
const (
	listed = "listed" // GSI1PK, GSI1SK
	due    = "due"    // DuePK, DueSK
)

// Span is the rows of some kinds in one partition. Nothing else can be queried
// (TestQueriesAreSpans), so a query never meets a row of a kind that it did not name: other
// kinds share its partition, and more will.
type Span struct {
	index string // "" is the table
	pk    string

	// kinds are the beginnings of the sort keys, in the order of their bytes. One that
	// does not end in # is a whole sort key.
	kinds []string

	// From and To narrow the span to sort keys from one to another, both included; Before
	// ends it before one. Empty ones narrow nothing.
	From, To, Before string

	Newest bool // the last row comes first

	Filter Condition // keeps the rows that meet it
	Fields []Path    // are read; none: all; they name the sort key
}

// Rows is all rows of kinds in a partition of the table. A kind is the beginning of a sort key,
// up to and with its #, or a whole sort key; kinds are in the order of their bytes.
func Rows(pk string, kinds ...string) Span { return Span{pk: pk, kinds: kinds} }

// Of returns the partition of a span.
func (s Span) Of() string { return s.pk }

// Listed is the rows of a list, by time. A partition of an index is of one kind, and its sort
// keys begin with the digits of a time.
func Listed(pk string) Span { return Span{index: listed, pk: pk, From: "0", To: "9" + last} }

// DueBy is the rows in a partition of a list that are due by a time.
func DueBy(partition string, at time.Time) Span {
	return Span{index: due, pk: partition, From: "0", To: At(at, "~")}
}

// keys names the two key attributes.
func (s Span) keys() (pk, sk Path) {
	switch s.index {
	case listed:
		return "GSI1PK", "GSI1SK"
	case due:
		return "DuePK", "DueSK"
	}
	return "PK", "SK"
}

const last = "\U0010FFFF" // follows every text that a sort key goes on with

// bounds are the first and the last sort key that a row of the span can have.
func (s Span) bounds() (from, to string) {
	from, to = s.From, s.To
	if n := len(s.kinds); n > 0 {
		from = max(from, s.kinds[0])
		if end := s.kinds[n-1] + last; to == "" || to > end {
			to = end
		}
	}
	if s.Before != "" {
		to = min(to, s.Before)
	}
	return from, to
}

// has reports a sort key of the span.
func (s Span) has(sk string) bool {
	if sk == s.Before {
		return false
	}
	for _, kind := range s.kinds {
		if sk == kind || strings.HasSuffix(kind, "#") && strings.HasPrefix(sk, kind) {
			return true
		}
	}
	return len(s.kinds) == 0
}

// Each calls f for the rows of a span in their order until it returns false. It reads
// about limit rows at a time, when that is not 0.
func (t *Table) Each(ctx context.Context, s Span, limit int, f func(Item) (bool, error)) error {
	pk, sk := s.keys()
	from, to := s.bounds()
	if from > to {
		return nil
	}
	var e scope
	in := &dynamodb.QueryInput{
		TableName:              &t.name,
		KeyConditionExpression: e.condition(All(Is(pk, s.pk), Between(sk, from, to))),
		FilterExpression:       e.condition(s.Filter), ProjectionExpression: e.expression("", clauses(s.Fields)...),
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ScanIndexForward: aws.Bool(!s.Newest),
	}
	if e.err != nil {
		return e.err
	}
	if s.index == "" {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = &s.index
	}
	if limit > 0 {
		if s.Before != "" {
			limit++ // for the row that the span ends before
		}
		in.Limit = aws.Int32(int32(limit))
	}
	for {
		out, err := t.client.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			if key, ok := it[string(sk)].(*types.AttributeValueMemberS); !ok || !s.has(key.Value) {
				continue
			}
			if more, err := f(it); err != nil || !more {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// Read returns the rows of a span, at most limit when that is not 0.
func (t *Table) Read(ctx context.Context, s Span, limit int) ([]Item, error) {
	var items []Item
	err := t.Each(ctx, s, limit, func(it Item) (bool, error) {
		items = append(items, it)
		return limit == 0 || len(items) < limit, nil
	})
	return items, err
}
