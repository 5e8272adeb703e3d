package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// bodies is a valid body for every route that reads one.
var bodies = map[string]string{
	"send": `{"chat_id":"` + chatID + `","message":"hola"}`, "operatorChat": `{"message":"hola"}`,
	"confirmRun": `{"digest":"` + string(digest) + `"}`, "cancelRun": `{"digest":"` + string(digest) + `"}`,
	"approveStep": `{"step_id":"s2","request_digest":"` + request + `"}`, "settleStep": `{"step_id":"s2","outcome":"done"}`, "retryRun": `{}`, "undoRun": `{}`, "repeatRun": `{}`,
	"decideMany": `{"items":[{"run_id":"` + runID + `","digest":"` + string(digest) + `","decision":"approve","request_digest":"` + request + `"}]}`,
	"lookAgain":  `{"digest":"` + string(digest) + `"}`,
	"revisePlan": `{"digest":"` + string(digest) + `","steps":[{"mcp_id":"` + serverID + `","method":"GET","path":"/rooms"}]}`,
	"setRules":   `{"version":0,"rules":[{"effect":"deny","path":"/admin/**","reason":"Nadie"}]}`, "setServerReads": `{"mode":"on"}`, "setServerErrors": `{"errors":"rejected"}`,
	"registerServer": `{"url":"https://example.org","name":"x"}`, "putServerActive": `{"active":false}`,
	"postServerActive": `{"active":true}`, "setServerKey": `{"in":"bearer","value":"k"}`,
	"createProject": `{"name":"x"}`, "updateProject": `{"name":"x"}`, "createChat": `{}`, "updateChat": `{"title":"x"}`,
	"branchChat": `{"message_id":"` + messageID + `"}`, "setFeedback": `{"rating":"up"}`,
	"branchSession": `{"message_id":"` + messageID + `"}`, "updateSession": `{"title":"x"}`,
	"startJob": `{"prompt":"x"}`, "tellJob": `{"results":[{"call_id":"1.0","output":"x"}]}`, "answerChat": `{}`, "askEligibility": `{}`, "checkProvider": `{}`, "openCreditSession": `{}`,
	"moveCredit":   `{"kind":"grant","amount":5,"reason":"x"}`,
	"setAssistant": `{"provider":"openai","model":"gpt-4o-mini"}`, "setProjectAssistant": `{"provider":"openai","model":"gpt-4o-mini"}`,
	"setEntitlement": `{"entitled":true,"enabled":true}`, "setTerms": `{"limits":{"day_micros":1,"month_micros":2,"run_micros":0}}`,
	"createWebhook": `{"name":"n8n"}`, "setRouter": `{"context":"Un spa."}`, "setCompanyRouter": `{"agents":[]}`,
	"createHook": `{"url":"https://n8n.example.org/x","events":["run.finished"]}`, "changeHook": `{"enabled":true}`,
	"setAgent":           `{"version":1,"prompt":"Mira."}`,
	"agentChat":          `{"message":"hola","session_id":"s","config":{"id_empresa":7}}`,
	"restoreProjectFile": `{"path":"a.txt","version":"v1","if_match":"v1"}`, "restoreChatFile": `{"path":"a.txt","version":"v1","if_match":"v1"}`,
	"deleteAgent": `{"version":1}`,
	"setProvider": `{"base_url":"https://llm.example.org/v1"}`, "setProviderKey": `{"key":"k-1"}`,
}

