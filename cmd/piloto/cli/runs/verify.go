package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/usage"
	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/verify"
	"piloto/internal/ground/visible"
)

// verifyCommand returns the command that checks receipts. Its outcomes are exit codes: 0, 1, and 2 for a receipt that
// proves nothing.
func (g *Group) verifyCommand() *cobra.Command {
	cmd := verify.Command(g.Con.In, func(o verify.Outcome, v verify.Verdict) error {
		var err error
		if g.Con.JSON {
			err = g.Con.PrintJSON(v)
		} else {
			_, err = io.WriteString(g.Con.Out, v.Text)
		}
		if err != nil {
			return err
		}
		return ending.Exit(map[verify.Outcome]ending.Code{verify.Holds: ending.Success, verify.DoesNot: ending.Failed, verify.Unproven: ending.Partial}[o])
	})
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ended := err.(*ending.Error); err != nil && !ended { //nolint:errorlint // it is returned as it is
			return ending.Miswritten(err)
		}
		return err
	}
	return cmd
}

func (g *Group) receiptCommand() *cobra.Command {
	return g.Deployment.Request(&cobra.Command{
		Use: "receipt ID", Short: "Write the signed receipt of a run to stdout; piloto verify checks it", Args: usage.Exactly("ID"),
	}, func(ctx context.Context, c *client.Client, args []string) error {
		call := client.Call{Method: http.MethodGet, Path: RunPath(args[0], "receipt")}
		raw, err := c.Raw(ctx, call, "application/json")
		if err == nil && !json.Valid(raw) {
			err = c.Strange(call, client.CameOther, errors.New("it answered with no receipt"))
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(raw))
		if g.Con.IsTerm { // to a file it goes as it came
			text = visible.Escaped(text)
		}
		_, err = fmt.Fprintln(g.Con.Out, text)
		return err
	})
}
