package process

import (
	"context"
	"crypto/subtle"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/edge/gateway"
	"piloto/internal/tools/tool"
)

// demoKeyFile holds the key of the demonstration, made once. The servers that were
// registered have it too, so that runs in flight find it valid at the next start.
const demoKeyFile = "demo.key"

// keptDemoKey returns the key of the demonstration. The first start makes it.
func keptDemoKey(folder string) (string, error) {
	file := filepath.Join(folder, demoKeyFile)
	key, made, err := keptToken(file)
	if err == nil && made {
		err = writeWhole(file, key+"\n")
	}
	return key, err
}

// demoModelKey is what the demonstration model is called with; "" when another answers.
func (p *Process) demoModelKey() string {
	if !p.demoModel() {
		return ""
	}
	return p.demoKey
}

// demoCredential is what the demonstration's service and agent are called with.
func (p *Process) demoCredential() *tool.Credential {
	return &tool.Credential{Place: tool.KeyPlace{In: "bearer"}, Secret: p.demoKey}
}

// withDemoKey serves a request that has the key of the demonstration, or a token of the
// deployment, because its owner may look. A session does not count, because the page of
// another site can make a browser send its cookie. A refused request is answered before its
// body is read, and leaves nothing behind.
func (p *Process) withDemoKey(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.mayCallDemo(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="piloto demonstration"`)
			w.Header().Set("Connection", "close") // what was not read is not waited for
			http.Error(w, "The demonstration answers who has its key ("+demoKeyFile+" in the data folder) or the token.", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (p *Process) mayCallDemo(r *http.Request) bool {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(strings.TrimSpace(secret)), []byte(p.demoKey)) == 1 {
		return true
	}
	who, refusal := gateway.Identify(r.Context(), p.Stores.Access, p.functions.meter, p.Clock(), gateway.Asking{
		Method: r.Method, Header: r.Header, Host: r.Host, Address: r.RemoteAddr,
	})
	return refusal == nil && who.Allows(auth.ScopeChat)
}

// keyDemo gives the key to the registered servers of the demonstration. They lack it in a
// folder of an older version, and after the key was made again.
func keyDemo(ctx context.Context, registry tool.Registry, as tool.Registration, at time.Time) error {
	servers, err := registry.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if s.BaseURL != as.URL {
			continue
		}
		if s.Key != nil {
			key, err := registry.Store.Credential(ctx, defaultAccount, s)
			if err != nil {
				return err
			}
			if key == *as.Key {
				continue
			}
		}
		if _, err := registry.SetKey(ctx, defaultAccount, s.ID, as.Key, at); err != nil {
			return err
		}
	}
	return nil
}
