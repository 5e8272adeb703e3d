// Command token creates an access token for a deployment on AWS. It prints the token, which is stored nowhere, and
// the command that stores its hash:
//
//	go run ./infra/token -table piloto-Table-1ABC -account acme -user ana -scopes admin
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

func main() {
	if err := run(os.Args[1:], time.Now(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "token:", err)
		os.Exit(1)
	}
}

func run(args []string, now time.Time, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("token", flag.ContinueOnError)
	flags.SetOutput(errOut)
	table := flags.String("table", "", "the deployment's table (output TableName)")
	account := flags.String("account", "default", "the account it belongs to")
	user := flags.String("user", "admin", "the person or program that holds it")
	scopes := flags.String("scopes", "admin", auth.ScopesText)
	life := flags.Duration("life", 0, "how long it is good for; 0: for ever")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *table == "" {
		return fmt.Errorf("-table is missing: it is the deployment's output TableName")
	}
	secret := ids.Secret()
	token, err := auth.NewToken(secret, *account, *user, *scopes, now, *life)
	if err != nil {
		return err
	}
	item, err := json.Marshal(row(token))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "token: %s\n\nIt is shown once. Store its hash with:\n\naws dynamodb put-item --table-name %s --item '%s'\n", secret, *table, item)
	return nil
}

type value map[string]any

// row returns the item of a token, in the form that internal/store/dynamo reads.
func row(t auth.Token) map[string]value {
	list := make([]value, len(t.Scopes))
	for i, s := range t.Scopes {
		list[i] = value{"S": string(s)}
	}
	item := map[string]value{
		"PK": {"S": "TOKEN#" + t.Hash}, "SK": {"S": "TOKEN"}, "kind": {"S": string(t.Kind)},
		"account": {"S": t.Account}, "user": {"S": t.User}, "scopes": {"L": list}, "created_at": number(t.CreatedAt.UnixMilli()),
	}
	if !t.ExpiresAt.IsZero() {
		item["expires_at"] = number(t.ExpiresAt.UnixMilli())
		item["ttl"] = number(t.ExpiresAt.Add(24 * time.Hour).Unix())
	}
	return item
}

func number(n int64) value { return value{"N": strconv.FormatInt(n, 10)} }
