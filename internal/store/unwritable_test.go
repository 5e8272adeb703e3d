package store_test

import (
	"errors"
	"localaws/inproc"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/store"
)

// TestFullDiskIsReportedWithoutRetry: 507 is asked once, and is fault.ErrStorage; any
// other failure of the store is tried again, and is nothing that we have a word for.
func TestFullDiskIsReportedWithoutRetry(t *testing.T) {
	for _, c := range []struct {
		status int
		once   bool
	}{{http.StatusInsufficientStorage, true}, {http.StatusInternalServerError, false}} {
		var asked atomic.Int32
		table := store.New(store.Dial(aws.Config{
			Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://engine.test"),
			HTTPClient: inproc.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"no space left"}`))
			})},
		}), "table")
		err := table.Chats.CreateChat(ctx, "acme", conversation.Chat{ID: "c"})
		if errors.Is(err, fault.ErrStorage) != c.once || (asked.Load() == 1) != c.once || err == nil {
			t.Errorf("%d: asked %d times: %v", c.status, asked.Load(), err)
		}
	}
}

// TestPingReportsReadOnlyDisk.
func TestPingReportsReadOnlyDisk(t *testing.T) {
	var full atomic.Bool
	table := store.New(store.Dial(aws.Config{
		Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://engine.test"),
		HTTPClient: inproc.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if full.Load() {
				w.Header().Set("X-Localaws-Unwritable", "true")
			}
			_, _ = w.Write([]byte(`{}`))
		})},
	}), "table")
	if err := table.Table.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	if err := table.Table.Ping(ctx); !errors.Is(err, fault.ErrStorage) {
		t.Errorf("it says %v", err)
	}
}
