package receipt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/runs/plan"
)

// signer returns a new signing key.
func signer(t *testing.T) *Local {
	t.Helper()
	text, err := NewPrivate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewLocal(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nextLink returns the next link of a chain, signed.
func nextLink(t *testing.T, s *Local, l, before Link, at time.Time) Link {
	t.Helper()
	l, err := l.Chained(before, at)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = l.Signed(context.Background(), s, s.key); err != nil {
		t.Fatal(err)
	}
	return l
}

// seal returns a receipt at the second place of a chain.
func seal(t *testing.T, s *Local, r Receipt) Receipt {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 5e6, time.UTC)
	first := nextLink(t, s, Link{Account: r.Account, RunID: "01OTHER", Status: plan.Done, Events: 3}, Link{}, at)
	return r.In(nextLink(t, s, r.link(), first, at))
}

// recompute returns a receipt in which a forger recomputed everything: all digests of plans, the
// hashes of events, and the heads.
func recompute(t *testing.T, r Receipt) Receipt {
	t.Helper()
	replaced := map[string]string{}
	for i := range r.Revisions {
		if i > 0 && replaced[string(r.Revisions[i].Plan.Replaces)] != "" {
			r.Revisions[i].Plan.Replaces = plan.Digest(replaced[string(r.Revisions[i].Plan.Replaces)])
		}
		if d, err := r.Revisions[i].Plan.Digest(); err == nil && d != r.Revisions[i].Digest {
			replaced[string(r.Revisions[i].Digest)] = string(d)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for was, now := range replaced {
		if was != "" {
			raw = bytes.ReplaceAll(raw, []byte(was), []byte(now))
		}
	}
	var out Receipt
	if json.Unmarshal(raw, &out) != nil {
		return r
	}
	prev := ""
	for i := range out.Events {
		if e, err := out.Events[i].Chained(prev); err == nil {
			out.Events[i], prev = e, e.Hash
		}
	}
	if len(out.Events) > 0 {
		out.Head = prev
	}
	if out.Chain != nil {
		out.Chain.Head, _ = out.link().sum()
	}
	return out
}

// A forger changes the user who confirmed and the amounts, and recomputes every hash. Only the
// signature detects it.
func TestSignatureDetectsRecomputedForgery(t *testing.T) {
	s := signer(t)
	keys := []Key{s.key}
	whole := seal(t, s, exampleReceipts(t)["done"])
	if problems := Verify(whole); len(problems) > 0 || whole.SignedBy(keys) != nil {
		t.Fatalf("as it is: %v, %v", problems, whole.SignedBy(keys))
	}
	for name, change := range map[string][2]string{
		"the confirmer": {`"by":"ana"`, `"by":"eva"`},
		"the amount":    {`"seats":6`, `"seats":9`},
	} {
		raw, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		var forged Receipt
		text := strings.ReplaceAll(strings.ReplaceAll(string(raw), change[0], change[1]), "seats=6", "seats="+change[1][len(change[1])-1:])
		if name == "the confirmer" {
			text = strings.ReplaceAll(string(raw), change[0], change[1])
		}
		if err := json.Unmarshal([]byte(text), &forged); err != nil || text == string(raw) {
			t.Fatalf("%s: nothing was forged: %v", name, err)
		}
		forged = recompute(t, forged)
		if problems := problemsOf(forged); len(problems) > 0 {
			t.Errorf("%s: the forger forgot %v", name, problems)
		}
		if err := forged.SignedBy(keys); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// problemsOf returns the problems of a receipt, except those of request hashes, which this forger
// does not change.
func problemsOf(r Receipt) []Problem {
	return slices.DeleteFunc(Verify(r), func(p Problem) bool { return strings.Contains(p.What, "another body") })
}

// Every value of every signed receipt is changed or removed alone, and everything is recomputed.
func TestSignatureDetectsEveryRecomputedChange(t *testing.T) {
	s := signer(t)
	keys := []Key{s.key}
	all := exampleReceipts(t)
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if !r.Status.Terminal() {
			continue
		}
		r = seal(t, s, r)
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for i, way := range leaves(tree(t, raw), nil) {
			seen[shapeOf(way)] = true
			if i%5 > 0 && !isOwn(way) || isSampled() && i%sampled > 0 { // one in five of events and plans
				continue
			}
			for how, f := range map[string]func(any) any{"changed": otherValue, "removed": func(any) any { return nil }} {
				text, err := json.Marshal(edit(tree(t, raw), way, f))
				if err != nil {
					t.Fatal(err)
				}
				var read Receipt
				if json.Unmarshal(text, &read) != nil {
					continue
				}
				if again, _ := json.Marshal(read); string(again) == string(raw) {
					continue
				}
				if slices.Contains([]string{"head", "chain head"}, way.String()) && how == "changed" || strings.HasSuffix(way.String(), " hash") {
					continue // unchanged after the recomputation
				}
				if forged := recompute(t, read); len(Verify(forged)) == 0 && forged.SignedBy(keys) == nil {
					if again, _ := json.Marshal(forged); string(again) != string(raw) {
						t.Errorf("%s: %s was %s, all was counted again, and it is signed", name, way, how)
					}
				}
			}
		}
	}
	for _, name := range members(reflect.TypeFor[Receipt](), "") {
		if !seen[name] && name != "unsigned" && !strings.HasPrefix(name, "unsigned ") {
			t.Errorf("no receipt here has %q, so that nothing was changed in it", name)
		}
	}
}

// isOwn reports whether a value belongs to a type of this package.
func isOwn(way leaf) bool { return way[0] != "events" && (way[0] != "revisions" || len(way) < 4) }

// shapeOf returns a path without the indexes of elements.
func shapeOf(way leaf) string {
	var names []string
	for _, w := range way {
		if name, ok := w.(string); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// members returns the names of the JSON members of a type and of the types of this package inside
// it.
func members(t reflect.Type, before string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[Receipt]().PkgPath() {
		return nil
	}
	var all []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all = append(all, before+name)
		all = append(all, members(t.Field(i).Type, before+name+" ")...)
	}
	return all
}

func TestSignatureBelongsToOneReceiptAndOneKey(t *testing.T) {
	s, another := signer(t), signer(t)
	all := exampleReceipts(t)
	one, two := seal(t, s, all["done"]), seal(t, s, all["refused"])
	keys := []Key{s.key}
	for name, c := range map[string]struct {
		forge func(*Receipt)
		keys  []Key
		want  error
	}{
		"nothing":                  {func(*Receipt) {}, keys, nil},
		"nothing, among more keys": {func(*Receipt) {}, []Key{another.key, s.key}, nil},
		"another's signature":      {func(r *Receipt) { r.Signature = two.Signature }, keys, ErrForged},
		"another's place":          {func(r *Receipt) { r.Chain = two.Chain }, keys, ErrForged},
		"both":                     {func(r *Receipt) { r.Chain, r.Signature = two.Chain, two.Signature }, keys, ErrForged},
		"no signature":             {func(r *Receipt) { r.Signature = nil }, keys, ErrUnsigned},
		"no place":                 {func(r *Receipt) { r.Chain = nil }, keys, ErrUnsigned},
		"no keys":                  {func(*Receipt) {}, nil, ErrUnknownKey},
		"another key":              {func(*Receipt) {}, []Key{another.key}, ErrUnknownKey},
		"the key's id alone":       {func(r *Receipt) { r.Signature.KeyID = another.key.ID }, []Key{s.key, another.key}, ErrForged},
		"another algorithm":        {func(r *Receipt) { r.Signature.Alg = ECDSAP256 }, keys, ErrForged},
		"no base64":                {func(r *Receipt) { r.Signature.Value += "=" }, keys, ErrForged},
		"a line in it":             {func(r *Receipt) { r.Signature.Value = r.Signature.Value[:8] + "\n" + r.Signature.Value[8:] }, keys, ErrForged},
		"another account":          {func(r *Receipt) { r.Account = "theirs" }, keys, ErrForged},
		"signed by another under this key's id": {func(r *Receipt) {
			forged := seal(t, another, all["done"])
			r.Signature = forged.Signature
			r.Signature.KeyID = s.key.ID
		}, keys, ErrForged},
		"a key under another's id": {func(*Receipt) {}, []Key{{ID: s.key.ID, Alg: s.key.Alg, PublicKey: another.key.PublicKey}}, ErrUnknownKey},
	} {
		r := one
		chain, signature := *one.Chain, *one.Signature
		r.Chain, r.Signature = &chain, &signature
		c.forge(&r)
		if err := r.SignedBy(c.keys); !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// newChain returns the chain of an account with n runs.
func newChain(t *testing.T, s *Local, n int) []Link {
	t.Helper()
	var links []Link
	before := Link{}
	for i := range n {
		before = nextLink(t, s, Link{
			Account: "acme", RunID: fmt.Sprintf("01RUN%d", i), Status: plan.Done, Events: 6, RunHead: strings.Repeat("a", 64),
		}, before, time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC))
		links = append(links, before)
	}
	return links
}

func TestVerifyChainDetectsRemovedReorderedOrDuplicateLinks(t *testing.T) {
	s, another := signer(t), signer(t)
	keys := []Key{s.key}
	more := func(links []Link, l Link) []Link { // a further link of a run
		last := links[len(links)-1]
		return append(links, nextLink(t, s, l, last, last.At))
	}
	for name, c := range map[string]struct {
		forge func([]Link) []Link
		want  string
	}{
		"nothing":              {func(l []Link) []Link { return l }, ""},
		"more of a run":        {func(l []Link) []Link { return more(l, Link{Account: "acme", RunID: "01RUN2", Events: 7}) }, ""},
		"the last cut off":     {func(l []Link) []Link { return l[:4] }, ""}, // only a stored head detects it
		"the first removed":    {func(l []Link) []Link { return l[1:] }, "a link is missing"},
		"one removed":          {func(l []Link) []Link { return slices.Delete(l, 2, 3) }, "a gap or a fork"},
		"two swapped":          {func(l []Link) []Link { l[1], l[2] = l[2], l[1]; return l }, "another order"},
		"one doubled":          {func(l []Link) []Link { return slices.Insert(l, 2, l[1]) }, "there twice"},
		"removed, renumbered":  {func(l []Link) []Link { l = slices.Delete(l, 2, 3); l[2].Seq = 3; return l }, "its head is not"},
		"no signature":         {func(l []Link) []Link { l[3].Signature = nil; return l }, "no signature"},
		"another's signature":  {func(l []Link) []Link { l[3].Signature = l[2].Signature; return l }, "not of what it says"},
		"the same told again":  {func(l []Link) []Link { return more(l, Link{Account: "acme", RunID: "01RUN2", Events: 6}) }, "tells nothing"},
		"less told afterwards": {func(l []Link) []Link { return more(l, Link{Account: "acme", RunID: "01RUN2", Events: 5}) }, "tells nothing"},
		"of another account":   {func(l []Link) []Link { return more(l, Link{Account: "theirs", RunID: "01R", Events: 5}) }, "another chain"},
		"back in time": {func(l []Link) []Link {
			l[4].At = l[4].At.Add(-time.Hour)
			l[4].Head, _ = l[4].sum()
			return l
		}, "before the one before it"},
		"a fork": {func(l []Link) []Link {
			l[4] = nextLink(t, s, Link{Account: "acme", RunID: "01F", Events: 5}, nextLink(t, s, Link{Account: "acme", RunID: "01G", Events: 5}, l[2], l[2].At), l[4].At)
			return l
		}, "a gap or a fork"},
		"written anew by another": {func([]Link) []Link { return newChain(t, another, 5) }, "a key that was not given"},
		"nothing at all":          {func([]Link) []Link { return nil }, "no links"},
	} {
		problems := VerifyChain(c.forge(newChain(t, s, 5)), keys)
		found := slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.What, c.want) })
		if c.want == "" && len(problems) > 0 || c.want != "" && !found {
			t.Errorf("%s: %v, want %q", name, problems, c.want)
		}
	}
}

func TestVerifyPlaceRequiresNewestLinkOfRun(t *testing.T) {
	s := signer(t)
	r := exampleReceipts(t)["done"]
	r.Account = "acme"
	links := newChain(t, s, 3)
	here := nextLink(t, s, r.link(), links[2], links[2].At)
	links = append(links, here)
	r = r.In(here)
	if problems := VerifyPlace(r, links); len(problems) > 0 {
		t.Error(problems)
	}
	if problems := VerifyPlace(r, links[:3]); len(problems) == 0 {
		t.Error("it holds against a chain that does not have it")
	}
	newer := r.link()
	newer.Events++
	if problems := VerifyPlace(r, append(links, nextLink(t, s, newer, here, here.At))); len(problems) == 0 {
		t.Error("more was told of its run, and it holds")
	}
	if err := Pinned(links, here.Head); err != nil {
		t.Error(err)
	}
	if err := Pinned(links[:3], here.Head); !errors.Is(err, ErrNotInChain) {
		t.Errorf("a chain that was cut: %v", err)
	}
}

func TestKeyMatchesItsID(t *testing.T) {
	s, another := signer(t), signer(t)
	if err := s.key.Check(); err != nil {
		t.Error(err)
	}
	for name, k := range map[string]Key{
		"another's id":  {ID: another.key.ID, Alg: s.key.Alg, PublicKey: s.key.PublicKey},
		"another alg":   {ID: s.key.ID, Alg: ECDSAP256, PublicKey: s.key.PublicKey},
		"no PEM":        {ID: s.key.ID, Alg: s.key.Alg, PublicKey: "x"},
		"more than one": {ID: s.key.ID, Alg: s.key.Alg, PublicKey: s.key.PublicKey + another.key.PublicKey},
		"nothing":       {},
	} {
		if k.Check() == nil {
			t.Errorf("%s: it can be used", name)
		}
	}
	for _, text := range []string{"", "x", s.key.PublicKey, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := NewLocal([]byte(text)); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
