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

// Listed is a server with its allowlist, the input of a search. Callers only read Entries.
type Listed struct {
	Server  Server
	Entries []Entry

	of *Allowlist // that Entries is of; nil: no index is kept
}

// Hit is one found tool. A higher Score fits better.
type Hit struct {
	Server Server
	Entry  Entry
	Score  float64
}

// The weight of a word by the text that has it.
const (
	weightSummary   = 3.0
	weightOperation = 2.5
	weightPath      = 2.0
	weightServer    = 1.0
	weightAbout     = 1.0
	weightSignature = 0.5
)

// methodFits multiplies the score of a tool when the query's verb means its method.
const methodFits = 1.5

// searchQuery holds the stems of a query's words with their weights, and the methods that its verbs mean.
type searchQuery struct {
	stems   []string
	weights []float64 // of the stems
	methods map[string]bool
}

// Search returns at most limit tools that fit a query, best first. It compares the words of summary, operation id,
// path, parameters and server name without case, accents and endings, in Spanish and English. It also maps verbs to
// methods. Ties are in the order of server and path.
func Search(servers []Listed, query string, limit int) []Hit {
	q := readQuery(query)
	if len(q.weights) == 0 || limit <= 0 {
		return nil
	}
	indexed, rarity, mean := prepare(servers, q)
	found := top{limit: limit}
	for _, s := range indexed {
		for entry, score := range s.scores(q, rarity, mean) {
			if score == 0 {
				continue
			}
			if q.methods[s.Entries[entry].Method] {
				score *= methodFits
			}
			if score = math.Round(score*1e6) / 1e6; score >= found.least() {
				found.add(Hit{s.Server, s.Entries[entry], score})
			}
		}
	}
	return found.hits
}

// searched is a server with its index for a search.
type searched struct {
	Listed
	words  wordIndex
	named  []float64 // weights of the query's words in the name of the server, which is a part of every entry
	length float64   // of that name
}

// prepare returns the servers with their indexes, the rarity of each word of the query, and the mean length of entries.
func prepare(servers []Listed, q searchQuery) (list []searched, rarity []float64, mean float64) {
	all, total, count := 0.0, 0.0, make([]float64, len(q.weights))
	for _, l := range servers {
		s := searched{Listed: l, words: l.index(), named: make([]float64, len(q.weights))}
		eachWord(l.Server.Name, func(word []byte) {
			if at := slices.Index(q.stems, stem(string(word))); at >= 0 {
				s.named[at] += weightServer
			}
			s.length += weightServer
		})
		n := float64(len(l.Entries))
		all, total = all+n, total+s.words.length+n*s.length
		for w, stemmed := range q.stems {
			if s.named[w] > 0 {
				count[w] += n
			} else {
				count[w] += float64(len(s.words.postings[stemmed]))
			}
		}
		list = append(list, s)
	}
	for _, c := range count {
		rarity = append(rarity, math.Log(1+(all-c+0.5)/(c+0.5)))
	}
	return list, rarity, max(1, total/max(1, all))
}

// scores returns how well each entry of a server fits, 0 when it has no word of the query (BM25).
func (s searched) scores(q searchQuery, rarity []float64, mean float64) []float64 {
	scores := make([]float64, len(s.Entries))
	add := func(entry, w int, weight float64) {
		length := s.words.lengths[entry] + s.length
		scores[entry] += q.weights[w] * rarity[w] * weight * 2.2 / (weight + 1.2*(0.25+0.75*length/mean))
	}
	for w, stemmed := range q.stems {
		postings := s.words.postings[stemmed]
		if s.named[w] == 0 {
			for _, p := range postings {
				add(int(p.entry), w, p.weight)
			}
			continue
		}
		for entry := range s.Entries {
			weight := s.named[w]
			if len(postings) > 0 && int(postings[0].entry) == entry {
				weight, postings = weight+postings[0].weight, postings[1:]
			}
			add(entry, w, weight)
		}
	}
	return scores
}

// top keeps the best hits in their order, at most limit.
type top struct {
	limit int
	hits  []Hit
}

// least returns the score below which no hit is kept.
func (t *top) least() float64 {
	if len(t.hits) < t.limit {
		return 0
	}
	return t.hits[t.limit-1].Score
}

func (t *top) add(h Hit) {
	order := func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Server.ID, b.Server.ID),
			cmp.Compare(a.Entry.Path, b.Entry.Path), cmp.Compare(a.Entry.Method, b.Entry.Method))
	}
	at := len(t.hits)
	for at > 0 && order(h, t.hits[at-1]) < 0 { // behind its equals
		at--
	}
	if at == t.limit {
		return
	}
	if len(t.hits) < t.limit {
		t.hits = append(t.hits, h)
	}
	copy(t.hits[at+1:], t.hits[at:])
	t.hits[at] = h
}

// readQuery parses a query. A verb adds its method and itself; a noun also adds its translations.
func readQuery(query string) searchQuery {
	q := searchQuery{methods: map[string]bool{}}
	add := func(stemmed string, weight float64) {
		if at := slices.Index(q.stems, stemmed); at >= 0 {
			q.weights[at] = max(q.weights[at], weight)
			return
		}
		q.stems, q.weights = append(q.stems, stemmed), append(q.weights, weight)
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
