package httpapi

import (
	"net/http"
	"strings"
	"testing"
)

// TestASessionIsAChatByItsClientsName: the routes of sessions do what those of chats do.
func TestASessionIsAChatByItsClientsName(t *testing.T) {
	const path = "/operator/session/" + sessionID
	for _, c := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"GET", "/operator/sessions", "", 200, `"chat_id":"` + chatID + `","user_id":"local","title":"Reservas"`},
		{"GET", "/operator/sessions?q=hola", "", 200, `"snippet":"hola"`},
		{"GET", "/operator/sessions?q=%E2%80%8B", "", 422, `"q"`},
		{"PATCH", path, `{"title":"Otra","archived":true}`, 200, `"title":"Otra"`},
		{"PATCH", path, `{"project_id":"` + projectID + `"}`, 422, ""},
		{"PATCH", "/operator/session/other", `{"title":"Otra"}`, 404, "session.not_found"},
		{"DELETE", path, "", 204, ""},
		{"DELETE", "/operator/session/other", "", 404, "session.not_found"},
		{"POST", path + "/branch", `{"message_id":"` + messageID + `"}`, 201, `"branched_from":{"chat_id":"` + chatID},
		{"POST", path + "/branch", `{"message_id":"` + ghostID + `"}`, 404, "message.not_found"},
		{"POST", "/operator/session/other/branch", `{"message_id":"` + messageID + `"}`, 404, "session.not_found"},
		{"GET", path + "/export?format=md", "", 200, "# Reservas"},
		{"GET", path + "/export?format=pdf", "", 200, "%PDF"},
		{"GET", "/operator/session/other/export", "", 404, "session.not_found"},
		{"GET", "/operator/session/a%0Ab/export", "", 404, "session.not_found"},
		{"GET", path, "", 200, `"chat_id":"`},
	} {
		got := newSite().do(ask(talker, c.method, c.path, c.body, "Content-Type", "application/json"))
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.has) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.Code, got.Body)
		}
	}
	if got := newSite().do(ask(other, http.MethodGet, "/operator/sessions", "")); got.Code != 200 || strings.Contains(got.Body.String(), chatID) {
		t.Errorf("another account: %s", got.Body)
	}
}
