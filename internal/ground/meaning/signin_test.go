package meaning_test

import (
	"testing"

	"piloto/internal/ground/meaning"
)

func TestARedirectToASignInIsRecognized(t *testing.T) {
	for to, want := range map[string]bool{
		"/login": true, "/users/sign_in?next=%2Fmcp": true, "https://login.example.com/": true, "https://accounts.google.com/o": true,
		"https://x.test/oauth2/authorize?client_id=1": true, "https://x.test/start?SAMLRequest=a": true, "/Log-In": true, "auth/realms/x": true,
		"/mcp/": false, "https://docs.example.com/": false, "/catalogin": false, "/author": false, "": false, "/signing": false, "%zz": false,
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			if got := meaning.SignsIn(status, "https://x.test/mcp", to); got != want {
				t.Errorf("%d to %q: %t", status, to, got)
			}
		}
		for _, status := range []int{200, 401, 503} { // no redirect
			if meaning.SignsIn(status, "https://x.test/mcp", to) {
				t.Errorf("%d to %q is a sign-in", status, to)
			}
		}
	}
}

// A server that has moved has a name as before, or another host or slash: that is no sign-in, although it is called as one.
func TestAnotherAddressOfTheSameIsNoSignIn(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"https://x.test/mcp", "https://auth.x.test/mcp/", false},
		{"http://accounts.x.test/mcp", "https://accounts.x.test/v2/mcp", false},
		{"https://x.test/oauth/mcp", "/oauth/mcp/", false},
		{"https://x.test/oauth/mcp", "/oauth/login", true},
		{"https://auth.x.test/", "https://auth.x.test/?redirect_uri=x", true},
		{"https://x.test/mcp", "https://auth.x.test/", true},
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			if got := meaning.SignsIn(status, c.from, c.to); got != c.want {
				t.Errorf("%d from %q to %q: %t", status, c.from, c.to, got)
			}
		}
	}
}
