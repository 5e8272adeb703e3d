package conversation

import "time"

// Paper is a chat as a document for people.
type Paper struct {
	Lang    string // "es"
	Title   string
	Notes   []string // under the title
	Entries []PaperEntry
	At      time.Time // when it is made
}

// PaperEntry is a message of a Paper.
type PaperEntry struct {
	Author   string
	Time     string
	Text     string
	Markdown bool     // Text is
	Above    []string // lines that contradict the text; they stand before it
	Notes    []string // under the text
}
