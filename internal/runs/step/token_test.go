package step_test

import (
	"context"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// A call for which there was no token names the token endpoint, and does not blame the service, which was not called.
func TestAStepWithoutATokenNamesTheTokenEndpoint(t *testing.T) {
	const at = "https://login.example"
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"refused":     {tool.ErrUnauthorized.With("token", at).With("status", "401"), "no acepta la clave (respondió 401)"},
		"no endpoint": {tool.ErrNotSent.With("token", at).With("status", "404"), "respondió 404 sin un token"},
		"unreachable": {tool.ErrNotSent.With("token", at), "No se ha podido conectar con " + at},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{answers: func(context.Context, tool.Call) (tool.Answer, error) { return tool.Answer{}, c.err }}
			w, r := newOrder(t, p, orders(1)...)
			execute(t, w, r, "s1")
			why := w.Read(r.ID).State(plan.EffectOf("s1")).Error
			if why == nil || !strings.Contains(why.Message, c.says) || !strings.Contains(why.Message, at) || !strings.Contains(why.Message, "https://shop.example") {
				t.Errorf("%+v", why)
			}
		})
	}
}
