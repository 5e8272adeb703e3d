package outbound_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"piloto/internal/tools/outbound"
	"piloto/internal/tools/tool"
)

// A key that is an OAuth client is exchanged for the bearer token of its token endpoint, which is cached until
// shortly before it expires.
func ExampleTokens() {
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		_, _ = fmt.Fprintf(w, `{"access_token":"%s-%d","token_type":"Bearer","expires_in":3600}`, r.FormValue("scope"), asked)
	}))
	defer endpoint.Close()

	tokens := outbound.NewTokens(outbound.Options{AllowLoopback: true}, time.Now)
	key := tool.Credential{
		Place:  tool.KeyPlace{In: "oauth", Name: "piloto", TokenURL: endpoint.URL, Scope: "tools"},
		Secret: "a client's secret",
	}
	for range 2 {
		sent, err := tokens.Exchange(context.Background(), key)
		fmt.Println(sent.Place.In, sent.Secret, err)
	}
	tokens.Forget(key, "tools-1") // the server refused it
	sent, err := tokens.Exchange(context.Background(), key)
	fmt.Println(sent.Place.In, sent.Secret, err)
	// Output:
	// bearer tools-1 <nil>
	// bearer tools-1 <nil>
	// bearer tools-2 <nil>
}
