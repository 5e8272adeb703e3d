package cli

import (
	"io"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/verify"
)

// verifyCommand returns the command that checks receipts. Its outcomes are exit codes: 0, 1, and 2 for what is not
// proven.
func (a *app) verifyCommand() *cobra.Command {
	cmd := verify.Command(a.in, func(o verify.Outcome, v verify.Verdict) error {
		var err error
		if a.global.json {
			err = a.printJSON(v)
		} else {
			_, err = io.WriteString(a.out, v.Text)
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
