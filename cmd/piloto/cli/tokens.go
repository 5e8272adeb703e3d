package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"piloto/infra/local/process"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/visible"
)

func (a *app) tokensCommand() *cobra.Command {
	list := a.tokenTask("list", "list", "List the tokens of the process that has the data folder", none, nil)
	revoke := a.tokenTask("revoke", "revoke ID", "Take a token back, with everything that was signed in with it", exactly("ID"), nil)
	return group("tokens", "Tokens of people and programs", list, a.tokensMake(), revoke)
}

// tokenTask returns a command that asks the process of the data folder.
func (a *app) tokenTask(do, use, about string, args cobra.PositionalArgs, task *process.TokenTask) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: about, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			t := process.TokenTask{}
			if task != nil {
				t = *task
			}
			t.Do = do
			if len(args) == 1 {
				t.ID = args[0]
			}
			if origin, _, err := a.target(); err != nil {
				return err
			} else if origin != here {
				return usage(errors.New(a.text("cli.tokens_here", "url", origin)))
			}
			data, err := a.dataFolder()
			if err != nil {
				return err
			}
			return process.Tokens(cmd.Context(), data, t, a.out)
		},
	}
}

func (a *app) tokensMake() *cobra.Command {
	var t process.TokenTask
	var table, account string
	cmd := a.tokenTask("make", "make", "Make a token; it is printed once", none, &t)
	local := cmd.RunE
	cmd.Long = `Make a token in the process that has the data folder. With --table it is for a deployment on AWS, and the command prints
what stores it there: the first token of a deployment is made so.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch given := cmd.Flags().Changed; {
		case table == "" && (given("account") || given("table")): // here there is one account, and the token would be of that
			return usage(errors.New(a.text("cli.tokens_account")))
		case table == "":
			return local(cmd, args)
		}
		return a.tokenRow(table, account, t)
	}
	f := cmd.Flags()
	f.StringVar(&t.User, "user", "", "who will have it: a person or a program")
	f.StringVar(&t.Scopes, "scopes", "chat", auth.ScopesText)
	f.DurationVar(&t.Life, "life", 0, "how long it is good for (720h); 0: for ever")
	f.StringVar(&table, "table", "", "`name` of the table of a deployment on AWS (its output TableName)")
	f.StringVar(&account, "account", "default", "only with --table: the account it belongs to")
	return cmd
}

// tokenRow makes a token, and prints the request that stores it in a table.
func (a *app) tokenRow(table, account string, t process.TokenTask) error {
	secret := ids.Secret()
	token, err := auth.NewToken(secret, account, t.User, t.Scopes, time.Now(), t.Life)
	if err != nil {
		return usage(err)
	}
	item, err := json.Marshal(tokenItem(token))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "token: %s\n\nIt is shown once. Store its hash with:\n\naws dynamodb put-item --table-name %s --item %s\n", secret, visible.Word(table), visible.Word(string(item)))
	return err
}

type attribute map[string]any

// tokenItem returns the item of a token, in the form that internal/store/access reads.
func tokenItem(t auth.Token) map[string]attribute {
	list := make([]attribute, len(t.Scopes))
	for i, s := range t.Scopes {
		list[i] = attribute{"S": string(s)}
	}
	number := func(n int64) attribute { return attribute{"N": strconv.FormatInt(n, 10)} }
	item := map[string]attribute{
		"PK": {"S": "TOKEN#" + t.Hash}, "SK": {"S": "TOKEN"}, "kind": {"S": string(t.Kind)},
		"account": {"S": t.Account}, "user": {"S": t.User}, "scopes": {"L": list}, "created_at": number(t.CreatedAt.UnixMilli()),
	}
	if !t.ExpiresAt.IsZero() {
		item["expires_at"] = number(t.ExpiresAt.UnixMilli())
		item["ttl"] = number(t.ExpiresAt.Add(24 * time.Hour).Unix())
	}
	return item
}
