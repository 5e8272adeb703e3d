package llm_test

import (
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/internal/models/llm"
)

// TestEveryTextOfARequestIsCounted: a text that is sent and not counted is paid by nobody, and exceeds the window of a model.
func TestEveryTextOfARequestIsCounted(t *testing.T) {
	without := map[string]string{"Role": "the frame of a message has it", "From": "it is not sent"}
	messages := reach.Of[llm.Message](nil)
	messages.Check(t, reach.Reader[llm.Message]{
		Name: "the tokens of a message (Message.sum and Call.sum in internal/models/llm/estimate.go)", Without: without,
		Read: func(m llm.Message) any { return m.Estimate() },
	})
	messages.Check(t, reach.Reader[llm.Message]{
		Name: "the most tokens of a request (Request.sum in internal/models/llm/estimate.go)", Without: without,
		Read: func(m llm.Message) any { return llm.Request{Messages: []llm.Message{m}}.MostTokens() },
	})
}
