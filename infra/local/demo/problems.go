package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"piloto/internal/chats/claim"
	"piloto/internal/ground/locale"
)

// template is a sentence about a wrong value, as a model reads it. Both languages have it under one key.
type template struct {
	key    string
	form   *regexp.Regexp
	names  []string // of the parts that form captures
	length int      // of its own words
}

// templates lists the sentences, those with most words of their own first.
var templates = sync.OnceValue(func() []template {
	hole := regexp.MustCompile(`\{(\w+)(?::(\w+)\|(\w+))?\}`)
	var all []template
	for _, key := range slices.Concat(locale.Keys("problem."), locale.Keys("ref.")) {
		text, _ := locale.Lookup(locale.English, key)
		t, form, from := template{key: key}, "", 0
		for _, at := range hole.FindAllStringSubmatchIndex(text, -1) {
			form += regexp.QuoteMeta(text[from:at[0]])
			t.length += at[0] - from
			from = at[1]
			if at[4] >= 0 {
				form += "(?:" + text[at[4]:at[5]] + "|" + text[at[6]:at[7]] + ")"
				continue
			}
			form, t.names = form+"(.+?)", append(t.names, text[at[2]:at[3]])
		}
		t.form, t.length = regexp.MustCompile("(?s)^"+form+regexp.QuoteMeta(text[from:])+"$"), t.length+len(text)-from
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b template) int { return b.length - a.length })
	return all
})

// sentences names the parts of a template that are a sentence, or a part of one, themselves.
var sentences = []string{"why", "known", "first", "rest", "want", "got", "what", "by"}

// ofModel translates a message to a model about a wrong value, if it is known.
func (s speech) ofModel(text string) (string, bool) {
	if s.en {
		return text, true
	}
	for _, t := range templates() {
		parts := t.form.FindStringSubmatch(text)
		if parts == nil {
			continue
		}
		args, all := map[string]string{}, true
		for i, name := range t.names {
			value := parts[i+1]
			said, isKnown := s.ofModel(value)
			if isKnown {
				value = said
			}
			args[name], all = value, all && (isKnown || !slices.Contains(sentences, name))
		}
		if all {
			return locale.Fill(locale.Spanish, t.key, args), true
		}
	}
	return "", false
}

// How a model is told the reason of the rule that denies a call, which is the person's own words, and that the person said no
// before.
const (
	ruled  = "denied: "
	saidNo = "refused, because "
)

// inSteps matches the place of a step in a plan, before that of a value in its call.
var inSteps = regexp.MustCompile(`^steps\.\d+\.`)

// wrong describes up to three faults of a call; "" when no words are known for them.
func (s speech) wrong(problems []wrongValue) string {
	const most = 3
	var all []string
	for _, p := range problems {
		what, isKnown := s.ofModel(p.What)
		if reason, isRule := strings.CutPrefix(p.What, ruled); isRule {
			what, isKnown = s.say("refused.rule", strings.TrimRight(reason, ".")), true
		} else if strings.HasPrefix(p.What, saidNo) {
			what, isKnown = s.say("refused.before"), true
		} else if isKnown {
			what = s.at(inSteps.ReplaceAllString(p.Where, ""), what)
		}
		if isKnown && !slices.Contains(all, what) && len(all) < most {
			all = append(all, what)
		}
	}
	return strings.Join(all, "; ")
}

// at puts the place of a value, such as body.people, before its fault.
func (s speech) at(where, what string) string {
	part, name, isNamed := strings.Cut(where, ".")
	key := "problem.at."
	if isNamed {
		key = "problem.in."
	}
	if !locale.Exists(key + part) {
		return what
	}
	tag := locale.Spanish
	if s.en {
		tag = locale.English
	}
	return locale.Text(tag, key+part, "name", s.label(name), "what", what)
}

// wrongValue is one thing that is wrong with a call, in English and for a model.
type wrongValue struct{ Where, What string }

// refusal says why a call was refused, {"error": …, "problems": [{where, what}]}, unless that itself would read as a plan. What
// stands in error is for a model.
func (s speech) refusal(result string) string {
	var listed struct {
		Error    string
		Problems []wrongValue
	}
	if json.Unmarshal([]byte(result), &listed) != nil {
		listed.Error = result
	}
	why := s.wrong(listed.Problems)
	if why == "" && s.en && len(listed.Problems) == 0 {
		why = listed.Error
	}
	short := []rune(strings.Join(strings.Fields(why), " "))
	if why = string(short[:min(len(short), 240)]); why == "" {
		return s.say("refused")
	}
	if text := s.say("refused.because", strings.TrimRight(why, ".")); !claim.Read(text).Poses() {
		return text
	}
	return s.say("refused")
}
