package dynamodb_test

import (
	"flag"
	"fmt"
	"localaws/conformance/tables"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"
)

// account is an item of the model: a balance, and the group of its index entry.
type account struct {
	balance int
	group   string
}

// bank is the model: the expected contents of the table after each transaction.
type bank map[string]account

const accounts = 6

// bankStep is one action of a transaction, on the model and on the wire.
type bankStep struct {
	holds func(bank) bool // its condition
	apply func(bank)
	write types.TransactWriteItem
}

func drawStep(t *rapid.T, e *env, pk string) bankStep {
	k := `{"pk":"` + pk + `","sk":"s"}`
	n := rapid.IntRange(0, 9).Draw(t, "n")
	group := rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group")
	exists := func(b bank) bool { _, ok := b[pk]; return ok }
	switch rapid.SampledFrom([]string{"open", "add", "take", "close", "check", "move"}).Draw(t, "action") {
	case "open":
		it := fmt.Sprintf(`{"pk":"%s","sk":"s","balance":%d}`, pk, n)
		if group != "" {
			it = fmt.Sprintf(`{"pk":"%s","sk":"s","balance":%d,"g":"%s","h":1}`, pk, n, group)
		}
		w := e.tPut(it, "attribute_not_exists(pk)")
		w.Put.TableName = e.table("bank")
		return bankStep{func(b bank) bool { return !exists(b) }, func(b bank) { b[pk] = account{n, group} }, w}
	case "add":
		w := e.tUpdate(k, "ADD balance :n", fmt.Sprintf(`{":n":%d}`, n))
		w.Update.TableName = e.table("bank")
		return bankStep{func(bank) bool { return true }, func(b bank) { a := b[pk]; a.balance += n; b[pk] = a }, w}
	case "take":
		w := e.tUpdate(k, "SET balance = balance - :n", fmt.Sprintf(`{":n":%d}`, n))
		w.Update.TableName, w.Update.ConditionExpression = e.table("bank"), text("balance >= :n")
		return bankStep{func(b bank) bool { return exists(b) && b[pk].balance >= n }, func(b bank) { a := b[pk]; a.balance -= n; b[pk] = a }, w}
	case "close":
		w := e.tDelete(k)
		w.Delete.TableName = e.table("bank")
		return bankStep{func(bank) bool { return true }, func(b bank) { delete(b, pk) }, w}
	case "check":
		w := e.tCheck(k, "attribute_exists(pk) AND balance < :n", fmt.Sprintf(`{":n":%d}`, n))
		w.ConditionCheck.TableName = e.table("bank")
		return bankStep{func(b bank) bool { return exists(b) && b[pk].balance < n }, func(bank) {}, w}
	default:
		expression, values := "REMOVE g, h", ""
		if group != "" {
			expression, values = "SET g = :g, h = :h", `{":g":"`+group+`",":h":1}`
		}
		w := e.tUpdate(k, expression, values)
		w.Update.TableName, w.Update.ConditionExpression = e.table("bank"), text("attribute_exists(pk)")
		return bankStep{exists, func(b bank) { a := b[pk]; a.group = group; b[pk] = a }, w}
	}
}

// TestTransactionsAgreeWithModel: a transaction does all of its actions exactly when every
// condition holds on the state before it, names the failed ones in order, and its indexes follow.
func TestTransactionsAgreeWithModel(t *testing.T) {
	fewerChecks(t, "25") // every step of every check is a write to disk
	client, _ := engineClient(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		e := &env{client: client, ctx: t.Context(), prefix: fmt.Sprintf("model-%d-", round)}
		e.create(tables.Indexed(*e.table("bank")))
		model := bank{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { e.compare(t, model) },
			"transact": func(t *rapid.T) {
				var list writes
				var codes []string
				next := bank{}
				for pk, a := range model {
					next[pk] = a
				}
				cancelled := false
				for i := range accounts {
					if !rapid.Bool().Draw(t, "included") {
						continue
					}
					s := drawStep(t, e, fmt.Sprint("a", i))
					list = append(list, s.write)
					code := "None"
					if s.holds(model) {
						s.apply(next)
					} else {
						code, cancelled = "ConditionalCheckFailed: The conditional request failed", true
					}
					codes = append(codes, code)
				}
				if len(list) == 0 {
					t.Skip("no action")
				}
				want := ""
				if cancelled {
					want = "!cancelled [" + strings.Join(codes, "; ") + "]"
				} else {
					model = next
				}
				if got := e.transact(list); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			},
		})
	})
}

// fewerChecks lowers rapid's number of checks unless it was set.
func fewerChecks(t *testing.T, n string) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// compare reads the table and its index as a whole.
func (e *env) compare(t *rapid.T, model bank) {
	var want, wantIndexed []string
	for pk, a := range model {
		s := fmt.Sprintf("%s %d %s", pk, a.balance, a.group)
		want = append(want, s)
		if a.group == "g" {
			wantIndexed = append(wantIndexed, s)
		}
	}
	all, err := e.client.Scan(e.ctx, &sdk.ScanInput{TableName: e.table("bank")})
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := e.client.Query(e.ctx, &sdk.QueryInput{
		TableName: e.table("bank"), IndexName: text("all"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: tables.Item(`{":g":"g"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for source, pair := range map[string][2][]string{"table": {want, ledger(all.Items)}, "index": {wantIndexed, ledger(indexed.Items)}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			t.Fatalf("%s is %v, want %v", source, pair[1], pair[0])
		}
	}
}

func ledger(items []map[string]types.AttributeValue) []string {
	var out []string
	for _, it := range items {
		group := ""
		if g, ok := it["g"].(*types.AttributeValueMemberS); ok {
			group = g.Value
		}
		out = append(out, fmt.Sprintf("%s %s %s", it["pk"].(*types.AttributeValueMemberS).Value, it["balance"].(*types.AttributeValueMemberN).Value, group))
	}
	return out
}
