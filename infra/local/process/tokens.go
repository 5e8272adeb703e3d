package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

// tokensPath is the path of the control socket that makes (POST), lists (GET) and revokes (DELETE)
// tokens of the account.
const tokensPath = "/tokens"

// shortID is the number of characters of a hash that identify a token. They cannot be used as a
// token.
const shortID = 12

// TokenTask is a request about the tokens of a data folder.
type TokenTask struct {
	Do     string        // make, list or revoke
	User   string        // user of the new token
	Scopes string        // scopes of the new token, separated by commas
	Life   time.Duration // lifetime of the new token; 0: no end
	ID     string        // ID of the token to revoke
}

// Tokens sends a task to the process of a folder, and prints the result.
func Tokens(ctx context.Context, folder string, task TokenTask, out io.Writer) error {
	query := url.Values{"user": {task.User}, "scopes": {task.Scopes}, "life": {task.Life.String()}, "id": {task.ID}}
	method, known := map[string]string{"make": http.MethodPost, "list": http.MethodGet, "revoke": http.MethodDelete}[task.Do]
	if !known {
		return fmt.Errorf("tokens %s: write make, list or revoke", task.Do)
	}
	return explainNoProcess(folder, requestControl(ctx, folder, method, tokensPath+"?"+query.Encode(), out))
}

// explainNoProcess replaces an error of the control socket by one that says that no process has the
// folder, when that is the cause.
func explainNoProcess(folder string, err error) error {
	if isNoProcess(err) {
		return fault.New(fault.Unavailable, "up.no_process").With("folder", folder)
	}
	return err
}

// serveTokens serves the token requests of the control socket.
func (c *control) serveTokens(desk tokenAdmin) {
	for method, do := range map[string]func(context.Context, url.Values, io.Writer) error{
		http.MethodPost: desk.make, http.MethodGet: desk.list, http.MethodDelete: desk.revoke,
	} {
		c.mux.HandleFunc(method+" "+tokensPath, func(w http.ResponseWriter, r *http.Request) {
			var reply strings.Builder
			if err := do(r.Context(), r.URL.Query(), &reply); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_, _ = io.WriteString(w, reply.String())
		})
	}
}

// tokenAdmin makes, lists and revokes the tokens of the account. owner is the hash of the token
// that the process started with; only the token file or PILOTO_TOKEN changes that token.
type tokenAdmin struct {
	table interface {
		auth.Store
		realtime.Connections
	}
	client *dynamodb.Client
	name   string // of the table
	owner  string
	now    func() time.Time
}

func (d tokenAdmin) make(ctx context.Context, asked url.Values, out io.Writer) error {
	life, err := time.ParseDuration(asked.Get("life"))
	if err != nil {
		return err
	}
	secret := ids.Secret()
	token, err := auth.NewToken(secret, defaultAccount, asked.Get("user"), asked.Get("scopes"), d.now(), life)
	if err != nil {
		return err
	}
	if err := d.table.PutToken(ctx, token); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n\nIt is shown once, and belongs to %s (%s). To take it back: piloto tokens revoke %s\n", secret, token.User, scopesText(token), token.Hash[:shortID])
	return nil
}

func (d tokenAdmin) list(ctx context.Context, _ url.Values, out io.Writer) error {
	all, err := d.activeTokens(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tUSER\tSCOPES\tMADE\tENDS")
	for _, t := range all {
		if t.Kind != auth.KindToken {
			continue
		}
		user, ends := t.User, "never"
		if t.Hash == d.owner {
			user += " (the owner)"
		}
		if !t.ExpiresAt.IsZero() {
			ends = t.ExpiresAt.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", t.Hash[:shortID], user, scopesText(t), t.CreatedAt.UTC().Format(time.DateTime), ends)
	}
	return table.Flush()
}

// revoke removes a token and the sessions that were opened with it. Their connections receive no
// further events.
func (d tokenAdmin) revoke(ctx context.Context, asked url.Values, out io.Writer) error {
	all, err := d.activeTokens(ctx)
	if err != nil {
		return err
	}
	id := strings.ToLower(asked.Get("id"))
	var gone []auth.Token
	for _, t := range all {
		if t.Kind == auth.KindToken && len(id) >= 8 && strings.HasPrefix(t.Hash, id) {
			gone = append(gone, t)
		}
	}
	switch {
	case len(gone) == 0:
		return fmt.Errorf("%s: there is no such token; piloto tokens list shows them", id)
	case len(gone) > 1:
		return fmt.Errorf("%s: more than one token begins so", id)
	case gone[0].Hash == d.owner:
		return errors.New("that is the token of the owner: to change it, start with another PILOTO_TOKEN, or remove the token file")
	}
	for _, t := range all {
		if t.Parent == gone[0].Hash {
			gone = append(gone, t)
		}
	}
	for _, t := range gone { // the token first: no session is opened with it then
		if err := errors.Join(d.table.DeleteToken(ctx, t.Hash), realtime.Disconnect(ctx, d.table, t.Account, t.Hash, d.now())); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "revoked the token of %s, and what was signed in with it (%d)\n", gone[0].User, len(gone)-1)
	return nil
}

// activeTokens returns the account's tokens of every kind that have not expired, the oldest first.
func (d tokenAdmin) activeTokens(ctx context.Context) ([]auth.Token, error) {
	var list []auth.Token
	pages := dynamodb.NewScanPaginator(d.client, &dynamodb.ScanInput{
		TableName: &d.name, FilterExpression: aws.String("begins_with(PK, :t)"), ProjectionExpression: aws.String("PK"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":t": &types.AttributeValueMemberS{Value: "TOKEN#"}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, row := range page.Items {
			pk, ok := row["PK"].(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			t, err := d.table.Token(ctx, strings.TrimPrefix(pk.Value, "TOKEN#"))
			if err != nil || t.Account != defaultAccount || !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(d.now()) {
				continue // it expired meanwhile
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b auth.Token) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Hash, b.Hash))
	})
	return list, nil
}

func scopesText(t auth.Token) string {
	list := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		list[i] = string(s)
	}
	return strings.Join(list, ",")
}
