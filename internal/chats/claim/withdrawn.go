package claim

import (
	"maps"
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// Withdrew adds a plan that was taken back before it ran, by the record that it would have made.
func (r *Record) Withdrew(plan *Record) { r.withdrawn = append(r.withdrawn, plan) }

// Ended adds a plan that ended before it ran, by a person or not, by the record that it would have made.
func (r *Record) Ended(plan *Record) { r.ended = append(r.ended, plan) }

// saysWithdrawn reports whether an act may be the withdrawal of a plan: it names no other thing, and its verb withdraws
// or fits any act. Another verb that removes may be so only if the plan itself would have removed nothing: «lo he
// cancelado».
func (r *Record) saysWithdrawn(a Act) bool {
	if a.Withdraws && slices.ContainsFunc(slices.Concat(r.withdrawn, r.ended), a.ofPlan) {
		return true
	}
	return a.Bare && slices.ContainsFunc(r.withdrawn, func(plan *Record) bool {
		return len(a.Kinds) == 0 || withdrawals()[a.Verb] || slices.Contains(a.Kinds, Remove) && !plan.kinds[Remove]
	})
}

// dropped reports whether an act is one of a plan that ended before it ran, and of nothing that was done. The person had ordered it.
func (r *Record) dropped(a Act) bool {
	return len(a.Kinds) > 0 && !a.Before && !a.is(r.kinds) && slices.ContainsFunc(slices.Concat(r.withdrawn, r.ended), func(plan *Record) bool { return a.is(plan.kinds) })
}

// ofPlan reports whether the object of a withdrawal is called a plan, or as an act of a plan is.
func (a Act) ofPlan(plan *Record) bool {
	return len(a.Taken) == 0 || slices.ContainsFunc(a.Taken, func(k Kind) bool { return plan.kinds[k] })
}

// saysNoneWithdrawn reports whether an act can only be the withdrawal of a plan, and no plan was withdrawn: its object
// is called a plan, or is a cancellation, which no other act takes back. A service may have drafts and plans, too.
func (r *Record) saysNoneWithdrawn(a Act) bool {
	if !a.Withdraws || r.stems[stem(a.Verb)] {
		return false
	}
	removed := r.kinds[Remove] && slices.ContainsFunc(slices.Collect(maps.Keys(planWords())), func(w string) bool { return r.stems[stem(w)] })
	return slices.Contains(a.Taken, Remove) || len(a.Taken) == 0 && !removed
}

// takenBack returns the families of the noun that a withdrawal is of, or none where it is of a plan.
func takenBack(words []string, at int) (taken []Kind, withdraws bool) {
	if !withdrawals()[words[at]] {
		return nil, false
	}
	from, to := at, at
	for from > 0 && !cuts()[words[from-1]] {
		from--
	}
	for to < len(words) && !cuts()[words[to]] {
		to++
	}
	for i := from; i < to; i++ {
		if planWords()[words[i]] && (i == 0 || !owned()[words[i-1]]) && (i+1 == to || !periods()[words[i+1]]) {
			return nil, true
		}
		taken = append(taken, verbs().noun[strings.TrimSuffix(words[i], "s")]...)
	}
	return taken, len(taken) > 0
}

var withdrawals = lazy.Words(`withdrawn withdrew dropped discarded retirado retirada retirados retiradas retiré descartado descartada descartados descartadas descarté`)

// namesNothing reports whether the clause of an act names nothing that it was done to: it only points («lo he retirado», “I've
// dropped it”), says «retirado», or calls it the request, which a plan is.
func namesNothing(words []string, at int) bool {
	from, to := at, at+1
	for from > 0 && !cuts()[words[from-1]] {
		from--
	}
	for to < len(words) && !cuts()[words[to]] {
		to++
	}
	before, after := words[from:at], words[at+1:to]
	for len(after) > 0 && adverbs()[after[0]] {
		after = after[1:]
	}
	for len(before) > 0 && (helpers()[before[len(before)-1]] || adverbs()[before[len(before)-1]] || openers()[before[len(before)-1]]) {
		before = before[:len(before)-1]
	}
	n := len(before)
	switch {
	case len(after) > 0 && objects()[after[0]] && (!articles()[after[0]] || len(after) == 1 || afterAct()[after[1]]):
		return true
	case len(after) > 1 && articles()[after[0]] && requests()[after[1]]:
		return true
	case len(after) > 0 && !afterAct()[after[0]]:
		return false
	}
	return n == 0 || subjects()[before[n-1]] || n > 1 && requests()[before[n-1]] && articles()[before[n-2]]
}

var (
	cuts     = lazy.Words(`, : and y e but pero`)
	objects  = lazy.Words(`it that this them eso esto todo everything`)
	subjects = lazy.Words(`it it's that that's this lo la los las eso esto todo everything`)
	requests = lazy.Words(`request solicitud peticion`)
	helpers  = lazy.Words(`i i've we we've have has had been is are was were be he hemos ha han sido se te le queda quedan quedó está estan`)
	afterAct = lazy.Words(`for as because since so before until when if at por porque como para sin antes hasta cuando si segun tal`)
)
