package e2e

import (
	"encoding/json"
	"testing"
)

// charge makes the account's turns cost credits: the same model, at the account's own address. Every session is so
// small that many are opened.
func charge(t *testing.T, d *deployment, c *client) {
	t.Helper()
	c.must(t, 200, "PUT", "/ai/providers/mine", object("base_url", d.url()+"/demo/model/v1", "costs_credits", true))
	c.must(t, 200, "PUT", "/ai/providers/mine/key", object("key", testToken))
	c.must(t, 200, "PUT", "/ai/assistant", object("provider", "mine", "model", "piloto-demo"))
	c.must(t, 200, "PUT", "/ai/terms", `{"policy":{"session_cost":1,"session_tokens":20000,"session_minutes":60},"limits":{"day_micros":0,"month_micros":0,"run_micros":0}}`)
	c.must(t, 201, "POST", "/ai/ledger", `{"kind":"grant","amount":100000,"reason":"for the test"}`)
}

// audit checks the accounting: the balance is the sum of the ledger, each session is paid once, and none gives more
// than it has.
func audit(t *testing.T, c *client) {
	t.Helper()
	var books struct {
		Balance  int64
		Sessions []struct {
			ID                 string `json:"session_id"`
			Tokens, Free, Used int
		}
	}
	if err := json.Unmarshal(c.must(t, 200, "GET", "/ai/credits", "").body, &books); err != nil {
		t.Fatal(err)
	}
	paid := map[string]int{}
	sum, cursor := int64(0), ""
	for {
		var page struct {
			Entries []struct {
				Amount    int64
				SessionID string `json:"session_id"`
			}
			Cursor string
		}
		if err := json.Unmarshal(c.must(t, 200, "GET", "/ai/ledger?limit=100&cursor="+cursor, "").body, &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			sum += e.Amount
			if e.SessionID != "" {
				paid[e.SessionID]++
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if sum != books.Balance || sum < 0 {
		t.Errorf("the balance is %d and the ledger adds up to %d", books.Balance, sum)
	}
	used := 0
	for _, s := range books.Sessions {
		if s.Free < 0 || s.Free+s.Used > s.Tokens || paid[s.ID] != 1 {
			t.Errorf("%+v was paid %d times", s, paid[s.ID])
		}
		used += s.Used
	}
	if used == 0 {
		t.Error("nothing was used: the turns were not charged")
	}
	t.Logf("%d sessions, %d tokens used, a balance of %d", len(books.Sessions), used, books.Balance)
}
