package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/turn"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// newHeadWorld returns a world with a service that has a HEAD, beside a GET of the same path and alone.
func newHeadWorld(t *testing.T) (*world, tool.Server) {
	w := newLookWorld(t)
	c := tool.Catalogue{Revision: w.IDs.New(w.Clock()), Operations: []tool.Operation{
		{Entry: tool.Entry{Method: "GET", Path: "/files"}}, {Entry: tool.Entry{Method: "HEAD", Path: "/files"}}, {Entry: tool.Entry{Method: "HEAD", Path: "/only"}},
	}}
	s := tool.Server{ID: w.IDs.New(w.Clock()), Name: "Archivos", Kind: tool.KindOpenAPI, BaseURL: "https://files.example", Active: true, Catalogue: c.Revision, Operations: 3}
	if err := w.Store.Registry.CreateServer(t.Context(), fixture.Account, s, c, nil); err != nil {
		t.Fatal(err)
	}
	w.reads(t, s.ID, tool.ReadsOn, "")
	w.Answer(func(r tool.Request) (tool.Answer, error) {
		if r.Method == "HEAD" {
			return tool.Answer{Status: 200, Headers: map[string]string{"Content-Length": "731", "Etag": `"v7"`}}, nil
		}
		return tool.Answer{Status: 200, Body: []byte(rooms), Bytes: len(rooms)}, nil
	})
	return w, s
}

// A look may be a HEAD: what it reads is the status and the few headers.
func TestALookMayBeAHead(t *testing.T) {
	for _, path := range []string{"/only", "/files"} {
		w, s := newHeadWorld(t)
		w.model.answers = []any{calls("look", fmt.Sprintf(`{"mcp_id":%q,"method":"HEAD","path":%q}`, s.ID, path)), text("Ocupa 731 bytes.")}
		reply := w.send(t, "¿cuánto ocupa?")
		got := w.model.lastTool()
		if reply.Kind != turn.KindMessage || len(w.Requests()) != 1 || w.Requests()[0].Method != "HEAD" || !strings.Contains(got, `"answer":{"Content-Length":"731",`) || !strings.Contains(got, `"status":200`) {
			t.Errorf("%s: %+v after %v; %s", path, reply.Message, w.Requests(), got)
		}
		if src := reply.Message.Sources; len(src) != 1 || src[0].Method != "HEAD" || src[0].RequestHash != plan.RequestHash("HEAD", s.BaseURL+path, nil) {
			t.Errorf("%+v", src)
		}
		if !strings.Contains(prompted(w.model.asked[0]), "- reads HEAD "+path) {
			t.Error("the catalogue does not have it")
		}
	}
	w, s := newHeadWorld(t)
	w.model.answers = []any{calls("look", fmt.Sprintf(`{"mcp_id":%q,"path":"/files"}`, s.ID)), text("ya")}
	if w.send(t, "mira"); len(w.Requests()) != 1 || w.Requests()[0].Method != "GET" {
		t.Errorf("without a method: %v", w.Requests())
	}
}

// A HEAD may be a step of a plan, which reads.
func TestAStepMayBeAHead(t *testing.T) {
	w, s := newHeadWorld(t)
	w.model.answers = []any{calls("mcp_request", fmt.Sprintf(`{"mcp_id":%q,"method":"HEAD","path":"/only"}`, s.ID))}
	reply := w.send(t, "comprueba")
	if reply.Kind != turn.KindPlan || reply.Run.Plan.Steps[0].Method != "HEAD" || reply.Run.Plan.Steps[0].Risk != plan.Read || len(w.Requests()) != 0 {
		t.Fatalf("%+v", reply)
	}
}
