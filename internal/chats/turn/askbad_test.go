package turn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

// TestAStubbornQuestionCostsOneCorrection: what is wrong with a question is told to the model once, in a turn and in a job. Then it
// stands with what can be shown of it, and says that choices are missing. What can be mended without a loss costs nothing.
func TestAStubbornQuestionCostsOneCorrection(t *testing.T) {
	const missing = "\n\nHay opciones que no se muestran: si la tuya no está, escríbela."
	long := strings.Repeat("muy ", 500) + "largo"
	list := func(titles ...string) string {
		return `{"question":"¿Cuál?","options":["` + strings.Join(titles, `","`) + `"]}`
	}
	for name, c := range map[string]struct {
		arguments string
		corrected bool
		says      string
		titles    []string
	}{
		"forty choices":          {list(fixtureTitles(40)...), true, "¿Cuál?" + missing, fixtureTitles(10)},
		"eleven":                 {list(fixtureTitles(11)...), true, "¿Cuál?" + missing, fixtureTitles(10)},
		"a title of two KB":      {list("Corto", long), true, "¿Cuál?", []string{"Corto", long[:199] + "…"}},
		"no list":                {`{"question":"¿Cuál?","options":"Azul o verde"}`, true, "¿Cuál?" + missing, nil},
		"an object":              {`{"question":"¿Cuál?","options":{"a":"Azul"}}`, true, "¿Cuál?" + missing, nil},
		"one without a title":    {`{"question":"¿Cuál?","options":["Azul",{"label":"Verde"},true]}`, true, "¿Cuál?" + missing, []string{"Azul"}},
		"another member":         {`{"question":"¿Cuál?","options":["Azul"],"to":"all"}`, true, "¿Cuál?", []string{"Azul"}},
		"a long question":        {`{"question":"` + long + long + `","options":["Azul"]}`, true, long + long, []string{"Azul"}},
		"the same twice":         {list("Azul", " azul ", "Verde"), false, "¿Cuál?", []string{"Azul", "Verde"}},
		"twelve that are two":    {list(slices.Repeat([]string{"Azul", "Verde"}, 6)...), false, "¿Cuál?", []string{"Azul", "Verde"}},
		"empty ones":             {list("", "Azul", " ", `\u200b\u2060`), false, "¿Cuál?", []string{"Azul"}},
		"nothing but empty ones": {list("", " "), false, "¿Cuál?", nil},
		"numbers":                {`{"question":"¿Cuál?","options":[4,6.50]}`, false, "¿Cuál?", []string{"4", "6.50"}},
		"a list in a string":     {`{"question":"¿Cuál?","options":"[\"Azul\",\"Verde\"]"}`, false, "¿Cuál?", []string{"Azul", "Verde"}},
		"ids of its own":         {`{"question":"¿Cuál?","options":[{"id":"x","title":"Azul"},{"id":"x","title":"Verde"}]}`, false, "¿Cuál?", []string{"Azul", "Verde"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAskWorld(t)
			want := 1
			if c.corrected {
				want++
			}
			check := func(where string, m conversation.Message) {
				t.Helper()
				if !isQuestion(m, c.titles...) || m.Question() != c.says || m.Content != c.says+conversation.OptionLines(m.Options) {
					t.Errorf("%s: %q with %+v", where, m.Content, m.Options)
				}
				if got := len(w.model.asked); got != want {
					t.Errorf("%s: it cost %d calls", where, got)
				}
				if told := w.model.lastTool(); strings.Contains(told, "nothing was done") != c.corrected {
					t.Errorf("%s: the model is told %s", where, told)
				}
			}
			ask := calls("ask_person", c.arguments)
			w.model.answers = slices.Repeat([]any{any(ask)}, 12)
			check("turn", w.send(t, "quiero un globo").Message)
			w.Pass(time.Second)
			w.model.asked, w.model.answers = nil, slices.Repeat([]any{any(ask)}, 12)
			j := w.drive(t, w.start(t, "build", job.Order{}).ID)
			check("job", w.last(t))
			if !slices.Equal(j.Options, conversation.NewOptions(c.titles)) || j.Question != w.last(t).Content {
				t.Errorf("%+v", j)
			}
		})
	}
}

// TestAQuestionThatIsMendedIsAskedAsMended: a correction that the model follows leaves no trace, and each chat speaks its language.
func TestAQuestionThatIsMendedIsAskedAsMended(t *testing.T) {
	forty := calls("ask_person", `{"question":"¿Cuál?","options":["`+strings.Join(fixtureTitles(40), `","`)+`"]}`)
	w := newWorld(t, forty, calls("ask_person", askFor))
	if m := w.send(t, "quiero un globo").Message; m.Content != "¿Para cuántas personas?\n1. 4\n2. 6" || len(w.model.asked) != 2 {
		t.Errorf("%q after %d calls", m.Content, len(w.model.asked))
	}
	forty.Text = "Claro. ¿Cuál?"
	w = newWorld(t, forty, forty)
	r := w.message("hi")
	r.Locale = "en"
	reply, err := w.service.Send(t.Context(), r)
	if want := "Claro. ¿Cuál?\n\nSome choices are not shown: if yours is not here, write it.\n1. Opción 1"; err != nil || !strings.HasPrefix(reply.Message.Content, want) {
		t.Errorf("%q %v", reply.Message.Content, err)
	}
	w = newWorld(t, llm.Reply{Calls: slices.Concat(forty.Calls, forty.Calls)}, forty)
	if m := w.send(t, "quiero un globo").Message; !m.Asks || len(w.model.asked) != 2 {
		t.Errorf("two of a reply: %q after %d calls", m.Content, len(w.model.asked))
	}
}
