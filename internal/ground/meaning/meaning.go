// Package meaning owns the one classification of HTTP answers: whether the server fulfilled the request. Everything that
// calls another server decides by it whether to go on, to give up, to wait, or to ask a person.
//
// It knows no method and no service. Who may repeat a request, and who has to find out its outcome, is decided by its
// callers (ADR 6).
package meaning

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Meaning is the outcome of a request, as its answer says it.
type Meaning int

// The meanings.
const (
	Unknown Meaning = iota // it may have been done: the answer does not say
	Done                   // it was done
	Refused                // it was not done, and the same request will not be
	Later                  // it was not done, and the same request may be done later
)

// String returns the meaning in one word.
func (m Meaning) String() string {
	return [...]string{"unknown", "done", "refused", "later"}[m]
}

// Statuses that mean more than their class (RFC 9110, RFC 6585, RFC 8470, and statuses that servers use without one).
const (
	movedPermanently   = 301
	temporaryRedirect  = 307
	permanentRedirect  = 308
	notAuthoritative   = 203
	partialContent     = 206
	badRequest         = 400
	unauthorized       = 401
	paymentRequired    = 402
	forbidden          = 403
	notFound           = 404
	methodNotAllowed   = 405
	requestTimeout     = 408
	conflict           = 409
	gone               = 410
	lengthRequired     = 411
	preconditionFailed = 412
	contentTooLarge    = 413
	uriTooLong         = 414
	unsupportedMedia   = 415
	unprocessable      = 422
	locked             = 423
	failedDependency   = 424
	tooEarly           = 425
	preconditionNeeded = 428
	tooManyRequests    = 429
	headersTooLarge    = 431
	clientClosed       = 499 // nginx: the client left, and the server may have gone on
	notImplemented     = 501
	badGateway         = 502
	serviceUnavailable = 503
	gatewayTimeout     = 504
	versionUnsupported = 505
	overloaded         = 529
)

// Of returns the meaning of a status. waits says whether the answer asks for a pause (Wait).
//
//	2xx                               done
//	301, 307, 308                     refused: the server wants the request at another address
//	any other 3xx                     unknown: also the answer to a form that was taken
//	408, 499                          unknown: also of a server that gave up while it worked
//	425, 429                          later
//	any other 4xx, 501, 505           refused
//	503 and 529 that ask for a pause  later
//	any other 5xx, and no status      unknown
func Of(status int, waits bool) Meaning {
	switch {
	case status >= 200 && status <= 299:
		return Done
	case Moved(status):
		return Refused
	case status == requestTimeout, status == clientClosed:
		return Unknown
	case status == tooEarly, status == tooManyRequests, waits && (status == serviceUnavailable || status == overloaded):
		return Later
	case status >= 400 && status <= 499, status == notImplemented, status == versionUnsupported:
		return Refused
	}
	return Unknown
}

// Passes reports whether a request that may be repeated is worth it: it may be answered otherwise after a while.
func Passes(status int, waits bool) bool {
	m := Of(status, waits)
	return m == Later || m == Unknown && !Redirects(status)
}

// Whole reports whether an answer has all that the server itself has to say: no part of it, and nothing that a proxy changed.
func Whole(status int) bool {
	return Of(status, false) == Done && status != notAuthoritative && status != partialContent
}

// Redirects reports whether the answer names another address.
func Redirects(status int) bool { return status >= 300 && status <= 399 }

// Moved reports whether the server did nothing, because the request belongs to another address. Any other redirect may
// follow a request that was done: 303 and 302 answer forms.
func Moved(status int) bool {
	return status == movedPermanently || status == temporaryRedirect || status == permanentRedirect
}

// Limits reports whether the server answers fewer requests than it was sent.
func Limits(status int) bool { return status == tooManyRequests }

// WantsKey reports whether the server does not accept the key of the request, or misses one.
func WantsKey(status int) bool { return status == unauthorized || status == forbidden }

// RefusesClient reports whether a token endpoint refuses the client or its scope (RFC 6749 §5.2). Any other refusal comes from
// an address without a token endpoint.
func RefusesClient(status int) bool { return WantsKey(status) || status == badRequest }

// Missing reports whether there is nothing at the address.
func Missing(status int) bool { return status == notFound || status == gone }

// Conflicts reports whether the request conflicts with another one or with the state of the server: also with itself, if the
// server knows its Idempotency-Key.
func Conflicts(status int) bool { return status == conflict }

// Gone reports whether there will never be anything at the address again.
func Gone(status int) bool { return status == gone }

// Errs reports whether the answer is an error of the server itself.
func Errs(status int) bool { return status >= 500 && status <= 599 }

// Away reports whether the server is not reached, or is not ready yet.
func Away(status int) bool {
	return status == badGateway || status == serviceUnavailable || status == gatewayTimeout
}

// OfRequest reports whether an answer refuses the request as it is written: every attempt at it is refused so. Any
// other refusal depends on the state of the server by then, and proves nothing about an attempt before it.
func OfRequest(status int) bool {
	switch status {
	case badRequest, methodNotAllowed, lengthRequired, contentTooLarge, uriTooLong, unsupportedMedia, unprocessable, headersTooLarge,
		notImplemented, versionUnsupported:
		return true
	}
	return false
}

// Wait returns the pause that an answer asks for, and whether it asks for one. header returns a header of it, "" when
// it has none. The pause is Retry-After-Ms (Azure, OpenAI) or Retry-After: a number of seconds, or a date (RFC 9110
// §10.2.3), which is relative to the answer's own Date, or else to now; with neither it is no pause. It is negative when
// the date is over. It has no limit.
func Wait(header func(name string) string, now time.Time) (time.Duration, bool) {
	if d, ok := units(header("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	value := strings.TrimSpace(header("Retry-After"))
	if d, ok := units(value, time.Second); ok {
		return d, true
	}
	until, ok := date(value)
	if !ok {
		return 0, false
	}
	if at, ok := date(strings.TrimSpace(header("Date"))); ok {
		now = at
	}
	return until.Sub(now), !now.IsZero()
}

// Age returns how long a cache has kept an answer (RFC 9111 §5.1); 0 where none has, and the longest time where one has
// that does not say for how long: one that is stale, or a hit without an age.
func Age(header func(name string) string) time.Duration {
	if age, ok := units(header("Age"), time.Second); ok {
		return age
	}
	stale := strings.HasPrefix(strings.TrimSpace(header("Warning")), "11")
	for _, name := range []string{"Cache-Status", "X-Cache", "X-Cache-Status", "X-Proxy-Cache", "CF-Cache-Status"} {
		stale = stale || slices.Contains(strings.Fields(plain(header(name))), "hit") // also in the name of a code: TCP_HIT
	}
	if stale {
		return math.MaxInt64
	}
	return 0
}

// units reads a number of units that is not negative.
func units(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !math.IsInf(n, 1) || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n *= float64(unit); n >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(n), true
}

// date reads a date in one of the three forms of HTTP (RFC 9110 §5.6.7).
func date(text string) (time.Time, bool) {
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Page reports whether an answer is a page for people, such as that of a gateway or a sign-in, and none of an API. The
// media type decides; where there is none, the beginning of the body does.
func Page(contentType string, body []byte) bool {
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "text/html", "application/xhtml+xml":
		return true
	}
	begin := strings.ToLower(strings.TrimLeft(string(body[:min(len(body), 256)]), "\ufeff \t\r\n"))
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}
