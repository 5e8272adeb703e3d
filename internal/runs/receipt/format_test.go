package receipt

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var writeGolden = flag.Bool("write-golden", false, "write the kept receipts anew; for a new format only")

// kept is a receipt that somebody keeps: with the chain and the keys that were published for it.
type kept struct {
	Receipt json.RawMessage `json:"receipt"`
	Links   []Link          `json:"links"`
	Keys    []Key           `json:"keys"`
}

// TestKeptReceiptsAreVerified: a person keeps a receipt for years, and every later version verifies
// it with the keys that were published then.
func TestKeptReceiptsAreVerified(t *testing.T) {
	if *writeGolden {
		writeKept(t)
	}
	files, err := filepath.Glob("testdata/receipt-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var k kept
		if err := json.Unmarshal(raw, &k); err != nil {
			t.Fatal(err)
		}
		r, err := Read(k.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		if problems := append(append(Verify(r), VerifyChain(k.Links, k.Keys)...), VerifyPlace(r, k.Links)...); len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
		}
		k.Links[0].Status = "error"
		if len(VerifyChain(k.Links, k.Keys)) == 0 {
			t.Errorf("%s: a changed link is verified", file)
		}
	}
}

// writeKept signs the receipt of a run that ended with a key that is thrown away.
func writeKept(t *testing.T) {
	t.Helper()
	r := exampleReceipts(t)["done"]
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := KeyOf(public)
	if err != nil {
		t.Fatal(err)
	}
	key.From = r.Events[0].At
	last := r.Events[len(r.Events)-1]
	l, err := Link{
		Account: r.Account, RunID: r.RunID, Status: r.Status, Digest: r.Digest, Events: len(r.Events), RunHead: last.Hash,
	}.Chained(Link{}, last.At)
	if err != nil {
		t.Fatal(err)
	}
	message, err := l.message()
	if err != nil {
		t.Fatal(err)
	}
	l.Signature = &Signature{KeyID: key.ID, Alg: key.Alg, Value: base64.StdEncoding.EncodeToString(ed25519.Sign(private, message))}
	r.Chain, r.Signature, r.Unsigned = &Place{Seq: l.Seq, Prev: l.Prev, At: l.At, Head: l.Head}, l.Signature, ""
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(kept{raw, []Link{l}, []Key{key}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/receipt-1.json", append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
