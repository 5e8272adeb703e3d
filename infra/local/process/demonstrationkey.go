package process

import (
	"context"
	"crypto/subtle"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/fault"

	"piloto/internal/access/auth"
	"piloto/internal/edge/gateway"
	"piloto/internal/tools/tool"
)

// demoKeyFile holds the key of the demonstration, which is made once. The registered servers hold
// it too, so that runs in flight can use it after the next start.
const demoKeyFile = "demo.key"

// ensureDemoKey returns the key of the demonstration. The first start makes it.
func ensureDemoKey(folder string) (string, error) {
	file := filepath.Join(folder, demoKeyFile)
	key, made, err := readToken(file)
	if err == nil && made {
		err = writeAtomically(file, key+"\n")
	}
	return key, err
}

// modelKey returns the key for requests to the demonstration model; "" when another model
// answers.
func (d *demonstration) modelKey() string {
	if !d.p.Settings.usesDemoModel() {
		return ""
	}
	return d.key
}

// credential returns the credential for requests to the demonstration service and agent.
func (d *demonstration) credential() *tool.Credential {
	return &tool.Credential{Place: tool.KeyPlace{In: "bearer"}, Secret: d.key}
}

// withKey serves requests that have the key of the demonstration. A token of the deployment is
// accepted too, because its owner may look. A session is not accepted, because the page of another
// site can make a browser send its cookie. A request is refused before its body is read, and is not
// recorded.
func (d *demonstration) withKey(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.mayCall(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="piloto demonstration"`)
			w.Header().Set("Connection", "close") // the server does not wait for the unread body
			http.Error(w, "The demonstration answers who has its key ("+demoKeyFile+" in the data folder) or the token.", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (d *demonstration) mayCall(r *http.Request) bool {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(strings.TrimSpace(secret)), []byte(d.key)) == 1 {
		return true
	}
	who, refusal := d.identify(r)
	return refusal == nil && who.Allows(auth.ScopeChat)
}

// identify returns the caller of a request by its token.
func (d *demonstration) identify(r *http.Request) (auth.Principal, *fault.Error) {
	return gateway.Identify(r.Context(), d.p.Stores.Access, d.p.functions.meter, d.p.Clock(), gateway.RequestInfo{
		Method: r.Method, Header: r.Header, Host: r.Host, Address: r.RemoteAddr,
	})
}

// updateDemoKey stores the key in the registered servers of the demonstration. They lack it after the key was made again.
func updateDemoKey(ctx context.Context, registry tool.Registry, as tool.Registration, at time.Time) error {
	servers, err := registry.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if s.BaseURL != as.URL {
			continue
		}
		held, err := registry.Store.Keys(ctx, defaultAccount, s)
		if err != nil {
			return err
		}
		if slices.Contains(held, *as.Key) {
			continue
		}
		if _, err := registry.SetKey(ctx, defaultAccount, s.ID, *as.Key, at); err != nil {
			return err
		}
	}
	return nil
}
