package consent

import "strings"

// gerunds returns how an English verb may end in "-ing". Forms that do not exist do no harm.
func gerunds(base string) []string {
	if short, ok := strings.CutSuffix(base, "e"); ok {
		return []string{short + "ing"}
	}
	return []string{base + "ing", base + base[len(base)-1:] + "ing"}
}

// plurals returns the plurals that a noun of either language may have.
func plurals(base string) []string {
	if short, ok := strings.CutSuffix(base, "y"); ok {
		return []string{short + "ies"}
	}
	return []string{base + "s", base + "es"}
}

// singulars returns the words of which a word may be a plural, and itself.
func singulars(word string) []string {
	out := []string{word}
	for ending, of := range map[string]string{"s": "", "es": "", "ies": "y"} {
		if short, ok := strings.CutSuffix(word, ending); ok && len(short) > 2 {
			out = append(out, short+of)
		}
	}
	return out
}

var (
	clitics = map[number][]string{
		unsaid: {"", "le", "les", "me", "nos"}, one: {"lo", "la", "melo", "mela", "selo", "sela", "noslo", "nosla"}, more: {"los", "las", "melos", "melas", "selos", "selas", "noslos", "noslas"},
	}
	soft  = map[string]string{"c": "qu", "g": "gu", "z": "c"} // before an e
	ahead = [2]verbEnds{
		{heard: []string{"a"}, polite: []string{"e"}, ours: "emos", going: []string{"ando"}, stating: []string{"o", "amos"}},
		{heard: []string{"e"}, polite: []string{"a"}, ours: "amos", going: []string{"iendo", "endo"}, stating: []string{"o", "imos", "emos"}},
	}
)

// verbEnds are the endings of a Spanish verb: of the imperatives, of «hagamos», of the gerund and of statements.
type verbEnds struct {
	heard, polite  []string
	ours           string
	going, stating []string
}

// spanish lists the forms of a Spanish verb that order, and those that only state: «cancela», «cancélalos»; «cancelo».
func spanish(verb string, order func(text string, of number), state func(text string)) {
	infinitive, stem, irregular := strings.Cut(verb, ":")
	root := infinitive[:len(infinitive)-2]
	if !irregular {
		stem = root
	}
	ends := ahead[1]
	before := func(string) string { return stem }
	if strings.HasSuffix(infinitive, "ar") {
		ends = ahead[0]
		before = func(ending string) string {
			last := stem[len(stem)-1:]
			if hard, ok := soft[last]; ok && strings.HasPrefix(ending, "e") {
				return stem[:len(stem)-1] + hard
			}
			return stem
		}
	}
	withIt := func(text string) {
		for of, list := range clitics {
			for _, it := range list {
				order(text+it, of)
			}
		}
	}
	withIt(infinitive)
	for _, end := range append(ends.heard, ends.polite...) {
		withIt(before(end) + end)
	}
	for _, end := range ends.going {
		withIt(stem + end)
		withIt(root + end)
	}
	withIt(before(ends.ours) + ends.ours)
	for _, end := range ends.stating {
		state(before(end) + end)
	}
	state(infinitive + "e") // «cancelaré»
	state(infinitive + "emos")
}
