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
		for _, status := range []int{302, 303} {
			if got := meaning.SignsIn(status, to); got != want {
				t.Errorf("%d to %q: %t", status, to, got)
			}
		}
		for _, status := range []int{200, 301, 307, 308, 401} { // another address of the same, or no redirect
			if meaning.SignsIn(status, to) {
				t.Errorf("%d to %q is a sign-in", status, to)
			}
		}
	}
}
