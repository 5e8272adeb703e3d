package store_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
	"piloto/internal/conversation"
	"piloto/internal/ground/sweep"
	"piloto/internal/live/realtime"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// TestQueriesAreSpans: who reads a partition names the kinds of rows, because only a span makes
// a query; and every call of DynamoDB is in kv, where a store cannot make its own. One scan is there too, which returns
// keys.
func TestQueriesAreSpans(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "kv/client.go" { // which declares the calls
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range tree.Imports {
			if strings.HasSuffix(imported.Path.Value, `/service/dynamodb"`) && filepath.Dir(file) != "kv" {
				t.Errorf("%s makes calls of DynamoDB", file)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "QueryInput" || s.Sel.Name == "ScanInput" || s.Sel.Name == "ExecuteStatementInput") {
				queries++
				if file != "kv/span.go" {
					t.Errorf("%s makes a %s of its own", file, s.Sel.Name)
				}
			}
			return true
		})
	}
	if queries != 1 {
		t.Errorf("%d queries", queries)
	}
}

// Rows of kinds that nobody knows yet, beside every row and in every partition of an
// index, change nothing that is read.
func TestReadsIgnoreRowsOfOtherKinds(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	w := aLife(t, table)
	before := reads(t, w)
	for what, got := range before {
		if !strings.HasPrefix(got, "<nil> <nil> ") || strings.HasSuffix(got, " []") || strings.HasSuffix(got, " null") {
			t.Errorf("%s is empty, so the test says nothing of it", what)
		}
	}
	if n := plantStrangers(t, dynamodb.NewFromConfig(config), name); n < 100 {
		t.Fatalf("%d strangers", n)
	}
	if d := cmp.Diff(before, reads(t, w), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// TestEveryRowIsDocumented: docs/storage.md lists each kind of row.
func TestEveryRowIsDocumented(t *testing.T) {
	doc, err := os.ReadFile(fixture.Root(t, "docs/storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	aLife(t, table)
	out, err := dynamodb.NewFromConfig(config).Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		sk := kv.Text(it, "SK")
		if kind, _, ok := strings.Cut(sk, "#"); ok {
			sk = kind + "#"
		}
		if !strings.Contains(string(doc), "`"+sk) {
			t.Errorf("%s %s is not in docs/storage.md", kv.Text(it, "PK"), kv.Text(it, "SK"))
		}
	}
}

// plantStrangers puts rows of other kinds before, between and after all rows, and
// returns how many.
func plantStrangers(t *testing.T, client *dynamodb.Client, name string) int {
	t.Helper()
	out, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	planted := 0
	seen := map[string]bool{}
	text := func(it map[string]types.AttributeValue, attribute string) string {
		s, _ := it[attribute].(*types.AttributeValueMemberS)
		if s == nil {
			return ""
		}
		return s.Value
	}
	plant := func(it map[string]string) {
		key := it["PK"] + "\x00" + it["SK"]
		if seen[key] {
			return
		}
		seen[key] = true
		item := map[string]types.AttributeValue{}
		for k, v := range it {
			item[k] = &types.AttributeValueMemberS{Value: v}
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			t.Fatal(err)
		}
		planted++
	}
	for _, it := range out.Items {
		pk, sk := text(it, "PK"), text(it, "SK")
		kind, _, _ := strings.Cut(sk, "#")
		for _, stranger := range []string{"!", " x", "0", kind + "!", kind + "X", kind + "X#1", kind + "\U0010FFFF", kind[:1], "SEEN#1", "zz#1", "~"} {
			if stranger != sk && stranger != kind {
				plant(map[string]string{"PK": pk, "SK": stranger})
			}
		}
		for pkName, skName := range map[string]string{"GSI1PK": "GSI1SK", "DuePK": "DueSK"} {
			if list := text(it, pkName); list != "" {
				for i, stranger := range []string{"!", "/x", ":", "A#1", "~"} {
					plant(map[string]string{"PK": "STRANGER#" + list, "SK": fmt.Sprint(i), pkName: list, skName: stranger})
				}
			}
		}
	}
	return planted
}

// aLife is a world in which something of every kind was written.
func aLife(t *testing.T, table store.Stores) *fixture.World {
	t.Helper()
	w := fixture.NewWorldOver(t, table)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		say(t, table, fixture.Account, w.Chat.ID, fmt.Sprint(i), w.Clock())
	}
	for range 2 { // the first gets its place in the chain, the second waits for one
		r := w.Propose(fixture.To("GET", "/rooms", ""), fixture.To("POST", "/bookings", `{"room":1}`))
		ok(w.Confirm(r))
		w.Execute(r.ID)
		if tip, err := table.Receipts.Tip(ctx, fixture.Account); err != nil || tip.Seq == 0 {
			link, err := table.Receipts.Ended(ctx, fixture.Account, r.ID)
			ok(err)
			link, err = link.Chained(receipt.Link{}, now)
			ok(err)
			ok(table.Receipts.Place(ctx, link, now))
		}
		ok(table.Runs.LeaveUnplaced(ctx, w.Read(r.ID), now))
	}
	ok(table.Chats.TakeAnswer(ctx, conversation.Answering{Key: w.ChatKey(), MessageID: "m1", Until: w.Clock().Add(time.Minute)}, w.Clock()))
	ok(table.Chats.AskStop(ctx, w.ChatKey(), w.Clock()))
	refused := w.Propose(fixture.To("POST", "/bookings", `{"room":2}`))
	_, err := w.Runs.Cancel(ctx, run.Cancellation{Account: fixture.Account, User: "ana", RunID: refused.ID})
	ok(err)
	ok(table.Chats.CreateProject(ctx, fixture.Account, conversation.Project{ID: newID(now), Name: "P", CreatedAt: now, UpdatedAt: now}))
	ok(table.Settings.PutAssistant(ctx, fixture.Account, "", *fixture.Assistant("openai", "m")))
	ok(table.Settings.PutHealth(ctx, fixture.Account, eligibility.Health{Provider: "openai"}))
	ok(table.Usage.CountTurn(ctx, fixture.Account, now, usage.Turn{Contract: usage.Send, Outcome: usage.Message}))
	_, err = table.Router.CountFailure(ctx, fixture.Account, "a", agent.Call{}, strict, now)
	ok(err)
	ok(table.Access.AddConnection(ctx, realtime.Connection{ID: "c1", Account: fixture.Account, ConnectedAt: now, ExpiresAt: now.Add(time.Hour)}))
	ok(table.Access.CreateWebhook(ctx, auth.Webhook{ID: "w1", Account: fixture.Account, CreatedAt: now}))
	tell(t, table, fixture.Account, 7, "s", exchange("a", now))
	ok(table.Router.PutRouterSettings(ctx, fixture.Account, 7, agent.Settings{}))
	ok(table.Router.PutBusiness(ctx, fixture.Account, 7, "https://a.example", agent.Business{}, agent.Business{TriedAt: now}))
	ok(table.Wallet.Move(ctx, fixture.Account, credit.Entry{ID: newID(now), Kind: credit.KindGrant, Amount: 5, Actor: "ana", Reason: "r", At: now}))
	return w
}

// reads returns the results of every query of the store, as text.
func reads(t *testing.T, w *fixture.World) map[string]string {
	t.Helper()
	table, all := w.Store, map[string]string{}
	note := func(what string, got any, err error) {
		raw, failed := json.Marshal(got)
		all[what] = fmt.Sprintf("%v %v %s", err, failed, raw)
	}
	messages, _, err := table.Chats.Messages(ctx, w.ChatKey(), "", 50)
	note("messages", messages, err)
	first, cursor, err := table.Chats.Messages(ctx, w.ChatKey(), "", 2)
	note("the last two messages", first, err)
	second, _, err := table.Chats.Messages(ctx, w.ChatKey(), cursor, 2)
	note("two messages before", second, err)
	chats, _, err := table.Chats.Chats(ctx, fixture.Account, conversation.ChatFilter{}, "", 50)
	note("chats", chats, err)
	r := w.ChatNow().LastRunID
	got, err := table.Runs.Run(ctx, fixture.Account, r)
	note("run", got.Steps, err)
	events, err := table.Runs.Events(ctx, fixture.Account, r, 1, 50)
	note("events", events, err)
	revisions, err := table.Runs.Revisions(ctx, got)
	note("revisions", revisions, err)
	links, err := table.Receipts.Links(ctx, fixture.Account, 0, 50)
	note("links", links, err)
	unplaced, err := table.Receipts.Unplaced(ctx, now.Add(time.Hour), 50)
	note("unplaced", keysOf(unplaced), err)
	unsigned, err := table.Receipts.Unsigned(ctx, now.Add(time.Hour), 50)
	note("unsigned", keysOf(unsigned), err)
	projects, err := table.Chats.Projects(ctx, fixture.Account)
	note("projects", projects, err)
	servers, err := table.Registry.Servers(ctx, fixture.Account)
	note("servers", servers, err)
	for _, s := range servers {
		entries, err := table.Registry.Entries(ctx, fixture.Account, s)
		note("entries of "+s.Name, entries, err)
	}
	settings, err := table.Settings.Settings(ctx, fixture.Account)
	note("settings", []any{settings.Assistants, settings.Health}, err)
	days, err := table.Usage.Days(ctx, fixture.Account, "2020-01-01")
	note("days", days, err)
	breakers, err := table.Router.Breakers(ctx, fixture.Account)
	note("breakers", breakers, err)
	connections, err := table.Access.Connections(ctx, fixture.Account)
	note("connections", connections, err)
	webhooks, err := table.Access.Webhooks(ctx, fixture.Account)
	note("webhooks", webhooks, err)
	memories, _, err := table.Router.Memories(ctx, fixture.Account, "s", now)
	note("memories", memories, err)
	stats, err := table.Router.MemoryStats(ctx, fixture.Account, now)
	note("memory stats", stats, err)
	companies, _, err := table.Router.RouterCompanies(ctx, fixture.Account, "", 50)
	note("companies", companies, err)
	ledger, _, err := table.Wallet.Ledger(ctx, fixture.Account, "", 50)
	note("ledger", ledger, err)
	audit, err := table.Wallet.AddUp(ctx, fixture.Account)
	note("audit", audit, err)
	standing, err := table.Wallet.Standing(ctx, fixture.Account, now)
	note("standing", standing, err)
	wallets, err := table.Wallet.DueWallets(ctx, now.AddDate(1, 0, 0), 50)
	note("due wallets", keysOf(wallets), err)
	return all
}

// keysOf returns the keys of rows that are due.
func keysOf[K any](rows []sweep.Row[K]) (keys []K) {
	for _, r := range rows {
		keys = append(keys, r.Key)
	}
	return keys
}
