package step_test

import (
	"context"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// A call to which something else than an answer came is in doubt, and the chat says what came.
func TestDoubtSaysWhatCame(t *testing.T) {
	for came, says := range map[string]string{
		"": "no llegó respuesta", tool.CamePage: "una página web", tool.CameResult: "sin un resultado", tool.CameAnother: "a otra petición",
		tool.CameNothing: "una respuesta vacía", tool.CameOther: "no es un mensaje del protocolo",
	} {
		p := &patient{answers: func(context.Context, tool.Call) (tool.Answer, error) {
			return tool.Answer{}, tool.WithCame(tool.ErrLost, came)
		}}
		w, r := newOrder(t, p, orders(1)...)
		if got := execute(t, w, r, "s1"); got != step.InDoubt {
			t.Fatalf("%q: ended %q", came, got)
		}
		st := w.Read(r.ID).State(plan.EffectOf("s1"))
		if st.Error == nil || st.Error.Code != "step.in_doubt" || !strings.Contains(st.Error.Message, says) || !strings.Contains(st.Error.Message, "https://shop.example") {
			t.Errorf("%q: %+v", came, st.Error)
		}
		said := w.Messages()
		if last := said[len(said)-1].Content; !strings.Contains(last, says) {
			t.Errorf("%q: %s", came, last)
		}
	}
}
