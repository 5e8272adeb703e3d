// Package redact takes secrets out of texts: those that are known (Known), and those
// that their name or their form gives away (Text).
//
// What stays true: there is no other way in this program; a text is read a bounded
// number of times, and each of its characters a bounded number of times; redacting
// twice is redacting once. A rule that is not sure keeps the text, because a line that
// says nothing helps nobody.
package redact
