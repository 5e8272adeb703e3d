package tool

import (
	"slices"
	"sync"
)

// Allowlist is the entries of one revision. It does not change, so that it is kept, with the index of its words: a
// search then reads only the entries that have a word of the query.
type Allowlist struct {
	entries []Entry
	index   func() wordIndex // made by the first search
}

// NewAllowlist returns an allowlist of entries, which must not be changed afterwards.
func NewAllowlist(entries []Entry) *Allowlist {
	return &Allowlist{entries, sync.OnceValue(func() wordIndex { return newWordIndex(entries) })}
}

// Entries returns all entries. Callers only read them.
func (a *Allowlist) Entries() []Entry {
	if a == nil {
		return nil
	}
	return slices.Clip(a.entries)
}

// Listed returns a server with the entries of its allowlist that keep accepts.
func (a *Allowlist) Listed(s Server, keep func(Entry) bool) Listed {
	entries := a.Entries()
	refused := func(e Entry) bool { return !keep(e) }
	if !slices.ContainsFunc(entries, refused) {
		return Listed{s, entries, a}
	}
	return Listed{Server: s, Entries: slices.DeleteFunc(slices.Clone(entries), refused)}
}

// index returns the index of the entries, which is made when none is kept.
func (l Listed) index() wordIndex {
	if l.of == nil {
		return newWordIndex(l.Entries)
	}
	return l.of.index()
}

// wordIndex holds where the words of entries are.
type wordIndex struct {
	postings map[string][]posting // by stem, in the order of the entries
	lengths  []float64            // of each entry: the weight of all of its words
	length   float64              // of all entries
}

// posting is an entry that has a word, with the weight of the word in it.
type posting struct {
	entry  int32
	weight float64
}

// field is a text of an entry with the weight of its words.
type field struct {
	text   string
	weight float64
}

func fieldsOf(e Entry) [5]field {
	return [5]field{{e.Summary, weightSummary}, {e.OperationID, weightOperation}, {e.Path, weightPath}, {e.Signature, weightSignature}, {e.About, weightAbout}}
}

func newWordIndex(entries []Entry) wordIndex {
	x := wordIndex{postings: map[string][]posting{}, lengths: make([]float64, len(entries))}
	stems := map[string]string{} // of words
	for i, e := range entries {
		for _, f := range fieldsOf(e) {
			eachWord(f.text, func(word []byte) {
				stemmed, ok := stems[string(word)]
				if !ok {
					stemmed = stem(string(word))
					stems[string(word)] = stemmed
				}
				x.add(stemmed, int32(i), f.weight)
				x.lengths[i] += f.weight
			})
		}
		x.length += x.lengths[i]
	}
	return x
}

func (x wordIndex) add(stemmed string, entry int32, weight float64) {
	list := x.postings[stemmed]
	if n := len(list); n > 0 && list[n-1].entry == entry {
		list[n-1].weight += weight
		return
	}
	x.postings[stemmed] = append(list, posting{entry, weight})
}
