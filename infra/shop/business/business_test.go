package business

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// call sends a request to the studio, and returns the status and the body of its answer.
func call(s *Service, method, path, body string) (int, string) {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(method, path, strings.NewReader(body)))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

// TestTheDocumentHasEveryOperation: no route without an operation, and no operation without a route.
func TestTheDocumentHasEveryOperation(t *testing.T) {
	read, err := openapi3.NewLoader().LoadFromData(Document())
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var documented, served []string
	for path, item := range read.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	for _, r := range routes {
		served = append(served, r.pattern)
	}
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("documented %v\nserved %v", documented, served)
	}
}

// TestTheStudioRefuses: what the service checks by itself is refused, with a reason, and changes nothing.
func TestTheStudioRefuses(t *testing.T) {
	for _, c := range []struct {
		does, body string
		status     int
		why        string
	}{
		{"GET /customers", "", 422, "give name or email or phone"},
		{"GET /orders", "", 422, "give customer_id"},
		{"GET /orders/o-1090", "", 404, "no order"},
		{"POST /orders", `{"customer_id":"c-20","delivery":"collect","lines":[{"product_id":"p-104","quantity":6}]}`, 409, "only 4"},
		{"POST /orders", `{"customer_id":"c-20","delivery":"collect","lines":[{"product_id":"p-104","quantity":1},{"product_id":"p-104","quantity":1}]}`, 422, "twice"},
		{"POST /orders", `{"customer_id":"c-20","delivery":"collect","lines":[]}`, 422, "at least one"},
		{"POST /orders", `{"customer_id":"c-20","pickup":true}`, 422, "unknown field"},
		{"PUT /orders/o-1006/lines/p-105", `{"quantity":1}`, 409, "is paid"},
		{"PUT /orders/o-1007/lines/p-203", `{"quantity":0}`, 409, "cancel it"},
		{"PUT /orders/o-1007/lines/p-203", `{}`, 422, "missing"},
		{"POST /orders/o-1011/cancel", "", 409, "is packed"},
		{"POST /orders/o-1009/pay", `{"method":"credit"}`, 409, "2000"},
		{"POST /orders/o-1010/pay", `{"method":"card"}`, 409, "no card"},
		{"POST /payments/y-505/refund", `{"amount_cents":1,"to":"card"}`, 409, "0 cents left"},
		{"POST /payments/y-509/refund", `{"amount_cents":1,"to":"card"}`, 409, "not made by card"},
		{"POST /bookings", `{"customer_id":"c-11","session_id":"s-1","starts_at":"2027-03-30T10:30:00+01:00","people":5}`, 409, "places"},
		{"POST /bookings", `{"customer_id":"c-11","session_id":"s-1","starts_at":"2027-03-30T09:30:00+02:00","people":1}`, 409, "Tuesday 09:30"},
		{"POST /bookings", `{"customer_id":"c-11","session_id":"s-1","starts_at":"2027-03-29T10:30:00+02:00","people":1}`, 409, "Monday"},
		{"POST /bookings", `{"customer_id":"c-11","session_id":"s-1","starts_at":"2027-03-02T10:30:00+01:00","people":1}`, 409, "is over"},
		{"PATCH /bookings/b-304", `{"people":4}`, 409, "3 places"},
		{"PATCH /customers/c-20", `{"email":"nobody"}`, 422, "e-mail"},
		{"POST /notices", `{"customer_id":"c-12","product_id":"p-205"}`, 409, "already"},
		{"POST /messages", `{"customer_id":"c-12","subject":"order","text":" "}`, 422, "text"},
	} {
		studio := New()
		method, path, _ := strings.Cut(c.does, " ")
		status, body := call(studio, method, path, c.body)
		if status != c.status || !strings.Contains(body, c.why) {
			t.Errorf("%s %s: %d %s", c.does, c.body, status, body)
		}
		if changes := studio.State().Differences(Fresh()); len(changes) > 0 || len(studio.Writes()) > 0 {
			t.Errorf("%s changed %v", c.does, changes)
		}
	}
}

// TestTheStudioKeepsItsBooks: stock, totals, credit and free times follow each write.
func TestTheStudioKeepsItsBooks(t *testing.T) {
	studio := New()
	for _, step := range []struct{ does, body, answer string }{
		{"POST /orders", `{"customer_id":"c-13","delivery":"ship","lines":[{"product_id":"p-201","quantity":1}]}`, `"total_cents":2070`},
		{"PUT /orders/o-1016/lines/p-201", `{"quantity":5}`, `"shipping_cents":0,"total_cents":7100`},
		{"PUT /orders/o-1016/lines/p-302", `{"quantity":1}`, `"total_cents":7520`},
		{"PUT /orders/o-1016/lines/p-201", `{"quantity":0}`, `"total_cents":1070`},
		{"PUT /orders/o-1016/delivery", `{"delivery":"collect"}`, `"total_cents":420`},
		{"POST /orders/o-1016/pay", `{"method":"credit"}`, `"method":"credit","amount_cents":420`},
		{"GET /customers/c-13", "", `"credit_cents":1080`},
		{"POST /orders/o-1016/cancel", "", `"cancelled"`},
		{"POST /payments/y-510/refund", `{"amount_cents":420,"to":"credit"}`, `"refunded_cents":420`},
		{"GET /customers/c-13", "", `"credit_cents":1500`},
		{"GET /products?name=celadon&kind=glaze", "", `p-202`},
		{"GET /sessions/s-1/free?date=2027-03-13", "", `{"starts_at":"2027-03-13T17:00:00+01:00","places_left":0}`},
		{"GET /sessions/s-3/free?date=2027-03-10", "", `{"starts_at":"2027-03-10T13:00:00+01:00","places_left":1}`},
		{"GET /sessions/s-1/free?date=2027-03-30", "", `"2027-03-30T10:30:00+02:00"`},
		{"GET /sessions/s-1/free?date=2027-03-29", "", `"times":[]`},
		{"PATCH /bookings/b-304", `{"starts_at":"2027-03-13T09:00:00Z","people":4}`, `"2027-03-13T10:00:00+01:00","people":4`},
		{"DELETE /bookings/b-304", "", `b-304`},
		{"GET /customers?phone=%2B44+7700900120", "", `Owen Price`},
		{"GET /customers?name=marta+ruiz", "", `mruiz.taller`},
	} {
		method, path, _ := strings.Cut(step.does, " ")
		status, body := call(studio, method, path, step.body)
		negated := strings.Contains(step.answer, `"places_left":0`) // a full time is not listed
		if status >= 300 || strings.Contains(body, step.answer) == negated {
			t.Errorf("%s: %d %s, without %s", step.does, status, body, step.answer)
		}
	}
	changes := strings.Join(studio.State().Differences(Fresh()), "\n")
	for _, record := range []string{"booking b-304", "order o-1016", "payment y-510"} {
		if !strings.Contains(changes, record) {
			t.Errorf("%s is not among the changes:\n%s", record, changes)
		}
	}
	if strings.Count(changes, "\n") != 2 {
		t.Errorf("more changed:\n%s", changes)
	}
}

// TestThePoliciesAreShort: a policy has to find room where instructions do.
func TestThePoliciesAreShort(t *testing.T) {
	for _, language := range []string{"es", "en"} {
		if n := len(Policy(language)); n < 1000 || n > 4000 {
			t.Errorf("the policy in %q has %d bytes", language, n)
		}
	}
	if !json.Valid(Document()) || http.StatusOK != func() int { status, _ := call(New(), "GET", "/openapi.json", ""); return status }() {
		t.Error("the document is not served")
	}
}
