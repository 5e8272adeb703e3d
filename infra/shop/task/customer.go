package task

import (
	"regexp"
	"slices"
	"strings"
)

// Customer is the person of a task: a script, and no model. They say the task's lines in order, answer questions by its rules, and
// confirm a plan only if each of its writes is one that they want. They cannot be talked into another plan.
type Customer struct {
	task    Task
	lines   []Line   // that are not said yet
	left    []Action // expected writes that are not done
	tempted []Action // further writes that they would confirm
	heard   []string // texts of the assistant

	answered map[string]int // how often each answer was given
}

// mostTimes is how often the customer gives the same answer.
const mostTimes = 2

// NewCustomer returns the customer of a task, who has not said anything.
func NewCustomer(t Task) *Customer {
	return &Customer{task: t, lines: slices.Clone(t.Says), left: slices.Clone(t.Expect), tempted: slices.Clone(t.Tempted), answered: map[string]int{}}
}

// Reply is an act of the customer: they say something, or confirm the plan, or leave.
type Reply struct {
	Say     string
	Confirm bool // in the words Say, or with the button
	Leave   bool
}

// Open returns the first message.
func (c *Customer) Open() string {
	first := c.lines[0].Say
	c.lines = c.lines[1:]
	return first
}

// Hear takes the texts that the assistant wrote.
func (c *Customer) Hear(texts ...string) { c.heard = append(c.heard, texts...) }

// Did takes the writes of a plan that were done.
func (c *Customer) Did(steps []Step) {
	for _, s := range steps {
		if i := slices.IndexFunc(c.left, func(a Action) bool { return a.matches(s) || s.ForEach && a.sameKind(s) }); i >= 0 {
			c.left = slices.Delete(c.left, i, i+1)
		}
	}
}

// sameKind reports whether a step that is done for each element of a list may be the write: only its method is known.
func (a Action) sameKind(s Step) bool {
	method, _, _ := strings.Cut(a.Do, " ")
	return method == s.Method
}

// AtCard returns the reply to a plan that waits, by the requests on its card.
func (c *Customer) AtCard(steps []Step) Reply {
	if !c.agrees(steps) {
		return c.again(c.task.words.Object+" "+c.task.Wants, true)
	}
	if len(c.lines) > 0 && c.lines[0].When == "card" {
		c.tempted = nil
		return c.next()
	}
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Destroys }) {
		return Reply{Say: c.task.words.Named, Confirm: true}
	}
	return Reply{Say: c.task.words.Yes, Confirm: true}
}

// agrees reports whether each write of a plan is one that the customer wants, once. Reads change nothing.
func (c *Customer) agrees(steps []Step) bool {
	wanted := slices.Concat(c.left, c.tempted)
	for _, s := range steps {
		if s.Reads() {
			continue
		}
		i := slices.IndexFunc(wanted, func(a Action) bool { return a.matches(s) || s.ForEach && a.sameKind(s) })
		if i < 0 {
			return false
		}
		wanted = slices.Delete(wanted, i, i+1)
	}
	return true
}

// AtText returns the reply to a text beside which no plan waits. asks: the assistant marked it as a question.
func (c *Customer) AtText(text string, asks bool) Reply {
	asks = asks || c.isAsked(text)
	if asks {
		for _, r := range c.rules() {
			if matched, _ := regexp.MatchString(r.If, text); matched && c.answered[r.Say] < mostTimes {
				return c.again(r.Say, false)
			}
		}
	}
	if len(c.lines) > 0 && c.lines[0].When == "" && len(c.task.Expect)-len(c.left) >= c.lines[0].After {
		return c.next()
	}
	switch {
	case len(c.left) > 0 || asks && len(c.tempted) > 0 && c.answered[c.task.words.GoOn] == 0:
		return c.again(c.task.words.GoOn, true)
	case asks && slices.ContainsFunc(c.task.Tells, func(pattern string) bool { return !said(pattern, c.heard) }):
		return c.again(c.task.words.Unknown, true)
	}
	return Reply{Leave: true}
}

// isAsked reports whether a text asks for something, other than whether there is something else.
func (c *Customer) isAsked(text string) bool {
	text = regexp.MustCompile(c.task.words.Closes).ReplaceAllString(text, "")
	return regexp.MustCompile(c.task.words.Asks).MatchString(text)
}

// rules returns the answers of the task, and then who the customer is.
func (c *Customer) rules() []Rule {
	me := strings.NewReplacer("{name}", c.task.Me.Name, "{email}", c.task.Me.Email).Replace(c.task.words.Identify)
	return append(slices.Clone(c.task.Answers), Rule{c.task.words.AsksWho, me})
}

// next says the next line.
func (c *Customer) next() Reply {
	line := c.lines[0]
	c.lines = c.lines[1:]
	return Reply{Say: line.Say}
}

// again gives an answer; leaves: the customer leaves when they have given it often enough.
func (c *Customer) again(say string, leaves bool) Reply {
	if c.answered[say]++; leaves && c.answered[say] > mostTimes {
		return Reply{Leave: true}
	}
	return Reply{Say: say}
}
