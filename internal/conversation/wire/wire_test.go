package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"piloto/internal/conversation"
)

func TestTheFormLeavesOutWhatIsPilotosOwn(t *testing.T) {
	text, err := json.Marshal(Messages([]conversation.Message{{ID: "m1", Content: "hola", Writers: []string{"ana"}, ReadFrom: []string{"s1"}, Seq: "q"}}))
	if want := `[{"id":"m1","role":"","kind":"","content":"hola","at":"0001-01-01T00:00:00Z"}]`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	var list []Message
	if err := json.Unmarshal(text, &list); err != nil || !reflect.DeepEqual(Read(list), []conversation.Message{{ID: "m1", Content: "hola"}}) {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOnlyTheFormHasNames(t *testing.T) {
	for f := range reflect.TypeFor[conversation.Message]().Fields() {
		if f.Tag != "" {
			t.Errorf("conversation.Message.%s has the tag %s", f.Name, f.Tag)
		}
	}
}
