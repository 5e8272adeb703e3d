package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

// Bounds of what is read at once.
const (
	maxMemories = 20     // of one session, with a company each
	maxCounted  = 20_000 // memories that are counted
)

// memoryKey is the partition of a session. Sessions are named by clients: a hash
// keeps what they write out of the keys, which decide who may read what.
func memoryKey(account, session string) string { return "A#" + account + "#MEM#" + ids.Hash(session) }

const companyKind = "CO#"

func companyKey(company int64) string     { return companyKind + pad(company, 19) }
func memoriesIndex(account string) string { return "A#" + account + "#MEMORIES" }

type memoryRow struct {
	PK        string `dynamodbav:"PK"`
	SK        string `dynamodbav:"SK"`
	ListPK    string `dynamodbav:"GSI1PK"`
	ListSK    string `dynamodbav:"GSI1SK"`
	Session   string `dynamodbav:"session_id"`
	Company   int64  `dynamodbav:"company"`
	Count     int    `dynamodbav:"exchanges"`
	Data      []byte `dynamodbav:"data"` // JSON of []exchangeRow, gzipped when that is shorter
	Version   int64  `dynamodbav:"version"`
	UpdatedAt int64  `dynamodbav:"updated_at"`
	ExpiresAt int64  `dynamodbav:"expires_at"`
	TTL       int64  `dynamodbav:"ttl"` // cleans up; the comparison is on expires_at
}

type exchangeRow struct {
	ID       string `json:"id,omitempty"`
	User     string `json:"user"`
	Agent    string `json:"agent,omitempty"`
	Response string `json:"response"`
	At       int64  `json:"at"`
}

func rowOfMemory(account string, m agent.Memory) (memoryRow, error) {
	list := make([]exchangeRow, len(m.Exchanges))
	for i, e := range m.Exchanges {
		list[i] = exchangeRow{e.ID, e.User, e.Agent, e.Response, millis(e.At)}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return memoryRow{}, err
	}
	data, err := zip(raw)
	company := companyKey(m.Company)
	return memoryRow{
		PK: memoryKey(account, m.Session), SK: company,
		ListPK: memoriesIndex(account), ListSK: changedAt(m.UpdatedAt, ids.Hash(m.Session)+"#"+company),
		Session: m.Session, Company: m.Company, Count: len(list), Data: data, Version: m.Version,
		UpdatedAt: millis(m.UpdatedAt), ExpiresAt: millis(m.ExpiresAt), TTL: m.ExpiresAt.Unix(),
	}, err
}

func memoryOf(it item) (agent.Memory, error) {
	var row memoryRow
	if err := attributevalue.UnmarshalMap(it, &row); err != nil {
		return agent.Memory{}, err
	}
	m := agent.Memory{
		Company: row.Company, Session: row.Session, Version: row.Version,
		UpdatedAt: fromMillis(row.UpdatedAt), ExpiresAt: fromMillis(row.ExpiresAt),
	}
	raw, err := unzip(row.Data)
	if err != nil {
		return m, fmt.Errorf("dynamo: %s %s: %w", row.PK, row.SK, err)
	}
	var list []exchangeRow
	err = json.Unmarshal(raw, &list)
	for _, e := range list {
		m.Exchanges = append(m.Exchanges, agent.Exchange{ID: e.ID, User: e.User, Agent: e.Agent, Response: e.Response, At: fromMillis(e.At)})
	}
	return m, err
}

// Memory returns what a session remembers of its exchanges with a company, as it
// stands at a time; with neither version nor exchanges when there is nothing.
func (t *Table) Memory(ctx context.Context, account string, company int64, session string, at time.Time) (agent.Memory, error) {
	none := agent.Memory{Company: company, Session: session}
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: key(memoryKey(account, session), companyKey(company)), ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(out.Item) == 0 {
		return none, err
	}
	m, err := memoryOf(out.Item)
	if err != nil {
		return none, err
	}
	return m.At(at), nil
}

// Remember adds an exchange to a memory as it was read. When it moved meanwhile
// the exchange is added to what it became, so that turns of one session at once
// lose nothing of each other. An exchange that is there already is not added
// again: the answer to writing it may have been lost.
func (t *Table) Remember(ctx context.Context, account string, m agent.Memory, e agent.Exchange) error {
	return run.Retry(ctx, func() error {
		err := t.putMemory(ctx, account, m.Add(e), m.Version)
		if !conditionFailed(err) {
			return err
		}
		if m, err = t.Memory(ctx, account, m.Company, m.Session, e.At); err != nil || m.Has(e) {
			return err
		}
		return plan.ErrMoved
	})
}

// putMemory writes a memory while seen is its version; 0: while there is none.
func (t *Table) putMemory(ctx context.Context, account string, m agent.Memory, seen int64) error {
	row, err := rowOfMemory(account, m)
	if err != nil {
		return err
	}
	it, err := encode(row)
	if err != nil {
		return err
	}
	in := &dynamodb.PutItemInput{TableName: &t.name, Item: it, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if seen != 0 {
		in.ConditionExpression = aws.String("version = :seen")
		in.ExpressionAttributeValues = item{":seen": num(seen)}
	}
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err = t.client.PutItem(ctx, in)
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	return err
}

// Memories returns what a session remembers at a time, of all companies, by
// company; more says that there are further ones.
func (t *Table) Memories(ctx context.Context, account, session string, at time.Time) (list []agent.Memory, more bool, err error) {
	s := kindsIn(memoryKey(account, session), companyKind)
	s.filter, s.values = "expires_at > :vnow", item{":vnow": num(millis(at))}
	items, err := t.read(ctx, s, maxMemories+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(items) > maxMemories; more {
		items = items[:maxMemories]
	}
	for _, it := range items {
		m, err := memoryOf(it)
		if err != nil {
			return nil, false, err
		}
		if m = m.At(at); len(m.Exchanges) > 0 {
			list = append(list, m)
		}
	}
	return list, more, nil
}

// Forget removes what a session remembers of a company, or of all for company 0.
// A turn that read it before does not bring it back.
func (t *Table) Forget(ctx context.Context, account, session string, company int64) error {
	pk := memoryKey(account, session)
	if company != 0 {
		_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &t.name, Key: key(pk, companyKey(company))})
		return err
	}
	s := kindsIn(pk, companyKind)
	s.fields = "PK, SK"
	items, err := t.read(ctx, s, 0)
	if err != nil {
		return err
	}
	return t.removeAll(ctx, items)
}

// MemoryStats counts what an account's sessions remember at a time. It reads an
// index, which may be a moment behind.
func (t *Table) MemoryStats(ctx context.Context, account string, at time.Time) (agent.MemoryStats, error) {
	var stats agent.MemoryStats
	s := listIn(listed, memoriesIndex(account))
	s.newest, s.from = true, changedAt(at.Add(-agent.MemoryLife), "")
	s.fields = "GSI1SK, PK, company, exchanges, expires_at"
	items, err := t.read(ctx, s, maxCounted+1)
	if err != nil {
		return stats, err
	}
	if stats.More = len(items) > maxCounted; stats.More {
		items = items[:maxCounted]
	}
	sessions, companies := map[string]bool{}, map[int64]bool{}
	for _, it := range items {
		var row memoryRow
		if err := attributevalue.UnmarshalMap(it, &row); err != nil {
			return stats, err
		}
		if at.Before(fromMillis(row.ExpiresAt)) {
			sessions[row.PK], companies[row.Company] = true, true
			stats.Exchanges += row.Count
		}
	}
	stats.Sessions, stats.Companies = len(sessions), len(companies)
	return stats, nil
}
