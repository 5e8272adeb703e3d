package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// tokens runs the command that creates, lists and revokes tokens of a running deployment.
func (d *deployment) tokens(t testing.TB, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"tokens", "--data", d.data}, args...)...)
	cmd.Env = passed
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}

// TestTokenOfSecondPersonWorksUntilRevoked: its sessions end with it.
func TestTokenOfSecondPersonWorksUntilRevoked(t *testing.T) {
	d, owner, _ := startScripted(t)
	made, ok := d.tokens(t, "make", "-user", "bea", "-scopes", "chat, approve", "-life", "1h")
	if !ok {
		t.Fatal(made)
	}
	secret, _, _ := strings.Cut(made, "\n")
	bea := newClient(d.url(), secret)
	bea.must(t, 200, "GET", "/api/chats", "")
	bea.must(t, 403, "POST", "/api/mcps", object("url", "http://127.0.0.1:9"))

	page := newClient(d.url(), "")
	session, err := page.do("POST", "/signin", "token="+secret, "Content-Type", "application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(session.header.Get("Set-Cookie"), ";")
	if err != nil || cookie == "" {
		t.Fatalf("%v %s", err, session)
	}
	page.must(t, 200, "GET", "/api/chats", "", "Cookie", cookie)

	listed, _ := d.tokens(t, "list")
	id := ""
	for line := range strings.Lines(listed) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[1] == "bea" && fields[2] == "chat,approve" {
			id = fields[0]
		}
	}
	if id == "" || strings.Contains(listed, secret) || strings.Count(listed, "\n") != 3 {
		t.Fatalf("listed:\n%s", listed)
	}
	for name, args := range map[string][]string{
		"no user": {"make"}, "another scope": {"make", "-user", "ana", "-scopes", "root"}, "over": {"make", "-user", "ana", "-life", "-1h"},
		"a key of the table": {"make", "-user", "a#b"}, "nobody's": {"revoke", "-id", "ffffffffffff"}, "everybody's": {"revoke"}, "another word": {"borrow"},
	} {
		if said, ok := d.tokens(t, args...); ok || !strings.HasPrefix(said, "piloto: ") {
			t.Errorf("%s: %v %s", name, ok, said)
		}
	}
	if said, ok := d.tokens(t, "revoke", id); !ok || !strings.Contains(said, "bea") || !strings.Contains(said, "(1)") {
		t.Fatalf("%v %s", ok, said)
	}
	bea.must(t, 401, "GET", "/api/chats", "")
	page.must(t, 401, "GET", "/api/chats", "", "Cookie", cookie)
	owner.must(t, 200, "GET", "/api/chats", "")
	mine, _ := d.tokens(t, "list")
	fields := strings.Fields(strings.Split(mine, "\n")[1])
	if said, ok := d.tokens(t, "revoke", fields[0]); ok || !strings.Contains(said, "PILOTO_TOKEN") {
		t.Errorf("the owner's: %v %s", ok, said)
	}
	owner.must(t, 200, "GET", "/api/chats", "")
}
