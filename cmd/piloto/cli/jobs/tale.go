package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/visible"
)

// jobTale prints the progress of a job, and collects the tools that it used.
type jobTale struct {
	con     *console.Console
	machine *machine.Machine // of this command; nil: it has no workspace
	shown   []string         // globs of its hidden files that are shown
	id      string
	after   int
	tools   []string
	model   string       // that answered last
	stop    func() error // asks the deployment to stop the job, once, and returns when it has answered

	waits  sync.Once         // says that the job waits for another machine
	pauses sync.Once         // says that the deployment asks for a pause
	thinks *console.Thinking // nil: the job is not followed yet

	seen     httpapi.Job      // as it was read last
	own      job.Job          // the record of this command's own calls
	patience time.Duration    // for which the deployment may be away; 0: as long as a client may be
	gaveUp   bool             // it was away for longer
	unsent   []job.ToolResult // answers that the deployment did not take
}

// eventsPage is how many events a deployment gives at once.
const eventsPage = 200

// print writes one event to stderr, each with its subject.
func (t *jobTale) print(e httpapi.JobEvent) {
	t.after = e.Seq
	var data struct {
		Round    int        `json:"round"`
		Method   string     `json:"method"`
		URL      string     `json:"url"`
		Tool     string     `json:"tool"`
		RunID    string     `json:"run_id"`
		Goal     string     `json:"goal"`
		Model    string     `json:"model"`
		Question string     `json:"question"`
		Calls    []string   `json:"calls"`
		Objects  []string   `json:"objects"`
		Did      []job.Deed `json:"did"`
	}
	_ = json.Unmarshal(e.Data, &data) // an absent member is not printed
	for _, name := range data.Calls {
		t.use(name)
	}
	if data.Model != "" {
		t.model = data.Model
	}
	defer func() { // below the line of the round that called
		for _, d := range data.Did {
			t.line(iconOf(d), visible.Line(d.Phrase().In(t.con.Tag)))
		}
	}()
	icon := map[string]string{
		job.EventAnswered: "🔄", job.EventRead: "🔍", job.EventProposed: "📦", job.EventCalled: "🔧", job.EventLost: "⚡", job.EventStopping: "❌", job.EventAsked: "✋",
	}[e.Type]
	if icon == "" {
		return
	}
	key := "cli.job." + strings.TrimPrefix(e.Type, "job.")
	calls := data.Calls
	if len(data.Objects) > 0 {
		calls = data.Objects
	}
	if e.Type == job.EventAnswered && len(calls) == 0 {
		key = "cli.job.answer"
	}
	what := clip.LineWithout(data.Method+" "+data.URL+" "+data.Tool, nil)
	if e.Type == job.EventAsked {
		what = console.Cut(data.Question, 200)
	}
	if data.Goal == "" {
		data.Goal = data.RunID
	}
	t.line(icon, t.con.Text(key, "n", fmt.Sprint(data.Round), "what", visible.Line(what), "calls", visible.Line(strings.Join(calls, ", ")), "id", data.RunID, "goal", visible.Line(console.Cut(data.Goal, 200))))
}

func iconOf(d job.Deed) string {
	switch {
	case d.Refused != "" || d.Failed:
		return "❌"
	case d.Kind == job.DeedRead:
		return "🔍"
	case d.Kind == job.DeedCommand && (d.ExitCode != 0 || d.TimedOut):
		return "❗"
	}
	return "✅"
}

func (t *jobTale) line(icon, text string) {
	if !t.con.Colour {
		icon = "-"
	}
	t.con.Say(icon + " " + text)
}

// use remembers a tool, once.
func (t *jobTale) use(name string) {
	if name != "" && !slices.Contains(t.tools, name) {
		t.tools = append(t.tools, name)
	}
}

// stayEvery is how often a command says that it is there.
const stayEvery = 20 * time.Second

// stay says to the deployment that this command is there, also while a call takes long or a person reads, until the returned function is
// called.
func (t *jobTale) stay(ctx context.Context, c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(stayEvery)
		defer tick.Stop()
		for {
			t.here(ctx, c)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// read reads the job.
func (t *jobTale) read(ctx context.Context, c *client.Client) (httpapi.Job, error) {
	return client.Get[httpapi.Job](ctx, c.Following(), client.Path("api", "jobs", t.id), nil)
}

// events reads the events after the last printed one, if there are any.
func (t *jobTale) events(ctx context.Context, c *client.Client, j httpapi.Job) (httpapi.JobEventList, error) {
	if j.Events <= t.after {
		return httpapi.JobEventList{}, nil
	}
	return client.Get[httpapi.JobEventList](ctx, c.Following(), client.Path("api", "jobs", t.id, "events"), url.Values{"after": {fmt.Sprint(t.after)}})
}

// answerCalls carries out the calls that a job leaves to this command. Changes are sent to the deployment at once, so
// that they are on record if this command is killed. After a signal the job is stopped before it gets the results of its
// calls, because its model would be asked on. A job that ended meanwhile gets them, too.
func (t *jobTale) answerCalls(ctx context.Context, c *client.Client, j httpapi.Job) error {
	t.machine.Wanted = func(ctx context.Context) bool {
		now, err := patiently(ctx, t, c, func() (httpapi.Job, error) { return t.read(ctx, c) })
		return err == nil && len(now.Calls) > 0 && !now.Stopping
	}
	var answers []job.ToolResult
	send := func() error {
		if len(answers) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			_ = t.stop() // finish returns the error
		}
		sent := 0
		_, err := patiently(ctx, t, c, func() (httpapi.Job, error) {
			sent++
			return t.send(context.WithoutCancel(ctx), c, answers)
		})
		if t.unsent, answers = answers, nil; err == nil || errors.Is(err, job.ErrEnded) || sent > 1 && errors.Is(err, job.ErrNoCalls) { // the answer to the first one was lost
			t.unsent = nil
			return nil
		}
		return err
	}
	t.own.Open = j.Calls
	for answer := range t.machine.Answer(ctx, j.Calls) {
		t.own.Note(answer)
		answers = append(answers, answer)
		if slices.ContainsFunc(answer.Did, func(d job.Deed) bool { return d.Kind != job.DeedRead }) {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return cmp.Or(send(), ctx.Err())
}
