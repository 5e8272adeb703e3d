package intent

import "piloto/internal/ground/lazy"

// claimsSelf reports whether the word at i begins a first person's claim of an act.
func claimsSelf(all []token, i int) bool {
	if all[i].quoted {
		return false
	}
	var verb int
	switch w := all[i].word; w {
	case "he", "hemos":
		verb = skipSmall(all, i+1)
		return verb < len(all) && (didBefore(&all[verb]) && moreThanWords(all, verb) || tellsOthers(all, verb))
	case "acabo", "acabamos":
		if i+2 < len(all) && all[i+1].word == "de" {
			f := all[i+2].form
			return f&infinitive != 0 && f&tell == 0 && moreThanWords(all, i+2)
		}
		return false
	case "i've", "we've", "i", "we":
		if i > 0 && all[i-1].word == "get" {
			return false
		}
		verb = skipSmall(all, i+1)
		if verb < len(all) && (all[verb].word == "have" || all[verb].word == "went") && verb == i+1 {
			verb = skipSmall(all, verb+1)
		}
		return verb < len(all) && !all[verb].quoted && !all[verb].opens && (hasSecondAct(all, verb) || hasPast(&all[verb]) && all[verb].form&tell == 0 && moreThanWords(all, verb) || tellsOthers(all, verb) || isGlance(all, verb))
	case "just", "already", "successfully", "ya":
		if !opensClause(all, i) || i+1 == len(all) {
			return false
		}
		next := skipSmall(all, i+1)
		return next < len(all) && next == i+1 && all[next].form&(pastEN|infinitive) == pastEN && all[next].form&(act|advance) != 0 ||
			next < len(all) && w == "ya" && hasAny(all[next].word, "amos", "imos") && all[next].form&tell == 0 && moreThanWords(all, next)
	}
	if claimsWithoutI(all, i) || isPluralPast(all, i) {
		return true
	}
	return didPast(&all[i]) && !saysThat(all, i) && moreThanWords(all, i) && !(i > 0 && determiners()[all[i-1].word] && !clitics()[all[i-1].word]) || spoke()[all[i].word] && tellsOthers(all, i)
}

// claimsWithoutI reports an English past at i that begins the sentence without a subject: "Rang
// the bistro", "Spoke to the vendor just now". A main clause after it makes it a participle:
// "Founded in Rome, the firm grew".
func claimsWithoutI(all []token, i int) bool {
	if i+1 >= len(all) || !opensClause(all, i) || clauseStart(all, i) > 0 && !lead()[all[0].word] && !acknowledges(all[:i]) || hasAgent(all[i+1:]) {
		return false
	}
	next := &all[i+1]
	switch t := &all[i]; {
	case next.opens:
		return false
	case tellsOthers(all, i):
		return true
	case t.word == "had", t.word == "took":
		return isGlance(all, i)
	case hasFinite(clause(all[i+1:])), qualities()[t.word]:
		return false
	case t.form == 0: // an unknown verb: "Wired the $400", "Bumped it to high"
		return hasPast(t) && (next.word == "the" || next.word == "your" || pointing()[next.word] || objects()[next.word])
	case !hasPast(t) || t.form&(act|advance|look) == 0 || t.form&(infinitive|tell) != 0:
		return false
	}
	named := next.form == 0 && i+2 < len(all) && !all[i+2].opens && onward()[all[i+2].word] // "Added Tom to the team"
	return moreThanWords(all, i) && (named || isNumber(next.word) || determiners()[next.word] || pointing()[next.word] || particles()[next.word] || objects()[next.word])
}

var (
	onward   = lazy.Words(`to onto into from the`)
	pointing = lazy.Words(`that these those his her their my our`)
)

// isPluralPast reports a Spanish first person plural at i with a pronoun, which can be past or
// present: «le descontamos la cuota».
func isPluralPast(all []token, i int) bool {
	t := &all[i]
	return i > 0 && !t.opens && (all[i-1].word == "le" || all[i-1].word == "les") && opensClause(all, i) && len(t.word) > 6 && hasAny(t.word, "amos", "imos") && !onlyTalk(t.word)
}

// hasSecondAct reports a second verb of the same subject: "I went through the list and removed
// two".
func hasSecondAct(all []token, verb int) bool {
	if !hasPast(&all[verb]) && !hasPast(&all[verb-1]) {
		return false
	}
	for i := verb + 1; i+1 < min(len(all), verb+14); i++ {
		if t := &all[i+1]; all[i].word == "and" || all[i].word == "then" {
			return t.form&(pastEN|infinitive|tell) == pastEN && t.form&act != 0 && moreThanWords(all, i+1) || tellsOthers(all, i+1)
		}
	}
	return false
}

// isGlance reports at i "had a look", "took a peek", "had a word with".
func isGlance(all []token, i int) bool {
	return i+2 < len(all) && (all[i].word == "had" || all[i].word == "took" || all[i].word == "taken") && all[i+1].word == "a" && glances()[all[i+2].word]
}

// skipSmall steps over pronouns and adverbs, up to six.
func skipSmall(all []token, i int) int {
	for most := i + 6; i < min(len(all), most) && (clitics()[all[i].word] || adverbs()[all[i].word] || small()[all[i].word] || all[i].form == 0 && hasAny(all[i].word, "ly", "mente")); {
		i++
	}
	return i
}

var small = lazy.Words(`successfully correctamente ya already now recently recien exitosamente both all todo todos todas ahead and have gone been? por fin finally completely completamente also tambien`)

// moreThanWords reports a verb with an effect beyond a text in the chat.
func moreThanWords(all []token, verb int) bool {
	t := &all[verb]
	if verb+1 < len(all) && nothings()[all[verb+1].word] {
		return false
	}
	if onlyDrafts(all, verb) || t.word == "put" && verb+1 < len(all) && all[verb+1].word == "together" {
		return false
	}
	if !writes(t) {
		return true
	}
	near := all[verb:min(len(all), verb+7)]
	if verb > 0 && (all[verb-1].word == "le" || all[verb-1].word == "les") {
		return true
	}
	return !objectAmong(near, chatNouns()) && (t.form&look == 0 && !reads(t) || !mentions(near, readNouns()))
}

// onlyDrafts reports the preparation of a plan or of an unfinished thing: «he preparado el
// plan», «he dejado pendiente la subida».
func onlyDrafts(all []token, verb int) bool {
	return drafting()[all[verb].word] && objectAmong(all[verb:min(len(all), verb+6)], planNouns())
}

// edits reports whether the first person at i may only have worked on a text.
func edits(all []token, i int) bool {
	for j := i; j < min(len(all), i+4); j++ {
		if writes(&all[j]) {
			return true
		}
	}
	return false
}

// reads reports the participle of a verb that only reads.
func reads(t *token) bool {
	f, known := participleForm(t.word)
	return known && f&look != 0
}

// tellsOthers reports a message to another person than the reader: «respondí a Irene», "I told
// Bob".
func tellsOthers(all []token, verb int) bool {
	if verb+1 >= len(all) || all[verb].quoted {
		return false
	}
	rest := all[verb+1:]
	switch w := all[verb].word; {
	case spoke()[w]:
		return addressing()[rest[0].word] && len(rest) > 1 && !readers()[rest[1].word] && !mentions(rest[:min(len(rest), 6)], chatNouns())
	case w == "told" || w == "let" || w == "informed" || w == "reminded":
		return !readers()[rest[0].word] && !rest[0].opens
	}
	return false
}

// writes reports a verb that may only work on a text or a thought.
func writes(t *token) bool {
	return t.form&look != 0 || reads(t) || wordsmith()[t.word]
}
