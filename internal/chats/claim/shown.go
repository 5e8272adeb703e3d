package claim

import (
	"regexp"

	"piloto/internal/ground/lazy"
)

// Acts that only a command does or shows are read by patterns of their words: that tests pass, that changes were
// committed or pushed. Such claims are compared where a client runs commands, and nowhere else.

// shownBy returns the acts of a sentence that only a command does or shows. A clause with a denial or a condition claims none.
func shownBy(s sentence) (list []Act) {
	if s.quoted || s.question {
		return nil
	}
	clauses := clausesOf().Split(s.text, -1)
	if has(wordsOf(clauses[0]), conditional()) {
		return nil
	}
	for _, clause := range clauses {
		if verb := firstGroup(faultless(), clause); verb != "" {
			list = append(list, Act{Verb: verb, State: true, Needs: []string{tested}, OnMachine: true})
			continue
		}
		if words := wordsOf(noDenials.Replace(clause)); has(words, denials()) || has(words, conditions()) || has(words, conditional()) || has(words, shoulds()) {
			continue
		}
		for _, p := range patterns() {
			if verb := firstGroup(p.pattern(), clause); verb != "" {
				list = append(list, Act{Verb: verb, State: true, Needs: []string{p.needs}, OnMachine: true})
			}
		}
	}
	return list
}

// firstGroup returns the first group of a pattern that a text has; "" when it does not match.
func firstGroup(p *regexp.Regexp, text string) string {
	found := p.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	for _, group := range found[1:] {
		if group != "" {
			return group
		}
	}
	return ""
}

var (
	clausesOf   = lazy.Pattern(`[,;—]| pero | but | aunque | although `)
	conditional = lazy.Words(`if when once until unless whether si cuando hasta`)
	shoulds     = lazy.Words(`should deberia deberian would must debe deben para hasta until will`)
)

// Parts of patterns, of text that is folded.
const (
	ofTests   = `\b(?:tests?|pruebas?|suite|specs?|ci|pipeline)\b`
	ofBuild   = `\b(?:builds?|compilacion)\b`
	ofAll     = `\b(?:todo|todos|todas|all|everything)(?: esta| estan|'s| is| are)?`
	near      = `[^,;:]{0,40}?`
	good      = `(pasan?|pasaron|pasado|pasando|pass(?:es|ed|ing)?|en verde|verdes?|green|ok|superad[oa]s?|superan?|succeed(?:s|ed)?|successful(?:ly)?|correctamente|sin (?:errores|fallos)|without (?:errors?|failures?))`
	afterGood = `(?:$|[.!)]| (?:ahora|y|ya|bien|todas|todos|correctamente|sin|en local|now|and|again|locally|successfully|without)\b)`
	branches  = `(?:repositorio|repo|main|master|develop|origin|github|gitlab|rama|remoto|remote|branch)`
	makes     = `(?:hecho|hice|hecha|realizado|realizada|creado|creada|lanzado|made|did|done|created)`
	article   = `(?:el |la |los |un |una |unos |a |an |the |another |otro |su |nuevo |new )*`
	was       = `(?: ya| esta| estan| is| are| was| has been| have been| ha sido)*`
)

// claimed is a pattern of a clause, whose first group is its verb, and the commands that the claim needs.
type claimed struct {
	pattern func() *regexp.Regexp
	needs   string
}

func patterns() []claimed {
	return []claimed{{passing, tested}, {building, built}, {committing, "commit"}, {pushing, "push"}, {merging, "merge"}, {opening, "pr|mr|pull"}}
}

var (
	// faultless is a denial: that tests fail.
	faultless = lazy.Pattern(ofTests + near + `\b(sin (?:errores|fallos)|without (?:errors?|failures?))\b` +
		`|` + ofTests + `(?: ya)? (no fallan?|no longer fails?|do not fail|don't fail)\b|\b(ningun(?:a|o)?) (?:prueba|test) (?:ya )?fall(?:a|o)\b|\b(no fallan?) (?:ya )?(?:ningun(?:a|o)?|las|los) (?:de )?(?:las |los )?(?:pruebas?|tests?)\b` +
		`|\b(no|none of the) (?:tests?|specs?) (?:now )?fail(?:s|ed)?\b|^ ?(?:\w+ ){0,2}(?:con |with )?(0|no|zero|cero|sin) (?:fallos?|failures?|failed|failing tests?)` + afterGood)
	passing = lazy.Pattern(ofTests + near + `\b` + good + afterGood + `|` + ofTests + `: ?(ok|pass(?:ed)?)\b` +
		`|\b(pasan?|pasaron|pass(?:es|ed)?|(?:han?|have|has) (?:pasado|passed)) (?:todas |todos |all )?(?:las |los |the )?(?:pruebas|tests?|suite)\b` +
		`|` + ofAll + `(?: ya| ahora| now)? (pasan?|pass(?:es|ed|ing)?|en verde|verdes?|green)` + afterGood)
	building   = lazy.Pattern(ofBuild + near + `\b` + good + afterGood)
	committing = lazy.Pattern(`\bcommits?` + was + ` (` + makes + `)\b|\b(` + makes + `) (?:ya )?` + article + `commits?\b|\b(comitead[oa]s?|commitead[oa]s?)\b`)
	pushing    = lazy.Pattern(`\bpush` + was + ` (` + makes + `)\b|\b(` + makes + `) (?:ya )?` + article + `(?:commits? y ` + article + `)?push\b` +
		`|\b(subid[oa]s?|subi|uploaded) (?:ya )?(?:los |mis |tus |the )?(?:cambios|changes|commits?)\b|\b(subid[oa]s?|uploaded)\b` + near + `\b` + branches + `\b`)
	merging = lazy.Pattern(`\b(` + makes + `) (?:ya )?` + article + `merge\b|\bmerge` + was + ` (` + makes + `)\b|\b(merged|mergead[oa]s?|fusionad[oa]s?)\b` + near + `\b` + branches + `\b`)
	opening = lazy.Pattern(`\b(abierto|abierta|abri|opened|submitted|` + makes + `) (?:ya )?` + article + `(?:prs?|pull requests?|merge requests?)\b` +
		`|\b(?:prs?|pull requests?|merge requests?)` + was + ` (abierto|abierta|opened|open|` + makes + `)\b`)
)
