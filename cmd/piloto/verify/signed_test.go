package verify

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/receipt"
)

// bundle holds the downloads of an account: the receipts of its runs, the chain and the keys.
type bundle struct {
	folder string
	links  []receipt.Link
}

// signer returns a key of the test.
func signer(t *testing.T) *receipt.Local {
	t.Helper()
	text, err := receipt.NewPrivate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := receipt.NewLocal(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b bundle) file(name string) string { return filepath.Join(b.folder, name) }

func (b bundle) write(t *testing.T, name string, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.file(name), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return b.file(name)
}

// downloadBundle returns three ended runs, a.json to c.json, and one in progress, going.json; keys.json,
// others.json (another's key), and chain.json.
func downloadBundle(t *testing.T) bundle {
	t.Helper()
	ctx := context.Background()
	w, b := fixture.NewWorld(t), bundle{folder: t.TempDir()}
	w.Runs.Sealer = &receipt.Sealer{Store: w.Store.Receipts, Signer: signer(t), Now: w.Clock, Log: slog.New(slog.DiscardHandler)}
	for _, name := range []string{"a.json", "b.json", "c.json", "going.json"} {
		w.Chat = w.NewChat()
		id := w.Propose(fixture.To("POST", "/bookings", `{"room":"norte"}`)).ID
		if name != "going.json" {
			if err := w.Confirm(w.Read(id)); err != nil {
				t.Fatal(err)
			}
			w.Execute(id)
		}
		r := w.Read(id)
		revisions, err := w.Store.Runs.Revisions(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		events, err := w.Store.Runs.Events(ctx, fixture.Account, id, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		told := receipt.New(r, revisions, events)
		if r.Link > 0 {
			l, err := w.Store.Receipts.Link(ctx, fixture.Account, r.Link)
			if err != nil {
				t.Fatal(err)
			}
			told = told.In(l)
		}
		b.write(t, name, told)
	}
	keys, err := w.Store.Receipts.SigningKeys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "keys.json", map[string]any{"keys": keys})
	another, err := signer(t).Key(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "others.json", map[string]any{"keys": []receipt.Key{another}})
	if b.links, err = w.Store.Receipts.Links(ctx, fixture.Account, 0, 100); err != nil || len(b.links) != 3 {
		t.Fatalf("%v, %v", b.links, err)
	}
	b.write(t, "chain.json", map[string]any{"links": b.links})
	return b
}

func TestVerifyReportsSignerOfReceipt(t *testing.T) {
	b := downloadBundle(t)
	links := func(of ...receipt.Link) map[string]any { return map[string]any{"links": of} }
	b.write(t, "gap.json", links(b.links[0], b.links[2]))
	b.write(t, "order.json", links(b.links[0], b.links[2], b.links[1]))
	b.write(t, "cut.json", links(b.links[:2]...))
	b.write(t, "first.json", links(b.links[0]))
	b.write(t, "rest.json", links(b.links[1:]...))
	raw, err := os.ReadFile(b.file("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stripped map[string]any
	if err := json.Unmarshal(raw, &stripped); err != nil {
		t.Fatal(err)
	}
	delete(stripped, "chain")
	delete(stripped, "signature")
	stripped["unsigned"] = receipt.Pending
	b.write(t, "stripped.json", stripped)
	last := b.links[2].Head
	for name, c := range map[string]struct {
		args string
		code int
		want string
	}{
		"with the key":            {"--keys keys.json a.json", holds, "\nvalid: "},
		"its place unchecked":     {"--keys keys.json a.json", holds, "That it is link 1 of the chain of acme was not checked"},
		"without":                 {"a.json", unproven, "Only this was checked, not who wrote it"},
		"with the chain":          {"--keys keys.json --chain chain.json b.json", holds, "chain of acme: 3 links, head " + last},
		"the chain alone":         {"--keys keys.json --chain chain.json", holds, "head " + last},
		"the chain, of no keys":   {"--chain chain.json", unproven, "Who signed them was not checked"},
		"a head that is there":    {"--keys keys.json --chain chain.json --pin " + last, holds, "3 links"},
		"in pages":                {"--keys keys.json --chain first.json --chain rest.json c.json", holds, "3 links"},
		"pages in another order":  {"--keys keys.json --chain rest.json --chain first.json c.json", doesNot, "another order"},
		"another's key":           {"--keys others.json a.json", unproven, "not proven: it is signed with a key that was not given"},
		"no signature":            {"--keys keys.json stripped.json", unproven, "not proven: it has no signature"},
		"a run that goes on":      {"--keys keys.json going.json", unproven, "not proven: it has no signature"},
		"it, without keys":        {"going.json", unproven, "and the run still goes on"},
		"a gap":                   {"--keys keys.json --chain gap.json a.json", doesNot, "a link is missing"},
		"another order":           {"--keys keys.json --chain order.json a.json", doesNot, "another order"},
		"a chain without it":      {"--keys keys.json --chain cut.json c.json", doesNot, "does not have this receipt as its link 3"},
		"a chain that was cut":    {"--keys keys.json --chain cut.json", holds, "2 links"},
		"and the head was kept":   {"--keys keys.json --chain cut.json --pin " + last, doesNot, "links were cut off"},
		"a chain of another's":    {"--keys others.json --chain chain.json", unproven, "not proven: link 1: it is signed with a key that was not given"},
		"keys that are a receipt": {"--keys a.json a.json", unreadable, ""},
		"a chain that is none":    {"--chain a.json a.json", doesNot, "it has no links"},
	} {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, arg := range strings.Fields(c.args) {
				if strings.HasSuffix(arg, ".json") {
					arg = b.file(arg)
				}
				args = append(args, arg)
			}
			var out, errOut strings.Builder
			if code := run(args, strings.NewReader(""), &out, &errOut); code != c.code || !strings.Contains(out.String(), c.want) {
				t.Errorf("%d, want %d and %q\n%s%s", code, c.code, c.want, &out, &errOut)
			}
			if c.code != holds && strings.Contains(out.String(), "\nvalid") || c.code != unproven && strings.Contains(out.String(), "consistent: ") {
				t.Errorf("it says\n%s", &out)
			}
		})
	}
}

// A change of the text of a receipt without new hashes is found without keys too. A receipt without its unsigned
// parts is reported differently from a forged one.
func TestChangedReceiptIsRefusedWithKeys(t *testing.T) {
	b := downloadBundle(t)
	raw, err := os.ReadFile(b.file("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"by":"ana"`, `"by":"eva"`},
		{`norte`, `sur`},
		{`"account":"acme"`, `"account":"evil"`},
		{`"seq":1,"prev"`, `"seq":2,"prev"`},
		{`"status":"done"`, `"status":"error"`},
		{`"alg":"ed25519"`, `"alg":"ecdsa-p256-sha256"`},
		{`"value":"`, `"value":"AA`},
	} {
		forged := strings.ReplaceAll(string(raw), change[0], change[1])
		if forged == string(raw) {
			t.Errorf("nothing has %s", change[0])
			continue
		}
		var out, errOut strings.Builder
		if code := run([]string{"--keys", b.file("keys.json"), "-"}, strings.NewReader(forged), &out, &errOut); code != doesNot {
			t.Errorf("%s: %d\n%s%s", change[1], code, &out, &errOut)
		}
	}
}
