package credit_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture/table"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// sum adds up the sessions of an account.
func (b *bank) sum(t *testing.T) (sessions, tokens, free, used int) {
	t.Helper()
	s := b.standing(t)
	for _, session := range s.Sessions {
		tokens, free, used = tokens+session.Tokens, free+session.Free, used+session.Used
	}
	return len(s.Sessions), tokens, free, used
}

// TestAWalletKeepsFewSessionsAndNoTokenIsLost: the fullest session is closed when another is bought, its tokens go on,
// and one that a turn holds stays. A session that is gone can be refunded.
func TestAWalletKeepsFewSessionsAndNoTokenIsLost(t *testing.T) {
	b := newBank(table.New(t))
	b.grant(t, 100)
	const bought = credit.MaxSessions + 10
	var held credit.Hold
	for i := range bought {
		if _, err := b.Open(ctx, account, ids.Derive(fmt.Sprint(i)), "ana", "test", policy, 1); err != nil {
			t.Fatal(err)
		}
		h, err := b.turn(b.IDs.New(b.clock()), 900, 0, credit.Limits{})
		switch {
		case err != nil:
			t.Fatal(err)
		case i == 0:
			held = h
		default:
			if err := b.Settle(ctx, h, credit.Turn{ID: h.ID, At: h.At, Charged: 300}); err != nil {
				t.Fatal(err)
			}
		}
		b.pass(time.Second) // so that later sessions end later
	}
	sessions, tokens, free, used := b.sum(t)
	if sessions > credit.MaxSessions || tokens-used-free != 900 || free != bought*1000-900-(bought-1)*300 {
		t.Errorf("%d sessions, %d tokens: %d free, %d used", sessions, tokens, free, used)
	}
	if err := b.Settle(ctx, held, credit.Turn{ID: held.ID, At: held.At, Charged: 500}); err != nil {
		t.Error(err)
	}
	if _, _, after, _ := b.sum(t); after != free+400 {
		t.Errorf("%d free, then %d", free, after)
	}
	left := map[string]bool{}
	for _, s := range b.standing(t).Sessions {
		left[s.ID] = true
	}
	if !left[held.Parts[0].SessionID] {
		t.Error("the session that a turn held is gone")
	}
	for i := range bought {
		if id := ids.Derive(fmt.Sprint(i)); !left[id] {
			if _, err := b.Move(ctx, account, credit.Movement{Kind: credit.KindRefund, Of: id, Reason: "x"}); err != nil {
				t.Error(err)
			}
			break
		}
	}
	b.even(t, 100-bought+1)
}

