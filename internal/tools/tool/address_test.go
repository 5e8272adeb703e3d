package tool

import (
	"net/netip"
	"strings"
	"testing"
)

// TestParseNetworksAcceptsOnlyPrivateNetworks protects against a slip in the configuration that would open
// loopback, metadata or all addresses.
func TestParseNetworksAcceptsOnlyPrivateNetworks(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		" , ":                           "",
		"192.168.1.0/24":                "192.168.1.0/24",
		"192.168.1.77/24":               "192.168.1.0/24",
		"10.1.2.3":                      "10.1.2.3/32",
		"10.0.0.0/8, 172.16.0.0/12":     "10.0.0.0/8,172.16.0.0/12",
		"fd12:3456::/48 192.168.0.0/16": "fd12:3456::/48,192.168.0.0/16",
		"100.64.0.0/10":                 "100.64.0.0/10",
	} {
		if got, err := ParseNetworks(text); err != nil || got.String() != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"all", "0.0.0.0/0", "::/0", "10.0.0.0/7", "8.8.8.8", "127.0.0.1", "127.0.0.0/8", "169.254.0.0/16", "169.254.169.254",
		"100.100.100.200", "fd00:ec2::254/128", "fd00:ec2::/32", "fe80::/10", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "10.0.0.0/8,*", "10.0.0.0/33", "fe80::1%eth0",
	} {
		if got, err := ParseNetworks(text); err == nil || !strings.Contains(err.Error(), strings.Split(text, ",")[len(strings.Split(text, ","))-1]) {
			t.Errorf("%q is allowed as %s, or not named: %v", text, got, err)
		}
	}
}

func TestNetworksAllowOnlyTheirAddresses(t *testing.T) {
	office, err := ParseNetworks("192.168.1.0/24,100.64.0.0/10,fd12::/16,fd00::/8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url  string
		want bool
	}{
		{"http://192.168.1.1", true},
		{"http://192.168.1.255:8080/mcp", true},
		{"http://192.168.2.1", false},
		{"http://10.0.0.1", false},
		{"http://100.80.1.1", true},
		{"http://100.100.100.200", false},
		{"http://[fd12::1]", true},
		{"http://[fd00:ec2::254]", false},
		{"http://[fe80::1]", false},
		{"http://[::ffff:192.168.1.1]", false},
		{"http://169.254.169.254", false},
		{"http://127.0.0.1", false},
		{"http://agenda", true}, // checked by the address that it resolves to
		{"http://agenda.lan", true},
		{"http://metadata.google.internal", false},
		{"http://8.8.8.8", true},
	} {
		if _, err := NormalizeURL(c.url, Policy{Private: office}); (err == nil) != c.want {
			t.Errorf("%s: %v", c.url, err)
		}
		if _, err := NormalizeURL(c.url, Policy{}); err == nil && c.url != "http://8.8.8.8" {
			t.Errorf("%s is allowed where no network is", c.url)
		}
	}
	if office.Contains(netip.MustParseAddr("fd00:ec2::254")) {
		t.Error("metadata is in a network")
	}
}
