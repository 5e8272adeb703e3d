package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/access/auth"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
)

type tokenRow struct {
	PK        string   `dynamodbav:"PK"`
	SK        string   `dynamodbav:"SK"`
	Kind      string   `dynamodbav:"kind"`
	Account   string   `dynamodbav:"account"`
	User      string   `dynamodbav:"user"`
	Scopes    []string `dynamodbav:"scopes"`
	Parent    string   `dynamodbav:"parent,omitempty"`
	CreatedAt int64    `dynamodbav:"created_at"`
	ExpiresAt int64    `dynamodbav:"expires_at,omitempty"`
	TTL       int64    `dynamodbav:"ttl,omitempty"` // cleans up; the comparison is on expires_at
}

var errNoToken = fault.New(fault.NotFound, "token.not_found")

func (row tokenRow) token(hash string) auth.Token {
	t := auth.Token{
		Hash: hash, Kind: auth.Kind(row.Kind), Account: row.Account, User: row.User, Parent: row.Parent,
		ExpiresAt: fromMillis(row.ExpiresAt), CreatedAt: fromMillis(row.CreatedAt),
	}
	for _, s := range row.Scopes {
		t.Scopes = append(t.Scopes, auth.Scope(s))
	}
	return t
}

// Token finds a token by the hash of its secret.
func (t *Table) Token(ctx context.Context, hash string) (auth.Token, error) {
	var row tokenRow
	err := t.get(ctx, "TOKEN#"+hash, "TOKEN", &row, errNoToken)
	return row.token(hash), err
}

// TakeToken returns a token and removes it, so that of many callers one gets it.
func (t *Table) TakeToken(ctx context.Context, hash string) (auth.Token, error) {
	out, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.name, Key: key("TOKEN#"+hash, "TOKEN"), ReturnValues: types.ReturnValueAllOld,
	})
	if err != nil {
		return auth.Token{}, err
	}
	if len(out.Attributes) == 0 {
		return auth.Token{}, errNoToken
	}
	var row tokenRow
	err = attributevalue.UnmarshalMap(out.Attributes, &row)
	return row.token(hash), err
}

// RenewToken moves the end of a token to a later time. A token that was removed, that ends
// later or that never ends is left alone, without an error.
func (t *Table) RenewToken(ctx context.Context, hash string, until time.Time) error {
	_, err := t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key("TOKEN#"+hash, "TOKEN"),
		UpdateExpression:          aws.String("SET expires_at = :until, #ttl = :ttl"),
		ConditionExpression:       aws.String("expires_at < :until"), // false where there is no row, or no end
		ExpressionAttributeNames:  map[string]string{"#ttl": "ttl"},
		ExpressionAttributeValues: item{":until": num(millis(until)), ":ttl": num(cleanUp(until))},
	})
	var stays *types.ConditionalCheckFailedException
	if errors.As(err, &stays) {
		return nil
	}
	return err
}

// cleanUp is when a token that ended may be deleted, in seconds.
func cleanUp(end time.Time) int64 { return end.Add(24 * time.Hour).Unix() }

// PutToken stores a token.
func (t *Table) PutToken(ctx context.Context, token auth.Token) error {
	row := tokenRow{
		PK: "TOKEN#" + token.Hash, SK: "TOKEN", Kind: string(token.Kind), Account: token.Account, User: token.User,
		Parent: token.Parent, CreatedAt: millis(token.CreatedAt), ExpiresAt: millis(token.ExpiresAt),
	}
	for _, s := range token.Scopes {
		row.Scopes = append(row.Scopes, string(s))
	}
	if !token.ExpiresAt.IsZero() {
		row.TTL = cleanUp(token.ExpiresAt)
	}
	it, err := encode(row)
	if err != nil {
		return err
	}
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: it})
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	return err
}

// DeleteToken removes a token; one that is not there is removed already.
func (t *Table) DeleteToken(ctx context.Context, hash string) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: key("TOKEN#"+hash, "TOKEN")})
	return err
}