// fileRequests are the bytes and the header fields of a valid request of each route that takes bytes, and of those that need a
// condition.
var fileRequests = map[string]struct {
	body    string
	headers []string
}{
	"write":  {"x", []string{"If-Match", `"v1"`}},
	"delete": {"", []string{"If-Match", `"v1"`}},
	"attach": {"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\n\r\nb\r\n--x--\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}},
}

// validRequest returns a request that a route answers with success.
func validRequest(who auth.Principal, r *route, id, body string) *http.Request {
	var headers []string
	for kind, request := range fileRequests {
		if r.function == FunctionFiles && strings.HasPrefix(id, kind) {
			body, headers = request.body, request.headers
		}
	}
	return ask(who, r.method, pathOf(r, ownID(r.pattern)), body, headers...)
}

// ownID returns the id that account a has for a path.
func ownID(path string) string {
	switch {
	case strings.HasPrefix(path, "/api/runs"), strings.HasPrefix(path, "/api/jobs"):
		return runID
	case strings.HasPrefix(path, "/api/mcps"):
		return serverID
	case strings.HasPrefix(path, "/api/hooks"):
		return toldID
	case strings.HasPrefix(path, "/api/webhooks"):
		return hookID
	case strings.HasPrefix(path, "/api/projects"):
		return projectID
	case strings.HasPrefix(path, "/operator"):
		return sessionID
	case strings.HasPrefix(path, "/api/messages"):
		return messageID
	case strings.HasPrefix(path, turnsPath):
		return turnID
	}
	return chatID
}

func operationID(r *route) string {
	return described().operation(r.method, r.pattern).OperationID
}

// pathOf returns the path of a route for an id, and for a known provider.
func pathOf(r *route, id string) string {
	return strings.NewReplacer("{id}", id, "{name}", "openai", "{session_id}", "+51", "{id_empresa}", "7", "{step}", "s1", "{delivery_id}", deliveryID, "{path+}", "a.txt").Replace(r.pattern)
}

// withoutBody returns what a path needs when the body is left out.
func withoutBody(id string) string {
	if id == "deleteAgent" {
		return "?version=1"
	}
	return ""
}

func eachRoute(t *testing.T, visit func(t *testing.T, r *route, id, body string)) {
	t.Helper()
	for _, r := range described().router.routes {
		id := operationID(r)
		body := bodies[id]
		if r.bound().body != (body != "") {
			t.Errorf("%s: reads a body: %v, but the test has %q", id, r.bound().body, body)
		}
		t.Run(id, func(t *testing.T) { visit(t, r, id, body) })
	}
}

func TestEveryRouteAnswersItsOwner(t *testing.T) {
	eachRoute(t, func(t *testing.T, r *route, id, body string) {
		w := newSite().do(validRequest(boss, r, id, body))
		if w.Code/100 != 2 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

func TestEveryRouteChecksItsScope(t *testing.T) {
	// A new route must be classified here.
	admins := strings.Fields("registerServer deleteServer refreshServer putServerActive postServerActive setServerKey deleteServerKey createProject updateProject deleteProject " +
		"openCreditSession setAssistant deleteAssistant setProjectAssistant deleteProjectAssistant setEntitlement setProvider checkProvider deleteProvider setProviderKey deleteProviderKey " +
		"createHook listHooks readHook changeHook deleteHook listDeliveries resendDelivery createWebhook listWebhooks deleteWebhook config setRouter deleteRouter setCompanyRouter deleteCompanyRouter setRules setServerReads setServerErrors setAgent deleteAgent")
	billers := []string{"moveCredit"}
	eithers := []string{"setTerms"}
	chats := strings.Fields("send operatorChat confirmRun cancelRun listServers readServer listServerKeys listProjects readProject listChats createChat readChat exportChat branchChat setFeedback listSessions updateSession deleteSession branchSession exportSession updateChat deleteChat listMessages readRun listEvents readSession openapi docs " +
		"answerChat stopAnswer readTurn aiStatus eligibility askEligibility usage credits ledger readAssistant readProjectAssistant readEntitlement readTerms listProviders readProvider openRealtime metrics " +
		"agentChat readMemory forgetMemory memoryStats readRouter readCompanyRouter listCompanies " +
		"revisePlan lookAgain settleStep retryRun undoRun repeatRun listReceipts listKeys readReceipt listRevisions readResult readRules listRuns listWaiting " +
		"listProjectFiles attachProjectFiles readProjectFile writeProjectFile deleteProjectFile listProjectFileVersions restoreProjectFile " +
		"listChatFiles attachChatFiles readChatFile writeChatFile deleteChatFile listChatFileVersions restoreChatFile " +
		"listAgents readAgent startJob listJobs readJob listJobEvents stopJob tellJob")
	approvers := []string{"approveStep", "decideMany"}
	opens := []string{"health"}
	eachRoute(t, func(t *testing.T, r *route, id, body string) {
		try := func(who auth.Principal, status int, code string) {
			t.Helper()
			s := newSite()
			w := s.do(validRequest(who, r, id, body))
			if w.Code != status || code != "" && decode(t, w)["code"] != code {
				t.Errorf("%v: %d %s, want %d %s", who.Scopes, w.Code, w.Body, status, code)
			}
			if code != "" && s.count() != 0 {
				t.Errorf("refused, and yet %d calls", s.count())
			}
			if status == 401 && w.Header().Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
		switch {
		case slices.Contains(opens, id):
			try(auth.Principal{}, 200, "")
			return
		case slices.Contains(admins, id):
			try(talker, 403, "auth.scope")
			try(biller, 403, "auth.scope")
		case slices.Contains(billers, id):
			try(talker, 403, "auth.scope")
			try(manager, 403, "auth.scope")
			try(biller, 201, "")
		case slices.Contains(eithers, id):
			try(talker, 403, "auth.scope")
			try(manager, 200, "")
			try(biller, 200, "")
		case slices.Contains(approvers, id):
			try(talker, 200, "")
			try(approver, 200, "")
			try(biller, 403, "auth.scope")
		case slices.Contains(chats, id):
			try(approver, 403, "auth.scope")
			s := newSite()
			if w := s.do(validRequest(talker, r, id, body)); w.Code/100 != 2 {
				t.Errorf("with scope chat: %d %s", w.Code, w.Body)
			}
		default:
			t.Fatal("not classified")
		}
		try(auth.Principal{}, 401, "auth_required")
		try(auth.Principal{User: "nobody", Scopes: boss.Scopes}, 401, "auth_required")
		try(scopeNo, 403, "auth.scope")
	})
}

func TestTheGatewaysRefusalIsReturned(t *testing.T) {
	s := newSite()
	r := ask(auth.Principal{}, "POST", "/api/chats", `{}`)
	w := s.do(r.WithContext(auth.WithRefusal(r.Context(), auth.ErrCrossOrigin)))
	if w.Code != 403 || decode(t, w)["code"] != "auth.cross_origin" || s.count() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestForeignIDAnswersAsMissing: account b's requests for account a's id, for a missing id, and for an invalid id
// get the same answer.
func TestForeignIDAnswersAsMissing(t *testing.T) {
	eachRoute(t, func(t *testing.T, r *route, _, body string) {
		if !strings.Contains(r.pattern, "{id}") {
			return
		}
		answerTo := func(who auth.Principal, id string) string {
			s := newSite()
			w := s.do(ask(who, r.method, pathOf(r, id), body))
			if w.Code != 404 {
				t.Errorf("%s: %d %s", id, w.Code, w.Body)
			}
			if !ids.Valid(id) && !strings.HasPrefix(r.pattern, "/operator") && s.count() != 0 {
				t.Errorf("%s is no id, and yet %d calls", id, s.count())
			}
			return strings.ReplaceAll(w.Body.String(), "/"+id, "/ID")
		}
		missing := answerTo(boss, ghostID)
		if got := answerTo(other, ownID(r.pattern)); got != missing {
			t.Errorf("a foreign id shows:\n%s\n%s", got, missing)
		}
		for _, id := range []string{"1", "x", strings.ToLower(ghostID), ghostID + "0", "..%2f..", "a%00", "%C3%B1"} {
			if got := answerTo(boss, id); got != missing {
				t.Errorf("%s: %s\nwant %s", id, got, missing)
			}
		}
	})
}

func TestForeignIDsInBodiesAndQueries(t *testing.T) {
	for _, c := range []struct{ method, path, body, code string }{
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":"x"}`, "chat.not_found"},
		{"POST", "/api/chats", `{"project_id":"` + projectID + `"}`, "project.not_found"},
		{"GET", "/api/chats?project_id=" + projectID, "", "project.not_found"},
		{"GET", "/api/chats?cursor=a-next", "", "cursor.invalid"},
		{"GET", "/api/runs?chat_id=" + chatID, "", "chat.not_found"},
		{"GET", "/api/runs?cursor=a-next", "", "cursor.invalid"},
		{"GET", "/api/waiting?chat_id=" + chatID, "", "chat.not_found"},
		{"GET", "/api/waiting?cursor=a-next", "", "cursor.invalid"},
	} {
		w := newSite().do(ask(other, c.method, c.path, c.body))
		if got := decode(t, w)["code"]; got != c.code {
			t.Errorf("%s: %v, want %s", c.path, got, c.code)
		}
	}
}

// TestEveryBodyIsReadStrictly sends bad bodies to every route with a body; none reaches a service.
func TestEveryBodyIsReadStrictly(t *testing.T) {
	type attempt struct {
		name, body, media string
		status            int
		code              string
	}
	eachRoute(t, func(t *testing.T, r *route, id, good string) {
		if good == "" {
			return
		}
		inner := strings.TrimSuffix(good, "}")
		comma := ","
		if good == "{}" {
			comma = ""
		}
		for _, a := range []attempt{
			{"broken", `{"message":`, "", 400, "request.json_invalid"},
			{"text", `hola`, "", 400, "request.json_invalid"},
			{"behind", good + "x", "", 400, "request.json_invalid"},
			{"utf8", inner + comma + "\"z\":\"\xff\"}", "", 400, "request.encoding"},
			{"nul", inner + comma + `"z":"\u0000"}`, "", 400, "request.encoding"},
			{"deep", inner + comma + `"z":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "", 400, "request.too_deep"},
			{"number", inner + comma + `"z":1e400}`, "", 400, "request.number_range"},
			{"twice", inner + comma + `"z":1,"z":2}`, "", 422, "request.invalid"},
			{"case", inner + comma + `"z":1,"Z":2}`, "", 422, "request.invalid"},
			{"huge", inner + comma + `"z":"` + strings.Repeat("a", MaxBody) + `"}`, "", 413, "request.too_large"},
			{"list", `[]`, "", 422, "request.invalid"},
			{"null", `null`, "", 422, "request.invalid"},
			{"string", `"x"`, "", 422, "request.invalid"},
			{"form", good, "application/x-www-form-urlencoded", 415, "request.media_type"},
			{"xml", good, "text/xml", 415, "request.media_type"},
			{"latin1", good, "application/json; charset=iso-8859-1", 415, "request.media_type"},
			{"nonsense", good, "json;;", 415, "request.media_type"},
		} {
			s := newSite()
			req := ask(boss, r.method, pathOf(r, ownID(r.pattern)), a.body)
			if a.media != "" {
				req.Header.Set("Content-Type", a.media)
			}
			w := s.do(req)
			if w.Code != a.status || decode(t, w)["code"] != a.code {
				t.Errorf("%s: %d %.300s, want %d %s", a.name, w.Code, w.Body, a.status, a.code)
			}
			if s.count() != 0 {
				t.Errorf("%s: refused, and yet %d calls", a.name, s.count())
			}
		}
		s := newSite()
		req := ask(boss, r.method, pathOf(r, ownID(r.pattern)), inner+comma+`"extra":1}`)
		w := s.do(req)
		want := 422
		if id == "operatorChat" || id == "agentChat" { // their clients send unknown members
			want = 200
		}
		if w.Code != want {
			t.Errorf("an unknown member: %d, want %d", w.Code, want)
		}
	})
}

func TestWrongValuesAreAllNamed(t *testing.T) {
	long := strings.Repeat("a", 201)
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/send", ``, "body/chat_id missing, body/message missing"},
		{"POST", "/api/send", `{"chat_id":1,"message":[],"x":1,"digest":"AB"}`, "body/chat_id string_type, body/digest string_pattern_mismatch, body/message string_type, body/x extra_forbidden"},
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":""}`, "body/message string_too_short"},
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":" \n\t\u00a0"}`, "body/message string_too_short"},
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":null}`, "body/message string_type"},
		{"POST", "/api/send", `{"chat_id":"` + chatID + `","message":"x","time_zone":"Europe/Nowhere"}`, "body/time_zone time_zone"},
		{"POST", "/api/chats/" + chatID + "/answer", `{"time_zone":"Local"}`, "body/time_zone time_zone"},
		{"POST", "/operator/chat", `{"message":"x","time_zone":"../etc/passwd"}`, "body/time_zone time_zone"},
		{"POST", agentPath, `{"message":"x","session_id":"s","config":{"id_empresa":7},"time_zone":"+01:00"}`, "body/time_zone time_zone"},
		{"POST", "/api/agents/plan/jobs", `{"prompt":"x","time_zone":"Marte/Olimpo"}`, "body/time_zone time_zone"},
		{"PUT", "/ai/assistant", `{"provider":"openai","model":"m","time_zone":"CEST"}`, "body/time_zone time_zone"},
		{"POST", "/api/send", `{"chat_id":1,"message":" "}`, "body/chat_id string_type, body/message string_too_short"},
		{"POST", "/api/runs/" + runID + "/confirm", `{"digest":"` + strings.ToUpper(string(digest)) + `"}`, "body/digest string_pattern_mismatch"},
		{"POST", "/api/runs/" + runID + "/confirm", `{"digest":""}`, "body/digest string_pattern_mismatch"},
		{"POST", "/api/runs/" + runID + "/cancel", `{"digest":7}`, "body/digest string_type"},
		{"POST", "/api/mcps", `{"kind":"soap","allow_offline":"yes"}`, "body/allow_offline bool_type, body/kind enum, body/url missing"},
		{"POST", "/api/mcps", `{"url":"x","key":{"in":"body"}}`, "body/key/in enum, body/key/value missing"},
		{"POST", "/api/mcps", `{"url":"x","key":"k"}`, "body/key object_type"},
		{"PUT", "/api/mcps/" + serverID + "/active", `{"active":1}`, "body/active bool_type"},
		{"PUT", "/api/mcps/" + serverID + "/key", `{"in":"header","name":1,"value":""}`, "body/name string_type, body/value string_too_short"},
		{"POST", "/api/projects", `{"name":" ","context":"` + strings.Repeat("á", 9000) + `","mcp_ids":["` + serverID + `","x"]}`, "body/context string_too_long, body/mcp_ids/1 string_pattern_mismatch, body/name string_too_short"},
		{"POST", "/api/projects", `{"name":"x","mcp_ids":[1]}`, "body/mcp_ids/0 string_type"},
		{"POST", "/api/projects", `{"name":"x","mcp_ids":["` + serverID + `","` + chatID + `"]}`, "body/mcp_ids/1 mcp.not_found"},
		{"PATCH", "/api/projects/" + projectID, `{"mcp_ids":["` + chatID + `"]}`, "body/mcp_ids/0 mcp.not_found"},
		{"PATCH", "/api/projects/" + projectID, `{"name":""}`, "body/name string_too_short"},
		{"POST", "/api/chats", `{"title":"` + long + `"}`, "body/title string_too_long"},
		{"PATCH", "/api/chats/" + chatID, `{"title":"  "}`, "body/title string_too_short"},
		{"GET", "/api/chats?limit=x&cursor=" + strings.Repeat("a", 2000), "", "query/cursor string_too_long, query/limit int_parsing"},
		{"GET", "/api/chats?limit=0", "", "query/limit greater_than_equal"},
		{"GET", "/api/chats/" + chatID + "/messages?limit=1000", "", "query/limit less_than_equal"},
		{"GET", "/api/runs/" + runID + "/events?after=-1", "", "query/after greater_than_equal"},
		{"GET", "/api/runs/" + runID + "/events?after=9999999999999999999999", "", "query/after int_parsing"},
		{"POST", "/operator/chat", `{"session_id":7,"message":"x","user_id":"a\u0007"}`, "body/session_id string_type, body/user_id string_pattern_mismatch"},
		{"POST", "/operator/chat", `{"session_id":"a\nb","message":" ","metadata":[]}`, "body/message string_too_short, body/metadata object_type, body/session_id string_pattern_mismatch"},
		{"POST", "/operator/chat", `{"message":"x","metadata":{"k":"` + strings.Repeat("v", 9000) + `"}}`, "body/metadata too_long"},
		{"POST", "/operator/chat", `{"message":"x","metadata":{` + members(65) + `}}`, "body/metadata too_long"},
	} {
		s := newSite()
		w := s.do(ask(boss, c.method, c.path, c.body))
		var got []string
		for _, e := range listOf(decode(t, w)["errors"]) {
			e := e.(map[string]any)
			var loc []string
			for _, l := range listOf(e["loc"]) {
				loc = append(loc, fmt.Sprint(l))
			}
			got = append(got, strings.Join(loc, "/")+" "+fmt.Sprint(e["type"]))
			if e["msg"] == "" {
				t.Errorf("%s: no sentence for %v", c.path, e["type"])
			}
		}
		slices.Sort(got)
		if w.Code != 422 || strings.Join(got, ", ") != c.want {
			t.Errorf("%s %s:\n got %d %s\nwant 422 %s", c.path, c.body, w.Code, strings.Join(got, ", "), c.want)
		}
		if s.count() != 0 {
			t.Errorf("%s %s: refused, and yet %d calls", c.path, c.body, s.count())
		}
	}
}

// members returns n members of a JSON object.
func members(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	return strings.Join(list, ",")
}

// wrong returns the fields of a problem.
func wrong(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var got []string
	for _, e := range listOf(decode(t, w)["errors"]) {
		e := e.(map[string]any)
		got = append(got, fmt.Sprint(e["loc"], " ", e["type"]))
	}
	slices.Sort(got)
	return strings.Join(got, ", ")
}

func listOf(v any) []any { l, _ := v.([]any); return l }

func TestMessageOverTheLimitIsTooLarge(t *testing.T) {
	for _, path := range []string{"/api/send", "/operator/chat"} {
		for size, want := range map[int]int{32 << 10: 200, 32<<10 + 1: 413} {
			s := newSite()
			body := fmt.Sprintf(`{"message":%q`, strings.Repeat("a", size))
			if path == "/api/send" {
				body += `,"chat_id":"` + chatID + `"`
			}
			w := s.do(ask(talker, "POST", path, body+"}"))
			if w.Code != want || want == 413 && (decode(t, w)["code"] != "message.too_large" || s.count() != 0) {
				t.Errorf("%s with %d bytes: %d %.200s", path, size, w.Code, w.Body)
			}
		}
	}
}

func TestIdempotencyKeyIsPrintableASCII(t *testing.T) {
	for key, want := range map[string]int{
		"none": 202, "order-1": 202, "order 1": 202, strings.Repeat("k", 255): 202,
		"": 422, "  ": 422, strings.Repeat("k", 256): 422, "ñ": 422, "a\x7f": 422,
	} {
		s := newSite()
		r := ask(talker, "POST", "/api/runs/"+runID+"/confirm", bodies["confirmRun"])
		r.Header["Idempotency-Key"] = []string{key}
		if key == "none" {
			delete(r.Header, "Idempotency-Key")
			key = ""
		}
		w := s.do(r)
		if w.Code != want {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
		if want == 202 && (len(s.confirms) != 1 || s.confirms[0].Key != key || s.confirms[0].Digest != digest || s.confirms[0].User != "ana") {
			t.Errorf("%q: passed on %+v", key, s.confirms)
		}
	}
}
