package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// outcome is what a piece of work came to, as --json prints it.
type outcome struct {
	Status     job.Status              `json:"status"`
	StopReason conversation.StopReason `json:"stop_reason,omitempty"`
	Output     string                  `json:"output"`
	Notes      []conversation.Note     `json:"notes,omitempty"`
	Steps      int                     `json:"steps"` // calls of the model
	ToolsUsed  []string                `json:"tools_used"`
	Duration   float64                 `json:"duration_seconds"`
	Model      string                  `json:"model"`
	Costs      costs                   `json:"costs"`
	JobID      string                  `json:"job_id"`
	ChatID     string                  `json:"chat_id"`
	Waiting    *waitsFor               `json:"waiting,omitempty"`
	Sources    []conversation.Source   `json:"sources"`

	Changes  []change             `json:"changes"`
	Commands []job.RanCommand     `json:"commands"`
	Refused  []httpapi.JobRefusal `json:"refused"`
	Unknown  []string             `json:"unknown"` // calls that may be done: their client did not answer
	Unlisted int                  `json:"unlisted,omitempty"`
}

// costs is what the models of a job cost.
type costs struct {
	Micros int64   `json:"cost_micros"` // millionths of a US dollar
	USD    float64 `json:"total_cost_usd"`
	Lost   int     `json:"lost_calls,omitempty"`
}

// waitsFor is the decision for which a job waits.
type waitsFor struct {
	RunID    string      `json:"run_id,omitempty"`
	Digest   plan.Digest `json:"digest,omitempty"`
	Question string      `json:"question,omitempty"`

	Options []conversation.Option `json:"options,omitempty"` // of the question
}

// work is the flags of run.
type work struct {
	agent    string
	chat     string
	mode     string
	model    string
	noMCP    bool
	steps    int
	budget   float64
	timeout  time.Duration
	eval     string
	dry      bool
	wait     bool
	showCost bool
	cache    bool

	workspace workspaceFlags
}

