package tool

import (
	"errors"
	"strings"
	"testing"
)

func TestNormalizeURL(t *testing.T) {
	loopback, private, all := Policy{AllowLoopback: true}, Policy{Private: AnyNetwork()}, Policy{true, AnyNetwork()}
	cases := []struct {
		in   string
		p    Policy
		want string // a URL, or the reason of ErrURL, or "target"
	}{
		// schemes
		{"api.example.com", Policy{}, "https://api.example.com"},
		{"//api.example.com", Policy{}, "https://api.example.com"},
		{"HTTP://API.Example.COM", Policy{}, "http://api.example.com"},
		{"https://api.example.com", Policy{}, "https://api.example.com"},
		{"  https://api.example.com \n", Policy{}, "https://api.example.com"},
		{"ftp://api.example.com", Policy{}, "scheme"},
		{"file:///etc/passwd", Policy{}, "scheme"},
		{"gopher://x.example", Policy{}, "scheme"},
		{"javascript:alert(1)", Policy{}, "scheme"},
		{"data:text/plain,x", Policy{}, "scheme"},
		{"ws://api.example.com", Policy{}, "scheme"},
		{"jar:http://x.example!/", Policy{}, "scheme"},
		{"http:/api.example.com", Policy{}, "scheme"},
		{"localhost:8000", loopback, "http://localhost:8000"},
		{"127.0.0.1:8000", loopback, "http://127.0.0.1:8000"},
		{"[::1]:8000", loopback, "http://[::1]:8000"},
		{"192.168.1.5:9000", private, "http://192.168.1.5:9000"},
		{"api.example.com:8443", Policy{}, "https://api.example.com:8443"},
		{"rooms", private, "http://rooms"},
		{"xyz", Policy{}, "form"}, // a word, not a private address
		{" Xyz/ ", loopback, "form"},
		{"xyz:8080", Policy{}, "target"},
		{"https://xyz", Policy{}, "target"},
		{"rooms:8080", all, "http://rooms:8080"},
		{"https://localhost:8443", loopback, "https://localhost:8443"},
		// paths that are cut
		{"https://a.example/", Policy{}, "https://a.example"},
		{"https://a.example///", Policy{}, "https://a.example"},
		{"https://a.example/docs", Policy{}, "https://a.example"},
		{"https://a.example/docs/", Policy{}, "https://a.example"},
		{"https://a.example/redoc", Policy{}, "https://a.example"},
		{"https://a.example/openapi.json", Policy{}, "https://a.example"},
		{"https://a.example/openapi.yaml", Policy{}, "https://a.example"},
		{"https://a.example/swagger.json", Policy{}, "https://a.example"},
		{"https://a.example/swagger-ui/index.html", Policy{}, "https://a.example"},
		{"https://a.example/swagger-ui.html", Policy{}, "https://a.example"},
		{"https://a.example/v3/api-docs", Policy{}, "https://a.example"},
		{"https://a.example/swagger/v1/swagger.json", Policy{}, "https://a.example"},
		{"https://a.example/docs/openapi.json", Policy{}, "https://a.example"},
		{"https://a.example/api/v1/", Policy{}, "https://a.example/api/v1"},
		{"https://a.example/api/v1/openapi.json", Policy{}, "https://a.example/api/v1"},
		{"https://a.example/specs/rooms.yaml", Policy{}, "https://a.example/specs/rooms.yaml"},
		{"https://a.example/docstore", Policy{}, "https://a.example/docstore"},
		{"https://a.example/a%20b", Policy{}, "https://a.example/a%20b"},
		// ports
		{"https://a.example:443", Policy{}, "https://a.example"},
		{"http://a.example:80/x", Policy{}, "http://a.example/x"},
		{"http://a.example:443", Policy{}, "http://a.example:443"},
		{"https://a.example:0", Policy{}, "port"},
		{"https://a.example:65536", Policy{}, "port"},
		{"https://a.example:08080", Policy{}, "port"},
		{"https://a.example:", Policy{}, "port"},
		{"https://a.example:x", Policy{}, "form"},
		{"https://a.example:-1", Policy{}, "form"},
		// parts that do not belong
		{"https://user:pw@a.example", Policy{}, "credentials"},
		{"https://user@a.example", Policy{}, "credentials"},
		{"https://@a.example", Policy{}, "credentials"},
		{"https://a.example#f", Policy{}, "fragment"},
		{"https://a.example/docs#/rooms", Policy{}, "fragment"},
		{"https://a.example#", Policy{}, "fragment"},
		{"https://a.example/x?y=1", Policy{}, "query"},
		{"https://a.example?", Policy{}, "query"},
		// characters
		{"", Policy{}, "empty"},
		{"   ", Policy{}, "empty"},
		{"https://a.example/a b", Policy{}, "characters"},
		{"https://a.exa mple", Policy{}, "characters"},
		{"https://a.example\r\nHost: b", Policy{}, "characters"},
		{"https://a.example\x00", Policy{}, "characters"},
		{"https://a.example\\@b.example", Policy{}, "characters"},
		{"https:\\\\a.example", Policy{}, "characters"},
		{"https://a.example/{x}", Policy{}, "characters"},
		{"https://a.example/<x>", Policy{}, "characters"},
		{"https://a.example/\xff", Policy{}, "characters"},
		{"https://" + strings.Repeat("a", 3000) + ".example", Policy{}, "too_long"},
		{"https://a.example/../b", Policy{}, "path"},
		{"https://a.example/%2e%2e/b", Policy{}, "path"},
		{"https://a.example/a//b", Policy{}, "path"},
		{"https://a.example/a%2fb", Policy{}, "path"},
		{"https://a.example/a%0d%0ab", Policy{}, "path"},
		// hosts
		{"https://", Policy{}, "host"},
		{"https:///x", Policy{}, "host"},
		{"https://.", Policy{}, "host"},
		{"https://a..example", Policy{}, "host"},
		{"https://-a.example", Policy{}, "host"},
		{"https://a%2eexample", Policy{}, "form"},
		{"https://a.example.", Policy{}, "https://a.example"},
		{"https://my_service.example", Policy{}, "https://my_service.example"},
		{"https://ñandú.example", Policy{}, "https://xn--and-6ma2c.example"},
		{"https://Bücher.example", Policy{}, "https://xn--bcher-kva.example"},
		{"https://ｅｘａｍｐｌｅ.com", Policy{}, "https://example.com"},
		{"https://xn--a.example", Policy{}, "host"},
		{"https://a\u200db.example", Policy{}, "host"},
		{"https://" + strings.Repeat("a.", 130) + "example", Policy{}, "host"},
		{"https://" + strings.Repeat("a", 64) + ".example", Policy{}, "host"},
		// addresses in disguise
		{"http://2130706433", all, "host"},
		{"http://0x7f000001", all, "host"},
		{"http://0x7f.1", all, "host"},
		{"http://017700000001", all, "host"},
		{"http://127.1", all, "host"},
		{"http://127.0.0.01", all, "host"},
		{"http://0177.0.0.1", all, "host"},
		{"http://1.2.3.4.5", all, "host"},
		{"http://１２７.0.0.1", Policy{}, "target"},
		{"http://127。0。0。1", Policy{}, "target"},
		{"http://①②⑦.⓪.⓪.①", Policy{}, "target"},
		{"http://example.com:80@127.0.0.1", all, "credentials"},
		{"http://127.0.0.1:80@example.com", all, "credentials"},
		{"http://127.0.0.1%00.example.com", all, "form"},
		{"http://[::1%25eth0]", all, "host"},
		{"http://[fe80::1%25lo]", all, "host"},
		{"http://[::g]", all, "form"},
		// not public
		{"http://localhost", Policy{}, "target"},
		{"http://LOCALHOST.", Policy{}, "target"},
		{"http://a.localhost", Policy{}, "target"},
		{"http://127.0.0.1", Policy{}, "target"},
		{"http://127.255.255.254", private, "target"},
		{"http://[::1]", Policy{}, "target"},
		{"http://[::ffff:127.0.0.1]", all, "target"},
		{"http://[::127.0.0.1]", all, "target"},
		{"http://0.0.0.0", all, "target"},
		{"http://[::]", all, "target"},
		{"http://10.0.0.1", loopback, "target"},
		{"http://10.0.0.1", private, "http://10.0.0.1"},
		{"http://172.16.0.1", Policy{}, "target"},
		{"http://172.32.0.1", Policy{}, "http://172.32.0.1"},
		{"http://192.168.0.1", Policy{}, "target"},
		{"http://100.64.0.1", all, "http://100.64.0.1"},
		{"http://169.254.169.254", all, "target"},
		{"http://168.63.129.16", all, "target"},
		{"http://metadata.google.internal", all, "target"},
		{"http://[fe80::1]", all, "target"},
		{"http://[fd00::1]", private, "http://[fd00::1]"},
		{"http://[fd00:ec2::254]", Policy{}, "target"},
		{"http://[64:ff9b::a00:1]", all, "target"},
		{"http://[2002:a00:1::]", all, "target"},
		{"http://[2606:4700::1111]", Policy{}, "http://[2606:4700::1111]"},
		{"http://[2606:4700:0:0::1111]", Policy{}, "http://[2606:4700::1111]"},
		{"http://224.0.0.1", all, "target"},
		{"http://255.255.255.255", all, "target"},
		{"http://8.8.8.8", Policy{}, "http://8.8.8.8"},
		{"http://intranet", Policy{}, "target"},
		{"http://db.internal", Policy{}, "target"},
		{"http://printer.local", Policy{}, "target"},
	}
	for _, c := range cases {
		got, err := NormalizeURL(c.in, c.p)
		switch {
		case errors.Is(err, ErrTarget):
			got = "target"
		case err != nil:
			got = reasonOf(t, err)
		default:
			if again, err := NormalizeURL(got, c.p); err != nil || again != got {
				t.Errorf("%.60q: %q is not stable: %q %v", c.in, got, again, err)
			}
		}
		if got != c.want {
			t.Errorf("%.60q: %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzNormalizeURLIsStable(f *testing.F) {
	for _, s := range []string{"a.example", "http://[::1]:80/x", "https://ñ.example/docs", "x:1", "http://a@b", "http://0x1", "http://%41/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := NormalizeURL(s, Policy{})
		if err != nil {
			return
		}
		if again, err := NormalizeURL(got, Policy{}); err != nil || again != got {
			t.Fatalf("%q became %q, then %q %v", s, got, again, err)
		}
		if strings.ContainsAny(got, " @#?\\\r\n") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestLeadsToReturnsOnlyOrigin(t *testing.T) {
	const asked = "https://rooms.example/bookings"
	for location, want := range map[string]string{
		"":                                     "",
		"/bookings/7?key=k#f":                  "https://rooms.example",
		"7":                                    "https://rooms.example",
		"//other.example/x":                    "https://other.example",
		"http://Other.Example:80/x":            "http://other.example",
		"https://u:p@other.example:8443":       "https://other.example:8443",
		"https://[::1]:9/x":                    "https://[::1]:9",
		"https://m\u00fcnchen.example":         "https://xn--mnchen-3ya.example",
		"https://a b/":                         "",
		"https://2130706433/":                  "",
		"https://o\u202ether.example/":         "",
		"javascript:alert(1)":                  "",
		"mailto:a@other.example":               "",
		"https://":                             "",
		"https://other.example:99999/":         "",
		"https://**other**.example/":           "",
		"https://" + strings.Repeat("a", 300):  "",
		"https://x.example/\u0000":             "",
		"https://x.example/" + "%zz":           "",
		"ftp://other.example/x":                "",
		"\x7f":                                 "",
		"https://other.example/" + "a\u00a0b ": "https://other.example",
	} {
		if got := RedirectOrigin(asked, location); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
	if got := RedirectOrigin("::", "/x"); got != "" {
		t.Errorf("from nowhere: %q", got)
	}
}

func TestRegistrationCleansBrowserAddress(t *testing.T) {
	for raw, want := range map[string]string{
		"https://api.example.com/docs#/default/list_rooms": "https://api.example.com",
		"https://api.example.com/v1/?key=1#top\n":          "https://api.example.com/v1",
		"api.example.com?x=#y":                             "https://api.example.com",
	} {
		if got, err := NormalizeURL(withoutQuery(raw), Policy{}); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", raw, got, err, want)
		}
	}
	for raw, want := range map[string]string{
		"https://docs.example.com/rooms.json?v=1#/x":  "https://docs.example.com/rooms.json?v=1",
		"https://DOCS.example.com:443/docs/api.yaml":  "https://docs.example.com/docs/api.yaml",
		"docs.example.com":                            "https://docs.example.com/",
		"https://docs.example.com?format=openapi":     "https://docs.example.com/?format=openapi",
		"https://docs.example.com/a?next=https://b/c": "https://docs.example.com/a?next=https://b/c",
	} {
		if got, err := normalizeDocumentURL(raw, Policy{}); err != nil || got != want {
			t.Errorf("document %q: %q %v, want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{"http://127.0.0.1/x", "https://u:p@docs.example.com/x", "ftp://docs.example.com/x", "https://10.0.0.1/x", "#", "https:///x", "https://docs.example.com/%zz", "a b"} {
		if got, err := normalizeDocumentURL(raw, Policy{}); err == nil {
			t.Errorf("document %q: %q", raw, got)
		}
	}
}
