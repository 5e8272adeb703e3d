package httpapi_test

import (
	"context"
	"localaws/inproc"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	engine "localaws/secretsmanager"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/access/replay"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/models/secrets"
)

// router answers each message with its count of answers.
type router struct {
	httpapi.Turns
	turns atomic.Int32
	mu    sync.Mutex
	ids   map[string]bool
}

func (r *router) Route(_ context.Context, req turn.Request) (turn.Reply, error) {
	n := r.turns.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[req.MessageID] = true
	return turn.Reply{Message: conversation.Message{Content: req.Principal.User + " " + strconv.Itoa(int(n))}}, nil
}

// TestADeliveryToTheRouterIsOneTurn (guarantee I23), over the table and the secrets of a deployment: each of 20
// deliveries, five times at once, as two processes receive them.
func TestADeliveryToTheRouterIsOneTurn(t *testing.T) {
	table := fixture.Table(t)
	vault, err := engine.Open(filepath.Join(t.TempDir(), "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	manager := secrets.NewManager(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: inproc.Transport{Handler: vault}, BaseEndpoint: aws.String("http://engine.test"),
	}, "piloto")
	now := func() time.Time { return fixture.Epoch }
	newID := ids.NewSource(nil).New
	service := func() *auth.Webhooks {
		return &auth.Webhooks{Store: table.Access, Secrets: secrets.NewWebhooks(manager, now), NewID: newID, Now: now}
	}
	w, secret, err := service().Create(t.Context(), auth.Principal{Account: "acme", User: "ana"}, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	turns := &router{ids: map[string]bool{}}
	var functions []http.Handler
	for range 2 {
		log := slog.New(slog.DiscardHandler)
		functions = append(functions, httpapi.Router(httpapi.Config{
			Now: now, NewID: newID, Trace: func(context.Context) string { return "trace" }, Log: log, Webhooks: service(),
			Once: &replay.Once{Store: table.Access, NewID: newID, Now: now, Log: log},
		}, turns))
	}
	deliver := func(function http.Handler, id string) *httptest.ResponseRecorder {
		body := `{"message":"hola ` + id + `","session_id":"s","config":{"id_empresa":1}}`
		signature, err := auth.Delivery{ID: id, Body: []byte(body)}.Sign(secret, fixture.Epoch)
		if err != nil {
			t.Error(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/api/agent/chat", strings.NewReader(body))
		for name, value := range map[string]string{
			"X-Piloto-Webhook": w.ID, "webhook-id": id, "webhook-timestamp": strconv.FormatInt(fixture.Epoch.Unix(), 10), "webhook-signature": signature,
		} {
			r.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		function.ServeHTTP(answer, r)
		return answer
	}
	const deliveries, times = 20, 5
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range deliveries * times {
		done.Go(func() {
			start.Wait()
			if got := deliver(functions[i%2], strconv.Itoa(i%deliveries)); got.Code != 200 && got.Code != 409 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	start.Done()
	done.Wait()
	said := map[string]bool{}
	for i := range deliveries * 2 {
		got := deliver(functions[i%2], strconv.Itoa(i%deliveries))
		if got.Code != 200 || got.Header().Get("Idempotency-Replayed") != "true" || !strings.Contains(got.Body.String(), `"reply":"ana `) {
			t.Errorf("%d %s %v", got.Code, got.Body, got.Header())
		}
		said[got.Body.String()] = true
	}
	if turns.turns.Load() != deliveries || len(turns.ids) != deliveries || len(said) != deliveries {
		t.Errorf("%d turns of %d messages, %d answers", turns.turns.Load(), len(turns.ids), len(said))
	}
}
