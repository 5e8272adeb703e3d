package tool

import (
	"errors"
	"testing"

	"piloto/internal/ground/fault"
)

// TestTheAddressOfATokenIsJudgedAsAnyOther, when a service is registered with it and when it is set later: before the
// client's secret is stored.
func TestTheAddressOfATokenIsJudgedAsAnyOther(t *testing.T) {
	lan := Policy{AllowLoopback: true, Private: AnyNetwork()}
	for _, c := range []struct {
		url    string
		policy Policy
		want   error // nil: it is allowed
		stored string
	}{
		{"https://auth.example/token?tenant=7", Policy{}, nil, "https://auth.example/token?tenant=7"},
		{"https://AUTH.example:443/token", Policy{}, nil, "https://auth.example/token"},
		{"https://169.254.169.254/latest/meta-data", Policy{}, ErrTarget, ""},
		{"http://169.254.169.254/latest/meta-data", lan, ErrTarget, ""},
		{"https://metadata.google.internal/token", lan, ErrTarget, ""},
		{"https://[fd00:ec2::254]/token", lan, ErrTarget, ""},
		{"https://100.100.100.200/token", lan, ErrTarget, ""},
		{"https://10.0.0.1/token", Policy{}, ErrTarget, ""},
		{"https://192.168.1.1/token", Policy{}, ErrTarget, ""},
		{"https://127.0.0.1/token", Policy{}, ErrTarget, ""},
		{"https://localhost/token", Policy{}, ErrTarget, ""},
		{"https://intranet/token", Policy{}, ErrTarget, ""},
		{"https://[::ffff:10.0.0.1]/token", lan, ErrTarget, ""},
		{"https://[64:ff9b::a9fe:a9fe]/token", lan, ErrTarget, ""},
		{"https://2852039166/token", lan, ErrURL, ""},
		{"https://0xa9.0xfe.0xa9.0xfe/token", lan, ErrURL, ""},
		{"https://0251.0376.0251.0376/token", lan, ErrURL, ""},
		{"https://user:pass@auth.example/token", lan, ErrURL, ""},
		{"https://auth.example@10.0.0.1/token", Policy{}, ErrURL, ""},
		{"http://auth.example/token", lan, ErrURL, ""},
		{"ftp://auth.example/token", lan, ErrURL, ""},
		{"file:///etc/passwd", lan, ErrURL, ""},
		{"javascript:alert(1)", lan, ErrURL, ""},
		{"https://auth.example/\r\nX: y", lan, ErrURL, ""},
		{"", lan, ErrURL, ""},
		{"http://10.0.0.1/token", lan, nil, "http://10.0.0.1/token"},
		{"http://localhost:9000/token", lan, nil, "http://localhost:9000/token"},
	} {
		r, _, store := registry()
		r.Policy = c.policy
		key := Credential{Place: KeyPlace{In: "oauth", Name: "app", TokenURL: c.url}, Secret: "s3cret"}
		registered, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Key: &key}, now)
		judged := func(what string, err error, field ...any) {
			t.Helper()
			if !errors.Is(err, c.want) {
				t.Errorf("%s %q: %v, want %v", what, c.url, err, c.want)
			}
			if c.want == nil {
				return
			}
			if at := fault.Of(err).Fields; len(at) != 1 || len(at[0].Loc) != len(field) || at[0].Loc[len(field)-1] != "token_url" {
				t.Errorf("%s %q: at %+v", what, c.url, at)
			}
		}
		judged("registered with", err, "body", "key", "token_url")
		if c.want == nil && registered.Keys[0].TokenURL != c.stored || c.want != nil && len(store.servers) != 0 {
			t.Errorf("%q: %+v", c.url, store.servers)
		}
		s, _, err := r.Register(t.Context(), "acc", Registration{URL: "https://a.example", Force: true}, now)
		if err != nil {
			t.Fatal(err)
		}
		s, err = r.SetKey(t.Context(), "acc", s.ID, key, now)
		judged("set", err, "body", "token_url")
		if c.want != nil && len(store.keys["acc/"+s.ID]) != 0 {
			t.Errorf("%q is stored", c.url)
		}
	}
}
