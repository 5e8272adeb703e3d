package meaning_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/meaning"
)

func TestEveryStatusHasOneMeaning(t *testing.T) {
	for want, statuses := range map[meaning.Meaning][]int{
		meaning.Done:    {200, 201, 202, 204, 206, 207, 299},
		meaning.Refused: {301, 307, 308, 400, 401, 402, 403, 404, 405, 409, 410, 412, 415, 421, 422, 423, 428, 431, 451, 498, 501, 505},
		meaning.Later:   {425, 429},
		meaning.Unknown: {0, 100, 101, 199, 300, 302, 303, 304, 305, 399, 408, 499, 500, 502, 503, 504, 507, 520, 524, 529, 599, 600, 999, -1},
	} {
		for _, status := range statuses {
			if got := meaning.Of(status, false); got != want {
				t.Errorf("%d is %s, want %s", status, got, want)
			}
			asked := want
			if status == 503 || status == 529 {
				asked = meaning.Later
			}
			if got := meaning.Of(status, true); got != asked {
				t.Errorf("%d that asks for a pause is %s, want %s", status, got, asked)
			}
		}
	}
}

// Only a request that was not done may be refused or put off, and what depends on the state of the server says nothing
// of an earlier attempt.
func TestRefusalsOfTheRequestAreRefusals(t *testing.T) {
	for status := range 1000 {
		if meaning.OfRequest(status) && meaning.Of(status, true) != meaning.Refused {
			t.Errorf("%d", status)
		}
		for name, is := range map[string]bool{"moved": meaning.Moved(status), "missing": meaning.Missing(status), "wants a key": meaning.WantsKey(status)} {
			if is && (meaning.Of(status, true) != meaning.Refused || meaning.OfRequest(status)) {
				t.Errorf("%d: %s", status, name)
			}
		}
	}
	for _, status := range []int{401, 403, 404, 409, 410, 412, 423, 428} {
		if meaning.OfRequest(status) {
			t.Errorf("%d depends on the state of the server", status)
		}
	}
}

func TestWaitReadsEveryForm(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header http.Header
		want   time.Duration
		asked  bool
	}{
		"none":                      {http.Header{}, 0, false},
		"seconds":                   {http.Header{"Retry-After": {" 120 "}}, 2 * time.Minute, true},
		"part of a second":          {http.Header{"Retry-After": {"0.5"}}, time.Second / 2, true},
		"at once":                   {http.Header{"Retry-After": {"0"}}, 0, true},
		"milliseconds":              {http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, 250 * time.Millisecond, true},
		"a date":                    {http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:30 GMT"}}, 30 * time.Second, true},
		"a date of RFC 850":         {http.Header{"Retry-After": {"Sunday, 01-Mar-26 12:00:30 GMT"}}, 30 * time.Second, true},
		"a date of asctime":         {http.Header{"Retry-After": {"Sun Mar  1 12:00:30 2026"}}, 30 * time.Second, true},
		"a date of another clock":   {http.Header{"Retry-After": {"Sun, 01 Mar 2026 10:00:30 GMT"}, "Date": {"Sun, 01 Mar 2026 10:00:00 GMT"}}, 30 * time.Second, true},
		"a date that is over":       {http.Header{"Retry-After": {"Sun, 01 Mar 2026 11:00:00 GMT"}}, -time.Hour, true},
		"longer than anybody waits": {http.Header{"Retry-After": {"1e300"}}, 1<<63 - 1, true},
		"a negative number":         {http.Header{"Retry-After": {"-1"}}, 0, false},
		"not a number":              {http.Header{"Retry-After": {"NaN"}}, 0, false},
		"a word":                    {http.Header{"Retry-After": {"soon"}}, 0, false},
	} {
		if got, asked := meaning.Wait(c.header.Get, now); got != c.want || asked != c.asked {
			t.Errorf("%s: %s %t, want %s %t", name, got, asked, c.want, c.asked)
		}
	}
}

func TestPagesAreForPeople(t *testing.T) {
	for text, want := range map[[2]string]bool{
		{"text/html; charset=utf-8", `{"state":"booked"}`}: true,
		{"application/xhtml+xml", ""}:                      true,
		{"", "\n <!DOCTYPE html><title>Sign in"}:           true,
		{"text/plain", "<HTML lang=es>"}:                   true,
		{"application/json", `{"html":"<html>"}`}:          false,
		{"application/xml", "<bookings/>"}:                 false,
		{"", ""}:                                           false,
	} {
		if got := meaning.Page(text[0], []byte(text[1])); got != want {
			t.Errorf("%q is a page: %t", text, got)
		}
	}
}

func TestACacheSaysHowLongItKept(t *testing.T) {
	const long = time.Duration(math.MaxInt64)
	for said, want := range map[string]time.Duration{
		"": 0, "Age: 600": 10 * time.Minute, "Age: 0": 0, "Age: x": 0, "X-Cache: MISS": 0, "X-Cache: Miss from cloudfront": 0, "Cache-Status: a; fwd=miss; stored": 0, "Warning: 299 - \"x\"": 0,
		"X-Cache: HIT": long, "X-Cache: TCP_HIT from a.example": long, "X-Cache-Status: HIT": long, "CF-Cache-Status: HIT": long, "Cache-Status: a; hit; ttl=30": long, "Warning: 110 - \"Response is Stale\"": long,
		"Age: 3|X-Cache: Hit from cloudfront": 3 * time.Second,
	} {
		header := http.Header{}
		for _, line := range strings.Split(said, "|") {
			name, value, _ := strings.Cut(line, ": ")
			header.Set(name, value)
		}
		if got := meaning.Age(header.Get); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
}

func TestAServerThatRestartsIsAway(t *testing.T) {
	for status := range 600 {
		if want := status >= 502 && status <= 504; meaning.Away(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}
