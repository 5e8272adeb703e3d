package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/meaning"
)

// answer is an HTTP answer, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	second bool // the request was sent before, and the answer to that was lost
}

// working returns the path at which the answer of a turn will be; "" when this is the answer.
func (a *answer) working() string {
	if a.status != http.StatusAccepted {
		return ""
	}
	var w struct{ Status, Read string }
	if json.Unmarshal(a.body, &w) != nil || w.Status != "working" || !strings.HasPrefix(w.Read, "/") {
		return ""
	}
	return w.Read
}

// done reports whether the deployment did what it was asked for.
func (a *answer) done() bool { return meaning.Of(a.status, false) == meaning.Done }

// isPage reports whether an answer is a page for people. A file may be one by its content.
func (a *answer) isPage(accept string) bool {
	media, body := a.header.Get("Content-Type"), a.body
	if accept != "application/json" {
		body = nil
	}
	return meaning.Page(media, body)
}

// again reports whether the deployment is able to answer the same request soon.
func (a *answer) again() bool {
	wait, waits := meaning.Wait(a.header.Get, time.Now())
	return meaning.Passes(a.status, waits) && wait <= mostWait
}

// after returns how long to wait before the next request.
func (a *answer) after(otherwise time.Duration) time.Duration {
	if wait, asked := meaning.Wait(a.header.Get, time.Now()); asked {
		return min(wait, mostWait)
	}
	return otherwise
}

// problem returns the refusal that the answer has. Another server than Piloto has none: what it answers to a request that may
// have been done (acted) is no refusal of it.
func (a *answer) problem(origin string, acted bool) error {
	p := &Problem{}
	wait, _ := meaning.Wait(a.header.Get, time.Now())
	if err := json.Unmarshal(a.body, p); err != nil || p.Code == "" {
		if meaning.Errs(a.status) || meaning.Redirects(a.status) || wait > mostWait || acted {
			e := &UnreachableError{
				Origin: origin, Came: CameStatus, Status: a.status, Wait: max(wait, 0),
				Cause: fmt.Errorf("it answered %d %s, and not as Piloto does", a.status, http.StatusText(a.status)),
			}
			if meaning.Redirects(a.status) {
				e.Came = CameRedirect
			}
			return e
		}
		p = &Problem{Code: "http." + strconv.Itoa(a.status), Title: fmt.Sprintf("%s: %d %s", origin, a.status, http.StatusText(a.status))}
	}
	p.Status, p.Wait = a.status, max(wait, 0)
	return p
}

// refused returns the refusal of a request that was sent a number of times.
func (a *answer) refused(origin string, sent int, acted bool) error {
	err := a.problem(origin, acted)
	if p, ok := errors.AsType[*Problem](err); ok {
		p.Sent = sent
	}
	return err
}
