package plan

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// texts returns the texts of the ids of waves.
func texts(waves [][]EffectID) [][]string {
	list := make([][]string, len(waves))
	for i, wave := range waves {
		for _, id := range wave {
			list[i] = append(list[i], id.String())
		}
	}
	return list
}

func TestEffectIDHasText(t *testing.T) {
	s2 := EffectOf("s2")
	for text, id := range map[string]EffectID{
		"":             {},
		"s2":           s2,
		"s2[0]":        ItemOf(s2, 0),
		"s2[49]":       ItemOf(s2, 49),
		"undo:s2":      UndoOf(s2),
		"undo:s2[3]":   UndoOf(ItemOf(s2, 3)),
		"check:s2":     CheckOf(s2),
		"check:s2[3]":  CheckOf(ItemOf(s2, 3)),
		"s2[03]":       EffectOf("s2[03]"),
		"s2[3":         EffectOf("s2[3"),
		"s2[-1]":       EffectOf("s2[-1]"),
		"s2[+1]":       EffectOf("s2[+1]"),
		"s2[1][2]":     EffectOf("s2[1][2]"),
		"undo:undo:s2": UndoOf(EffectOf("undo:s2")),

		"s2[9223372036854775807]": EffectOf("s2[9223372036854775807]"),
	} {
		if got := ParseEffect(text); got != id || id.String() != text {
			t.Errorf("%q is parsed as %#v and written as %q", text, got, id)
		}
	}
	id := UndoOf(ItemOf(s2, 3))
	if id.Step() != "s2" || id.Item() != 3 || !id.Undo() || id.Check() || id.Base() != ItemOf(s2, 3) || s2.Item() != -1 || s2.Undo() {
		t.Errorf("%#v", id)
	}
}

func TestEffectIDKeepsEveryText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`(undo:|check:)?(undo:|check:)?[a-z]{0,2}(\[-?[0-9]{0,3}\]?){0,2}`), rapid.String()).Draw(t, "text")
		if got := ParseEffect(text).String(); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		type row struct {
			ID  EffectID `json:"id,omitzero"`
			Map map[EffectID]int
		}
		type plain struct {
			ID  string `json:"id,omitempty"`
			Map map[string]int
		}
		raw, err := json.Marshal(row{ParseEffect(text), map[EffectID]int{ParseEffect(text): 1}})
		was, errWas := json.Marshal(plain{text, map[string]int{text: 1}})
		var back row
		if err != nil || errWas != nil || string(raw) != string(was) || json.Unmarshal(raw, &back) != nil || back.ID != ParseEffect(text) {
			t.Fatalf("%q is %s in JSON, and was %s", text, raw, was)
		}
	})
}

func TestPlanHasNoOtherEffects(t *testing.T) {
	p := Plan{Steps: []Step{
		{ID: EffectOf("s1"), ForEach: "${s0.body}", Undo: &Undo{}, Verify: &Check{}},
		{ID: EffectOf("s2")},
		{ID: ParseEffect("undo:s3")}, // no plan that was arranged has it
	}}
	for text, has := range map[string]bool{
		"s1": true, "s1[3]": true, "undo:s1": true, "undo:s1[3]": true, "s2": true,
		"": false, "s2[0]": false, "undo:s2": false, "check:s1": false, "s1[03]": false, "undo:undo:s1": false, "s3": false, "s4": false,
	} {
		if s, ok := p.Step(ParseEffect(text)); ok != has || ok && s.ID.String() != text {
			t.Errorf("%q: %v %s", text, ok, s.ID)
		}
	}
}
