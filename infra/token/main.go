// Command token makes an access token for a deployment on AWS. It prints the
// token, which is kept nowhere, and the command that stores its hash:
//
//	go run ./infra/token -table piloto-Table-1ABC -account acme -user ana -scopes admin
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/auth"
	"piloto/internal/ident"
)

func main() {
	if err := run(os.Args[1:], time.Now(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "token:", err)
		os.Exit(1)
	}
}

// name is what an account or a user may be called: no key of the table can be
// read as another's.
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func run(args []string, now time.Time, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("token", flag.ContinueOnError)
	flags.SetOutput(errOut)
	table := flags.String("table", "", "the deployment's table (output TableName)")
	account := flags.String("account", "default", "the account it belongs to")
	user := flags.String("user", "admin", "the person or program that holds it")
	scopes := flags.String("scopes", "admin", "chat; admin, which includes it; billing, which moves credit; or several: admin,billing")
	life := flags.Duration("life", 0, "how long it is good for; 0: for ever")
	if err := flags.Parse(args); err != nil {
		return err
	}
	granted := strings.Split(*scopes, ",")
	switch {
	case *table == "":
		return fmt.Errorf("-table is missing: it is the deployment's output TableName")
	case !name.MatchString(*account) || !name.MatchString(*user):
		return fmt.Errorf("an account or user has 1 to 64 letters, digits, dots, @, - or _")
	case slices.ContainsFunc(granted, func(s string) bool { return !slices.Contains(auth.Scopes(), auth.Scope(s)) }):
		return fmt.Errorf("-scopes %s: there are chat, admin and billing", *scopes)
	case *life < 0:
		return fmt.Errorf("-life %s: it would be over", *life)
	}
	secret := ident.Secret()
	item, err := json.Marshal(row(secret, *account, *user, granted, now, *life))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "token: %s\n\nIt is shown once. Store its hash with:\n\naws dynamodb put-item --table-name %s --item '%s'\n", secret, *table, item)
	return nil
}

type value map[string]any

// row is the item of a token, as internal/dynamo reads it.
func row(secret, account, user string, scopes []string, now time.Time, life time.Duration) map[string]value {
	list := make([]value, len(scopes))
	for i, s := range scopes {
		list[i] = value{"S": s}
	}
	item := map[string]value{
		"PK": {"S": "TOKEN#" + ident.Hash(secret)}, "SK": {"S": "TOKEN"}, "kind": {"S": string(auth.KindToken)},
		"account": {"S": account}, "user": {"S": user}, "scopes": {"L": list}, "created_at": number(now.UnixMilli()),
	}
	if life > 0 {
		item["expires_at"] = number(now.Add(life).UnixMilli())
		item["ttl"] = number(now.Add(life + 24*time.Hour).Unix())
	}
	return item
}

func number(n int64) value { return value{"N": strconv.FormatInt(n, 10)} }
