package cli

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/cli/reach"
	"piloto/cmd/piloto/cli/usage"
	"piloto/infra/local/process"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/visible"
)

// tokenGroup are the commands about tokens.
type tokenGroup struct {
	con        *console.Console
	deployment *reach.Deployment
	folders    *reach.Folders
}

// commands returns the commands of the group.
func (g *tokenGroup) commands() []*cobra.Command {
	return []*cobra.Command{g.command()}
}

func (g *tokenGroup) command() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the tokens of the process that has the data folder", Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := g.folder()
			if err != nil {
				return err
			}
			all, err := process.ListTokens(cmd.Context(), data)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, t := range all {
				user, ends := t.User, g.con.Text("cli.never")
				if t.Owner {
					user += " " + g.con.Text("cli.tokens.owner")
				}
				if !t.Ends.IsZero() {
					ends = console.Moment(t.Ends)
				}
				rows = append(rows, []string{t.ID, user, t.Scopes, console.Moment(t.Made), ends})
			}
			return g.con.List(map[string]any{"tokens": all}, []string{"cli.id", "cli.user", "cli.scopes", "cli.made", "cli.due"}, rows)
		},
	}
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "Take a token back, with everything that was signed in with it", Args: usage.Exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := g.folder()
			if err != nil {
				return err
			}
			gone, err := process.RevokeToken(cmd.Context(), data, args[0])
			if err != nil {
				return err
			}
			return g.con.Result(gone, g.con.Text("cli.tokens.revoked", "user", gone.User, "n", strconv.Itoa(gone.Opened)))
		},
	}
	return usage.Group(&cobra.Command{Use: "tokens", Short: "Tokens of people and programs"}, list, g.makeCommand(), revoke)
}

// folder returns the data folder whose process has the tokens. Those of a deployment elsewhere are not reached from here.
func (g *tokenGroup) folder() (string, error) {
	if to, err := g.deployment.Target(); err != nil {
		return "", err
	} else if to.Origin != reach.Here {
		return "", ending.Miswritten(ending.Refusal("cli.tokens_here", "url", to.Origin))
	}
	return g.folders.DataFolder()
}

// tokenFlags are the flags of a new token.
type tokenFlags struct {
	user, scopes   string
	table, account string // of a deployment on AWS
	life           time.Duration
}

func (g *tokenGroup) makeCommand() *cobra.Command {
	var t tokenFlags
	cmd := &cobra.Command{
		Use: "make", Short: "Make a token; it is printed once", Args: usage.None,
		Long: `Make a token in the process that has the data folder. With --table it is for a deployment on AWS, and the command prints
what stores it there: the first token of a deployment is made so.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch given := cmd.Flags().Changed; {
			case t.table != "":
				return g.tokenRow(t)
			case given("account") || given("table"): // here there is one account, and the token would be of that
				return ending.Miswritten(ending.Refusal("cli.tokens_account"))
			}
			data, err := g.folder()
			if err != nil {
				return err
			}
			made, err := process.MakeToken(cmd.Context(), data, process.Token{User: t.user, Scopes: t.scopes}, t.life)
			if err != nil {
				return ending.Miswritten(err)
			}
			if g.con.JSON {
				return g.con.PrintJSON(made)
			}
			return g.con.PrintLines(made.Secret, "", g.con.Text("cli.tokens.made", "user", made.User, "scopes", made.Scopes, "id", made.ID))
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.user, "user", "", "who will have it: a person or a program")
	f.StringVar(&t.scopes, "scopes", "chat", auth.ScopesText)
	f.DurationVar(&t.life, "life", 0, "how long it is good for (720h); 0: for ever")
	f.StringVar(&t.table, "table", "", "`name` of the table of a deployment on AWS (its output TableName)")
	f.StringVar(&t.account, "account", "default", "only with --table: the account it belongs to")
	return cmd
}

// tokenRow makes a token, and prints the request that stores it in a table.
func (g *tokenGroup) tokenRow(t tokenFlags) error {
	secret := ids.Secret()
	token, err := auth.NewToken(secret, ids.Account(t.account), t.user, strings.Split(t.scopes, ","), time.Now(), t.life)
	if err != nil {
		return ending.Miswritten(process.TokenError(err, t.scopes, t.life))
	}
	item, err := json.Marshal(tokenItem(token))
	if err != nil {
		return err
	}
	return g.con.PrintLines("token: "+secret, "", g.con.Text("cli.tokens.store"), "",
		"aws dynamodb put-item --table-name "+visible.Word(t.table)+" --item "+visible.Word(string(item)))
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
