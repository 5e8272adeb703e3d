package dynamo

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/models/eligibility"
	"piloto/internal/runs/run"
)

func settingsKey(account string) string { return "A#" + account + "#AI" }

// The sort keys of an account's settings.
const (
	assistantKey   = "ASSISTANT#" // and the project; the account's own has none
	entitlementKey = "ENTITLEMENT"
	termsKey       = "TERMS"
	providerKey    = "PROVIDER#"
	healthKey      = "HEALTH#"
)

type settingRow struct {
	PK   string `dynamodbav:"PK"`
	SK   string `dynamodbav:"SK"`
	Data []byte `dynamodbav:"data"` // JSON
}

// Settings reads what an account has set.
func (t *Table) Settings(ctx context.Context, account string) (eligibility.Settings, error) {
	s := eligibility.Settings{Assistants: map[string]eligibility.Assistant{}, Health: map[string]eligibility.Health{}}
	items, err := t.read(ctx, kindsIn(settingsKey(account), assistantKey, entitlementKey, healthKey, providerKey, termsKey), 0)
	if err != nil {
		return s, err
	}
	for _, it := range items {
		var row settingRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return s, err
		}
		if err := row.into(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (row settingRow) into(s *eligibility.Settings) error {
	name := row.SK[strings.IndexByte(row.SK, '#')+1:]
	switch {
	case strings.HasPrefix(row.SK, assistantKey):
		var a eligibility.Assistant
		err := json.Unmarshal(row.Data, &a)
		s.Assistants[name] = a
		return err
	case row.SK == entitlementKey:
		return json.Unmarshal(row.Data, &s.Entitlement)
	case row.SK == termsKey:
		return json.Unmarshal(row.Data, &s.Terms)
	case strings.HasPrefix(row.SK, providerKey):
		var c eligibility.Config
		err := json.Unmarshal(row.Data, &c)
		s.Providers = append(s.Providers, c)
		return err
	case strings.HasPrefix(row.SK, healthKey):
		var h eligibility.Health
		err := json.Unmarshal(row.Data, &h)
		s.Health[name] = h
		return err
	}
	return nil
}

func (t *Table) putSetting(ctx context.Context, account, sk string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	it, err := encode(settingRow{PK: settingsKey(account), SK: sk, Data: data})
	if err != nil {
		return err
	}
	_, err = t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.name, Item: it})
	return err
}

func (t *Table) deleteSetting(ctx context.Context, account, sk string) error {
	_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: key(settingsKey(account), sk)})
	return err
}

// PutAssistant sets the assistant of a project, or the account's own for "".
func (t *Table) PutAssistant(ctx context.Context, account, projectID string, a eligibility.Assistant) error {
	return t.putSetting(ctx, account, assistantKey+projectID, a)
}

// DeleteAssistant removes it; one that is not there is removed already.
func (t *Table) DeleteAssistant(ctx context.Context, account, projectID string) error {
	return t.deleteSetting(ctx, account, assistantKey+projectID)
}

// PutEntitlement sets what an account may use.
func (t *Table) PutEntitlement(ctx context.Context, account string, e eligibility.Entitlement) error {
	return t.putSetting(ctx, account, entitlementKey, e)
}

// PutTerms sets what AI costs an account, and what it may spend.
func (t *Table) PutTerms(ctx context.Context, account string, terms eligibility.Terms) error {
	return t.putSetting(ctx, account, termsKey, terms)
}

// PutProvider sets an account's provider, if it is as it was seen.
func (t *Table) PutProvider(ctx context.Context, account string, seen *eligibility.Config, c eligibility.Config) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	w, err := t.put(settingRow{PK: settingsKey(account), SK: providerKey + c.Name, Data: data}, "attribute_not_exists(PK)", eligibility.ErrMoved)
	if err != nil {
		return err
	}
	if seen != nil { // what is written is read back byte for byte
		was, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		w.Put.ConditionExpression = aws.String("#data = :was")
		w.Put.ExpressionAttributeNames = map[string]string{"#data": "data"}
		w.Put.ExpressionAttributeValues = item{":was": &binary{Value: was}}
	}
	return run.Retry(ctx, func() error { return t.commit(ctx, w) })
}

// DeleteProvider removes it.
func (t *Table) DeleteProvider(ctx context.Context, account, name string) error {
	return t.deleteSetting(ctx, account, providerKey+name)
}

// PutHealth remembers what a provider's last call came to.
func (t *Table) PutHealth(ctx context.Context, account string, h eligibility.Health) error {
	return t.putSetting(ctx, account, healthKey+h.Provider, h)
}
