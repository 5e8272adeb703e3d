package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"piloto/internal/access/auth"
)

// TestAFormOfThePageIsServedAsItsRoute: the turn gets the same request, and the person comes back to the chat.
func TestAFormOfThePageIsServedAsItsRoute(t *testing.T) {
	s := newSite()
	form := func(who auth.Principal, path string, values url.Values) (int, string, string) {
		w := s.do(ask(who, http.MethodPost, path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept-Language", "es", "Accept", "text/html"))
		return w.Code, w.Header().Get("Location"), w.Body.String()
	}
	other := talker
	other.Account = "other"
	for _, c := range []struct {
		name   string
		who    auth.Principal
		path   string
		values url.Values
		status int
		want   string // in the address or the page
	}{
		{"a message", talker, "/api/send", url.Values{"chat_id": {chatID}, "message": {"uno\r\ndos"}, "x": {"y"}}, 303, "/?chat=" + chatID},
		{"a chat", talker, "/api/chats", url.Values{"project_id": {""}}, 303, "/?chat="},
		{"no message", talker, "/api/send", url.Values{"chat_id": {chatID}, "message": {" "}}, 422, "\n\n"},
		{"another's chat", other, "/api/send", url.Values{"chat_id": {chatID}, "message": {"a"}}, 404, "\n\n"},
		{"a hostile chat", talker, "/api/send", url.Values{"chat_id": {`"><script>`}, "message": {"a"}}, 404, "\n\n"},
		{"nobody", auth.Principal{}, "/api/send", url.Values{"chat_id": {chatID}, "message": {"a"}}, 401, "\n\n"},
		{"another route", talker, "/api/chats/" + chatID + "/answer", url.Values{"message": {"a"}}, 415, "request.media_type"},
	} {
		status, location, page := form(c.who, c.path, c.values)
		if status != c.status || !strings.Contains(location+page, c.want) || strings.Contains(page, "script") {
			t.Errorf("%s: %d %s %s", c.name, status, location, page)
		}
	}
	if n := len(s.world.turns); n != 1 || s.world.turns[0].Message != "uno\ndos" {
		t.Errorf("%d turns: %+v", n, s.world.turns)
	}
}
