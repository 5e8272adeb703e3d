package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/show"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
)

// addRuns adds the commands that decide about plans and look at runs.
func (a *app) addRuns(root *cobra.Command) {
	for _, cmd := range []*cobra.Command{a.runsCommand(), a.waitingCommand(), a.decideCommand(), a.verifyCommand()} {
		cmd.GroupID = "decide"
		root.AddCommand(cmd)
	}
}

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "runs", Short: "List, show, watch, confirm, reject, cancel, approve, settle, retry, undo, repeat; receipts", Args: none}
	list := a.runsList()
	cmd.AddCommand(
		list, a.runsShow(), a.runsWatch(), a.runsConfirm(), a.runsCancel("reject", "Reject a plan that waits; nothing of it runs"),
		a.runsCancel("cancel", "Stop a run: no further step begins"), a.runsApprove(), a.runsSettle(),
		a.runsAgain("retry", "Propose what is left of a run that failed"), a.runsAgain("undo", "Propose to undo what a run did"),
		a.runsAgain("repeat", "Propose the same plan again"), a.runsReceipt(),
	)
	cmd.RunE = list.RunE
	return cmd
}

// run returns the path of a run, and of what is below it.
func runPath(id string, below ...string) string {
	return client.Path(append([]string{"api", "runs", id}, below...)...)
}

func (a *app) readRun(ctx context.Context, c *client.Client, id string) (httpapi.Run, error) {
	call := client.Call{Method: http.MethodGet, Path: runPath(id)}
	r, err := client.Send[httpapi.Run](ctx, c, call)
	if err == nil && r.RunID != id {
		err = c.Strange(call, client.CameOther, errors.New("it answered with another run"))
	}
	return r, err
}

func (a *app) runsList() *cobra.Command {
	var status []string
	var p page
	cmd := &cobra.Command{
		Use: "list", Short: "List the runs, the newest first", Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				query := p.query()
				if len(status) > 0 {
					query.Set("status", strings.Join(status, ","))
				}
				got, err := client.Get[httpapi.RunList](ctx, c, "/api/runs", query)
				if err != nil {
					return err
				}
				defer a.tellNext(got.Cursor)
				var rows [][]string
				for _, r := range got.Runs {
					rows = append(rows, []string{
						r.RunID, moment(r.UpdatedAt), a.text("page.status." + string(r.Status)), fmt.Sprintf("%d/%d", r.StepsDone, r.StepsTotal), cut(r.Goal, 60),
					})
				}
				return a.list(got, []string{"cli.id", "cli.changed", "cli.status", "cli.steps", "cli.goal"}, rows)
			})
		},
	}
	p.register(cmd)
	cmd.Flags().StringSliceVar(&status, "status", nil, "only runs of these: draft, queued, running, waiting, done, error, in_doubt, cancelled, expired, superseded")
	return cmd
}

func (a *app) runsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a run: its plan whole, and the state and the answer of each step", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				r, err := a.readRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				if a.global.json {
					return a.printJSON(r)
				}
				w := a.writer(a.isTerm && a.colour)
				if r.Status == plan.Draft {
					w.Plan(r)
				} else {
					w.Run(r)
				}
				return a.show(a.out, w)
			})
		},
	}
}

func (a *app) runsWatch() *cobra.Command {
	return &cobra.Command{
		Use: "watch ID", Short: "Follow a run to its end, or until it waits for a person", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.follow(ctx, c, args[0])
			})
		},
	}
}

// follow tells the steps of a run as they end, prints how the run ended, and returns the exit code of that.
func (a *app) follow(ctx context.Context, c *client.Client, id string) error {
	after := 0
	titles := map[string]string{}
	var looks pace
	for {
		r, err := client.Get[httpapi.Run](ctx, c, runPath(id), url.Values{"wait": {"0"}})
		if err != nil {
			return err
		}
		for _, s := range r.Steps {
			titles[s.ID] = s.Title
		}
		events, err := client.Get[httpapi.EventList](ctx, c, runPath(id, "events"), url.Values{"after": {fmt.Sprint(after)}})
		if err != nil {
			return err
		}
		for _, e := range events.Events {
			after = e.Seq
			a.tellEvent(e, titles)
		}
		if len(events.Events) > 0 {
			looks.moved()
			continue // there may be more, and the run moved
		}
		if !r.Status.Active() || r.Status == plan.Waiting {
			return a.endOf(r)
		}
		if err := looks.wait(ctx); err != nil {
			return err
		}
	}
}

