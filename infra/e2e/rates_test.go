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

// TestNobodyAsksTooOften drives a deployment with small limits: who is over one is told when
// to ask again, in the shape of each contract, and a run can be confirmed and stopped all the
// same.
func TestNobodyAsksTooOften(t *testing.T) {
	_, c, model := scripted(t, "PILOTO_TURNS_PER_MINUTE=1", "PILOTO_WRITES_PER_MINUTE=60")
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

// TestOfManyWritesAtOnceAsManyPassAsThereIsRoomFor sends 200 writes at once. As many pass as
// the limit allows, and as came back meanwhile.
func TestOfManyWritesAtOnceAsManyPassAsThereIsRoomFor(t *testing.T) {
	_, c, _ := scripted(t, "PILOTO_WRITES_PER_MINUTE=50")
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

// TestGuessingIsSlow: bad tokens of an address are refused, however they are shown, by the
// API, by the page and by the socket, and a good one passes beside them.
func TestGuessingIsSlow(t *testing.T) {
	d, c, _ := scripted(t, "PILOTO_BAD_TOKENS_PER_MINUTE=12")
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