func (a *app) runCommand() *cobra.Command {
	var w work
	cmd := &cobra.Command{
		Use: "run PROMPT", Short: "Have an agent work on a prompt; what it would change is a plan, and asks", Args: exactly("PROMPT"),
		Long: `Have an agent work on a prompt, for longer than a turn. It reads what may be read. What it would change becomes a plan:
at a terminal it is shown whole and asked about; otherwise the command ends with exit code 6, and the plan waits.

The result is on stdout, and nothing else is. "-" reads the prompt from stdin.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt := args[0]
			if prompt == "-" {
				text, err := a.readInput("-", conversation.MaxMessage)
				if err != nil {
					return err
				}
				prompt = string(text)
			}
			if err := w.check(prompt, a.origin, cmd.Flags().Changed); err != nil {
				return err
			}
			if origin, _, err := a.target(); w.cache && err == nil && origin != here {
				return usage(refusal("cli.wrong.cache"))
			}
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error { return a.work(ctx, c, w, prompt) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&w.agent, "agent", "a", "build", "`name` of the agent")
	f.StringVar(&w.chat, "chat", "", "`id` of a chat in which it works, or last; a new one when absent")
	w.workspace.register(f)
	f.StringVarP(&w.mode, "mode", "m", "", "confirm-all: what would be read asks, too; confirm-sensitive; yolo")
	f.StringVar(&w.model, "model", "", "`name` of the model that works, of the assistant's provider, or provider/name")
	f.StringVar(&a.global.apiBase, "api-base", "", "`URL` of the provider, where this command opens the data folder itself; its key is OPENAI_API_KEY")
	f.BoolVar(&w.noMCP, "disable-mcp", false, "use no registered service")
	f.StringVar(&a.global.logLevel, "log-level", "", "debug, info, warn or error: of the log of the data folder that this command opens")
	f.StringVar(&a.global.logFile, "log-file", "", "`file` for that log; piloto.log in the data folder when absent")
	f.IntVar(&w.steps, "max-steps", 0, "calls of the model, 1 to 200, and one that closes; as the agent says when absent")
	f.Float64Var(&w.budget, "budget", 0, "what its models may cost, in US dollars; as the agent says when absent")
	f.DurationVar(&w.timeout, "timeout", 0, "how long it may work (10m); waits do not count; as the agent says when absent")
	f.StringVar(&w.eval, "self-eval", "", "off, basic or full: whether its answer is judged before it ends")
	f.BoolVar(&w.dry, "dry-run", false, "propose nothing; it says what it would propose")
	f.BoolVar(&w.wait, "wait", true, "wait for its end; --wait=false prints the job and returns")
	f.Bool("no-wait", false, "the same as --wait=false")
	f.BoolVar(&w.cache, "cache", false, "do not ask the model again what it answered within a day; only with --at here")
	f.Bool("no-cache", false, "the same as --cache=false")
	f.BoolVar(&w.showCost, "show-costs", false, "say on stderr what its models cost")
	f.BoolVar(&a.global.noStream, "no-stream", false, "write texts when they are whole")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if no, err := cmd.Flags().GetBool("no-wait"); err == nil && no {
			w.wait = false
		}
		if no, err := cmd.Flags().GetBool("no-cache"); err == nil && no {
			w.cache = false
		}
		return nil
	}
	return cmd
}

// work starts a job, and follows it.
func (a *app) work(ctx context.Context, c *client.Client, w work, prompt string) error {
	began := time.Now()
	var err error
	if w.chat, err = chatOf(ctx, c, w.chat); err != nil {
		return err
	}
	if err := a.narrow(ctx, c, &w); err != nil {
		return err
	}
	order, err := w.order(ctx, c, prompt)
	if err != nil {
		return err
	}
	m, err := a.openWorkspace(ctx, c, &w)
	if err != nil {
		return err
	}
	if err := a.tellWhere(ctx, c, &w, order.Assistant); err != nil {
		return err
	}
	if m != nil {
		defer func() { _ = m.Close() }()
		order.Tools = m.Tools()
		if order.Context, err = m.Context(ctx); err != nil {
			return err
		}
	}
	j, err := client.PostOnce[httpapi.Job](ctx, c, client.Path("api", "agents", w.agent, "jobs"), order)
	if err != nil {
		return err
	}
	if !w.wait {
		if a.global.json {
			return a.printJSON(j)
		}
		return a.print(j.JobID)
	}
	a.say(a.text("cli.job_started", "id", j.JobID, "agent", w.agent))
	t := &jobTale{app: a, machine: m, shown: w.workspace.showed, id: j.JobID, seen: j}
	t.stop = sync.OnceValue(func() error { return stopJob(context.WithoutCancel(ctx), c, t.id) })
	defer context.AfterFunc(ctx, func() { _ = t.stop() })() // finish tells the error
	if m != nil {
		defer t.stay(ctx, c)()
	}
	return a.finish(ctx, c, t, began, w.showCost)
}

// finish follows the job of this command. A signal stops the job too, and so does an error: nobody else carries out its calls, or asks
// about its plans.
func (a *app) finish(ctx context.Context, c *client.Client, t *jobTale, began time.Time, showCost bool) error {
	j, err := a.followJob(ctx, c, t)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return a.leaveJob(context.WithoutCancel(ctx), c, t, err, time.Since(began))
	}
	if showCost || a.global.verbose > 0 {
		a.say(a.text("cli.costs", "cost", money(j.CostMicros), "n", fmt.Sprint(j.Rounds)))
	}
	return a.printOutcome(ctx, c, j, t, time.Since(began))
}

// printOutcome prints what a job came to, or for what it waits, and returns the exit code of that.
func (a *app) printOutcome(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale, took time.Duration) error {
	o, lost := a.outcomeOf(ctx, c, j, t, took)
	var err error
	if a.global.json {
		err = a.printJSON(o)
	} else {
		if o.Output != "" {
			err = a.printText(conversation.Message{Content: o.Output, Notes: o.Notes})
		}
		err = errors.Join(err, a.printRecord(a.out, j, t))
	}
	if err != nil {
		return err
	}
	a.tellWait(j, o, t)
	if lost != nil {
		return lost
	}
	return exit(codeOfJob(j.Status, j.StopReason, j.Acted))
}

// tellWait says how the decision is made for which a job waits.
func (a *app) tellWait(j httpapi.Job, o outcome, t *jobTale) {
	switch {
	case o.Waiting == nil:
	case o.Waiting.Question != "":
		a.say(a.prose("cli.job_asks", "question", visible.Lines(o.Waiting.Question), "chat", j.ChatID))
	case o.Waiting.Digest != "":
		a.say(a.text("cli.confirm_with", "id", o.Waiting.RunID, "digest", short(o.Waiting.Digest)))
	}
	switch {
	case o.Waiting == nil:
	case t.machine != nil:
		a.say(a.text("cli.job_ends_there", "chat", j.ChatID, "folder", t.machine.Root))
	default:
		a.say(a.text("cli.job_goes_on", "id", j.JobID))
	}
}

// stopGrace is how long a command waits until its request to stop a job is answered, and then for the end of the job.
const stopGrace = 10 * time.Second

// stopJob asks the deployment to stop a job. That it has ended is no error.
func stopJob(ctx context.Context, c *client.Client, id string) error {
	within, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	_, err := spaced(within, func() (httpapi.Job, error) {
		return client.Post[httpapi.Job](within, c, client.Path("api", "jobs", id, "stop"), struct{}{})
	})
	if errors.Is(err, job.ErrEnded) {
		return nil
	}
	return err
}

// untilEnded waits for the end of a job that was stopped. It returns the job as it was read last.
func untilEnded(ctx context.Context, c *client.Client, id string) (last httpapi.Job) {
	within, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for {
		j, err := spaced(within, func() (httpapi.Job, error) {
			return client.Get[httpapi.Job](within, c, client.Path("api", "jobs", id), nil)
		})
		if err != nil {
			return last
		}
		if last = j; j.Status.Terminal() {
			return last
		}
		if wait(within, followPause) != nil {
			return last
		}
	}
}

// newOutcome returns what a job came to, as far as that stands with the job.
func (a *app) newOutcome(j httpapi.Job, t *jobTale, took time.Duration) outcome {
	o := outcome{
		Status: j.Status, StopReason: j.StopReason, Output: j.Output, Notes: j.Notes, Steps: j.Rounds, ToolsUsed: t.tools, Model: t.model, Duration: took.Seconds(), JobID: j.JobID, ChatID: j.ChatID,
		Costs: costs{Micros: j.CostMicros, USD: float64(j.CostMicros) / 1e6, Lost: j.LostCalls}, Sources: []conversation.Source{},
	}
	if o.ToolsUsed == nil {
		o.ToolsUsed = []string{}
	}
	a.addRecord(&o, j, t)
	return o
}

// outcomeOf reads what a job came to. With an error it has what stands with the job.
func (a *app) outcomeOf(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale, took time.Duration) (outcome, error) {
	o := a.newOutcome(j, t, took)
	if j.Status == job.Waiting {
		o.Waiting = &waitsFor{RunID: j.WaitsFor, Question: j.Question, Options: j.Options}
		if j.WaitsFor != "" {
			r, err := patiently(ctx, t, c, func() (httpapi.Run, error) { return a.readRun(ctx, c.Following(), j.WaitsFor) })
			if err != nil {
				return o, err
			}
			o.Waiting.Digest = r.Digest
		}
	}
	page, err := patiently(ctx, t, c, func() (httpapi.MessageList, error) {
		return client.Get[httpapi.MessageList](ctx, c.Following(), client.Path("api", "chats", j.ChatID, "messages"), nil)
	})
	if err != nil {
		return o, err
	}
	for _, m := range page.Messages {
		if m.JobID == j.JobID {
			o.Sources = append(o.Sources, m.Sources...)
		}
	}
	return o, nil
}

// followJob follows a job until it ended, or waits for a person who is not here.
func (a *app) followJob(ctx context.Context, c *client.Client, t *jobTale) (httpapi.Job, error) {
	decided := map[string]bool{}
	var looks pace
	thinks := a.thinking()
	t.thinks = thinks
	defer thinks.hide()
	for {
		j, err := patiently(ctx, t, c, func() (httpapi.Job, error) { return t.read(ctx, c) })
		if err != nil {
			return j, err
		}
		t.seen = j
		if j.Status == job.Running {
			thinks.show()
		}
		events, err := patiently(ctx, t, c, func() (httpapi.JobEventList, error) { return t.events(ctx, c, j) })
		if err != nil {
			return j, err
		}
		if len(events.Events) > 0 || j.Status != job.Running {
			thinks.hide()
		}
		for _, e := range events.Events {
			t.tell(e)
			looks.moved()
		}
		switch {
		case len(events.Events) == eventsPage: // there are more
			continue
		case j.Status.Terminal() && len(events.Events) > 0: // its end may have come after they were read
			continue
		case j.Status.Terminal():
			return j, nil
		case len(j.Calls) > 0 && t.machine == nil: // another command answers them
			t.waits.Do(func() { t.line("⏳", a.text("cli.job.client")) })
		case len(j.Calls) > 0:
			if err := t.answerCalls(ctx, c, j); err != nil {
				return j, err
			}
			looks.moved()
		case j.Status == job.Waiting && j.Question != "":
			if answered, err := a.answerJob(ctx, c, j); !isAway(err) && (err != nil || !answered) { // if it is away, they are asked again
				return j, err
			}
		case j.WaitsFor != "" && !decided[j.WaitsFor]:
			goesOn, err := a.decideJob(ctx, c, j, t)
			if !isAway(err) && (err != nil || !goesOn) {
				return j, err
			}
			decided[j.WaitsFor] = err == nil
			looks.moved()
		}
		if err := looks.wait(ctx); err != nil {
			return j, err
		}
	}
}

// answerJob asks the person what a job asks, and sends what they wrote. It returns false when nobody is here.
func (a *app) answerJob(ctx context.Context, c *client.Client, j httpapi.Job) (bool, error) {
	if !a.asks {
		return false, nil
	}
	answer, err := a.ask(ctx, visible.Lines(j.Question)+"\n> ")
	if err != nil || answer == "" {
		return false, ignoreEOF(err)
	}
	_, err = a.send(ctx, c, j.ChatID, conversation.Choose(j.Options, answer))
	return err == nil, err
}

// decideJob asks the person about the plan for which a job waits. It returns whether the job goes on by itself: after a
// decision, and while the plan runs.
func (a *app) decideJob(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale) (bool, error) {
	r, err := patiently(ctx, t, c, func() (httpapi.Run, error) { return a.readRun(ctx, c.Following(), j.WaitsFor) })
	if err != nil {
		return false, err
	}
	switch {
	case r.Status == plan.Waiting || r.Status == plan.InDoubt:
		return false, nil
	case r.Status != plan.Draft:
		return true, nil
	case !a.asks:
		return false, nil
	}
	a.showPlan(r)
	if _, _, err := a.decideHere(ctx, c, r); err != nil {
		return false, err
	}
	now, err := a.readRun(ctx, c, j.WaitsFor)
	return err == nil && now.Status != plan.Draft, err
}
