package llm

import "strings"

var tags = strings.NewReplacer("<", "‹", ">", "›")

// Escape makes a text safe between two tags of a prompt.
func Escape(text string) string { return tags.Replace(strings.TrimSpace(text)) }
