package mcp_test

import (
	"errors"
	"net/http"
	"testing"

	"piloto/internal/tools/tool"
)

// A call to which something came that is no answer is in doubt, and it is told what came: somebody else answered, or the
// server says nothing of the call.
func TestWhatCameInThePlaceOfAnAnswerIsTold(t *testing.T) {
	const json, event = "application/json", "text/event-stream"
	for name, c := range map[string]struct{ media, body, came string }{
		"a page":                           {"text/html; charset=utf-8", "<html>Sign in", tool.CamePage},
		"a page that says that it is JSON": {json, "\n<!doctype html><p>Sign in", tool.CamePage},
		"a page without a type":            {"", "<HTML>", tool.CamePage},
		"no result":                        {json, `{"jsonrpc":"2.0","id":ID,"result":null}`, tool.CameResult},
		"a result that is a text":          {json, `{"jsonrpc":"2.0","id":ID,"result":"done"}`, tool.CameResult},
		"neither a result nor an error":    {json, `{"jsonrpc":"2.0","id":ID}`, tool.CameResult},
		"both":                             {json, `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":""}}`, tool.CameResult},
		"no result, in a stream":           {event, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":null}\n\n", tool.CameResult},
		"another id":                       {json, `{"jsonrpc":"2.0","id":9ID,"result":{"content":[]}}`, tool.CameAnother},
		"an id that is none":               {json, `{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`, tool.CameAnother},
		"another id that is a text":        {json, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}`, tool.CameAnother},
		"another id, in a list":            {json, `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":9ID,"result":{}}]`, tool.CameAnother},
		"another id, in a stream":          {event, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":9ID,\"result\":{}}\n\n", tool.CameAnother},
		"nothing":                          {json, " ", tool.CameNothing},
		"nothing without a type":           {"", "", tool.CameNothing},
		"other JSON":                       {json, `{"status":"ok"}`, tool.CameOther},
		"half a message":                   {json, `{"jsonrpc":"2.0","id":ID,"res`, tool.CameOther},
		"a text":                           {"text/plain", "OK", tool.CameOther},
		"a stream without an answer":       {event, ": ping\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newFaultyServer(t, nil)
			server.answers = func(w http.ResponseWriter, r *http.Request, id string) {
				w.Header()["Content-Type"] = []string{c.media}
				status(http.StatusOK, c.body)(w, r, id)
			}
			if _, err := client(t).CallTool(t.Context(), server.do(t)); !errors.Is(err, tool.ErrLost) || tool.CameOf(err) != c.came {
				t.Errorf("%v, %q came, want %q", err, tool.CameOf(err), c.came)
			}
			if n := server.calls.Load(); n != 1 {
				t.Errorf("%d calls arrived", n)
			}
		})
	}
}
