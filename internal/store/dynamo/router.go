package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/parallel"
)

func routerKey(account string) string { return "A#" + account + "#ROUTER" }

// settingsPrefix begins the sort keys of settings; that of company 0 is the
// account's own.
const settingsPrefix = "SET#"

func routerSettingsKey(company int64) string { return settingsPrefix + pad(company, 19) }

func businessKey(company int64, url string) string {
	return "BUSINESS#" + pad(company, 19) + "#" + ids.Hash(url)[:32]
}

// businessKept is how long a context that nobody asks for stays.
const businessKept = 7 * 24 * time.Hour

// routerRow is what an account set of its router, or what is known of one of its
// companies. TriedAt and TTL are of the second.
type routerRow struct {
	PK      string `dynamodbav:"PK"`
	SK      string `dynamodbav:"SK"`
	Data    []byte `dynamodbav:"data"` // JSON
	TriedAt int64  `dynamodbav:"tried_at,omitempty"`
	TTL     int64  `dynamodbav:"ttl,omitempty"`
}

var errNoRow = errors.New("dynamo: no such row")

// readRouter reads a row of the router's into v, and leaves v when there is none.
func (t *Table) readRouter(ctx context.Context, account, sk string, v any) error {
	var row routerRow
	switch err := t.get(ctx, routerKey(account), sk, &row, errNoRow); {
	case errors.Is(err, errNoRow):
		return nil
	case err != nil:
		return err
	}
	return json.Unmarshal(row.Data, v)
}

// RouterSettings returns what is in force for a company: what it sets itself, and
// what the account sets for all.
func (t *Table) RouterSettings(ctx context.Context, account string, company int64) (agent.Settings, error) {
	wide, own, err := t.RouterLayers(ctx, account, company)
	return agent.Merge(wide, own), err
}

// RouterLayers returns what an account sets for all of its companies, and what one
// of them sets itself. Company 0 sets nothing itself.
func (t *Table) RouterLayers(ctx context.Context, account string, company int64) (wide, own agent.Settings, err error) {
	err = parallel.Do(
		func() error { return t.readRouter(ctx, account, routerSettingsKey(0), &wide) },
		func() error {
			if company == 0 {
				return nil
			}
			return t.readRouter(ctx, account, routerSettingsKey(company), &own)
		},
	)
	return wide, own, err
}

// PutRouterSettings sets what a company sets itself, or what the account sets for
// all of them when company is 0.
func (t *Table) PutRouterSettings(ctx context.Context, account string, company int64, s agent.Settings) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	it, err := encode(routerRow{PK: routerKey(account), SK: routerSettingsKey(company), Data: data})
	if err != nil {
		return err
	}
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: it})
	return err
}

// DeleteRouterSettings removes them; what is not there is removed already.
func (t *Table) DeleteRouterSettings(ctx context.Context, account string, company int64) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &t.name, Key: key(routerKey(account), routerSettingsKey(company)),
	})
	return err
}

// RouterCompanies lists the companies that set something themselves, by number,
// and a cursor when there are more.
func (t *Table) RouterCompanies(ctx context.Context, account, cursor string, limit int) ([]int64, string, error) {
	scope := "router\x00" + account
	from, err := readCursor(scope, cursor)
	if err != nil {
		return nil, "", err
	}
	if from == "" {
		from = routerSettingsKey(0)
	}
	s := kindsIn(routerKey(account), settingsPrefix)
	s.from, s.fields = from+" ", "SK"
	items, err := t.read(ctx, s, limit+1)
	if err != nil {
		return nil, "", err
	}
	next := ""
	companies := make([]int64, 0, len(items))
	for i, it := range items {
		var row routerRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return nil, "", err
		}
		if i == limit {
			next = writeCursor(scope, routerSettingsKey(companies[limit-1]))
			break
		}
		company, err := strconv.ParseInt(strings.TrimPrefix(row.SK, settingsPrefix), 10, 64)
		if err != nil {
			return nil, "", err
		}
		companies = append(companies, company)
	}
	return companies, next, nil
}

// Business returns what is known of a company; the zero Business when nothing is.
func (t *Table) Business(ctx context.Context, account string, company int64, url string) (agent.Business, error) {
	var b agent.Business
	err := t.readRouter(ctx, account, businessKey(company, url), &b)
	return b, err
}

// PutBusiness replaces what was seen; agent.ErrBusinessMoved, changing nothing,
// when its source was tried again since.
func (t *Table) PutBusiness(ctx context.Context, account string, company int64, url string, seen, next agent.Business) error {
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	it, err := encode(routerRow{
		PK: routerKey(account), SK: businessKey(company, url), Data: data,
		TriedAt: millis(next.TriedAt), TTL: next.TriedAt.Add(businessKept).Unix(),
	})
	if err != nil {
		return err
	}
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: it, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if !seen.TriedAt.IsZero() {
		in.ConditionExpression = aws.String("tried_at = :seen")
		in.ExpressionAttributeValues = item{":seen": num(millis(seen.TriedAt))}
	}
	_, err = t.client.PutItem(ctx, in)
	if conditionFailed(err) {
		return agent.ErrBusinessMoved
	}
	return err
}
