package secrets_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"pgregory.net/rapid"

	"piloto/internal/ground/ids"
	"piloto/internal/models/secrets"
)

func TestProviderIDsAreNames(t *testing.T) {
	m := secrets.NewManager(aws.Config{}, "piloto-prod")
	for _, x := range []struct {
		account        ids.Account
		provider, want string
	}{
		{"default", "groq", "piloto-prod/providers/default/groq"},
		{"01JNQ4", "localhost:11434", "piloto-prod/providers/01JNQ4/localhost=3A11434"},
		{"a/b", "c", "piloto-prod/providers/a=2Fb/c"},
		{"a", "b/c", "piloto-prod/providers/a/b=2Fc"},
		{"a=2Fb", "ñ", "piloto-prod/providers/a=3D2Fb/=C3=B1"},
		{"a", "own-abcdef", "piloto-prod/providers/a/own=2Dabcdef"},
		{"a-bcd", "ef", "piloto-prod/providers/a=2Dbcd/ef"},
		{"a*", "?", "piloto-prod/providers/a=2A/=3F"},
		{"a", strings.Repeat("x", 128), "piloto-prod/providers/a/" + strings.Repeat("x", 128)},
	} {
		if got := m.ProviderID(x.account, x.provider); got != x.want {
			t.Errorf("%s %s: %s", x.account, x.provider, got)
		}
	}
	if got := m.ProviderID("a", strings.Repeat("x", 129)); !regexp.MustCompile(`/a/=\.[0-9a-f]{64}$`).MatchString(got) {
		t.Errorf("a long name: %s", got)
	}
}

var (
	allowed = regexp.MustCompile(`^[A-Za-z0-9/_+=.@-]{1,512}$`)
	likeARN = regexp.MustCompile(`-.{6}$`)
)

// TestProviderIDsOfTwoPairsDiffer for any characters and lengths.
func TestProviderIDsOfTwoPairsDiffer(t *testing.T) {
	part := rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune("ab/=-.2DF"))),
		rapid.String(),
		rapid.StringN(100, 200, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"p", "p-abcdef", strings.Repeat("p", 200)}).Draw(t, "prefix")
		m := secrets.NewManager(aws.Config{}, prefix)
		a, b, c, d := part.Draw(t, "a"), part.Draw(t, "b"), part.Draw(t, "c"), part.Draw(t, "d")
		one, two := m.ProviderID(ids.Account(a), b), m.ProviderID(ids.Account(c), d)
		if (one == two) != (a == c && b == d) {
			t.Fatalf("%q %q and %q %q are %s and %s", a, b, c, d, one, two)
		}
		if !allowed.MatchString(one) || likeARN.MatchString(one) {
			t.Fatalf("%q %q is %s", a, b, one)
		}
	})
}
