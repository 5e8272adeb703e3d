package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/internal/ground/neterr"
)

// lost returns the sentences for a missing answer: they name its replacement.
func (con *Console) lost(e *client.UnreachableError) string {
	said := []string{con.Text("cli.lost."+string(e.Came), "url", e.Origin, "status", fmt.Sprint(e.Status), "why", con.whyLost(e))}
	switch {
	case e.Wait > longest:
		said = append(said, con.Text("cli.lost.wait_long"))
	case e.Wait > 0:
		said = append(said, con.Text("cli.lost.wait", "n", fmt.Sprint(int64((e.Wait+time.Minute-1)/time.Minute))))
	}
	return strings.Join(said, "\n")
}

// longest is the longest pause that is written in minutes.
const longest = 24 * time.Hour

// whyLost says why there was no answer.
func (con *Console) whyLost(e *client.UnreachableError) string {
	if e.Came != client.CameNothing || e.Cause == nil {
		return ""
	}
	return con.Text("cli.lost.why." + neterr.Reason(e.Cause))
}

// mayBeDone names the possible effect of a request whose last answer is ambiguous, by its path, and the command that
// shows it before the request is sent once more.
func (con *Console) mayBeDone(path string) string {
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
		return con.Text("cli.acted.confirm", "id", parts[2])
	case is("api", "runs", "*", "retry"), is("api", "runs", "*", "undo"), is("api", "runs", "*", "repeat"):
		return con.Text("cli.acted.draft")
	case len(parts) == 4 && is("api", "runs", "*", parts[3]):
		return con.Text("cli.acted.run", "id", parts[2])
	case is("api", "send"), is("api", "decisions"):
		return con.Text("cli.acted.send")
	case is("api", "agents", "*", "jobs"):
		return con.Text("cli.acted.job")
	case len(parts) == 4 && is("api", "jobs", "*", parts[3]):
		return con.Text("cli.acted.of_job", "id", parts[2])
	}
	return con.Text("cli.acted")
}