// tellEvent writes what happened, for those events that a person follows.
func (a *app) tellEvent(e plan.Event, titles map[string]string) {
	icon, known := map[string]string{
		plan.EventStepStart: "🔧", plan.EventStepDone: "✅", plan.EventStepFailed: "❌", plan.EventStepDoubt: "❓", plan.EventStepSkipped: "⏭",
		plan.EventStepAsked: "✋", plan.EventStepRetry: "🔄", plan.EventUndoing: "↩", plan.EventStepApproved: "✅", plan.EventStepRefused: "❌",
	}[e.Type]
	if !known {
		return
	}
	if !a.colour {
		icon = "-"
	}
	title := titles[e.StepID.String()]
	if title == "" {
		title = e.StepID.String()
	}
	a.say(icon + " " + a.text("cli.event."+strings.ReplaceAll(e.Type, ".", "_"), "step", visible.Line(title)))
}

// endOf prints a run that ended or waits.
func (a *app) endOf(r httpapi.Run) error {
	seen := r.View()
	if a.global.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
		return exit(codeOfRun(r.Status, seen.Done))
	}
	w := a.writer(a.isTerm && a.colour)
	w.Outcome(r)
	if err := a.show(a.out, w); err != nil {
		return err
	}
	for _, s := range r.Steps {
		for _, w := range seen.Waits {
			switch step := w.StepID.String(); {
			case w.StepID.Step() != s.ID:
			case w.Kind == plan.WaitApproval:
				a.say(a.text("cli.approve_with", "id", r.RunID, "step", step, "digest", short(plan.Digest(w.Request))))
			case w.Kind == plan.WaitDoubt:
				a.say(a.text("cli.settle_with", "id", r.RunID, "step", step))
			}
		}
		a.tellRoom(s.MCPID, s.Result)
		if s.UndoState != nil {
			a.tellRoom(s.MCPID, s.UndoState.Result)
		}
	}
	return exit(codeOfRun(r.Status, seen.Done))
}

// tellRoom writes what made room for a step that changes files.
func (a *app) tellRoom(mcpID string, r *plan.Result) {
	room := plan.RoomOf(mcpID, r, func(name string) locale.Phrase { return locale.Verbatim(visible.Line(name)) })
	if room != nil {
		a.say("! " + room.In(a.tag))
	}
}

// decision is what confirm, approve and the others have in common.
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

// agreed shows what will be decided, whole, and has a person type its digest, unless --digest gave it: of a plan, or of the
// request of an approval.
func (a *app) agreed(ctx context.Context, d decision, digest plan.Digest, shown *show.Writer) error {
	if err := a.show(a.errOut, shown); err != nil {
		return err
	}
	typed := d.digest
	if typed == "" {
		if !a.asks || d.yes {
			return &exitError{code: Waits, text: a.text("cli.need_digest", "digest", short(digest))}
		}
		var err error
		if typed, err = a.ask(ctx, a.text("cli.type_digest", "digest", short(digest))); err != nil && !errors.Is(err, io.EOF) {
			return err // after the end of the input nothing was typed, and nothing is agreed
		}
	}
	if !isShown(digest, typed) {
		return &exitError{code: Waits, text: a.text("cli.other_digest", "digest", short(digest))}
	}
	return nil
}

func (a *app) runsConfirm() *cobra.Command {
	var d decision
	cmd := &cobra.Command{
		Use: "confirm ID", Short: "Confirm a plan exactly as it is printed, by its digest", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				r, err := a.readRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				w := a.writer(a.colour)
				w.Plan(r)
				if err := a.agreed(ctx, d, r.Digest, w); err != nil {
					return err
				}
				if err := a.confirm(ctx, c, r); err != nil || !d.wait {
					return err
				}
				return a.follow(ctx, c, r.RunID)
			})
		},
	}
	d.register(cmd)
	return cmd
}

// confirm confirms the plan that was shown, and no other.
func (a *app) confirm(ctx context.Context, c *client.Client, r httpapi.Run) error {
	_, err := act(ctx, c, r.RunID, "confirm", ids.Secret(), httpapi.ConfirmRequest{Digest: r.Digest})
	if err == nil {
		a.say(a.text("cli.confirmed"))
	}
	return err
}

