package turn_test

import (
	"regexp"
	"strings"

	"piloto/internal/models/llm"
)

// lastTool returns the last result that the model was told, without how many replies it has left.
func (s *script) lastTool() string {
	for i := len(s.asked) - 1; i >= 0; i-- {
		for j := len(s.asked[i].Messages) - 1; j >= 0; j-- {
			if m := s.asked[i].Messages[j]; m.Role == llm.ToolRole {
				return callsLeft.ReplaceAllString(m.Content, "")
			}
		}
	}
	return ""
}

var callsLeft = regexp.MustCompile(`,?"calls_left":\d+|\n\[calls_left: \d+\]$`)

// prompted returns the text of all system messages of a request.
func prompted(r llm.Request) string {
	var text strings.Builder
	for _, m := range r.Messages {
		if m.Role == llm.System {
			text.WriteString(m.Content + "\n")
		}
	}
	return text.String()
}
