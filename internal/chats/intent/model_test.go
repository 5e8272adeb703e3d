package intent

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	update   = flag.Bool("update", false, "TestModelWeightsMatchTexts learns the weights anew")
	validate = flag.Bool("validate", false, "TestModelWeightsMatchTexts also learns without the hard texts of an author, and scores those")
)

// blind lists the splits that are never used for training.
var blind = map[string]bool{"r": true, "af": true, "ag": true}

// example is a text for training.
type example struct {
	vector
	pending, done bool
	knows         Pose    // whether its label defines Pending and Done
	most          float64 // bound of its effect on the weights
}

func exampleOf(s sample) example {
	e := example{vectorOf(sentencesOf(s.Text)), s.Pending, s.Done, Pose{Pending: !s.claimed, Done: !s.unsure}, pull}
	if isIndependent(s.split) {
		e.most = pullHard
	}
	return e
}

// Constants of the training, chosen with -validate.
const (
	pull     = 10 // bound of one text's effect: the inverse of the strength of the L2 penalty
	pullHard = 30 // the same for a text whose author did not know the rules
	rounds   = 40
)

// learn fits the weights of one label: logistic regression with an L2 penalty, by coordinate
// descent in its dual (Yu, Huang and Lin, 2011), in a fixed order. pull is the effect of each
// text on the weights; a step finds the best pull of one text while the others stay.
func learn(all []example, is func(example) (want, known bool)) (each []float64, bias float64) {
	each = make([]float64, buckets)
	pulls := make([]float64, len(all))
	move := func(e example, by float64) {
		for k, at := range e.at {
			each[at] += by * e.value[k]
		}
		bias += by
	}
	for round := range rounds {
		for _, i := range rand.New(rand.NewPCG(3, uint64(round))).Perm(len(all)) {
			e := all[i]
			want, known := is(e)
			if !known {
				continue
			}
			sign := -1.0
			if want {
				sign = 1
			}
			sure := bias
			for k, at := range e.at {
				sure += each[at] * e.value[k]
			}
			low, high := 0.0, e.most
			for range 30 {
				pull := (low + high) / 2
				if 2*(pull-pulls[i])+sign*sure+math.Log(pull/(e.most-pull)) < 0 {
					low = pull
				} else {
					high = pull
				}
			}
			move(e, sign*(low-pulls[i]))
			pulls[i] = low
		}
	}
	return each, bias
}

// quantize returns weights in the precision of the file.
func quantize(each []float64, bias float64) weights {
	top := 0.0
	for _, w := range each {
		top = max(top, math.Abs(w))
	}
	out := weights{scale: float32(top / 127), bias: float32(bias), each: make([]byte, buckets)}
	for i, w := range each {
		out.each[i] = byte(int8(math.Round(w / top * 127)))
	}
	return out
}

func train(samples []sample) (pending, done weights) {
	var all []example
	for _, s := range samples {
		all = append(all, exampleOf(s))
	}
	pending = quantize(learn(all, func(e example) (bool, bool) { return e.pending, e.knows.Pending }))
	done = quantize(learn(all, func(e example) (bool, bool) { return e.done, e.knows.Done }))
	return pending, done
}

func write(t *testing.T, sum [sumSize]byte, labels ...weights) {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(sum[:])
	for _, w := range labels {
		_ = binary.Write(z, binary.LittleEndian, []float32{w.scale, w.bias})
		_, _ = z.Write(w.each)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("weights.bin.gz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestModelWeightsMatchTexts: the weights were trained on the current texts.
func TestModelWeightsMatchTexts(t *testing.T) {
	raw, err := os.ReadFile("testdata/poses.tsv")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	var known []sample
	for _, s := range readPoses(t) {
		if !blind[s.split] {
			known = append(known, s)
		}
	}
	if *validate {
		crossValidate(t, known)
	}
	if *update {
		pending, done := train(known)
		write(t, sum, pending, done)
		return
	}
	if loadWeights().sum != sum {
		t.Error("weights.bin.gz is of other texts: go test ./internal/chats/intent -run TestModelWeightsMatchTexts -update")
	}
}

// authors groups the splits whose authors did not know the rules, by author.
var authors = [][]string{{"s", "t"}, {"u"}, {"v"}, {"w"}, {"x", "y"}, {"z"}, {"aa"}, {"ab"}, {"ac"}, {"ad"}, {"ae"}}

// isIndependent reports a split whose author did not know the rules.
func isIndependent(split string) bool {
	return slices.ContainsFunc(authors, func(of []string) bool { return slices.Contains(of, split) })
}

// crossValidate scores rules and model together on the texts of each author, with a model that
// was trained on the other authors.
func crossValidate(t *testing.T, known []sample) {
	offsets, trusts := []float64{0.5, 0.75, 1}, []float64{1, 1.5, 100}
	type pair struct{ pending, done score }
	total := make([]pair, len(offsets)*len(trusts))
	for _, author := range authors {
		var lesson, exam []sample
		for _, s := range known {
			if slices.Contains(author, s.split) {
				exam = append(exam, s)
			} else {
				lesson = append(lesson, s)
			}
		}
		pending, done := train(lesson)
		scores := make([]pair, len(total))
		for _, s := range exam {
			sentences, rules := sentencesOf(s.Text), readByRules(s.Text)
			v := vectorOf(sentences)
			for i := range scores {
				offset, trust := offsets[i/len(trusts)], trusts[i%len(trusts)]
				for _, p := range []*pair{&scores[i], &total[i]} {
					if !s.claimed {
						p.pending.count(s.Pending, rules.printed || rules.asked && pending.asks(sentences) || decide(rules.Pending, pending.margin(v)+offset, trust))
					}
					if !s.unsure {
						p.done.count(s.Done, decide(rules.Done, done.margin(v)+offset, trust))
					}
				}
			}
		}
		logPairs(t, strings.Join(author, " "), offsets, trusts, func(i int) (score, score) { return scores[i].pending, scores[i].done })
	}
	logPairs(t, "all", offsets, trusts, func(i int) (score, score) { return total[i].pending, total[i].done })
}

func logPairs(t *testing.T, name string, offsets, trusts []float64, of func(i int) (pending, done score)) {
	for i := range len(offsets) * len(trusts) {
		pending, done := of(i)
		t.Logf("%s: eager %.2f, trust %.1f: pending %.3f/%.3f, done %.3f/%.3f", name, offsets[i/len(trusts)], trusts[i%len(trusts)],
			pending.precision(), pending.recall(), done.precision(), done.recall())
	}
}
