package jcs

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestMembersKeepTheirOrderAndDigits(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1.50,"a":{"x":[1]},"b":"é"}`: `b=1.50 a={"x":[1]} b="é" true`, `{}`: `true`, `[1]`: `false`, `7`: `false`, ``: `false`, `null`: `false`,
		`{"a":1,`: `a=1 false`, `{"a":`: `false`, `{"a":1`: `a=1 false`,
	} {
		list, ok := Members(json.RawMessage(text))
		got := ""
		for _, m := range list {
			got += m.Name + "=" + string(m.Value) + " "
		}
		if got += fmt.Sprint(ok); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
