// Package claim owns one rule: which statements of a model's text need the record to be true. It reads a text for acts
// that it claims, for a confirmation that it asks for, and for acts that it announces without a call. It compares the
// acts with a Record.
//
// A text is only data: the worst of an error is a second call of the model, or a line that stands by a text or is
// missing. So the rules are plain, and closed lists of the acts that a service is asked for. They err for a good model:
// its questions for data, refusals and accounts of reads count as no pose.
package claim

import (
	"slices"
	"strings"
)

// Reading is the meaning of a text of the model.
type Reading struct {
	Acts      []Act // that are done, or under way
	Asks      bool  // it asks for a confirmation
	Offers    bool  // it asks whether it should do something
	Announces bool  // it says that the model goes to do something, lays out a plan, or prints a call
	Excused   bool  // it ends in a question for data, or refuses: it wants neither of these
}

// Poses reports whether a text needs a plan that waits: it asks for a confirmation, or announces an act that needs a call.
func (r Reading) Poses() bool { return (r.Asks || r.Offers || r.Announces) && !r.Excused }

// Claims reports whether a text claims an act, independent of the person's orders.
func (r Reading) Claims() bool {
	return slices.ContainsFunc(r.Acts, func(a Act) bool { return !a.Narrated && !a.OnMachine })
}

// Read reads a whole text. It never fails, and its cost is linear in the length of the text.
func Read(text string) Reading {
	r := Reading{Announces: printsCall(strings.ToLower(text))}
	var last pose // of the last sentence that wants something
	refuses, now := false, false
	asked := false // by the sentence before a list, whose rows may be answers
	for _, s := range sentencesOf(text) {
		if asked = asked && s.row; !asked {
			r.Acts = slices.Concat(r.Acts, actsOf(s), shownBy(s))
		}
		asked = asked || s.question
		p := poseOf(s)
		r.Asks, r.Offers, r.Announces, refuses = r.Asks || p.asks, r.Offers || p.offers, r.Announces || p.announces, refuses || p.refuses
		if p.asks || p.offers || p.announces || p.data && !(p.closes && last.announces) {
			last = p
		}
		now = now || p.announces && p.now
	}
	r.Asks = r.Asks && !last.data // the person is to say something else
	r.Excused = last.data || refuses && !r.Asks && !now
	return r
}
