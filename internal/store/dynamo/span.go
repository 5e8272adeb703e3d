package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// span is the rows of some kinds in one partition. Nothing else can be queried
// (TestQueriesAreSpans), so no query meets a row of a kind that it did not name: other
// kinds share its partition, and more will.
type span struct {
	index string // "" is the table
	pk    string

	// kinds are the beginnings of the sort keys, in the order of their bytes. One that
	// does not end in # is a whole sort key.
	kinds []string

	// from and to narrow the span to sort keys from one to another, both included;
	// before ends it before one. Empty ones narrow nothing.
	from, to, before string

	newest bool // the last comes first

	filter string // keeps the rows that meet it; its values begin with :v
	values item
	fields string // what is read of each row, when not all of it; it names the sort key
}

// kindsIn is all rows of these kinds in a partition of the table.
func kindsIn(pk string, kinds ...string) span { return span{pk: pk, kinds: kinds} }

// listIn is the rows of a partition of an index. A partition of an index is of one
// kind, and its sort keys begin with the digits of a time.
func listIn(index, pk string) span { return span{index: index, pk: pk, from: "0", to: "9" + last} }

// keys names the two key attributes.
func (s span) keys() (pk, sk string) {
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
func (s span) bounds() (from, to string) {
	from, to = s.from, s.to
	if n := len(s.kinds); n > 0 {
		from = max(from, s.kinds[0])
		if end := s.kinds[n-1] + last; to == "" || to > end {
			to = end
		}
	}
	if s.before != "" {
		to = min(to, s.before)
	}
	return from, to
}

// has reports a sort key of the span.
func (s span) has(sk string) bool {
	if sk == s.before {
		return false
	}
	for _, kind := range s.kinds {
		if sk == kind || strings.HasSuffix(kind, "#") && strings.HasPrefix(sk, kind) {
			return true
		}
	}
	return len(s.kinds) == 0
}

// each calls f for the rows of a span in their order until it returns false. It reads
// about limit rows at a time, when that is not 0.
func (t *Table) each(ctx context.Context, s span, limit int, f func(item) (bool, error)) error {
	pk, sk := s.keys()
	from, to := s.bounds()
	if from > to {
		return nil
	}
	in := &dynamodb.QueryInput{
		TableName:                 &t.name,
		KeyConditionExpression:    aws.String(pk + " = :pk AND " + sk + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{":pk": str(s.pk), ":from": str(from), ":to": str(to)},
		ScanIndexForward:          aws.Bool(!s.newest),
	}
	if s.index == "" {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = &s.index
	}
	if s.filter != "" {
		in.FilterExpression = &s.filter
	}
	for name, v := range s.values {
		in.ExpressionAttributeValues[name] = v
	}
	if s.fields != "" {
		in.ProjectionExpression = &s.fields
	}
	if limit > 0 {
		if s.before != "" {
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
			if key, ok := it[sk].(*types.AttributeValueMemberS); !ok || !s.has(key.Value) {
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

// read returns the rows of a span, at most limit when that is not 0.
func (t *Table) read(ctx context.Context, s span, limit int) ([]item, error) {
	var items []item
	err := t.each(ctx, s, limit, func(it item) (bool, error) {
		items = append(items, it)
		return limit == 0 || len(items) < limit, nil
	})
	return items, err
}
