// Package runs owns the commands that decide about plans, read runs and check their receipts.
package runs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// Group are the commands that decide about plans and read runs.
type Group struct {
	Con        *console.Console
	Deployment *reach.Deployment
}

// Commands returns the commands of the group.
func (g *Group) Commands() []*cobra.Command {
	return []*cobra.Command{g.command(), g.waitingCommand(), g.decideCommand(), g.verifyCommand()}
}

func (g *Group) command() *cobra.Command {
	return usage.Group(&cobra.Command{Use: "runs", Short: "List, show, watch, confirm, reject, cancel, approve, settle, retry, undo, repeat; receipts"},
		g.listCommand(), g.showCommand(), g.watchCommand(), g.confirmCommand(), g.cancelCommand("reject", "Reject a plan that waits; nothing of it runs"),
		g.cancelCommand("cancel", "Stop a run: no further step begins"), g.approveCommand(), g.settleCommand(),
		g.againCommand("retry", "Propose what is left of a run that failed"), g.againCommand("undo", "Propose to undo what a run did"),
		g.againCommand("repeat", "Propose the same plan again"), g.receiptCommand(),
	)
}

// RunPath returns the path of a run, and of the resources below it.
func RunPath(id string, below ...string) string {
	return client.Path(append([]string{"api", "runs", id}, below...)...)
}

// ReadRun reads a run.
func (g *Group) ReadRun(ctx context.Context, c *client.Client, id string) (httpapi.Run, error) {
	call := client.Call{Method: http.MethodGet, Path: RunPath(id)}
	r, err := client.Send[httpapi.Run](ctx, c, call)
	if err == nil && r.RunID != id {
		err = c.Strange(call, client.CameOther, errors.New("it answered with another run"))
	}
	return r, err
}

func (g *Group) listCommand() *cobra.Command {
	var status []string
	var p usage.Page
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "list", Short: "List the runs, the newest first", Args: usage.None,
	}, func(ctx context.Context, c *client.Client, _ []string) error {
		query := p.Query()
		if len(status) > 0 {
			query.Set("status", strings.Join(status, ","))
		}
		got, err := client.Get[httpapi.RunList](ctx, c, "/api/runs", query)
		if err != nil {
			return err
		}
		defer g.Con.TellNext(got.Cursor)
		var rows [][]string
		for _, r := range got.Runs {
			rows = append(rows, []string{
				r.RunID, console.Moment(r.UpdatedAt), g.Con.Text("page.status." + string(r.Status)), fmt.Sprintf("%d/%d", r.StepsDone, r.StepsTotal), console.Cut(r.Goal, 60),
			})
		}
		return g.Con.List(got, []string{"cli.id", "cli.changed", "cli.status", "cli.steps", "cli.goal"}, rows)
	})
	p.Register(cmd)
	cmd.Flags().StringSliceVar(&status, "status", nil, "only runs of these: draft, queued, running, waiting, done, error, in_doubt, cancelled, expired, superseded")
	return cmd
}

func (g *Group) showCommand() *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: "show ID", Short: "Show a run: its plan whole, and the state and the answer of each step", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		r, err := g.ReadRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		if g.Con.JSON {
			return g.Con.PrintJSON(r)
		}
		w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
		if r.Status == plan.Draft {
			w.Plan(r)
		} else {
			w.Run(r)
		}
		return g.Con.Show(g.Con.Out, w)
	})
}

func (g *Group) watchCommand() *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: "watch ID", Short: "Follow a run to its end, or until it waits for a person", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		return g.Follow(ctx, c, args[0])
	})
}

// Follow prints the steps of a run as they end, and the end of the run, and returns the exit code for it.
func (g *Group) Follow(ctx context.Context, c *client.Client, id string) error {
	after := 0
	titles := map[string]string{}
	var pace Pace
	for {
		r, err := client.Get[httpapi.Run](ctx, c, RunPath(id), url.Values{"wait": {"0"}})
		if err != nil {
			return err
		}
		for _, s := range r.Steps {
			titles[s.ID] = s.Title
		}
		events, err := client.Get[httpapi.EventList](ctx, c, RunPath(id, "events"), url.Values{"after": {fmt.Sprint(after)}})
		if err != nil {
			return err
		}
		for _, e := range events.Events {
			after = e.Seq
			g.tellEvent(e, titles)
		}
		if len(events.Events) > 0 {
			pace.Moved()
			continue // there may be more, and the run moved
		}
		if !r.Status.Active() || r.Status == plan.Waiting {
			return g.endOf(r)
		}
		if err := pace.Wait(ctx); err != nil {
			return err
		}
	}
}

