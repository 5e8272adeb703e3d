package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piloto/internal/live/hook"
	"piloto/internal/tools/tool"
)

func loadAll(t *testing.T) map[string]*workflow {
	t.Helper()
	files, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 6 {
		t.Fatalf("there are %d workflows", len(files))
	}
	return files
}

// each calls f with every node of every workflow.
func each(t *testing.T, f func(t *testing.T, w *workflow, n *node)) {
	t.Helper()
	for name, w := range loadAll(t) {
		for _, n := range w.Nodes {
			t.Run(name+"/"+n.Name, func(t *testing.T) { f(t, w, n) })
		}
	}
}

func (n *node) is(kind string) bool { return n.Type == "n8n-nodes-base."+kind }

// lang reports whether the node is of n8n's package for language models.
func (n *node) lang(kind string) bool { return n.Type == "@n8n/n8n-nodes-langchain."+kind }

func (n *node) text(name string) string {
	s, _ := n.Parameters[name].(string)
	return s
}

// at returns the value at a path of the parameters.
func (n *node) at(path ...string) any {
	var v any = n.Parameters
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (n *node) headers() map[string]string {
	out := map[string]string{}
	list, _ := n.at("headerParameters", "parameters").([]any)
	for _, h := range list {
		h := h.(map[string]any)
		out[h["name"].(string)] = h["value"].(string)
	}
	return out
}

func (w *workflow) find(name string) *node {
	for _, n := range w.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func (w *workflow) outputs(n *node) [][]connection { return w.Connections[n.Name]["main"] }

func TestWorkflowsAreInactiveAndContainNoSecret(t *testing.T) {
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/]|"Bearer |sk-[A-Za-z0-9]`)
	for name, w := range loadAll(t) {
		raw, err := workflows.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if w.Active || len(w.PinData) > 0 || secret.Match(raw) {
			t.Errorf("%s: active, with data of somebody's, or with a secret", name)
		}
	}
	if found := secret.FindString(credentials); found != "" {
		t.Errorf("credentials/piloto.json holds %q", found)
	}
}

func TestCredentialsAreReferencedByName(t *testing.T) {
	var made []struct{ ID, Name, Type string }
	if err := json.Unmarshal([]byte(credentials), &made); err != nil {
		t.Fatal(err)
	}
	known := map[[2]any]bool{}
	for _, c := range made {
		known[[2]any{c.Type, c.Name}] = true
	}
	each(t, func(t *testing.T, _ *workflow, n *node) {
		for kind, c := range n.Credentials {
			if c["id"] != nil || !known[[2]any{kind, c["name"]}] {
				t.Errorf("%s asks for %v; there is %v", kind, c, known)
			}
		}
	})
}

func TestRequestsHaveBranchForFailure(t *testing.T) {
	each(t, func(t *testing.T, w *workflow, n *node) {
		if !n.is("httpRequest") && !n.is("crypto") && !n.is("code") {
			return
		}
		out := w.outputs(n)
		if n.OnError != "continueErrorOutput" || len(out) != 2 || len(out[0]) == 0 || len(out[1]) == 0 {
			t.Errorf("a failure ends the execution, and n8n answers 200 with nothing in it: %s %v", n.OnError, out)
		}
	})
}

func TestEveryBranchEndsInAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *workflow, n *node) {
		out, want := w.outputs(n), 1
		switch {
		case n.is("removeDuplicates") && n.text("operation") == "removeItemsSeenInPreviousExecutions": // new, and seen
			want = 2
		case n.is("stickyNote"), n.is("respondToWebhook"), w.ID == "piloto-hook" && n.Name == "Olvidar lo de la semana", n.lang("mcpTrigger"), n.lang("toolWorkflow"), w.ID == "piloto-agente" && n.Name == "Responder":
			want = 0
		case n.is("switch"): // plus the branch for all other values
			want = len(n.at("rules", "values").([]any)) + 1
		case n.is("if"), n.OnError != "":
			want = 2
		}
		if len(out) != want {
			t.Fatalf("%d outputs lead somewhere, not %d", len(out), want)
		}
		for i, to := range out {
			if len(to) == 0 {
				t.Errorf("output %d leads nowhere", i)
			}
			for _, c := range to {
				if w.find(c.Node) == nil {
					t.Errorf("output %d leads to %q, which is not there", i, c.Node)
				}
			}
		}
	})
}

