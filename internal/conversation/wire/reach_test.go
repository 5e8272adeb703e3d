package wire

import (
	"encoding/json"
	"testing"

	"piloto/infra/local/fixture/reach"
	"piloto/internal/conversation"
)

// TestEveryMemberOfAMessageIsSent, and read again, but for those that are Piloto's own.
func TestEveryMemberOfAMessageIsSent(t *testing.T) {
	own := "only Piloto works with it"
	reach.Of[conversation.Message](reach.Values{}).Check(t, reach.Reader[conversation.Message]{
		Name:    "the form of a message (Message in internal/conversation/wire/wire.go)",
		Without: map[string]string{"Writers": own, "ReadFrom": own, "Seq": own, "Transcript": own},
		Read: func(m conversation.Message) any {
			text, err := json.Marshal(Messages([]conversation.Message{m}))
			var list []Message
			if err == nil {
				err = json.Unmarshal(text, &list)
			}
			if err != nil {
				t.Fatal(err)
			}
			return Read(list)
		},
	})
}
