package conversation

import (
	"slices"
	"strconv"
	"strings"
)

// Option is one of the answers among which a question lets a person choose. ID is its number, from "1".
type Option struct {
	ID    string `json:"id" doc:"its number in the text, from 1 to 10"`
	Title string `json:"title"`
}

// NewOptions returns the options of some titles, in their order.
func NewOptions(titles []string) []Option {
	var list []Option
	for i, title := range titles {
		list = append(list, Option{ID: strconv.Itoa(i + 1), Title: title})
	}
	return list
}

// OptionLines returns options as they stand below their question in its text, for clients that show texts only: a line break, and a
// numbered line for each; "" for none.
func OptionLines(options []Option) string {
	var b strings.Builder
	for _, o := range options {
		b.WriteString("\n" + o.ID + ". " + o.Title)
	}
	return b.String()
}

// Question returns the text of a message without the lines of its options.
func (m Message) Question() string { return strings.TrimSuffix(m.Content, OptionLines(m.Options)) }

// Choose returns the answer that a person means who types text for a question with options: the title of the option
// whose number it is, else the text itself. A text that equals a title is no number.
func Choose(options []Option, answer string) string {
	typed := strings.TrimSpace(answer)
	for _, is := range []func(Option) bool{
		func(o Option) bool { return strings.EqualFold(o.Title, typed) },
		func(o Option) bool { return o.ID == strings.TrimSuffix(typed, ".") },
	} {
		if i := slices.IndexFunc(options, is); i >= 0 {
			return options[i].Title
		}
	}
	return answer
}

// OpenQuestion returns the question of a model that the next message of a chat answers. It is the last of its messages, but for
// those that a run adds while it goes on.
func OpenQuestion(messages []Message) (Message, bool) {
	for _, m := range slices.Backward(messages) {
		if m.ReplacedBy == "" && m.Kind != KindProgress && m.Kind != KindFinal {
			return m, m.Asks
		}
	}
	return Message{}, false
}
