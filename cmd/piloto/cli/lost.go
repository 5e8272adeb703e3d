package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/ground/neterr"
)

// lost returns the sentences for an answer that did not come: what came in its place.
func (a *app) lost(e *client.UnreachableError) string {
	said := []string{a.text("cli.lost."+string(e.Came), "url", e.Origin, "status", fmt.Sprint(e.Status), "why", a.whyLost(e))}
	switch {
	case e.Wait > mostTold:
		said = append(said, a.text("cli.lost.wait_long"))
	case e.Wait > 0:
		said = append(said, a.text("cli.lost.wait", "n", fmt.Sprint(int64((e.Wait+time.Minute-1)/time.Minute))))
	}
	return strings.Join(said, "\n")
}

// mostTold is the longest pause that is told in minutes.
const mostTold = 24 * time.Hour

// whyLost says why there was no answer.
func (a *app) whyLost(e *client.UnreachableError) string {
	if e.Came != client.CameNothing || e.Cause == nil {
		return ""
	}
	return a.text("cli.lost.why." + neterr.Reason(e.Cause))
}

// mayBeDone says what a request may have done whatever its last answer says, by its path, and the command that shows it before
// it is sent once more.
func (a *app) mayBeDone(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		if name, err := url.PathUnescape(parts[i]); err == nil {
			parts[i] = name
		}
	}
	is := func(pattern ...string) bool {
		return slices.EqualFunc(parts, pattern, func(part, want string) bool { return want == "*" || part == want })
	}
	switch {
	case is("api", "runs", "*", "confirm"):
		return a.text("cli.acted.confirm", "id", parts[2])
	case is("api", "runs", "*", "retry"), is("api", "runs", "*", "undo"), is("api", "runs", "*", "repeat"):
		return a.text("cli.acted.draft")
	case len(parts) == 4 && is("api", "runs", "*", parts[3]):
		return a.text("cli.acted.run", "id", parts[2])
	case is("api", "send"), is("api", "decisions"):
		return a.text("cli.acted.send")
	case is("api", "agents", "*", "jobs"):
		return a.text("cli.acted.job")
	case len(parts) == 4 && is("api", "jobs", "*", parts[3]):
		return a.text("cli.acted.of_job", "id", parts[2])
	}
	return a.text("cli.acted")
}
