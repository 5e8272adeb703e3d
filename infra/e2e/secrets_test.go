package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The canaries are secrets, one for each input. Each may appear only where it is meant to be sent.
const (
	canaryKey    = "canaryKeyOfTheService7Qx2Lm9Rt4Vb"
	canaryModel  = "sk-canaryOfTheProvider8Wz3Kn6Py1Df"
	canaryEcho   = "canaryEchoedByTheService5Hj8Sd3Ga"
	canaryBad    = "canaryOfABadToken2Mn7Bv4Cx9Zq1We"
	canaryCookie = "canaryOfACookie6Tg3Yh8Uj1Ik5Ol2Qa"
	canaryQuery  = "canaryOfAQuery9Pl4Ok7Ij2Uh5Yg8Tf1"
	canarySecret = "canaryOfAProviderKey3Ed6Rf9Tg2Yh5"
)

// TestNoSecretComesOut (guarantee I22) puts a secret into every input: the keys of a service and of a provider,
// headers, cookies, queries, and the error of a service that returns its own key. No secret is in the log, in an
// answer, in an event, in a receipt or in a prompt. Of the secrets that are compared and not sent, none is in the
// data folder.
func TestNoSecretComesOut(t *testing.T) {
	t.Parallel()
	d, c, model := startScripted(t, "OPENAI_API_KEY="+canaryModel)
	upstream := startOrders(t)
	server := c.must(t, 201, "POST", "/api/mcps", object("url", upstream.url())).text("mcp_id")
	var out strings.Builder
	see := func(a answer, err error) {
		if err == nil {
			out.WriteString(a.String())
		}
	}
	see(c.do("PUT", "/api/mcps/"+server+"/key", object("in", "header", "name", "X-Api-Key", "value", canaryKey)))
	see(c.do("PUT", "/ai/providers/ours", object("base_url", "https://llm.example.org/v1")))
	see(c.do("PUT", "/ai/providers/ours/key", object("key", canarySecret)))
	stranger := newClient(d.url(), canaryBad)
	see(stranger.do("GET", "/api/chats", ""))
	see(stranger.do("POST", "/api/send", object("message", "hola"), "Cookie", "piloto_session="+canaryCookie))
	see(c.do("GET", "/api/chats?token="+canaryQuery+"&cursor=x", ""))
	see(c.do("GET", "/nowhere/"+"?api_key="+canaryQuery, "", "Cookie", "piloto_session="+canaryCookie))

	// A service that fails, and returns the request.
	chat := c.chat(t)
	upstream.behave("POST /orders", behaviour{kind: behaveStatus, value: "422"})
	run := propose(t, c, model, chat, map[string]any{"mcp_id": server, "method": "POST", "path": "/orders", "body": map[string]any{"item": "tinta", "quantity": 1}})
	id := run.text("run.run_id")
	upstream.behave("POST /orders", behaviour{kind: behaveBody, value: `{"id":"o-1","error":"bad header X-Api-Key: ` + canaryKey + `; password=` + canaryEcho + `"}`})
	see(run, nil)
	see(c.say(t, chat, "confirmo"), nil)
	see(c.waitEnded(id))
	if got := upstream.got("POST /orders"); len(got) == 0 || got[len(got)-1].Headers["X-Api-Key"] != canaryKey {
		t.Fatalf("the service did not get its key: the test shows nothing: %+v", got)
	}
	model.will(reply{text: "De acuerdo."})
	see(c.say(t, chat, "¿qué pasó?"), nil)
	model.will(reply{status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + canaryModel + `"}}`})
	see(c.say(t, chat, "¿y ahora?"), nil)
	for _, path := range []string{"/config", "/metrics", "/health", "/ai/status", "/api/mcps", "/api/mcps/" + server, "/ai/providers"} {
		see(c.do("GET", path, ""))
	}

	sinks := map[string]string{"an answer": out.String(), "the log": d.log.String() + d.out.String()}
	for _, asked := range model.allRequests() {
		sinks["a prompt"] += string(asked.Body)
	}
	for sink, text := range sinks {
		for _, canary := range []string{canaryKey, canaryModel, canaryBad, canaryCookie, canaryQuery, canarySecret, testToken} {
			if strings.Contains(text, canary) {
				t.Errorf("%s holds %s: %s", sink, canary, around(text, canary))
			}
		}
	}
	for sink, text := range map[string]string{"the log": sinks["the log"], "a prompt": sinks["a prompt"]} {
		if strings.Contains(text, canaryEcho) {
			t.Errorf("%s holds what the service said: %s", sink, around(text, canaryEcho))
		}
	}
	files, err := filepath.Glob(filepath.Join(d.data, "piloto.db*")) // with its log
	if err != nil || len(files) < 3 {                                // and its .pid
		t.Fatalf("%q: %v", files, err)
	}
	var data []byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, text...)
	}
	for _, canary := range []string{canaryBad, canaryCookie, canaryModel, canarySecret, testToken} {
		if strings.Contains(string(data), canary) {
			t.Errorf("the data file holds %s", canary)
		}
	}
}

// around returns the text near a part of it.
func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-120):min(len(text), i+len(part)+40)]
}
