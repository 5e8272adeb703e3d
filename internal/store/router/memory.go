package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/store/kv"
)

// Bounds of one read.
const (
	maxMemories = 20     // of one session, with a company each
	maxCounted  = 20_000 // memories that are counted
)

// memoryKey is the partition of a session. Clients name sessions: the hash keeps their text out of
// the keys, by which access is decided.
func memoryKey(account ids.Account, session string) string {
	return kv.Account(account) + "#MEM#" + ids.Hash(session)
}

const companyKind = "CO#"

func companyKey(company int64) string          { return companyKind + kv.Pad(company, 19) }
func memoriesIndex(account ids.Account) string { return kv.Account(account) + "#MEMORIES" }

type memoryRow struct {
	kv.Key
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

var exchanges = kv.Document[[]exchangeRow]{Name: "exchanges"}

type exchangeRow struct {
	ID       string   `json:"id,omitempty"`
	User     string   `json:"user"`
	Agent    string   `json:"agent,omitempty"`
	Response string   `json:"response"`
	At       int64    `json:"at"`
	ReadFrom []string `json:"read_from,omitempty"`
}

func rowOfMemory(account ids.Account, m agent.Memory) (memoryRow, error) {
	list := make([]exchangeRow, len(m.Exchanges))
	for i, e := range m.Exchanges {
		list[i] = exchangeRow{e.ID, e.User, e.Agent, e.Response, kv.Millis(e.At), e.ReadFrom}
	}
	data, err := exchanges.Pack(list)
	company := companyKey(m.Company)
	return memoryRow{
		Key:    kv.Key{PK: memoryKey(account, m.Session), SK: company},
		ListPK: memoriesIndex(account), ListSK: kv.At(m.UpdatedAt, ids.Hash(m.Session)+"#"+company),
		Session: m.Session, Company: m.Company, Count: len(list), Data: data, Version: m.Version,
		UpdatedAt: kv.Millis(m.UpdatedAt), ExpiresAt: kv.Millis(m.ExpiresAt), TTL: m.ExpiresAt.Unix(),
	}, err
}

func (row memoryRow) memory() (agent.Memory, error) {
	m := agent.Memory{
		Company: row.Company, Session: row.Session, Version: row.Version,
		UpdatedAt: kv.Time(row.UpdatedAt), ExpiresAt: kv.Time(row.ExpiresAt),
	}
	list, err := exchanges.Unpack(row.Data)
	if err != nil {
		return m, fmt.Errorf("store: %s %s: %w", row.PK, row.SK, err)
	}
	for _, e := range list {
		m.Exchanges = append(m.Exchanges, agent.Exchange{ID: e.ID, User: e.User, Agent: e.Agent, Response: e.Response, At: kv.Time(e.At), ReadFrom: e.ReadFrom})
	}
	return m, err
}

// Memory returns the exchanges of a session with a company that have not expired by a time. It has
// neither a version nor exchanges when there is no row.
func (s *Store) Memory(ctx context.Context, account ids.Account, company int64, session string, at time.Time) (agent.Memory, error) {
	none := agent.Memory{Company: company, Session: session}
	var row memoryRow
	err := s.table.Get(ctx, kv.Key{PK: memoryKey(account, session), SK: companyKey(company)}, &row, errNoRow)
	if errors.Is(err, errNoRow) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	stored, err := row.memory()
	if err != nil {
		return none, err
	}
	return stored.At(at), nil
}

// Remember adds an exchange to a memory that the caller read. When another turn changed it since,
// the exchange is added to the new one, so that simultaneous turns of a session lose nothing. A
// stored exchange is not added again, because the answer to an earlier write may have been lost.
func (s *Store) Remember(ctx context.Context, account ids.Account, m agent.Memory, e agent.Exchange) error {
	return retry.Do(ctx, func() error {
		err := s.putMemory(ctx, account, m.Add(e), m.Version)
		if !errors.Is(err, errMemoryMoved) {
			return err
		}
		if m, err = s.Memory(ctx, account, m.Company, m.Session, e.At); err != nil || m.Has(e) {
			return err
		}
		return fault.ErrMoved
	})
}

// putMemory writes a memory while seen is its version; 0: while there is none.
func (s *Store) putMemory(ctx context.Context, account ids.Account, m agent.Memory, seen int64) error {
	row, err := rowOfMemory(account, m)
	return s.table.Do(ctx, kv.Put(row).If(kv.Unchanged("version", seen)).Else(errMemoryMoved).Unless(err))
}

var errMemoryMoved = errors.New("store: the memory changed after it was read")

// Memories returns the memories of a session at a time, by company; more means that there are
// further ones.
func (s *Store) Memories(ctx context.Context, account ids.Account, session string, at time.Time) (list []agent.Memory, more bool, err error) {
	span := kv.Rows(memoryKey(account, session), companyKind)
	span.Filter = kv.Greater("expires_at", at)
	items, err := s.table.Read(ctx, span, maxMemories+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(items) > maxMemories; more {
		items = items[:maxMemories]
	}
	rows, err := kv.DecodeAll[memoryRow](items)
	if err != nil {
		return nil, false, err
	}
	for _, row := range rows {
		m, err := row.memory()
		if err != nil {
			return nil, false, err
		}
		if m = m.At(at); len(m.Exchanges) > 0 {
			list = append(list, m)
		}
	}
	return list, more, nil
}

// Forget deletes the memory of a session of a company, or of all companies when company is 0. A turn
// that read it before does not restore it.
func (s *Store) Forget(ctx context.Context, account ids.Account, session string, company int64) error {
	pk := memoryKey(account, session)
	if company != 0 {
		return s.table.Do(ctx, kv.Delete(kv.Key{PK: pk, SK: companyKey(company)}))
	}
	span := kv.Rows(pk, companyKind)
	span.Fields = []kv.Path{"PK", "SK"}
	items, err := s.table.Read(ctx, span, 0)
	if err != nil {
		return err
	}
	return s.table.DeleteAll(ctx, items)
}

// MemoryStats counts the memories of an account at a time. It reads an index, which may be behind.
func (s *Store) MemoryStats(ctx context.Context, account ids.Account, at time.Time) (agent.MemoryStats, error) {
	var stats agent.MemoryStats
	span := kv.Listed(memoriesIndex(account))
	span.Newest, span.From = true, kv.At(at.Add(-agent.MemoryLife), "")
	span.Fields = []kv.Path{"GSI1SK", "PK", "company", "exchanges", "expires_at"}
	items, err := s.table.Read(ctx, span, maxCounted+1)
	if err != nil {
		return stats, err
	}
	if stats.More = len(items) > maxCounted; stats.More {
		items = items[:maxCounted]
	}
	sessions, companies := map[string]bool{}, map[int64]bool{}
	for _, it := range items {
		var row memoryRow
		if err := kv.Decode(it, &row); err != nil {
			return stats, err
		}
		if at.Before(kv.Time(row.ExpiresAt)) {
			sessions[row.PK], companies[row.Company] = true, true
			stats.Exchanges += row.Count
		}
	}
	stats.Sessions, stats.Companies = len(sessions), len(companies)
	return stats, nil
}
