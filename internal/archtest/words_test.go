package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// insteadOf lists words that comments do not use, each with the words to use. Each of them has several meanings, or describes
// a term of the field, so that a reader reads the comment twice. A space matches a line break, too.
var insteadOf = map[string]string{
	`circles?`:                             "trust zone, or dependency cycle",
	`whoever`:                              "the caller, the client, another process or person",
	`whatever`:                             "any, each or every, with a noun",
	`what became of`:                       "the outcome of",
	`in the place of`:                      "instead of",
	`nobody is told`:                       "it may be nil, or nothing is reported",
	`\w*(?:told|done|gone|seen|there)ness`: "a term of the field",
	`(?:is|are|was|were) told of`:          "is notified of, gets or receives",
	`(?:do|does|did|can) ?not tell`:        "does not say, does not report",
	`(?:tell|tells|told|telling)(?: \w+){0,3} apart`:     "distinguish",
	`(?:look|looks|looked|looking) at`:                   "read, check or inspect",
	`(?:look|looks|looked|looking) for`:                  "search, or find",
	`(?:a|one|each|every|another) look`:                  "a read, or a check",
	`(?:keep|keeps|take|takes|took) (?:its|their) place`: "keeps its queue key or position, or replaces",
}

// usesLeft has how often comments still use a word. A number may only become smaller.
var usesLeft = map[string]int{}

// The most uses of "what" and "whatever" in 100,000 words of comments: a comment with "what" lacks a noun.
const mostWhats = 150

// whatsLeft are the top folders above that limit. A number may only become smaller.
var whatsLeft = map[string]int{}

// commented are the top folders whose comments are judged. Tests are not, because they describe a case and no term.
var commented = []string{"internal", "cmd", "functions", "infra"}

var oneWord = regexp.MustCompile(`[A-Za-z']+`)

// comment is a comment as one line.
type comment struct{ top, at, text string }

// comments returns those of the judged folders.
func comments(t *testing.T) (all []comment) {
	t.Helper()
	for _, f := range sources(t, false) {
		top, _, _ := strings.Cut(f.path, "/")
		if !slices.Contains(commented, top) {
			continue
		}
		for _, group := range f.syntax.Comments {
			all = append(all, comment{top, f.at(group), strings.Join(strings.Fields(group.Text()), " ")})
		}
	}
	return all
}

// TestCommentsHaveOneWordForOneMeaning keeps the words of insteadOf out of comments. A word with a capital may be a name.
func TestCommentsHaveOneWordForOneMeaning(t *testing.T) {
	all, counts := comments(t), map[string]int{}
	for word, instead := range insteadOf {
		of := regexp.MustCompile(`\b(?:` + word + `)\b`)
		var at []string
		for _, c := range all {
			for range of.FindAllString(c.text, -1) {
				at = append(at, c.at)
			}
		}
		if counts[word] = len(at); len(at) > usesLeft[word] {
			t.Logf("%s: write %s, in %s", word, instead, strings.Join(at, " "))
		}
	}
	compare(t, "uses in comments", 0, counts, usesLeft)
}

// TestCommentsHaveNouns bounds "what" in comments.
func TestCommentsHaveNouns(t *testing.T) {
	words, whats, densities := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range comments(t) {
		for _, word := range oneWord.FindAllString(c.text, -1) {
			words[c.top]++
			if word = strings.ToLower(word); word == "what" || word == "whatever" {
				whats[c.top]++
			}
		}
	}
	for _, top := range commented {
		if words[top] == 0 {
			t.Fatalf("no comments were found below %s", top)
		}
		densities[top] = 100_000 * whats[top] / words[top]
	}
	compare(t, `"what" in 100,000 words of comments`, mostWhats, densities, whatsLeft)
}
