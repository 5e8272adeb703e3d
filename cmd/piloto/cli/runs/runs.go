// Package runs owns the commands that decide about plans, read runs and check their receipts.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/show"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
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

// Follow tells the steps of a run as they end, prints how the run ended, and returns the exit code of that.
func (g *Group) Follow(ctx context.Context, c *client.Client, id string) error {
	after := 0
	titles := map[string]string{}
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
			continue // there may be more, and the run moved
		}
		if !r.Status.Active() || r.Status == plan.Waiting {
			return g.endOf(r)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(FollowPause):
		}
	}
}

// FollowPause is the pause between two reads of a run.
const FollowPause = 250 * time.Millisecond

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
	done := 0
	for _, s := range r.Steps {
		if s.Status == plan.StepDone {
			done++
		}
	}
	if g.Con.JSON {
		if err := g.Con.PrintJSON(r); err != nil {
			return err
		}
		return ending.Exit(ending.CodeOfRun(r.Status, done))
	}
	w := g.Con.Writer(g.Con.IsTerm && g.Con.Colour)
	w.Outcome(r)
	if err := g.Con.Show(g.Con.Out, w); err != nil {
		return err
	}
	for _, s := range r.Steps {
		switch {
		case s.Approval != nil && s.Approval.Decision == "" && r.Status == plan.Waiting:
			g.Con.Report("cli.approve_with", "id", r.RunID, "step", s.ID, "digest", DigitsOf(s.Approval.Digest))
		case s.Status == plan.StepInDoubt:
			g.Con.Report("cli.settle_with", "id", r.RunID, "step", s.ID)
		}
		g.tellRoom(s.MCPID, s.Result)
		if s.UndoState != nil {
			g.tellRoom(s.MCPID, s.UndoState.Result)
		}
	}
	return ending.Exit(ending.CodeOfRun(r.Status, done))
}

// tellRoom writes which versions made room for a step that changes files.
func (g *Group) tellRoom(mcpID string, r *plan.Result) {
	room := plan.RoomOf(mcpID, r, func(name string) locale.Phrase { return locale.Verbatim(visible.Line(name)) })
	if room != nil {
		g.Con.Say("! " + room.In(g.Con.Tag))
	}
}

// decision has the flags that confirm, approve and the others share.
type decision struct {
	digest string
	yes    bool
	wait   bool
	step   string
	note   string
}

func (d *decision) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.digest, "digest", "", "the first 8 digits, or more, of the `digest` of what you read")
	cmd.Flags().BoolVarP(&d.yes, "yes", "y", false, "do not ask again; alone it confirms nothing: --digest says what")
	cmd.Flags().BoolVar(&d.wait, "wait", true, "wait for the end of the run")
}

// agreed shows the subject of a decision, whole, and has a person type its digest, unless --digest gave it: of a plan, or
// of the request of an approval.
func (g *Group) agreed(ctx context.Context, d decision, digest plan.Digest, shown *show.Writer) error {
	if err := g.Con.Show(g.Con.ErrOut, shown); err != nil {
		return err
	}
	typed := d.digest
	if typed == "" {
		if !g.Con.Asks || d.yes {
			return &ending.Error{Code: ending.Waits, Text: g.Con.Text("cli.need_digest", "digest", DigitsOf(digest))}
		}
		var err error
		if typed, err = g.Con.Ask(ctx, g.Con.Text("cli.type_digest", "digest", DigitsOf(digest))); err != nil && !errors.Is(err, io.EOF) {
			return err // after the end of the input nothing was typed, and nothing is agreed
		}
	}
	if !isShown(digest, typed) {
		return &ending.Error{Code: ending.Waits, Text: g.Con.Text("cli.other_digest", "digest", DigitsOf(digest))}
	}
	return nil
}

func (g *Group) confirmCommand() *cobra.Command {
	var d decision
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "confirm ID", Short: "Confirm a plan exactly as it is printed, by its digest", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		r, err := g.ReadRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		w := g.Con.Writer(g.Con.Colour)
		w.Plan(r)
		if err := g.agreed(ctx, d, r.Digest, w); err != nil {
			return err
		}
		if err := g.Confirm(ctx, c, r); err != nil || !d.wait {
			return err
		}
		return g.Follow(ctx, c, r.RunID)
	})
	d.register(cmd)
	return cmd
}

