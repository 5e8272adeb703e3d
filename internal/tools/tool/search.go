package tool

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Listed is a server with its allowlist, the input of a search.
type Listed struct {
	Server  Server
	Entries []Entry
}

// Hit is one found tool. A higher Score fits better.
type Hit struct {
	Server Server
	Entry  Entry
	Score  float64
}

// The weight of a word by its place.
const (
	weightSummary   = 3.0
	weightOperation = 2.5
	weightPath      = 2.0
	weightServer    = 1.0
	weightSignature = 0.5
)

// methodFits multiplies the score of a tool when the query's verb means its method.
const methodFits = 1.5

// searchQuery holds the stems of a query's words with their weights, and the methods that its verbs mean.
type searchQuery struct {
	words   map[string]int // → index into weights
	weights []float64
	methods map[string]bool
}

// document is an entry, represented by the weights of the query's words in it.
type document struct {
	server, entry int
	found         []float64
	length        float64
}

// Search returns at most limit tools that fit a query, best first. It compares the words of summary, operation id,
// path, parameters and server name without case, accents and endings, in Spanish and English. It also maps verbs to
// methods. Ties are in the order of server and path.
func Search(servers []Listed, query string, limit int) []Hit {
	q := readQuery(query)
	if len(q.weights) == 0 || limit <= 0 {
		return nil
	}
	documents, mean := index(servers, q)
	count := make([]float64, len(q.weights))
	for _, d := range documents {
		for w, tf := range d.found {
			if tf > 0 {
				count[w]++
			}
		}
	}
	var hits []Hit
	for _, d := range documents {
		score := 0.0
		for w, tf := range d.found {
			if tf > 0 {
				idf := math.Log(1 + (float64(len(documents))-count[w]+0.5)/(count[w]+0.5))
				score += q.weights[w] * idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*d.length/mean))
			}
		}
		if score > 0 {
			s := servers[d.server]
			if q.methods[s.Entries[d.entry].Method] {
				score *= methodFits
			}
			hits = append(hits, Hit{s.Server, s.Entries[d.entry], math.Round(score*1e6) / 1e6})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server.ID, b.Server.ID),
			cmp.Compare(a.Entry.Path, b.Entry.Path), cmp.Compare(a.Entry.Method, b.Entry.Method))
	})
	return hits[:min(limit, len(hits))]
}

// index builds the documents and returns their mean length.
func index(servers []Listed, q searchQuery) (list []document, mean float64) {
	n := 0
	for _, s := range servers {
		n += len(s.Entries)
	}
	list = make([]document, 0, n)
	found := make([]float64, n*len(q.weights))
	known := map[string]int{} // word → index of its stem in the query, -1 for none
	total := 0.0
	for i, s := range servers {
		for j, e := range s.Entries {
			d := document{server: i, entry: j, found: found[:len(q.weights):len(q.weights)]}
			found = found[len(q.weights):]
			add := func(text string, weight float64) {
				eachWord(text, func(word []byte) {
					at, ok := known[string(word)]
					if !ok {
						if at, ok = q.words[stem(string(word))]; !ok {
							at = -1
						}
						known[string(word)] = at
					}
					if at >= 0 {
						d.found[at] += weight
					}
					d.length += weight
				})
			}
			add(e.Summary, weightSummary)
			add(e.OperationID, weightOperation)
			add(e.Path, weightPath)
			add(e.Signature, weightSignature)
			add(s.Server.Name, weightServer)
			total += d.length
			list = append(list, d)
		}
	}
	return list, max(1, total/float64(max(1, n)))
}

// readQuery parses a query. A verb adds its method and itself; a noun also adds its translations.
func readQuery(query string) searchQuery {
	q := searchQuery{words: map[string]int{}, methods: map[string]bool{}}
	add := func(stemmed string, weight float64) {
		if at, ok := q.words[stemmed]; ok {
			q.weights[at] = max(q.weights[at], weight)
			return
		}
		q.words[stemmed] = len(q.weights)
		q.weights = append(q.weights, weight)
	}
	if len(query) > 1000 {
		query = strings.ToValidUTF8(query[:1000], "")
	}
	eachWord(query, func(word []byte) {
		w := string(word)
		if stopwords()[w] {
			return
		}
		stemmed := stem(w)
		add(stemmed, 1)
		if len(q.methods) == 0 { // the first verb decides: a later one may be a noun ("ver mi reserva")
			for _, method := range verbs()[w] {
				q.methods[method] = true
			}
		}
		for other := range strings.FieldsSeq(synonyms()[stemmed]) {
			add(other, 0.7)
		}
	})
	return q
}

// eachWord calls f with every word of a text, in lower case and without accents. It splits at every character that
// is no letter or digit, and inside camelCase. The word is only valid during the call.
func eachWord(s string, f func(word []byte)) {
	word := make([]byte, 0, 64)
	var before rune
	for _, r := range withoutAccents(s) {
		letter := r < 0x80 && ('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') ||
			r >= 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
		upper := letter && unicode.IsUpper(r)
		if len(word) > 0 && (!letter || upper && !unicode.IsUpper(before)) {
			f(word)
			word = word[:0]
		}
		if letter {
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		before = r
	}
	if len(word) > 0 {
		f(word)
	}
}

// withoutAccents drops accents. ASCII, the usual case, passes unchanged.
func withoutAccents(s string) string {
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

// stem cuts plural and gender endings in the same way for both languages, so that "reservas", "reserva" and
// "reserve" have one stem.
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
