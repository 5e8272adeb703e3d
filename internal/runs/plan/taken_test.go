package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTakenFromNamesWhatWasRead(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	p := Plan{Steps: []Step{{
		ID: EffectOf("s1"), Method: "POST", Path: "/rooms/n%20orte/bookings", Query: json.RawMessage(`{"day":"2026-03-03"}`),
		Body: json.RawMessage(`{"room":"e1","people":6,"price":20.5,"note":"ventana","tags":[{"id":"t-9"}],"of":"${s0.body.id}"}`),
	}}}
	older := Answered{Service: "Viejo", At: at.Add(-time.Hour), Answer: `{"id":"e1","t":"t-9"}`}
	newer := Answered{Service: "Salas", At: at, Answer: `[{"id":"e1","price":20.5,"name":"n orte","free":"2026-03-03"}]`}
	got := map[string]string{}
	for _, v := range p.TakenFrom([]Answered{newer, older}, "para el 2026-03-03, con Ventana", nil) {
		got[v.Where] = v.Value + " " + v.Service
	}
	want := map[string]string{"path": "n orte Salas", "body.room": "e1 Salas", "body.price": "20.5 Salas", "body.tags.0.id": "t-9 Viejo"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTakenFromKeepsWhatStaysInItsPlace: of a plan that was changed, by a person or by a model that read nothing new.
func TestTakenFromKeepsWhatStaysInItsPlace(t *testing.T) {
	step := func(room, price string) Plan {
		return Plan{Steps: []Step{{ID: EffectOf("s1"), Body: json.RawMessage(`{"room":"` + room + `","price":"` + price + `"}`)}}}
	}
	before := step("e1", "20").TakenFrom([]Answered{{Answer: `["e1","20"]`, Service: "Salas"}}, "", nil)
	after := step("n1", "20").TakenFrom(nil, "", before)
	if len(before) != 2 || len(after) != 1 || after[0].Where != "body.price" || after[0].Service != "Salas" {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// TestWhatTheReadAskedWithIsNotTakenFromIt: an answer that repeats its own request says nothing of who chose the value.
func TestWhatTheReadAskedWithIsNotTakenFromIt(t *testing.T) {
	p := Plan{Steps: []Step{{ID: EffectOf("s1"), Body: json.RawMessage(`{"room":"norte","start":"10:00","end":"11:00","of":"a b"}`)}}}
	answer := `{"items":[{"id":"norte","name":"Sala Norte","q":"a b"}],"query":{"start":"10:00","end":"11:00"}}`
	for name, c := range map[string]struct {
		read Answered
		want string
	}{
		"query":        {Answered{Call: json.RawMessage(`{"method":"GET","path":"/rooms","query":{"start":"10:00","end":"11:00"}}`)}, "a b norte"},
		"in the path":  {Answered{Call: json.RawMessage(`{"method":"GET","path":"/rooms/10%3A00/11:00?q=a+b"}`)}, "norte"},
		"of a tool":    {Answered{Call: json.RawMessage(`{"tool":"rooms","body":{"when":[{"from":"10:00, 11:00"}],"q":"a b"}}`)}, "norte"},
		"no call kept": {Answered{Called: "GET https://x.example/rooms?start=10%3A00&end=11%3A00"}, "a b norte"},
		"a longer one": {Answered{Called: "GET https://x.example/rooms?start=110%3A00&end=11%3A000"}, "10:00 11:00 a b norte"},
		"the named":    {Answered{Called: "GET https://x.example/rooms/norte"}, "10:00 11:00 a b"},
	} {
		c.read.Answer = answer
		var got []string
		for _, v := range p.TakenFrom([]Answered{c.read}, "", nil) {
			if !v.Own {
				got = append(got, v.Value)
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	asked := Answered{Service: "Echo", Call: json.RawMessage(`{"query":{"start":"10:00"}}`), Answer: `{"start":"10:00"}`}
	if got := p.TakenFrom([]Answered{asked, {Service: "Agenda", Answer: `{"next":"10:00"}`}}, "", nil); len(got) != 1 || got[0].Service != "Agenda" {
		t.Errorf("an older read that found the value: %+v", got)
	}
}

// TestTakenIsCalledAsItsAnswerDoes: the answer says which thing an id means, unless it means two.
func TestTakenIsCalledAsItsAnswerDoes(t *testing.T) {
	p := Plan{Steps: []Step{{ID: EffectOf("s1"), Body: json.RawMessage(`{"room":"norte","owner":"u-7","twice":"x-1","day":"10:00"}`)}}}
	answer := `{"rooms":[{"id":"norte","name":"Sala Norte","owner":{"ID":"u-7","title":"Ana\nRuiz"},"from":"10:00"}],
		"a":{"id":"x-1","name":"Una"},"b":{"id":"x-1","name":"Otra"},"c":{"id":"x-1","name":"Una"}}`
	got := map[string]string{}
	for _, v := range p.TakenFrom([]Answered{{Answer: answer}}, "", nil) {
		got[v.Where] = v.Label
	}
	want := map[string]string{"body.room": "Sala Norte", "body.owner": "Ana Ruiz", "body.twice": "", "body.day": ""}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTakenStandsInAText(t *testing.T) {
	for answer, want := range map[string]bool{
		"sala e1 libre": true, "e1": true, "(e1)": true, "e10": false, "re1": false, "e1-b, y e1": true, "é1 e1é": false, "": false, `{"a":"e1"}`: true, `{"a":"e1 y más"}`: false,
	} {
		if got := !(Taken{Value: "e1"}).Again(answer, time.Time{}).Gone; got != want {
			t.Errorf("%q has it: %v", answer, got)
		}
	}
}

func TestTakenIsBounded(t *testing.T) {
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf(`"v-%d"`, i))
	}
	list := "[" + strings.Join(all, ",") + "]"
	p := Plan{Steps: []Step{{ID: EffectOf("s1"), Body: json.RawMessage(list)}}}
	if got := p.TakenFrom([]Answered{{Answer: list}}, "", nil); len(got) != mostTaken {
		t.Errorf("%d values", len(got))
	}
}
