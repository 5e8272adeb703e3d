package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRateLimitsOfAllContracts drives a deployment with small limits. A caller over a limit gets the time to retry,
// in the shape of each contract. A run can still be confirmed and stopped.
func TestRateLimitsOfAllContracts(t *testing.T) {
	_, c, model := startScripted(t, "PILOTO_TURNS_PER_MINUTE=1", "PILOTO_WRITES_PER_MINUTE=60")
	if got := string(c.must(t, 200, "GET", "/config", "").body); !strings.Contains(got, `"turns_per_minute","value":"1"`) {
		t.Errorf("the configuration does not say so: %s", got)
	}
	chat := c.chat(t)
	var a answer
	for i := 0; a.status != 429; i++ {
		if i == 20 {
			t.Fatal("20 turns in a row, of one in a minute")
		}
		model.will(reply{text: "Hola."})
		var err error
		a, err = c.do("POST", "/api/send", fmt.Sprintf(`{"chat_id":%q,"message":"hola %d"}`, chat, i), "Idempotency-Key", fmt.Sprint("k", i))
		if err != nil || a.status == 200 && !strings.HasPrefix(a.header.Get("RateLimit"), `"turns";r=`) || i == 0 && a.status != 200 {
			t.Fatalf("turn %d: %s, %v", i, a, err)
		}
	}
	if err := problemOf(a, 429, "request.too_many"); err != nil {
		t.Error(err)
	}
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 60 || !strings.Contains(a.text("action"), strconv.Itoa(wait)+" s") {
		t.Errorf("Retry-After %q: %s", a.header.Get("Retry-After"), a)
	}
	a = c.must(t, 429, "POST", "/operator/chat", `{"message":"hola"}`)
	if a.text("detail") != "request.too_many" || a.header.Get("Retry-After") == "" {
		t.Errorf("on the Operator contract: %s", a)
	}
	c.must(t, 200, "POST", "/api/send", fmt.Sprintf(`{"chat_id":%q,"message":"hola 0"}`, chat), "Idempotency-Key", "k0") // again
	if got := string(c.must(t, 200, "GET", "/metrics", "").body); !strings.Contains(got, `class="turns"`) && !asProcesses() {
		t.Errorf("the metrics do not say so: %s", got)
	}
}

// TestConcurrentWritesPassUpToLimit sends 200 writes at once. As many pass as the limit allows, plus those that the
// limit regains meanwhile.
func TestConcurrentWritesPassUpToLimit(t *testing.T) {
	_, c, _ := startScripted(t, "PILOTO_WRITES_PER_MINUTE=50")
	var all sync.WaitGroup
	statuses := make(chan int, 200)
	began := time.Now()
	for range 200 {
		all.Go(func() {
			if a, err := c.do("POST", "/api/chats", "{}"); err == nil {
				statuses <- a.status
			}
		})
	}
	all.Wait()
	close(statuses)
	got := map[int]int{}
	for s := range statuses {
		got[s]++
	}
	most := 50 + int(time.Since(began)/(time.Minute/50)) + 1
	if got[201] < 50 || got[201] > most || got[429] != 200-got[201] {
		t.Errorf("%v of a limit of 50; at most %d", got, most)
	}
}

// TestGuessingTokensIsRateLimited: bad tokens from an address are refused by the API, by the page and by the
// socket, and a good token passes.
func TestGuessingTokensIsRateLimited(t *testing.T) {
	d, c, _ := startScripted(t, "PILOTO_BAD_TOKENS_PER_MINUTE=12")
	guess := func(i int) int {
		headers := []string{"Authorization", fmt.Sprint("Bearer guess-", i)}
		if i%2 == 1 {
			headers = []string{"X-VX11-Token", fmt.Sprint("guess-", i)}
		}
		a, err := newClient(d.url(), "").do("GET", "/api/chats", "", append(headers, "X-Forwarded-For", fmt.Sprint("203.0.113.", i))...)
		if err != nil {
			t.Fatal(err)
		}
		return a.status
	}
	got := map[int]int{}
	for i := range 40 {
		got[guess(i)]++
		c.must(t, 200, "GET", "/api/chats", "")
	}
	if got[401] < 12 || got[401] > 24 || got[429] != 40-got[401] {
		t.Errorf("%v of a limit of 12", got)
	}
	if !asProcesses() {
		if _, status := listen(t, d, "?ticket=guess", nil); status != http.StatusTooManyRequests {
			t.Errorf("by the socket: %d", status)
		}
		a, err := newClient(d.url(), "").do("GET", "/signin?code=guess", "")
		if err != nil || a.status != http.StatusTooManyRequests {
			t.Errorf("by the page: %s, %v", a, err)
		}
	}
}
