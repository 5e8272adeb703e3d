package step_test

import (
	"context"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/step"
	"piloto/internal/tools/tool"
)

// An error of JSON-RPC refuses a call only where its code says that nothing was called. Any other is in doubt, in the words
// of the server, unless a person set that its errors are refusals.
func TestAnErrorOfAToolsServerIsADoubtUnlessItComesBeforeTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		code     string
		rejected bool
		is       string
		failure  string
		says     string
	}{
		"unknown tool":                {200, "-32602", false, step.Rejected, "step.tool_failed_because", "no pudo hacerlo: Request timed out"},
		"a header":                    {400, "-32020", false, step.Rejected, "step.tool_failed_because", "no pudo hacerlo: Request timed out"},
		"timeout":                     {200, "-32001", false, step.InDoubt, "step.in_doubt", "no dice si la hizo: Request timed out"},
		"timeout, refused by status":  {400, "-32000", false, step.InDoubt, "step.in_doubt", "respondió 400"},
		"internal error":              {200, "-32603", false, step.InDoubt, "step.in_doubt", "no dice si la hizo: Request timed out"},
		"internal error, broken":      {500, "-32603", false, step.InDoubt, "step.in_doubt", "respondió 500, que no dice si la aplicó"},
		"unknown tool, of a gateway":  {504, "-32602", false, step.InDoubt, "step.in_doubt", "Request timed out"},
		"timeout, set":                {200, "-32001", true, step.Rejected, "step.tool_failed_because", "Request timed out"},
		"internal error, set":         {500, "-32603", true, step.Rejected, "step.tool_failed_because", "Request timed out"},
		"a redirect is no error, set": {302, "-32603", true, step.InDoubt, "step.in_doubt", ""},
		"an answer by status alone":   {500, "", false, step.InDoubt, "step.in_doubt", "respondió 500, que no dice si la aplicó"},
		"a refusal by status alone":   {404, "", false, step.Rejected, "step.rejected_because", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{answers: func(context.Context, tool.Call) (tool.Answer, error) {
				body := `{"error":{"code":` + c.code + `,"message":"Request timed out"}}`
				if c.code == "" {
					body = `{"error":{"code":7,"message":"Request timed out"}}`
				}
				return tool.Answer{Status: c.status, Failed: true, Code: c.code, Body: []byte(body), Bytes: len(body)}, nil
			}}
			w, r := newOrder(t, p, orders(1)...)
			if c.rejected {
				if _, err := w.Store.Registry.SetServerErrors(t.Context(), fixture.Account, "shop", tool.ErrorsRejected); err != nil {
					t.Fatal(err)
				}
			}
			if got := execute(t, w, r, "s1"); got != c.is {
				t.Errorf("ended %q, want %q", got, c.is)
			}
			st := w.Read(r.ID).State(plan.EffectOf("s1"))
			if st.Error == nil || st.Error.Code != c.failure || !strings.Contains(st.Error.Message, c.says) {
				t.Errorf("%+v, want %s: %s", st.Error, c.failure, c.says)
			}
			if (c.is == step.InDoubt) != st.Unanswered() {
				t.Errorf("a retry keeps the key: %v", st.Unanswered())
			}
		})
	}
}
