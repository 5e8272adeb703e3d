package store_test

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
	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
	"piloto/internal/store"
)

func exchange(text string, at time.Time) agent.Exchange {
	return agent.Exchange{ID: "id of " + text, User: text, Agent: "reserva", Response: "re: " + text, At: at}
}

func recall(t *testing.T, table store.Stores, account ids.Account, company int64, session string, at time.Time) agent.Memory {
	t.Helper()
	m, err := table.Router.Memory(ctx, account, company, session, at)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tell has a session say something, as a turn does: it reads, and then adds.
func tell(t *testing.T, table store.Stores, account ids.Account, company int64, session string, list ...agent.Exchange) {
	t.Helper()
	for _, e := range list {
		if err := table.Router.Remember(ctx, account, recall(t, table, account, company, session, e.At), e); err != nil {
			t.Fatal(err)
		}
	}
}

func users(m agent.Memory) []string {
	var list []string
	for _, e := range m.Exchanges {
		list = append(list, e.User)
	}
	return list
}

func TestMemoryBelongsToAccountCompanyAndSession(t *testing.T) {
	table := fixture.Table(t)
	type whose struct {
		account ids.Account
		company int64
		session string
	}
	var all []whose
	for _, account := range []ids.Account{"acme", "acme2"} {
		for _, company := range []int64{1, 10, 1<<63 - 1} {
			for _, session := range []string{"+51999", "+51999#CO", "stats", "x#KEYS", "sesión 1", strings.Repeat("s", 128)} {
				all = append(all, whose{account, company, session})
			}
		}
	}
	for _, w := range all {
		if m := recall(t, table, w.account, w.company, w.session, now); m.Version != 0 || len(m.Exchanges) != 0 || m.Company != w.company || m.Session != w.session {
			t.Errorf("%v had a memory before anything was said: %+v", w, m)
		}
		tell(t, table, w.account, w.company, w.session, exchange(fmt.Sprint(w), now))
	}
	for _, w := range all {
		m := recall(t, table, w.account, w.company, w.session, now)
		want := agent.Memory{
			Company: w.company, Session: w.session, Exchanges: []agent.Exchange{exchange(fmt.Sprint(w), now)},
			Version: now.UnixMilli(), UpdatedAt: now, ExpiresAt: now.Add(agent.MemoryLife),
		}
		if d := cmp.Diff(want, m); d != "" {
			t.Errorf("%v: %s", w, d)
		}
	}
	if list, more, err := table.Router.Memories(ctx, "acme", "stats", now); err != nil || more || len(list) != 3 || list[0].Company != 1 || list[2].Company != 1<<63-1 {
		t.Errorf("%+v %v %v", list, more, err)
	}
	if list, _, err := table.Router.Memories(ctx, "acme3", "stats", now); err != nil || len(list) != 0 {
		t.Errorf("a foreign session: %+v %v", list, err)
	}
	if stats, err := table.Router.MemoryStats(ctx, "acme", now); err != nil || stats != (agent.MemoryStats{Sessions: 6, Companies: 3, Exchanges: 18}) {
		t.Errorf("%+v %v", stats, err)
	}
}

func TestExpiredMemoryIsNotReadAndIsReplaced(t *testing.T) {
	table := fixture.Table(t)
	tell(t, table, "acme", 7, "s", exchange("a", now), exchange("b", now.Add(time.Hour)))
	before, after := now.Add(agent.MemoryLife), now.Add(time.Hour+agent.MemoryLife)
	if m := recall(t, table, "acme", 7, "s", before); len(m.Exchanges) != 2 || m.Current() != "reserva" {
		t.Errorf("%+v", m)
	}
	if m := recall(t, table, "acme", 7, "s", after); len(m.Exchanges) != 0 || m.Current() != "" {
		t.Errorf("%+v", m)
	}
	if list, _, err := table.Router.Memories(ctx, "acme", "s", after); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	for at, want := range map[time.Time]int{before: 2, after: 0} {
		if stats, err := table.Router.MemoryStats(ctx, "acme", at); err != nil || stats.Exchanges != want {
			t.Errorf("%v: %+v %v", at, stats, err)
		}
	}
	for company := range int64(30) { // expired memories hide no others
		tell(t, table, "acme", company+1, "many", exchange("a", now))
	}
	tell(t, table, "acme", 99, "many", exchange("b", after))
	if list, more, err := table.Router.Memories(ctx, "acme", "many", after); err != nil || more || len(list) != 1 || list[0].Company != 99 {
		t.Errorf("%+v %v %v", list, more, err)
	}
	tell(t, table, "acme", 7, "s", exchange("c", after))
	if d := cmp.Diff([]string{"c"}, users(recall(t, table, "acme", 7, "s", after))); d != "" {
		t.Error(d)
	}
}

func TestForgetDeletesOnlyNamedMemories(t *testing.T) {
	table := fixture.Table(t)
	for company := range int64(30) {
		tell(t, table, "acme", company+1, "s", exchange("a", now))
	}
	tell(t, table, "acme", 1, "other", exchange("a", now))
	tell(t, table, "acme2", 1, "s", exchange("a", now))
	list, more, err := table.Router.Memories(ctx, "acme", "s", now)
	if err != nil || len(list) != 20 || !more {
		t.Errorf("%d, more %v, %v", len(list), more, err)
	}
	for range 2 { // a missing memory is forgotten already
		if err := table.Router.Forget(ctx, "acme", "s", 3); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := recall(t, table, "acme", 3, "s", now), recall(t, table, "acme", 4, "s", now); len(a.Exchanges) != 0 || len(b.Exchanges) != 1 {
		t.Errorf("%+v %+v", a, b)
	}
	for range 2 {
		if err := table.Router.Forget(ctx, "acme", "s", 0); err != nil {
			t.Fatal(err)
		}
	}
	if list, _, err := table.Router.Memories(ctx, "acme", "s", now); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if a, b := recall(t, table, "acme", 1, "other", now), recall(t, table, "acme2", 1, "s", now); len(a.Exchanges)+len(b.Exchanges) != 2 {
		t.Errorf("more was forgotten than was named: %+v %+v", a, b)
	}
}

// TestForgottenMemoryIsNotRestored: a turn reads, the memory is forgotten and
// begun anew by another turn, and the first one adds its exchange.
func TestForgottenMemoryIsNotRestored(t *testing.T) {
	for _, anew := range []bool{false, true} {
		table := fixture.Table(t)
		tell(t, table, "acme", 7, "s", exchange("secret", now))
		seen := recall(t, table, "acme", 7, "s", now)
		if err := table.Router.Forget(ctx, "acme", "s", 0); err != nil {
			t.Fatal(err)
		}
		want := []string{"late"}
		if anew {
			tell(t, table, "acme", 7, "s", exchange("new", now.Add(time.Second)))
			want = []string{"new", "late"}
		}
		if err := table.Router.Remember(ctx, "acme", seen, exchange("late", now.Add(2*time.Second))); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, users(recall(t, table, "acme", 7, "s", now))); d != "" {
			t.Error(d)
		}
	}
}

// TestConcurrentTurnsOfSessionLoseNothing has all of them add to the same memory as
// they read it: one that is there, and one that is not yet.
func TestConcurrentTurnsOfSessionLoseNothing(t *testing.T) {
	table := fixture.Table(t)
	const turns = agent.Kept
	tell(t, table, "acme", 7, "old", exchange("first", now))
	for _, session := range []string{"old", "new"} {
		seen := recall(t, table, "acme", 7, session, now)
		var start, done sync.WaitGroup
		start.Add(1)
		for i := range turns {
			done.Go(func() {
				start.Wait()
				if err := table.Router.Remember(ctx, "acme", seen, exchange(fmt.Sprint(i), now.Add(time.Second))); err != nil {
					t.Error(err)
				}
			})
		}
		start.Done()
		done.Wait()
		m := recall(t, table, "acme", 7, session, now)
		got := map[string]bool{}
		for _, e := range m.Exchanges {
			got[e.User] = true
		}
		if len(got) != turns || got["first"] {
			t.Errorf("%s: %v", session, users(m))
		}
	}
}

// TestNamesOfClientsAreInNoKey: access is decided by patterns of keys.
func TestNamesOfClientsAreInNoKey(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	tell(t, table, "acme", 7, "x#KEYS", exchange("a", now))
	if err := table.Router.PutBusiness(ctx, "acme", 7, "https://a.example/x#KEYS", agent.Business{}, agent.Business{TriedAt: now}); err != nil {
		t.Fatal(err)
	}
	out, err := dynamodb.NewFromConfig(config).Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil || len(out.Items) != 2 {
		t.Fatal(err, len(out.Items))
	}
	for _, it := range out.Items {
		for _, attribute := range []string{"PK", "SK", "GSI1PK", "GSI1SK"} {
			if v, ok := it[attribute].(*types.AttributeValueMemberS); ok && strings.Contains(v.Value, "KEYS") {
				t.Errorf("%s is %s", attribute, v.Value)
			}
		}
	}
}

func TestConcurrentSessionsDoNotMix(t *testing.T) {
	table := fixture.Table(t)
	const sessions, turns = 100, 3
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range sessions {
		// Every ten share a name, among companies and accounts.
		account, company, session := []ids.Account{"acme", "acme2"}[i%2], int64(i%10/2+1), fmt.Sprint("s", i/10)
		done.Go(func() {
			start.Wait()
			for n := range turns {
				at := now.Add(time.Duration(n) * time.Second)
				m, err := table.Router.Memory(ctx, account, company, session, at)
				if err != nil || len(m.Exchanges) != n {
					t.Errorf("%s %d %s: %d, %v", account, company, session, len(m.Exchanges), err)
				}
				if err := table.Router.Remember(ctx, account, m, exchange(fmt.Sprint(i, " ", n), at)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	start.Done()
	done.Wait()
	for i := range sessions {
		m := recall(t, table, []ids.Account{"acme", "acme2"}[i%2], int64(i%10/2+1), fmt.Sprint("s", i/10), now)
		if d := cmp.Diff([]string{fmt.Sprint(i, " 0"), fmt.Sprint(i, " 1"), fmt.Sprint(i, " 2")}, users(m)); d != "" {
			t.Error(d)
		}
	}
	if stats, err := table.Router.MemoryStats(ctx, "acme", now); err != nil || stats != (agent.MemoryStats{Sessions: 10, Companies: 5, Exchanges: 150}) {
		t.Errorf("%+v %v", stats, err)
	}
}

// forgetful makes puts and loses the first answers to them.
type forgetful struct {
	aws.HTTPClient
	mu   sync.Mutex
	left int
}

func (f *forgetful) Do(r *http.Request) (*http.Response, error) {
	res, err := f.HTTPClient.Do(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.left > 0 && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem") {
		f.left--
		_ = res.Body.Close()
		return nil, errors.New("the answer was lost")
	}
	return res, err
}

func TestRepeatedExchangeIsStoredOnce(t *testing.T) {
	way := &forgetful{left: 1}
	table, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { way.HTTPClient = c; return way })
	tell(t, table, "acme", 7, "s", exchange("a", now), exchange("b", now.Add(time.Second)))
	if d := cmp.Diff([]string{"a", "b"}, users(recall(t, table, "acme", 7, "s", now))); d != "" || way.left != 0 {
		t.Error(d, way.left)
	}
}

func TestTheLargestMemoryIsStored(t *testing.T) {
	table := fixture.Table(t)
	var noise strings.Builder // nothing that could be compressed much
	for i := uint32(1); noise.Len() < 16<<10; i = i*1664525 + 1013904223 {
		noise.WriteRune(rune(0x4e00 + i>>16%20000))
	}
	for i := range agent.Kept {
		tell(t, table, "acme", 7, "s", agent.Exchange{User: noise.String(), Response: noise.String()[:9000], At: now.Add(time.Duration(i) * time.Second)})
	}
	m := recall(t, table, "acme", 7, "s", now)
	if len(m.Exchanges) != 4 {
		t.Errorf("%d exchanges", len(m.Exchanges))
	}
}
