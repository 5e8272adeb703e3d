package step_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// TestLostBytesAreSentNowhere: bytes of a response that are not text (half of a surrogate pair,
// invalid UTF-8) would be sent as another text, which may be the id of another object. The rest of
// the response is used, and so is a replacement character that the service itself wrote.
func TestLostBytesAreSentNowhere(t *testing.T) {
	each := newStep("s2", "PUT", "/bookings/${item.id}", `{}`)
	each.ForEach = "${s1.body.rooms}"
	for name, second := range map[string]plan.ProposedStep{
		"in a path":  newStep("s2", "GET", "/bookings/${s1.body.id}", ""),
		"in a text":  newStep("s2", "POST", "/bookings", `{"room":"sala ${s1.body.id}"}`),
		"as a value": newStep("s2", "POST", "/bookings", `{"room":"${s1.body.id}"}`),
		"an element": each,
		"of a list":  newStep("s2", "POST", "/bookings", `{"room":"${s1.body.rooms[1].id}"}`),
	} {
		if testing.Short() && name != "in a text" && name != "an element" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for value, whole := range map[string]bool{
				`a\ud800b`: false, `a\udc00`: false, `\ud83d`: false, `\ud83d\ud83d\ude00`: false, "a\xffb": false, "\xed\xa0\x80": false, "Jos\xe9": false, "\xf0\x9f\x98": false,
				`\ud83d\ude00`: true, `\\ud800`: true, "José": true, "a\uFFFDb": true, `a\ufffdb`: true, "7": true,
			} {
				if strings.Contains(value, `\\`) && (name == "in a path" || name == "an element") {
					continue // another test covers the characters of a path
				}
				w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), second)
				w.Answer(func(tool.Request) (tool.Answer, error) {
					body := `{"id":"` + value + `","rooms":[{"id":"1"},{"id":"` + value + `"}],"note":"x"}`
					return tool.Answer{Status: 200, Body: []byte(body), Bytes: len(body)}, nil
				})
				drive(t, w, r, "s1")
				drive(t, w, r, "s2")
				calls := slices.DeleteFunc(sentRequests(w), func(call string) bool {
					return strings.HasSuffix(call, "/rooms") || strings.HasSuffix(call, "/bookings/1")
				})
				if (len(calls) > 0) != whole {
					t.Errorf("%q: %s after %q", value, status(w, r, "s2"), calls)
				}
			}
		})
	}
	w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""), newStep("s2", "POST", "/bookings", `{"room":"${s1.body.note}"}`))
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte("{\"id\":\"Jos\xe9\",\"other\":\"\\ud800\",\"note\":\"norte\"}")}, nil
	})
	drive(t, w, r, "s1")
	drive(t, w, r, "s2")
	if status(w, r, "s2") != "done" {
		t.Errorf("what is whole of the answer: %s", status(w, r, "s2"))
	}
}

// TestResultIsStoredAsJSON stores responses with all kinds of bytes.
func TestResultIsStoredAsJSON(t *testing.T) {
	for _, body := range []string{"\xff", "{\"a\":\"\xff\"}", "{\"a\":\xff}", "a\uFFFFb\xff", "\"\xff", "<p>\xe9</p>", `"\ud800"`, "{\"\xff\":1}"} {
		w, r := newRun(t, nil, newStep("s1", "GET", "/rooms", ""))
		w.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 200, Body: []byte(body)}, nil })
		drive(t, w, r, "s1")
		got := w.Read(r.ID).State(plan.EffectOf("s1")).Result
		if got == nil || !json.Valid(got.Body) || strings.ToValidUTF8(string(got.Body), "") != string(got.Body) {
			t.Errorf("%q is stored as %+v", body, got)
		}
	}
}