func TestRequestsOutlastGatewayAndFollowNoRedirect(t *testing.T) {
	each(t, func(t *testing.T, _ *workflow, n *node) {
		if !n.is("httpRequest") {
			return
		}
		if n.at("options", "redirect", "redirect", "followRedirects") != false {
			t.Error("it would take its token elsewhere")
		}
		if !strings.Contains(n.text("url"), "piloto_url") {
			return
		}
		if limit, _ := n.at("options", "timeout").(float64); limit <= 30_000 {
			t.Errorf("it waits %v ms; API Gateway takes 30 s", limit)
		}
		// A response that is not parsed is a raw stream, since the body is raw.
		if n.at("options", "response", "response", "responseFormat") != nil {
			t.Error("a response format is set: n8n then does not read the answer of a raw body")
		}
	})
}

func TestRetriedRequestsHaveKeyCreatedBefore(t *testing.T) {
	each(t, func(t *testing.T, _ *workflow, n *node) {
		if !n.is("httpRequest") || n.text("method") == "GET" || !n.RetryOnFail {
			return
		}
		key := n.headers()["Idempotency-Key"] + n.headers()["webhook-id"]
		if key == "" || strings.Contains(key, "$now") || strings.Contains(key, "random") {
			t.Errorf("the key is %q: each try would be another request", key)
		}
	})
}

// TestMessageKeyIsUnique: two bots may count their messages alike, and the ids of WhatsApp contain a dot, which a
// webhook-id must not contain.
func TestMessageKeyIsUnique(t *testing.T) {
	for _, name := range []string{"chat.json", "chat-signed.json"} {
		delivery := ""
		list, _ := loadAll(t)[name].find("Preparar").at("assignments", "assignments").([]any)
		for _, a := range list {
			if a := a.(map[string]any); a["name"] == "delivery" {
				delivery = a["value"].(string)
			}
		}
		const key = "encodeURIComponent(($json.body.config?.id_empresa ?? $json.id_empresa) + ':' + $json.body.session_id + ':' + $json.body.message_id)"
		if made := strings.Count(delivery, key+".split('.').join('%2E')"); made != 2 || strings.Count(delivery, "encodeURIComponent") != 2 {
			t.Errorf("%s: %s", name, delivery)
		}
	}
}

func TestSignedBodyIsSentBody(t *testing.T) {
	w := loadAll(t)["chat-signed.json"]
	sign, ask := w.find("Firmar"), w.find("Preguntar a Piloto")
	if sign.text("value") != "={{ $json.delivery }}.{{ $json.timestamp }}.{{ $json.payload }}" {
		t.Errorf("signed is %s", sign.text("value"))
	}
	if ask.text("contentType") != "raw" || ask.text("rawContentType") != "application/json" || ask.text("body") != "={{ $json.payload }}" {
		t.Errorf("sent is %v", ask.Parameters)
	}
	want := map[string]string{
		"X-Piloto-Webhook": "={{ $json.webhook_id }}", "webhook-id": "={{ $json.delivery }}",
		"webhook-timestamp": "={{ $json.timestamp }}", "webhook-signature": "=v1,{{ $json.signature }}",
	}
	for name, value := range want {
		if got := ask.headers()[name]; got != value {
			t.Errorf("%s is %q, not %q", name, got, value)
		}
	}
	if ask.text("authentication") != "" || ask.Credentials != nil {
		t.Error("a token is sent beside the signature, and decides")
	}
}

