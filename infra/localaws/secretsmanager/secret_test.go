package secretsmanager

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestSecretPrintsPlaceholder(t *testing.T) {
	s := (&secret{Name: "k"}).withValue("id", hide("canary"), time.Time{}).withValue("id-2", hide("canary"), time.Time{})
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "text", s.Versions[0].Text, "version", s.Versions[0], "secret", *s)
	out := logged.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		deep := struct{ inner []any }{[]any{*s, s.Versions, s.Versions[0].Text, map[string]*secret{"k": s}}}
		out += fmt.Sprintf(verb+verb+verb+verb+verb, *s, s, s.Versions, s.Versions[0].Text, deep)
	}
	for _, bad := range []string{"canary", fmt.Sprintf("%x", "canary"), fmt.Sprintf("%X", "canary")} {
		if strings.Contains(out, bad) {
			t.Errorf("%s is in %s", bad, out)
		}
	}
}

func TestRetiredVersionsHaveNoText(t *testing.T) {
	s := &secret{Name: "k"}
	for n := range mostRetired + 10 {
		s = s.withValue(fmt.Sprint("id-", n), hide(fmt.Sprint("canary-", n)), time.Time{})
	}
	if len(s.Versions) != 2 || len(s.Retired) != mostRetired || s.Retired[mostRetired-1].ID != fmt.Sprint("id-", mostRetired+7) {
		t.Errorf("%d versions, %d retired, the last %s", len(s.Versions), len(s.Retired), s.Retired[len(s.Retired)-1].ID)
	}
	for _, r := range s.Retired {
		if strings.Contains(r.Digest, "canary") || len(r.Digest) != 64 {
			t.Errorf("retired as %s", r.Digest)
		}
	}
}
