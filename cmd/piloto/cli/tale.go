package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/machine"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
)

// jobTale tells what a job does, and remembers which tools it used.
type jobTale struct {
	app     *app
	machine *machine.Machine // of this command; nil: it has no workspace
	shown   []string         // globs of its hidden files that are shown
	id      string
	after   int
	tools   []string
	model   string       // that answered last
	stop    func() error // asks the deployment to stop the job, once, and returns when it has answered

	waits sync.Once // says that the job waits for another machine
}

// eventsPage is how many events a deployment gives at once.
const eventsPage = 200

// tell writes one event to stderr, each with what it is about.
func (t *jobTale) tell(e httpapi.JobEvent) {
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
	_ = json.Unmarshal(e.Data, &data) // what is absent is not told
	for _, name := range data.Calls {
		t.use(name)
	}
	if data.Model != "" {
		t.model = data.Model
	}
	defer func() { // below the line of the round that called
		for _, d := range data.Did {
			t.line(iconOf(d), visible.Line(d.Phrase().In(t.app.tag)))
		}
	}()
	icon := map[string]string{
		job.EventAnswered: "🔄", job.EventLooked: "🔍", job.EventProposed: "📦", job.EventCalled: "🔧", job.EventLost: "⚡", job.EventStopping: "❌", job.EventAsked: "✋",
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
	what := strings.TrimSpace(data.Method + " " + data.URL + data.Tool)
	if e.Type == job.EventAsked {
		what = cut(data.Question, 200)
	}
	if data.Goal == "" {
		data.Goal = data.RunID
	}
	t.line(icon, t.app.text(key, "n", fmt.Sprint(data.Round), "what", visible.Line(what), "calls", visible.Line(strings.Join(calls, ", ")), "id", data.RunID, "goal", visible.Line(cut(data.Goal, 200))))
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
	if !t.app.colour {
		icon = "-"
	}
	t.app.say(icon + " " + text)
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
// called. What it may miss is said again, so a failure is none.
func (t *jobTale) stay(ctx context.Context, c *client.Client) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(stayEvery)
		defer tick.Stop()
		for {
			_, _ = client.Post[httpapi.Job](ctx, c, client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: []job.ToldCall{}})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// answerCalls carries out the calls that a job leaves to this command. What changed something is told to the deployment at once, so that
// it is on record if this command is killed. After a signal the job is stopped before it hears what its calls came to, because its model
// would be asked on. A job that ended meanwhile hears it, too.
func (t *jobTale) answerCalls(ctx context.Context, c *client.Client, j httpapi.Job) error {
	t.machine.Wanted = func(ctx context.Context) bool {
		now, err := client.Get[httpapi.Job](ctx, c, client.Path("api", "jobs", t.id), nil)
		return err == nil && len(now.Calls) > 0 && !now.Stopping
	}
	var told []job.ToldCall
	send := func() error {
		if len(told) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			_ = t.stop() // finish tells the error
		}
		_, err := client.Post[httpapi.Job](context.WithoutCancel(ctx), c, client.Path("api", "jobs", t.id, "results"), httpapi.ResultsRequest{Results: told})
		told = nil
		if isEnded(err) {
			return nil
		}
		return err
	}
	for answer := range t.machine.Answer(ctx, j.Calls) {
		told = append(told, answer)
		if slices.ContainsFunc(answer.Did, func(d job.Deed) bool { return d.Kind != job.DeedRead }) {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return cmp.Or(send(), ctx.Err())
}