func (a *app) runsCancel(name, about string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: name + " ID", Short: about, Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				r, err := a.readRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				if isDraft := r.Status == plan.Draft; isDraft != (name == "reject") && !r.Status.Terminal() {
					other := map[string]string{"reject": "cancel", "cancel": "reject"}[name]
					return usage(refusal("cli.wrong.not_"+name, "id", r.RunID, "status", a.text("page.status."+string(r.Status)), "other", other))
				}
				body := httpapi.CancelRequest{Reason: reason}
				if name == "reject" {
					body.Digest = r.Digest
				}
				got, err := act(ctx, c, r.RunID, "cancel", "", body)
				if err != nil {
					return err
				}
				return a.printRun(got)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why a plan is rejected; the model is told")
	return cmd
}

// printRun prints a run on one line, or as JSON.
func (a *app) printRun(r httpapi.Run) error {
	if a.global.json {
		return a.printJSON(r)
	}
	return a.print(fmt.Sprintf("%s  %s  %s", r.RunID, a.text("page.status."+string(r.Status)), r.Goal))
}

func (a *app) runsApprove() *cobra.Command {
	var d decision
	var refuse bool
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Approve, or refuse, exactly the request that waits in a run", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				r, err := a.readRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				step, err := a.waitingStep(r, d.step)
				if err != nil {
					return err
				}
				w := a.writer(a.colour)
				w.Approval(step)
				if err := a.agreed(ctx, d, step.Approval.Digest, w); err != nil {
					return err
				}
				body := httpapi.ApproveRequest{StepID: step.ID, Decision: "approve", Request: step.Approval.Digest, Digest: r.Digest, Note: d.note}
				if refuse {
					body.Decision = "refuse"
				}
				if _, err = act(ctx, c, r.RunID, "approve", "", body); err != nil || !d.wait {
					return err
				}
				return a.follow(ctx, c, r.RunID)
			})
		},
	}
	d.register(cmd)
	cmd.Flags().BoolVar(&refuse, "refuse", false, "refuse it")
	cmd.Flags().StringVar(&d.step, "step", "", "`id` of the step, when several wait")
	cmd.Flags().StringVar(&d.note, "note", "", "a note that the record keeps")
	return cmd
}

// waitingStep returns the step of a run that waits for an approval.
func (a *app) waitingStep(r httpapi.Run, id string) (httpapi.Step, error) {
	var waiting []httpapi.Step
	for _, w := range r.View().Waits {
		i := slices.IndexFunc(r.Steps, func(s httpapi.Step) bool { return s.ID == w.StepID.String() })
		if w.Kind == plan.WaitApproval && i >= 0 && (id == "" || r.Steps[i].ID == id) {
			waiting = append(waiting, r.Steps[i])
		}
	}
	switch len(waiting) {
	case 1:
		return waiting[0], nil
	case 0:
		return httpapi.Step{}, &exitError{code: Failed, text: a.text("cli.nothing_waits", "id", r.RunID)}
	}
	ids := make([]string, len(waiting))
	for i, s := range waiting {
		ids[i] = s.ID
	}
	return httpapi.Step{}, usage(refusal("cli.wrong.several", "steps", strings.Join(ids, ", ")))
}

func (a *app) runsSettle() *cobra.Command {
	var outcome, note string
	cmd := &cobra.Command{
		Use: "settle ID STEP", Short: "Say what became of a request in doubt, once: done, not_done, or retry", Args: exactly("ID", "STEP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if outcome == "" {
				return usage(refusal("cli.wrong.outcome"))
			}
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				got, err := act(ctx, c, args[0], "settle", "", httpapi.ResolveRequest{StepID: args[1], Outcome: plan.Outcome(outcome), Note: note})
				if err != nil {
					return err
				}
				if err := a.printRun(got); err != nil {
					return err
				}
				if got.Status == plan.Draft { // a retry is a plan, and asks
					a.showPlan(got)
					a.tellPlan(got)
					return exit(Waits)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "done, not_done or retry")
	cmd.Flags().StringVar(&note, "note", "", "how you know; the record keeps it")
	return cmd
}

func (a *app) runsAgain(name, about string) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID", Short: about + "; it waits for its confirmation (exit 6)", Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.connect(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				got, err := act(ctx, c, args[0], name, "", struct{}{}) // each makes a draft of its own
				if err != nil {
					return err
				}
				if a.global.json {
					if err := a.printJSON(got); err != nil {
						return err
					}
					return exit(Waits)
				}
				w := a.writer(a.isTerm && a.colour)
				w.Plan(got)
				if err := a.show(a.out, w); err != nil {
					return err
				}
				a.tellPlan(got)
				return exit(Waits)
			})
		},
	}
}
