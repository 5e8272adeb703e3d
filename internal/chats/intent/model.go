package intent

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The model is a second classifier: a logistic regression over the words of a text, trained on
// testdata/poses.tsv by TestModelWeightsMatchTexts -update. The rules find the literal claims of
// a text, the model the usual meaning of such texts. Where they disagree, the margin of the
// model decides.

// buckets is the number of weights per label. Features with the same hash share one.
const buckets = 1 << 17

// The file is compressed, because it is a part of the executables of functions.
//
//go:embed weights.bin.gz
var weightsFile []byte

// weights holds the trained weights of one label.
type weights struct {
	scale, bias float32
	each        []byte // one int8 per bucket, multiplied by scale
}

// loadWeights returns the weights of both labels, and the SHA-256 of the texts they were learned from. The file has
// this sum, and for each label its scale and its bias as little-endian floats, and its buckets.
var loadWeights = sync.OnceValue(func() (l struct {
	sum           [sumSize]byte
	pending, done weights
},
) {
	rest := unzipWeights()
	rest = rest[copy(l.sum[:], rest):]
	for _, w := range []*weights{&l.pending, &l.done} {
		w.scale = math.Float32frombits(binary.LittleEndian.Uint32(rest))
		w.bias = math.Float32frombits(binary.LittleEndian.Uint32(rest[4:]))
		w.each, rest = rest[8:8+buckets], rest[8+buckets:]
	}
	return l
})

// unzipWeights returns the file's bytes. The file is a part of the executable, so an error is a mistake of its build.
func unzipWeights() []byte {
	z, err := gzip.NewReader(bytes.NewReader(weightsFile))
	if err != nil {
		panic(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	return raw
}

const sumSize = 32

// margin returns the margin of the label: above zero for yes.
func (w weights) margin(v vector) float64 {
	sum := 0.0
	for i, at := range v.at {
		sum += float64(int8(w.each[at])) * v.value[i]
	}
	return float64(w.scale)*sum + float64(w.bias)
}

// vector is the feature vector of a text: the buckets of its features with their log
// frequencies, normalised to length 1.
type vector struct {
	at    []uint32
	value []float64
}

func vectorOf(sentences [][]string) vector {
	place := map[uint32]int{} // position of a bucket in the vector
	var v vector
	features(sentences, func(at uint32) {
		i, there := place[at]
		if !there {
			i = len(v.at)
			place[at] = i
			v.at, v.value = append(v.at, at), append(v.value, 0)
		}
		v.value[i]++
	})
	length := 0.0
	for i := range v.value {
		v.value[i] = 1 + math.Log(v.value[i])
		length += v.value[i] * v.value[i]
	}
	for i := range v.value {
		v.value[i] /= math.Sqrt(length)
	}
	return v
}

// features calls add for each feature of the sentences of a text: words; two and three words in
// a row, or with a gap; prefixes and suffixes of long words, also with the words before them;
// the sequences again for the first and for the last sentence; and the words of questions and of
// other sentences. The number of features is linear in the number of words.
func features(sentences [][]string, add func(bucket uint32)) {
	for n, words := range sentences {
		place := ""
		switch {
		case n == len(sentences)-1 && n == 0:
			place = "FL"
		case n == len(sentences)-1:
			place = "L"
		case n == 0:
			place = "F"
		}
		mood := "A"
		if words[len(words)-2] == "?" {
			mood = "Q"
		}
		for i, word := range words {
			sequences(words[i:], func(parts ...string) {
				add(bucket("", parts...))
				for _, p := range place {
					add(bucket(string(p), parts...))
				}
			})
			add(bucket(mood, word))
			affixes(words[:i+1], add)
		}
	}
}

// sequences calls add for the sequences that begin at the first word.
func sequences(words []string, add func(parts ...string)) {
	add(words[0])
	if len(words) > 1 {
		add(words[0], words[1])
	}
	if len(words) > 2 {
		add(words[0], words[1], words[2])
		add(words[0], "_", words[2])
	}
}

// affixes calls add for the prefix and the suffix of the last word, when it is long.
func affixes(words []string, add func(bucket uint32)) {
	last := len(words) - 1
	letters := []rune(words[last])
	if len(letters) < 5 {
		return
	}
	head, tail := string(letters[:4])+"*", "*"+string(letters[len(letters)-3:])
	add(bucket("", head))
	add(bucket("", tail))
	if last > 0 {
		add(bucket("", words[last-1], head))
		add(bucket("", words[last-1], tail))
	}
	if last > 1 {
		add(bucket("", words[last-2], words[last-1], tail))
	}
}

// bucket returns the index of a feature's weight: the FNV-1a hash of its parts, folded.
func bucket(kind string, parts ...string) uint32 {
	sum := uint32(2166136261)
	write := func(s string) {
		for i := range len(s) {
			sum = (sum ^ uint32(s[i])) * 16777619
		}
	}
	write(kind)
	for _, p := range parts {
		write("\x00")
		write(p)
	}
	return (sum ^ sum>>17) & (buckets - 1)
}

// sentencesOf returns the sentences of a text, each between ^ and $: words in lower case, with
// their accents, 0 for any number, and single punctuation marks.
func sentencesOf(text string) [][]string {
	var all [][]string
	sentence := []string{"^"}
	end := func() {
		if len(sentence) > 1 {
			all = append(all, append(sentence, "$"))
			sentence = []string{"^"}
		}
	}
	for rest := lowerCase(text); rest != ""; {
		first, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsDigit(first):
			size = span(rest, unicode.IsDigit)
			sentence = append(sentence, "0")
		case isLetter(first):
			size = span(rest, isLetter)
			sentence = append(sentence, rest[:size])
		case first == '\n':
			end()
		case !unicode.IsSpace(first):
			sentence = append(sentence, rest[:size])
			if strings.ContainsRune(".!?…", first) {
				end()
			}
		}
		rest = rest[size:]
	}
	end()
	return all
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// span returns the length in bytes of the prefix whose runes satisfy of.
func span(text string, of func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !of(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// lowerCase returns a text in lower case, without invisible characters.
func lowerCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case r == '’':
			return '\''
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
}
