package tool

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSearchAgreesWithReadingEveryEntry compares the index with a search that reads all words of all entries.
func TestSearchAgreesWithReadingEveryEntry(t *testing.T) {
	words := []string{"order", "orders", "Room", "habitación", "list", "createRoom", "free", "de", "x", "Reserva"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		var servers []Listed
		for i := range rapid.IntRange(0, 3).Draw(t, "servers") {
			l := Listed{Server: Server{ID: fmt.Sprint(i), Name: text.Draw(t, "name")}}
			for n := range rapid.IntRange(0, 12).Draw(t, "entries") {
				l.Entries = append(l.Entries, Entry{
					Method: rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"), Path: fmt.Sprintf("/%d/%s", n, text.Draw(t, "path")),
					OperationID: text.Draw(t, "id"), Summary: text.Draw(t, "summary"), Signature: text.Draw(t, "signature"),
				})
			}
			servers = append(servers, l)
		}
		query, limit := text.Draw(t, "query"), rapid.IntRange(1, 40).Draw(t, "limit")
		want := searchAll(servers, query, limit)
		for _, list := range [][]Listed{servers, kept(servers)} {
			if got := Search(list, query, limit); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q:\n%v, want\n%v", query, got, want)
			}
		}
	})
}

func searchAll(servers []Listed, query string, limit int) []Hit {
	q := readQuery(query)
	type entry struct {
		Hit
		weights map[string]float64
		length  float64
	}
	var all []entry
	total, count := 0.0, map[string]float64{}
	for _, l := range servers {
		for _, e := range l.Entries {
			one := entry{Hit{l.Server, e, 0}, map[string]float64{}, 0}
			for _, f := range append([]field{{l.Server.Name, weightServer}}, arrayOf(e)...) {
				eachWord(f.text, func(word []byte) {
					one.weights[stem(string(word))] += f.weight
					one.length += f.weight
				})
			}
			for w := range one.weights {
				count[w]++
			}
			total += one.length
			all = append(all, one)
		}
	}
	mean := max(1, total/float64(max(1, len(all))))
	var hits []Hit
	for _, e := range all {
		for i, w := range q.stems {
			if weight := e.weights[w]; weight > 0 {
				rarity := math.Log(1 + (float64(len(all))-count[w]+0.5)/(count[w]+0.5))
				e.Score += q.weights[i] * rarity * weight * 2.2 / (weight + 1.2*(0.25+0.75*e.length/mean))
			}
		}
		if q.methods[e.Entry.Method] {
			e.Score *= methodFits
		}
		if e.Score > 0 {
			e.Score = math.Round(e.Score*1e6) / 1e6
			hits = append(hits, e.Hit)
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server.ID, b.Server.ID),
			cmp.Compare(a.Entry.Path, b.Entry.Path), cmp.Compare(a.Entry.Method, b.Entry.Method))
	})
	if len(hits) == 0 {
		return nil
	}
	return hits[:min(limit, len(hits))]
}

func arrayOf(e Entry) []field {
	f := fieldsOf(e)
	return f[:]
}

// TestSearchOfKeptAllowlistReadsOnlyWhatItFinds counts: a search allocates as often for 5,000 entries as for 50.
func TestSearchOfKeptAllowlistReadsOnlyWhatItFinds(t *testing.T) {
	allocations := func(n int) float64 {
		servers := kept(many(n))
		return testing.AllocsPerRun(20, func() {
			if len(Search(servers, "retrieve customer invoices of the account", 10)) != 10 {
				t.Fatal("nothing was found")
			}
		})
	}
	if small, large := allocations(50), allocations(5000); large > small {
		t.Errorf("%g allocations for 5,000 entries, %g for 50", large, small)
	}
}

func TestAllowlistLeavesOutWhatIsRefused(t *testing.T) {
	all := many(100)[0]
	list := NewAllowlist(all.Entries)
	gone := all.Entries[7].OperationID
	l := list.Listed(all.Server, func(e Entry) bool { return e.OperationID != gone })
	if len(l.Entries) != 99 || len(list.Entries()) != 100 || list.Entries()[7].OperationID != gone {
		t.Errorf("%d of %d entries are listed", len(l.Entries), len(list.Entries()))
	}
	for _, h := range Search([]Listed{l}, gone, 100) {
		if h.Entry.OperationID == gone {
			t.Error("it is found")
		}
	}
	if l := (*Allowlist)(nil).Listed(all.Server, func(Entry) bool { return true }); len(l.Entries) != 0 {
		t.Error("no allowlist has entries")
	}
}