// TestNothingIsDoneBeforeTheSignatureHolds: of a message whose signature, time or id is not good, only an answer comes.
func TestNothingIsDoneBeforeTheSignatureHolds(t *testing.T) {
	w := loadAll(t)["hook.json"]
	if hook := w.find("Aviso"); hook.at("options", "rawBody") != true {
		t.Error("the signature is of the raw body")
	}
	if sign := w.find("Firmar"); sign.text("value") != "={{ $json.headers['webhook-id'] }}.{{ $json.headers['webhook-timestamp'] }}.{{ $json.raw }}" {
		t.Errorf("verified is %s", sign.text("value"))
	}
	raw, err := json.Marshal(w.find("¿Es de Piloto?").Parameters)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); !strings.Contains(text, "'v1,' + $json.signature") || !strings.Contains(text, "\\u003c= 300") || !strings.Contains(text, `"combinator":"and"`) {
		t.Errorf("%s", text)
	}
	if seen := w.find("¿Es nuevo?"); seen.text("dedupeValue") != "={{ $json.headers['webhook-id'] }}" {
		t.Errorf("known is %s", seen.text("dedupeValue"))
	}
	for _, gate := range []string{"¿Es de Piloto?", "¿Es nuevo?"} {
		was := w.Connections[gate]["main"]
		w.Connections[gate]["main"] = was[1:]
		for _, reached := range w.reach(w.find("Aviso"), nil, map[string]bool{}) {
			if reached.is("httpRequest") {
				t.Errorf("without %s it gets to %q", gate, reached.Name)
			}
		}
		w.Connections[gate]["main"] = was
	}
}

// TestEveryMessageIsSaid: each type of message has a text, and what fails to be said is sent again.
func TestEveryMessageIsSaid(t *testing.T) {
	w := loadAll(t)["hook.json"]
	raw, err := json.Marshal(w.find("¿Qué pasó?").Parameters)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range hook.Events {
		if !strings.Contains(string(raw), "=== '"+string(e)+"'") {
			t.Errorf("nothing is said of %s", e)
		}
	}
	say := w.find("Decir en el canal")
	for range 2 { // the error output: forgotten, and refused
		out := w.outputs(say)
		say = w.find(out[len(out)-1][0].Node)
	}
	if say.at("options", "responseCode") != 503.0 {
		t.Errorf("a channel that fails is answered by %q", say.Name)
	}
}

// TestChangesBeginWithPost follows every path from a webhook that answers to GET, except those that a switch opens
// for a POST only.
func TestChangesBeginWithPost(t *testing.T) {
	for name, w := range loadAll(t) {
		var posts []string
		for _, n := range w.Nodes {
			if n.is("webhook") && n.text("httpMethod") == "POST" {
				posts = append(posts, "$('"+n.Name+"').isExecuted")
			}
		}
		for _, n := range w.Nodes {
			if !n.is("webhook") || n.text("httpMethod") == "POST" {
				continue
			}
			for _, reached := range w.reach(n, posts, map[string]bool{}) {
				if reached.is("httpRequest") && reached.text("method") != "GET" {
					t.Errorf("%s: a GET to %q gets to %q, which changes something", name, n.Name, reached.Name)
				}
			}
		}
	}
}

// reach returns the nodes that an execution may reach from n without passing a switch that requires one of posts.
func (w *workflow) reach(n *node, posts []string, seen map[string]bool) []*node {
	if seen[n.Name] {
		return nil
	}
	seen[n.Name] = true
	out := []*node{n}
	rules, _ := n.at("rules", "values").([]any)
	for i, to := range w.outputs(n) {
		if i < len(rules) {
			raw, _ := json.Marshal(rules[i])
			rule := strings.NewReplacer(`\u0026`, "&", `\u0027`, "'").Replace(string(raw))
			if slices.ContainsFunc(posts, func(p string) bool { return strings.Contains(rule, p) }) {
				continue
			}
		}
		for _, c := range to {
			out = append(out, w.reach(w.find(c.Node), posts, seen)...)
		}
	}
	return out
}