// tellEvent writes an event, if a person follows events of its type.
func (g *Group) tellEvent(e plan.Event, titles map[string]string) {
	icon, known := map[string]string{
		plan.EventStepStart: "🔧", plan.EventStepDone: "✅", plan.EventStepFailed: "❌", plan.EventStepDoubt: "❓", plan.EventStepSkipped: "⏭",
		plan.EventStepAsked: "✋", plan.EventStepRetry: "🔄", plan.EventUndoing: "↩", plan.EventStepApproved: "✅", plan.EventStepRefused: "❌",
	}[e.Type]
	if !known {
		return
	}
	if !g.Con.Colour {
		icon = "-"
	}
	title := titles[e.StepID.String()]
	if title == "" {
		title = e.StepID.String()
	}
	g.Con.Say(icon + " " + g.Con.Text("cli.event."+strings.ReplaceAll(e.Type, ".", "_"), "step", visible.Line(title)))
}

// endOf prints a run that ended or waits.
func (g *Group) endOf(r httpapi.Run) error {
	seen := r.View()
	if g.Con.JSON {
		if err := g.Con.PrintJSON(r); err != nil {
			return err
		}
		return ending.Exit(ending.CodeOfRun(r.Status, seen.Done))
	}
	w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
	w.Outcome(r)
	if err := g.Con.Show(g.Con.Out, w); err != nil {
		return err
	}
	for _, s := range r.Steps {
		for _, w := range seen.Waits {
			switch step := w.StepID.String(); {
			case w.StepID.Step() != s.ID:
			case w.Kind == plan.WaitApproval:
				g.Con.Report("cli.approve_with", "id", r.RunID, "step", step, "digest", DigitsOf(plan.Digest(w.Request)))
			case w.Kind == plan.WaitDoubt:
				g.Con.Report("cli.settle_with", "id", r.RunID, "step", step)
			}
		}
		g.tellRoom(s.MCPID, s.Result)
		if s.UndoState != nil {
			g.tellRoom(s.MCPID, s.UndoState.Result)
		}
	}
	return ending.Exit(ending.CodeOfRun(r.Status, seen.Done))
}

// tellRoom writes which versions made room for a step that changes files.
func (g *Group) tellRoom(mcpID string, r *plan.Result) {
	room := plan.RoomOf(mcpID, r, func(name string) locale.Phrase { return locale.Verbatim(visible.Line(name)) })
	if room != nil {
		g.Con.Say("! " + room.In(g.Con.Tag))
	}
}

func (g *Group) settleCommand() *cobra.Command {
	var outcome, note string
	cmd := &cobra.Command{
		Use: "settle ID STEP", Short: "Say what became of a request in doubt, once: done, not_done, or retry", Args: usage.Exactly("ID", "STEP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if outcome == "" {
				return ending.Miswritten(ending.Refusal("cli.wrong.outcome"))
			}
			return g.Deployment.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				got, err := Act(ctx, c, Action{Run: args[0], Name: "settle"}, httpapi.ResolveRequest{StepID: args[1], Outcome: plan.Outcome(outcome), Note: note})
				if err != nil {
					return err
				}
				if err := g.printRun(got); err != nil {
					return err
				}
				if got.Status == plan.Draft { // a retry is a plan, and asks
					g.ShowPlan(got)
					g.TellPlan(got)
					return ending.Exit(ending.Waits)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "done, not_done or retry")
	cmd.Flags().StringVar(&note, "note", "", "how you know; the record keeps it")
	return cmd
}

func (g *Group) againCommand(name, about string) *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: name + " ID", Short: about + "; it waits for its confirmation (exit 6)", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		got, err := Act(ctx, c, Action{Run: args[0], Name: name}, struct{}{}) // each makes a draft of its own
		if err != nil {
			return err
		}
		if g.Con.JSON {
			if err := g.Con.PrintJSON(got); err != nil {
				return err
			}
			return ending.Exit(ending.Waits)
		}
		w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
		w.Plan(got)
		if err := g.Con.Show(g.Con.Out, w); err != nil {
			return err
		}
		g.TellPlan(got)
		return ending.Exit(ending.Waits)
	})
}

// TellPlan says how a plan that waits is confirmed.
func (g *Group) TellPlan(r httpapi.Run) {
	g.Con.Report("cli.confirm_with", "id", r.RunID, "digest", DigitsOf(r.Digest))
}

// ShowPlan writes a plan to stderr, whole.
func (g *Group) ShowPlan(r httpapi.Run) {
	w := g.Con.Writer(g.Con.Colour)
	w.Plan(r)
	_ = g.Con.Show(g.Con.ErrOut, w)
}
