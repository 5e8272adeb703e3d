package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"piloto/internal/chats/beside"
	"piloto/internal/chats/consent"
)

// said is a message of a person, with the text beside the card that it answers.
type said struct {
	text, beside string
	card         consent.Card // of the changes that followed; without acts where the file does not describe them
}

// yeses holds the messages of persons.
type yeses struct {
	plain  []said // agree, and say nothing else: a change followed
	others []said // do not begin as a yes, and no change followed
	cards  map[string]consent.Card
}

var (
	agrees = regexp.MustCompile(`(?i)^\W*(yes|yeah|sure|great|perfect|confirm|i confirm|okay|ok|alright|everything|that|please|s[ií]|vale|claro|adelante|confirmo)\b`)
	more   = regexp.MustCompile(`(?i)\?|\b(but|also|and also|if|unless|when|instead|only|just|another|however|because|reason|pero|también|además|otra|otro|si|cuando|no|not|don't|use|using|so|i'd like to use|first|then|definitely|for|and|same|as well|someone|who)\b|\d`)
	thanks = regexp.MustCompile(`(?i)(thank you|thanks|many thanks|gracias|i appreciate)[^.!]*[.!]?`)
)

// longest is the greatest number of words of a plain yes, without its thanks.
const longest = 14

// sortYeses sorts the messages of persons, and makes a card of each call that the file describes.
func sortYeses(list []conversation) yeses {
	y := yeses{cards: map[string]consent.Card{}}
	for _, c := range list {
		for i, t := range c.Turns {
			if t.Role != "user" || i == 0 || strings.TrimSpace(t.Text) == "" {
				continue
			}
			s := said{text: t.Text}
			if before := c.Turns[i-1]; before.Role == "assistant" {
				s.beside = before.Text
			}
			changed := false
			for _, call := range c.Turns[i+1:] {
				if call.Role != "call" {
					break
				}
				if changed = changed || call.Write; call.Write && call.Name+call.Method != "" {
					act := actOf(call)
					s.card.Acts = append(s.card.Acts, act)
					y.cards[call.Name+call.Method+call.Path] = consent.Card{Acts: []consent.Act{act}}
				}
			}
			switch rest := thanks.ReplaceAllString(strings.TrimPrefix(strings.ToLower(t.Text), "sí"), ""); {
			case !changed && !agrees.MatchString(t.Text):
				y.others = append(y.others, s)
			case agrees.MatchString(t.Text) && !more.MatchString(rest) && len(strings.Fields(rest)) <= longest && len(s.card.Acts) > 0:
				y.plain = append(y.plain, s)
			}
		}
	}
	return y
}

// actOf returns a call as a card has it: a value of its path is no part of its body.
func actOf(t turn) consent.Act {
	a := consent.Act{Method: t.Method, Path: t.Path, Tool: t.Name, Summary: t.Summary}
	values := map[string]any{}
	if json.Unmarshal(t.Arguments, &values) != nil {
		return a
	}
	path := a.Path
	for name, value := range values {
		if place := "{" + name + "}"; strings.Contains(path, place) {
			path = strings.ReplaceAll(path, place, url.PathEscape(fmt.Sprint(value)))
			delete(values, name)
		}
	}
	body, _ := json.Marshal(values) // cannot fail: it was JSON
	a.Sent = []string{path, string(body)}
	return a
}

// gates returns the figures of yeses.
func (y yeses) gates() []gate {
	own, foreign, others := gate{name: "plain yeses taken beside the card of their act", least: 0.95, most: 1}, gate{name: "yeses that name their act, beside a card of another", most: 0}, gate{name: "other messages taken beside any card", most: 0}
	for _, s := range y.plain {
		own.add(s.text+"  | beside | "+s.beside, beside.Takes(s.text, s.beside, s.card))
		if consent.Read(s.text, s.card).Names != consent.ItsAct {
			continue
		}
		for name, card := range y.cards {
			if !does(s.card, card) {
				foreign.add(s.text+" | card | "+name, beside.Takes(s.text, "", card))
			}
		}
	}
	for _, s := range y.others {
		taken := false
		for _, card := range y.cards {
			taken = taken || beside.Takes(s.text, s.beside, card)
		}
		others.add(s.text, taken)
	}
	return []gate{own, foreign, others}
}

// does reports whether a card has an act of the kind of another's, by the first word of the document's summary.
func does(card, other consent.Card) bool {
	for _, a := range card.Acts {
		if kindOf(a) == kindOf(other.Acts[0]) {
			return true
		}
	}
	return false
}

func kindOf(a consent.Act) string {
	words := strings.FieldsFunc(strings.ToLower(a.Summary+" "+a.Tool), func(r rune) bool { return r < 'a' || r > 'z' })
	if len(words) == 0 {
		return a.Method
	}
	for _, change := range []string{"update", "modify", "change", "edit"} {
		if words[0] == change {
			return "change"
		}
	}
	return words[0]
}
