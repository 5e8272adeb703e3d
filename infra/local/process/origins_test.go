package process

import "testing"

func TestOriginsAreNormalized(t *testing.T) {
	for list, want := range map[string]string{
		"":                          "",
		"https://App.example.com/":  "https://app.example.com",
		"http://localhost:5173":     "http://localhost:5173",
		"https://a.example:443":     "https://a.example",
		"http://a.example:80, , \n": "http://a.example",
		"https://a.example, http://127.0.0.1:3000/": "https://a.example,http://127.0.0.1:3000",
	} {
		if got, err := normalizeOrigins(list); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"*", "app.example.com", "https://", "https://a.example/app", "https://u:p@a.example", "ftp://a.example", "null", "https://a.example?x"} {
		if got, err := normalizeOrigins(list); err == nil {
			t.Errorf("%q: %q", list, got)
		}
	}
}