// Confirm confirms the plan that was shown, and no other.
func (g *Group) Confirm(ctx context.Context, c *client.Client, r httpapi.Run) error {
	_, err := Act(ctx, c, Action{Run: r.RunID, Name: "confirm", key: ids.Secret()}, httpapi.ConfirmRequest{Digest: r.Digest})
	if err == nil {
		g.Con.Report("cli.confirmed")
	}
	return err
}

func (g *Group) cancelCommand(name, about string) *cobra.Command {
	var reason string
	cmd := g.Deployment.Request(&cobra.Command{
		Use: name + " ID", Short: about, Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		r, err := g.ReadRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		if isDraft := r.Status == plan.Draft; isDraft != (name == "reject") && !r.Status.Terminal() {
			other := map[string]string{"reject": "cancel", "cancel": "reject"}[name]
			return ending.Miswritten(ending.Refusal("cli.wrong.not_"+name, "id", r.RunID, "status", g.Con.Text("page.status."+string(r.Status)), "other", other))
		}
		body := httpapi.CancelRequest{Reason: reason}
		if name == "reject" {
			body.Digest = r.Digest
		}
		got, err := Act(ctx, c, Action{Run: r.RunID, Name: "cancel"}, body)
		if err != nil {
			return err
		}
		return g.printRun(got)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why a plan is rejected; the model is told")
	return cmd
}

// printRun prints a run on one line, or as JSON.
func (g *Group) printRun(r httpapi.Run) error {
	return g.Con.Result(r, fmt.Sprintf("%s  %s  %s", r.RunID, g.Con.Text("page.status."+string(r.Status)), r.Goal))
}

func (g *Group) approveCommand() *cobra.Command {
	var d decision
	var refuse bool
	cmd := g.Deployment.Request(&cobra.Command{
		Use: "approve ID", Short: "Approve, or refuse, exactly the request that waits in a run", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		r, err := g.ReadRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		step, err := g.waitingStep(r, d.step)
		if err != nil {
			return err
		}
		w := g.Con.Writer(g.Con.Colour)
		w.Approval(step)
		if err := g.agreed(ctx, d, step.Approval.Digest, w); err != nil {
			return err
		}
		body := httpapi.ApproveRequest{StepID: step.ID, Decision: "approve", Request: step.Approval.Digest, Digest: r.Digest, Note: d.note}
		if refuse {
			body.Decision = "refuse"
		}
		if _, err = Act(ctx, c, Action{Run: r.RunID, Name: "approve"}, body); err != nil || !d.wait {
			return err
		}
		return g.Follow(ctx, c, r.RunID)
	})
	d.register(cmd)
	cmd.Flags().BoolVar(&refuse, "refuse", false, "refuse it")
	cmd.Flags().StringVar(&d.step, "step", "", "`id` of the step, when several wait")
	cmd.Flags().StringVar(&d.note, "note", "", "a note that the record keeps")
	return cmd
}

// waitingStep returns the step of a run that waits for an approval.
func (g *Group) waitingStep(r httpapi.Run, id string) (httpapi.Step, error) {
	var waiting []httpapi.Step
	for _, s := range r.Steps {
		if s.Approval != nil && s.Approval.Decision == "" && (id == "" || s.ID == id) {
			waiting = append(waiting, s)
		}
	}
	switch len(waiting) {
	case 1:
		return waiting[0], nil
	case 0:
		return httpapi.Step{}, &ending.Error{Code: ending.Failed, Text: g.Con.Text("cli.nothing_waits", "id", r.RunID)}
	}
	ids := make([]string, len(waiting))
	for i, s := range waiting {
		ids[i] = s.ID
	}
	return httpapi.Step{}, ending.Miswritten(ending.Refusal("cli.wrong.several", "steps", strings.Join(ids, ", ")))
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

// typedDigits is the number of digits of a digest that a person types.
const typedDigits = 8

// DigitsOf returns the digits that a person types.
func DigitsOf(d plan.Digest) string { return string(d)[:min(len(d), typedDigits)] }

// isShown reports whether the typed text is a prefix of the digest.
func isShown(digest plan.Digest, typed string) bool {
	typed = strings.ToLower(strings.TrimSpace(typed))
	return len(digest) == 64 && len(typed) >= typedDigits && strings.HasPrefix(string(digest), typed)
}
