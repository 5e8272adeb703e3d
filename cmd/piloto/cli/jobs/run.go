// Package jobs owns the commands that start, follow and stop the jobs of agents, and the folder of this machine that a job
// works on.
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/cli/settings"
	"piloto/cmd/piloto/cli/talk"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// outcome is the result of a job, as --json prints it.
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

// costs are the costs of the models of a job.
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

// Group are the commands about the jobs of agents.
type Group struct {
	Con        *console.Console
	Deployment *reach.Deployment
	Folders    *reach.Folders
	Config     *settings.Configuration
	UnderWay   sync.Locker // held from the start of a command on this machine until its changes to git are moved away
	Runs       *runs.Group
	Talk       *talk.Group
}

// Commands returns the commands of the group.
func (g *Group) Commands() []*cobra.Command {
	return []*cobra.Command{g.runCommand(), g.jobsCommand()}
}

func (g *Group) runCommand() *cobra.Command {
	var w work
	cmd := &cobra.Command{
		Use: "run PROMPT", Short: "Have an agent work on a prompt; what it would change is a plan, and asks", Args: usage.Exactly("PROMPT"),
		Long: `Have an agent work on a prompt, for longer than a turn. It reads what may be read. What it would change becomes a plan:
at a terminal it is shown whole and asked about; otherwise the command ends with exit code 6, and the plan waits.

The result is on stdout, and nothing else is. "-" reads the prompt from stdin.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt := args[0]
			if prompt == "-" {
				text, err := g.Con.ReadInput("-", conversation.MaxMessage)
				if err != nil {
					return err
				}
				prompt = string(text)
			}
			if err := w.check(prompt, g.Config.Origin, cmd.Flags().Changed); err != nil {
				return err
			}
			if to, err := g.Deployment.Target(); w.cache && err == nil && to.Origin != reach.Here {
				return ending.Miswritten(ending.Refusal("cli.wrong.cache"))
			}
			return g.Deployment.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error { return g.work(ctx, c, w, prompt) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&w.agent, "agent", "a", "build", "`name` of the agent")
	f.StringVar(&w.chat, "chat", "", "`id` of a chat in which it works, or last; a new one when absent")
	w.workspace.register(f)
	f.StringVarP(&w.mode, "mode", "m", "", "confirm-all: what would be read asks, too; confirm-sensitive; yolo")
	f.StringVar(&w.model, "model", "", "`name` of the model that works, of the assistant's provider, or provider/name")
	f.StringVar(&g.Deployment.APIBase, "api-base", "", "`URL` of the provider, where this command opens the data folder itself; its key is OPENAI_API_KEY")
	f.BoolVar(&w.noMCP, "disable-mcp", false, "use no registered service")
	f.StringVar(&g.Deployment.LogLevel, "log-level", "", "debug, info, warn or error: of the log of the data folder that this command opens")
	f.StringVar(&g.Deployment.LogFile, "log-file", "", "`file` for that log; piloto.log in the data folder when absent")
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
	f.BoolVar(&g.Talk.NoStream, "no-stream", false, "write texts when they are whole")
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
func (g *Group) work(ctx context.Context, c *client.Client, w work, prompt string) error {
	began := time.Now()
	var err error
	if w.chat, err = talk.ChatOf(ctx, c, w.chat); err != nil {
		return err
	}
	if err := g.narrow(ctx, c, &w); err != nil {
		return err
	}
	order, err := w.order(ctx, c, prompt)
	if err != nil {
		return err
	}
	m, err := g.openWorkspace(ctx, c, &w)
	if err != nil {
		return err
	}
	if err := g.tellWhere(ctx, c, &w, order.Assistant); err != nil {
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
		return g.Con.Result(j, j.JobID)
	}
	g.Con.Report("cli.job_started", "id", j.JobID, "agent", w.agent)
	t := &jobTale{con: g.Con, machine: m, shown: w.workspace.showed, id: j.JobID, seen: j}
	t.stop = sync.OnceValue(func() error { return stopJob(context.WithoutCancel(ctx), c, t.id) })
	defer context.AfterFunc(ctx, func() { _ = t.stop() })() // finish returns the error
	if m != nil {
		defer t.stay(ctx, c)()
	}
	return g.finish(ctx, c, t, began, w.showCost)
}

// finish follows the job of this command. A signal stops the job too, and so does an error: nobody else carries out its calls,
// or asks about its plans.
func (g *Group) finish(ctx context.Context, c *client.Client, t *jobTale, began time.Time, showCost bool) error {
	j, err := g.followJob(ctx, c, t)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return g.leaveJob(context.WithoutCancel(ctx), c, t, err, time.Since(began))
	}
	if showCost || g.Con.Verbose > 0 {
		g.Con.Report("cli.costs", "cost", console.Money(j.CostMicros), "n", fmt.Sprint(j.Rounds))
	}
	return g.printOutcome(ctx, c, j, t, time.Since(began))
}

// printOutcome prints the result of a job, or its open question, and returns the exit code of that.
func (g *Group) printOutcome(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale, took time.Duration) error {
	o, lost := g.outcomeOf(ctx, c, j, t, took)
	var err error
	if g.Con.JSON {
		err = g.Con.PrintJSON(o)
	} else {
		if o.Output != "" {
			err = g.Talk.PrintText(wire.Message{Content: o.Output, Notes: o.Notes})
		}
		err = errors.Join(err, g.printRecord(g.Con.Out, j, t))
	}
	if err != nil {
		return err
	}
	g.tellWait(j, o, t)
	if lost != nil {
		return lost
	}
	return ending.Exit(ending.CodeOfJob(j.Status, j.StopReason, j.Acted))
}

// tellWait says how the decision is made for which a job waits.
func (g *Group) tellWait(j httpapi.Job, o outcome, t *jobTale) {
	switch {
	case o.Waiting == nil:
	case o.Waiting.Question != "":
		g.Con.Say(g.Con.Prose("cli.job_asks", "question", visible.Lines(o.Waiting.Question), "chat", j.ChatID))
	case o.Waiting.Digest != "":
		g.Con.Report("cli.confirm_with", "id", o.Waiting.RunID, "digest", runs.DigitsOf(o.Waiting.Digest))
	}
	switch {
	case o.Waiting == nil:
	case t.machine != nil:
		g.Con.Report("cli.job_ends_there", "chat", j.ChatID, "folder", t.machine.Root)
	default:
		g.Con.Report("cli.job_goes_on", "id", j.JobID)
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
		if runs.Wait(within, runs.FollowPause) != nil {
			return last
		}
	}
}

// newOutcome returns the part of a job's result that the job itself has.
func (g *Group) newOutcome(j httpapi.Job, t *jobTale, took time.Duration) outcome {
	o := outcome{
		Status: j.Status, StopReason: j.StopReason, Output: j.Output, Notes: j.Notes, Steps: j.Rounds, ToolsUsed: t.tools, Model: t.model, Duration: took.Seconds(), JobID: j.JobID, ChatID: j.ChatID,
		Costs: costs{Micros: j.CostMicros, USD: float64(j.CostMicros) / 1e6, Lost: j.LostCalls}, Sources: []conversation.Source{},
	}
	if o.ToolsUsed == nil {
		o.ToolsUsed = []string{}
	}
	g.addRecord(&o, j, t)
	return o
}

// outcomeOf reads the result of a job. With an error it has the part of newOutcome.
func (g *Group) outcomeOf(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale, took time.Duration) (outcome, error) {
	o := g.newOutcome(j, t, took)
	if j.Status == job.Waiting {
		o.Waiting = &waitsFor{RunID: j.WaitsFor, Question: j.Question, Options: j.Options}
		if j.WaitsFor != "" {
			r, err := patiently(ctx, t, c, func() (httpapi.Run, error) { return g.Runs.ReadRun(ctx, c.Following(), j.WaitsFor) })
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
func (g *Group) followJob(ctx context.Context, c *client.Client, t *jobTale) (httpapi.Job, error) {
	decided := map[string]bool{}
	var pace runs.Pace
	thinks := g.Con.Thinking()
	t.thinks = thinks
	defer thinks.Hide()
	for {
		j, err := patiently(ctx, t, c, func() (httpapi.Job, error) { return t.read(ctx, c) })
		if err != nil {
			return j, err
		}
		t.seen = j
		if j.Status == job.Running {
			thinks.Show()
		}
		events, err := patiently(ctx, t, c, func() (httpapi.JobEventList, error) { return t.events(ctx, c, j) })
		if err != nil {
			return j, err
		}
		if len(events.Events) > 0 || j.Status != job.Running {
			thinks.Hide()
		}
		for _, e := range events.Events {
			t.print(e)
			pace.Moved()
		}
		switch {
		case len(events.Events) == eventsPage: // there are more
			continue
		case j.Status.Terminal() && len(events.Events) > 0: // its end may have come after they were read
			continue
		case j.Status.Terminal():
			return j, nil
		case len(j.Calls) > 0 && t.machine == nil: // another command answers them
			t.waits.Do(func() { t.line("⏳", g.Con.Text("cli.job.client")) })
		case len(j.Calls) > 0:
			if err := t.answerCalls(ctx, c, j); err != nil {
				return j, err
			}
			pace.Moved()
		case j.Status == job.Waiting && j.Question != "":
			if answered, err := g.answerJob(ctx, c, j); !isAway(err) && (err != nil || !answered) { // if it is away, they are asked again
				return j, err
			}
		case j.WaitsFor != "" && !decided[j.WaitsFor]:
			goesOn, err := g.decideJob(ctx, c, j, t)
			if !isAway(err) && (err != nil || !goesOn) {
				return j, err
			}
			decided[j.WaitsFor] = err == nil
			pace.Moved()
		}
		if err := pace.Wait(ctx); err != nil {
			return j, err
		}
	}
}

// answerJob asks the person the question of a job, and sends the answer. It returns false when nobody is here.
func (g *Group) answerJob(ctx context.Context, c *client.Client, j httpapi.Job) (bool, error) {
	if !g.Con.Asks {
		return false, nil
	}
	answer, err := g.Con.Ask(ctx, visible.Lines(j.Question)+"\n> ")
	if err != nil || answer == "" {
		return false, console.IgnoreEOF(err)
	}
	_, err = g.Talk.Send(ctx, c, httpapi.SendRequest{ChatID: j.ChatID, Message: conversation.Choose(j.Options, answer)})
	return err == nil, err
}

// decideJob asks the person about the plan for which a job waits. It returns whether the job goes on by itself: after a
// decision, and while the plan runs.
func (g *Group) decideJob(ctx context.Context, c *client.Client, j httpapi.Job, t *jobTale) (bool, error) {
	r, err := patiently(ctx, t, c, func() (httpapi.Run, error) { return g.Runs.ReadRun(ctx, c.Following(), j.WaitsFor) })
	if err != nil {
		return false, err
	}
	switch {
	case r.Status == plan.Waiting || r.Status == plan.InDoubt:
		return false, nil
	case r.Status != plan.Draft:
		return true, nil
	case !g.Con.Asks:
		return false, nil
	}
	g.Runs.ShowPlan(r)
	if _, _, err := g.Talk.DecideHere(ctx, c, r); err != nil {
		return false, err
	}
	now, err := g.Runs.ReadRun(ctx, c, j.WaitsFor)
	return err == nil && now.Status != plan.Draft, err
}
