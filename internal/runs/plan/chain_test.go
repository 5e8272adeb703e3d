package plan

import (
	"encoding/json"
	"testing"
)

// TestRequestOfAnAttemptSurvivesItsStore: an attempt has no hash of its own, and one without a body is not one with null.
func TestRequestOfAnAttemptSurvivesItsStore(t *testing.T) {
	step := Step{Method: "DELETE", Path: "/bookings/7"}
	for _, sent := range []Attempt{
		{URL: "https://rooms.example/bookings/7"},
		{URL: "https://rooms.example/bookings/7", Body: json.RawMessage(`null`)},
		{URL: "https://rooms.example/bookings/7", Headers: json.RawMessage(`{"If-Match":"3"}`), Body: json.RawMessage(`{"a":1}`)},
	} {
		raw, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var read Attempt
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		want := RequestHash("DELETE", RequestLine(sent.URL, sent.Headers), sent.Body)
		if got := step.RequestOf(read); got != want {
			t.Errorf("%s: %s, sent %s", raw, got, want)
		}
	}
}