// TestOnlySignedAndApprovalAreOpen: who opens the link of an approval has no key, and a hook has a signature.
func TestOnlySignedAndApprovalAreOpen(t *testing.T) {
	for name, w := range loadAll(t) {
		for _, n := range w.Nodes {
			if !n.is("webhook") {
				continue
			}
			if n.text("responseMode") != "responseNode" {
				t.Errorf("%s: %q answers before there is an answer", name, n.Name)
			}
			if open := n.text("authentication") == ""; open != (name == "approval-page.json" || name == "hook.json") {
				t.Errorf("%s: %q is open: %v", name, n.Name, open)
			}
		}
	}
}

// An expression that n8n cannot parse causes no error: its value is null. Optional chaining inside a template
// literal is such an expression.
func TestExpressionsAreValidInN8N(t *testing.T) {
	chained := regexp.MustCompile("\\$\\{[^}`]*\\?\\.")
	var walk func(t *testing.T, v any)
	walk = func(t *testing.T, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, member := range v {
				walk(t, member)
			}
		case []any:
			for _, element := range v {
				walk(t, element)
			}
		case string:
			if !strings.HasPrefix(v, "=") {
				return
			}
			if chained.MatchString(v) || strings.Count(v, "{{") != strings.Count(v, "}}") {
				t.Errorf("n8n does not read %s", v)
			}
		}
	}
	each(t, func(t *testing.T, _ *workflow, n *node) { walk(t, n.Parameters) })
}

func TestCarelessWorkflowDiffersOnlyInBranch(t *testing.T) {
	w, err := loadAll(t)["chat.json"].careless()
	if err != nil {
		t.Fatal(err)
	}
	ask := w.find("Preguntar a Piloto")
	if w.ID == "piloto-chat" || ask.OnError != "" || ask.RetryOnFail || len(w.outputs(ask)) != 1 || w.find("Mensaje").text("path") != "careless" {
		t.Errorf("%s %+v %v", w.ID, ask, w.outputs(ask))
	}
}

// TestAgentWorkflowHasToolOfPiloto: after its trigger, which requires a key, comes the tool that Piloto calls, with
// the right arguments; and the answer stands where Piloto reads it.
func TestAgentWorkflowHasToolOfPiloto(t *testing.T) {
	w := loadAll(t)["agent.json"]
	trigger, chat, said := w.find("Agente"), w.find(tool.ChatTool), w.find("Responder")
	if !trigger.lang("mcpTrigger") || trigger.text("authentication") == "none" || trigger.Credentials == nil {
		t.Errorf("who may call it? %+v", trigger)
	}
	if to := w.Connections[tool.ChatTool]["ai_tool"]; !chat.lang("toolWorkflow") || len(to) != 1 || len(to[0]) != 1 || to[0][0].Node != trigger.Name {
		t.Errorf("the tool is not the trigger's: %v", to)
	}
	if chat.TypeVersion < 2.2 {
		t.Error("the tool has another name than its node")
	}
	// After an import it has another id, so it uses its own id.
	if id := chat.at("workflowId", "value"); id != "={{ $workflow.id }}" {
		t.Errorf("it calls %v", id)
	}
	given, _ := chat.at("workflowInputs", "value").(map[string]any)
	taken, _ := w.find("Mensaje").at("workflowInputs", "values").([]any)
	for _, name := range []string{"message", "session_id", "context"} {
		if text, _ := given[name].(string); !strings.Contains(text, "$fromAI('"+name+"'") {
			t.Errorf("%s is given as %q", name, text)
		}
		if !slices.ContainsFunc(taken, func(v any) bool { return v.(map[string]any)["name"] == name }) {
			t.Errorf("%s is not taken", name)
		}
	}
	fields, _ := said.at("assignments", "assignments").([]any)
	if len(fields) != 1 || fields[0].(map[string]any)["name"] != "output" {
		t.Errorf("it says %v", fields)
	}
}