func TestAnAccountHasAtMostSoManyHolds(t *testing.T) {
	b := newBank(table.New(t))
	b.Patience = 50 * time.Millisecond
	take := func() (credit.Hold, error) { return b.turn(b.IDs.New(b.clock()), 0, 10, credit.Limits{Day: 1_000_000}) }
	var last credit.Hold
	for range credit.MaxHolds {
		var err error
		if last, err = take(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := take(); !errors.Is(err, credit.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	spent := credit.Turn{ID: b.IDs.New(b.clock()), At: b.clock(), Micros: 7}
	if err := b.Settle(ctx, credit.Hold{Account: account}, spent); err != nil {
		t.Errorf("money that is spent already: %v", err)
	}
	if err := b.Settle(ctx, last, credit.Turn{ID: last.ID, At: last.At, Micros: 3}); err != nil {
		t.Error(err)
	}
	if _, err := take(); err != nil {
		t.Errorf("after one ended: %v", err)
	}
	if s := b.standing(t); s.Day != credit.MaxHolds*10+10 {
		t.Errorf("%+v", s)
	}
}

// TestAWalletOfFormat2BecomesOneRow: its rows do not fit into one transaction. The process dies at each of them, and
// turns begin at once afterwards. No token, hold or money is lost or counted twice.
func TestAWalletOfFormat2BecomesOneRow(t *testing.T) {
	const sessions, holds = 150, 20
	for at := range 7 {
		for i, how := range []string{diesBefore, diesAfter} {
			if testing.Short() && (at+i)%3 > 0 {
				continue
			}
			_, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
			putFormat2(t, config, name, sessions, holds)
			cut := &cutting{HTTPClient: config.HTTPClient, how: how, at: at}
			config.HTTPClient, config.RetryMaxAttempts = cut, 1
			b := newBank(kv.New(kv.Dial(config), name))
			b.Patience = time.Millisecond
			n, tokens, free, used := b.sum(t)
			if n != sessions || tokens != sessions*1000 || free != sessions*400-holds*10 || b.standing(t).Day != holds*100 {
				t.Fatalf("format 2 is read as %d sessions, %d tokens: %d free, %d used", n, tokens, free, used)
			}
			if at > 0 {
				_, _ = b.turn("first", 100, 10, credit.Limits{})
			}
			cut.revive()
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					if _, err := b.turn(fmt.Sprint("turn", i), 100, 10, credit.Limits{Day: 100_000}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			visit, err := b.Store.Visit(ctx, account, b.clock())
			if n := len(visit.Holds); err != nil || n < holds+4 || n > holds+5 {
				t.Errorf("%d holds, %v", n, err)
			}
			b.pass(time.Hour)
			if swept, err := b.Sweep(ctx); err != nil || swept.Released != len(visit.Holds) {
				t.Errorf("%+v, %v", swept, err)
			}
			n, _, free, _ = b.sum(t)
			if n > credit.MaxSessions || free != sessions*400 || b.standing(t).Day != 0 {
				t.Errorf("%s %d: %d sessions, %d free, %d spent", how, at, n, free, b.standing(t).Day)
			}
			for _, kind := range []string{"S#", "H#", "B#"} {
				if rows, err := kv.New(kv.Dial(config), name).Read(ctx, kv.Rows("A#"+account+"#W", kind), 0); err != nil || len(rows) > 0 {
					t.Errorf("%d rows %s are left, %v", len(rows), kind, err)
				}
			}
		}
	}
}

// meanwhile calls do once, before the first query.
type meanwhile struct {
	aws.HTTPClient
	once sync.Once
	do   func()
}

func (m *meanwhile) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
		m.once.Do(m.do)
	}
	return m.HTTPClient.Do(r)
}

// TestAWalletIsReadWholeWhileItBecomesOneRow: another process upgrades the wallet after its row was read and before
// the rows of the earlier format are.
func TestAWalletIsReadWholeWhileItBecomesOneRow(t *testing.T) {
	const sessions, holds = 150, 20
	_, config, name := table.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	putFormat2(t, config, name, sessions, holds)
	other := newBank(kv.New(kv.Dial(config), name))
	config.HTTPClient = &meanwhile{HTTPClient: config.HTTPClient, do: func() {
		if _, err := other.turn("other", 100, 10, credit.Limits{}); err != nil {
			t.Error(err)
		}
	}}
	b := newBank(kv.New(kv.Dial(config), name))
	if _, _, free, _ := b.sum(t); free != sessions*400-holds*10-100 {
		t.Errorf("%d tokens are free", free)
	}
}

// putFormat2 writes a wallet as format 2 did: sessions with 600 used tokens, and holds of 10 tokens of the first one.
func putFormat2(t *testing.T, config aws.Config, name string, sessions, holds int) {
	t.Helper()
	client := dynamodb.NewFromConfig(config)
	put := func(sk string, more kv.Item) {
		t.Helper()
		it := kv.Key("A#"+account+"#W", sk)
		for k, v := range more {
			it[k] = v
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	put("WALLET", kv.Item{"balance": kv.N(1), "entries": kv.N(0), "last_session": kv.S("s000")})
	until := kv.Millis(table.Epoch.Add(24 * time.Hour))
	for i := range sessions {
		room := int64(400)
		if i == 0 {
			room -= int64(holds) * 10
		}
		id := fmt.Sprintf("s%03d", i)
		put("S#"+kv.Pad(until, 13)+"#"+id, kv.Item{
			"session_id": kv.S(id), "cost": kv.N(1), "tokens": kv.N(1000), "room": kv.N(room), "used": kv.N(600),
			"opened_at": kv.N(kv.Millis(table.Epoch)), "expires_at": kv.N(until), "ttl": kv.N(1 << 40),
		})
	}
	for i := range holds {
		id := fmt.Sprintf("h%03d", i)
		deadline := table.Epoch.Add(2 * time.Minute)
		part := kv.Item{"session_id": kv.S("s000"), "until": kv.N(until), "tokens": kv.N(10)}
		put("H#"+id, kv.Item{
			"hold_id": kv.S(id), "micros": kv.N(100), "at": kv.N(kv.Millis(table.Epoch)), "deadline": kv.N(kv.Millis(deadline)),
			"for": kv.B([]byte(`{"turn_id":"` + id + `","at":"2026-03-02T09:00:00Z"}`)), "parts": &types.AttributeValueMemberL{Value: []types.AttributeValue{kv.M(part)}},
			"DuePK": kv.S("HOLD#03"), "DueSK": kv.S(kv.At(deadline, id)),
		})
	}
	put("B#D#2026-03-02", kv.Item{"micros": kv.N(int64(holds) * 100)})
	put("B#M#2026-03", kv.Item{"micros": kv.N(int64(holds) * 100)})
}
