package main

import (
	"regexp"
	"strings"
)

// sorted holds the texts of assistants by their kind, as far as the calls around them and a few words show it.
type sorted struct {
	questions []string // ask for data: a question, nothing changed before it, no request to proceed, and no claim
	facts     []string // report data that was read just before, without a question and without a promise
	short     []string // facts of one line
	claims    []string // follow a change, and tell of it
	asks      []string // ask to proceed, and the person agreed: a change follows
}

var (
	proceeds = regexp.MustCompile(`(?i)\b(proceed|confirm|go ahead|would you like me|shall i|should i|do you want me|procedo|confirmas|quieres que)\b`)
	promises = regexp.MustCompile(`(?i)\b(will|i'll|let me|let's|please|if you|would|can|could|hold on)\b`)
	closings = regexp.MustCompile(`(?i)\b(if (you|there)|feel free|have a |safe travels|is there anything|si necesitas|si hay)\b[^.!?]*[.!?]`)
	invents  = regexp.MustCompile(`(?i)\b(successfully|set it as|has been updated|have been updated)\b`) // of changes that no call made
	tells    = regexp.MustCompile(`(?i)\b(successfully|has been|have been|is confirmed|i have|i've|se ha|he )\b`)
)

// sortTexts sorts the texts of assistants. A text that fits nowhere is left out.
func sortTexts(list []conversation) (s sorted) {
	for _, c := range list {
		for i, t := range c.Turns {
			if t.Role != "assistant" || strings.TrimSpace(t.Text) == "" {
				continue
			}
			read, wrote := callsBefore(c.Turns, i)
			said := closings.ReplaceAllString(t.Text, "")
			asks, promise, tell := strings.Contains(t.Text, "?"), promises.MatchString(said), tells.MatchString(t.Text)
			switch {
			case wrote:
				if tell && !asks && !proceeds.MatchString(t.Text) {
					s.claims = append(s.claims, t.Text)
				}
			case writesNext(c.Turns, i):
				if proceeds.MatchString(lastSentence(t.Text)) {
					s.asks = append(s.asks, t.Text)
				}
			case asks && !proceeds.MatchString(t.Text):
				s.questions = append(s.questions, t.Text)
			case read && !asks && !promise && !invents.MatchString(t.Text) && !proceeds.MatchString(t.Text):
				s.facts = append(s.facts, t.Text)
				if len(strings.Fields(said)) <= 20 {
					s.short = append(s.short, t.Text)
				}
			}
		}
	}
	return s
}

// callsBefore reports which calls stand between a text and the message before it.
func callsBefore(turns []turn, at int) (read, wrote bool) {
	for i := at - 1; i >= 0 && turns[i].Role == "call"; i-- {
		read, wrote = read || !turns[i].Write, wrote || turns[i].Write
	}
	return read, wrote
}

// writesNext reports whether the person's answer to a text is followed by a change.
func writesNext(turns []turn, at int) bool {
	if at+1 >= len(turns) || turns[at+1].Role != "user" {
		return false
	}
	for i := at + 2; i < len(turns) && turns[i].Role == "call"; i++ {
		if turns[i].Write {
			return true
		}
	}
	return false
}

// lastSentence returns the last 200 bytes of a text.
func lastSentence(text string) string { return text[max(0, len(text)-200):] }
