package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/show"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
)

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
		w.Approval(r, step)
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
	for _, s := range r.Steps { // the deployment decides whether it can still be given
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

// typedDigits is the number of digits of a digest that a person types.
const typedDigits = 8

// DigitsOf returns the digits that a person types.
func DigitsOf(d plan.Digest) string { return string(d)[:min(len(d), typedDigits)] }

// isShown reports whether the typed text is a prefix of the digest.
func isShown(digest plan.Digest, typed string) bool {
	typed = strings.ToLower(strings.TrimSpace(typed))
	return len(digest) == 64 && len(typed) >= typedDigits && strings.HasPrefix(string(digest), typed)
}
