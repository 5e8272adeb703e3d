package tool

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Listed is a server with its allowlist, as a search reads them.
type Listed struct {
	Server  Server
	Entries []Entry
}

// Hit is one tool found; a higher Score fits better.
type Hit struct {
	Server Server
	Entry  Entry
	Score  float64
}

// What a word weighs by where it stands.
const (
	weightSummary   = 3.0
	weightOperation = 2.5
	weightPath      = 2.0
	weightServer    = 1.0
	weightMethod    = 1.5
	weightSignature = 0.5
)

// document is an entry as a bag of weighted words.
type document struct {
	server, entry int
	words         map[string]float64
	length        float64
}

// Search returns the tools that fit a query best, best first, at most limit. It
// compares words of summary, operation id, path, parameters and server name
// without case, accents and endings, in Spanish and English, and knows which
// verbs mean which method. Ties are in the order of server and path.
func Search(servers []Listed, query string, limit int) []Hit {
	wanted := queryWords(query)
	if len(wanted) == 0 || limit <= 0 {
		return nil
	}
	documents, total := index(servers, wanted)
	count := map[string]int{}
	for _, d := range documents {
		for w := range wanted {
			if d.words[w] > 0 {
				count[w]++
			}
		}
	}
	mean := total / float64(max(1, len(documents)))
	var hits []Hit
	for _, d := range documents {
		score := 0.0
		for w, weight := range wanted {
			if tf := d.words[w]; tf > 0 {
				idf := math.Log(1 + (float64(len(documents))-float64(count[w])+0.5)/(float64(count[w])+0.5))
				score += weight * idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*d.length/mean))
			}
		}
		if score > 0 {
			s := servers[d.server]
			hits = append(hits, Hit{s.Server, s.Entries[d.entry], math.Round(score*1e6) / 1e6})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server.ID, b.Server.ID),
			cmp.Compare(a.Entry.Path, b.Entry.Path), cmp.Compare(a.Entry.Method, b.Entry.Method))
	})
	return hits[:min(limit, len(hits))]
}

// index makes the documents. Only words of the query are kept, all are counted.
func index(servers []Listed, wanted map[string]float64) (list []document, total float64) {
	stems := map[string]string{} // the same words come back in every entry
	for i, s := range servers {
		serverWords := words(s.Server.Name)
		for j, e := range s.Entries {
			d := document{server: i, entry: j, words: make(map[string]float64, 4)}
			add := func(texts []string, weight float64) {
				for _, w := range texts {
					stemmed, ok := stems[w]
					if !ok {
						stemmed = stem(w)
						stems[w] = stemmed
					}
					if wanted[stemmed] > 0 {
						d.words[stemmed] += weight
					}
					d.length += weight
				}
			}
			add(words(e.Summary), weightSummary)
			add(words(e.OperationID), weightOperation)
			add(words(e.Path), weightPath)
			add(words(e.Signature), weightSignature)
			add(serverWords, weightServer)
			d.words[methodWord(e.Method)] += weightMethod
			total += d.length
			list = append(list, d)
		}
	}
	return list, total
}

// methodWord is the word under which a method is indexed: none that text holds.
func methodWord(method string) string { return "@" + method }

// queryWords returns the words of a query with their weights. A verb stands for
// its method, and for itself.
func queryWords(query string) map[string]float64 {
	wanted := map[string]float64{}
	if len(query) > 1000 {
		query = strings.ToValidUTF8(query[:1000], "")
	}
	for _, w := range words(query) {
		if stopwords[w] {
			continue
		}
		stemmed := stem(w)
		wanted[stemmed] = max(wanted[stemmed], 1)
		for _, method := range verbs[w] {
			wanted[methodWord(method)] = 0.6
		}
		if other, ok := synonyms[stemmed]; ok {
			for _, o := range strings.Fields(other) {
				wanted[o] = max(wanted[o], 0.7)
			}
		}
	}
	return wanted
}

// words splits text into lower-case words without accents: at anything that is no
// letter or digit, and inside camelCase.
func words(text string) []string {
	var list []string
	var b []rune
	flush := func() {
		if len(b) > 0 {
			list = append(list, string(b))
			b = b[:0]
		}
	}
	var before rune
	for _, r := range fold(text) {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)):
			flush()
			b = append(b, unicode.ToLower(r))
		default:
			b = append(b, unicode.ToLower(r))
		}
		before = r
	}
	flush()
	return list
}

// fold drops accents; ASCII, which is nearly all there is, passes untouched.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFKD.String(s))
		}
	}
	return s
}

// stem cuts plural and gender endings, the same way in both languages, so that
// "reservas", "reserva" and "reserve" meet.
func stem(w string) string {
	if len(w) <= 3 {
		return w
	}
	for _, end := range []string{"aciones", "acion", "ations", "ation", "ciones", "cion", "ies", "ing", "es", "s"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 3 {
			if end == "ies" {
				cut += "i"
			}
			w = cut
			break
		}
	}
	if len(w) > 4 {
		w = strings.TrimRight(w, "aeoy")
	}
	return w
}
