package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAChatIsPinnedOrArchived: a chat is one of the two, and a title may have any character but no more than 200.
func TestAChatIsPinnedOrArchived(t *testing.T) {
	s := newSite()
	path := "/api/chats/" + chatID
	for body, want := range map[string]string{
		`{"pinned":true}`:   `"pinned":true`,
		`{"archived":true}`: `"archived":true`,
		"{\"title\":\"a\u202eb 👩‍👩‍👧 <script>\"}":         "👩‍👩‍👧",
		`{"pinned":true,"archived":true}`:                 "422",
		`{"pinned":"yes"}`:                                "422",
		`{"title":"` + strings.Repeat("x", 10_000) + `"}`: "422",
		`{"title":" "}`:                                   "422",
	} {
		got := s.do(ask(talker, http.MethodPatch, path, body, "Content-Type", "application/json"))
		if want == "422" && got.Code != 422 || want != "422" && (got.Code != 200 || !strings.Contains(got.Body.String(), want)) {
			t.Errorf("%.60s: %d %s", body, got.Code, got.Body)
		}
	}
}

// TestASearchHasAVisibleCharacter: what nobody sees is no search, and the list of all chats is not its result.
func TestASearchHasAVisibleCharacter(t *testing.T) {
	s := newSite()
	for q, want := range map[string]int{"": 200, "  ": 200, "\u00a0": 200, "\u200b": 422, "\u202e \u2066": 422, "a\u200b": 200} {
		if got := s.do(ask(talker, http.MethodGet, "/api/chats?q="+url.QueryEscape(q), "")); got.Code != want {
			t.Errorf("%+q: %d %s", q, got.Code, got.Body)
		}
	}
}
