package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/client"
	"piloto/cmd/piloto/verify"
	"piloto/internal/ground/visible"
)

// verifyCommand returns the command that checks receipts. Its outcomes are exit codes: 0, 1, and 2 for a receipt that
// proves nothing.
func (g *runGroup) verifyCommand() *cobra.Command {
	cmd := verify.Command(g.con.in, func(o verify.Outcome, v verify.Verdict) error {
		var err error
		if g.con.json {
			err = g.con.printJSON(v)
		} else {
			_, err = io.WriteString(g.con.out, v.Text)
		}
		if err != nil {
			return err
		}
		return exit(map[verify.Outcome]Code{verify.Holds: Success, verify.DoesNot: Failed, verify.Unproven: Partial}[o])
	})
	check := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if _, ended := err.(*exitError); err != nil && !ended { //nolint:errorlint // it is returned as it is
			return usage(err)
		}
		return err
	}
	return cmd
}

func (g *runGroup) runsReceipt() *cobra.Command {
	return g.deployment.request(&cobra.Command{Use: "receipt ID", Short: "Write the signed receipt of a run to stdout; piloto verify checks it", Args: exactly("ID")}, func(ctx context.Context, c *client.Client, args []string) error {
		call := client.Call{Method: http.MethodGet, Path: runPath(args[0], "receipt")}
		raw, err := c.Raw(ctx, call, "application/json")
		if err == nil && !json.Valid(raw) {
			err = c.Strange(call, client.CameOther, errors.New("it answered with no receipt"))
		}
		if err != nil {
			return err
		}
		text := strings.TrimSpace(string(raw))
		if g.con.isTerm { // to a file it goes as it came
			text = visible.Escaped(text)
		}
		_, err = fmt.Fprintln(g.con.out, text)
		return err
	})
}
