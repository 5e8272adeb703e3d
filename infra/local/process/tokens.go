package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

// tokensPath is the path of the control socket that makes (POST), lists (GET) and revokes (DELETE)
// tokens of the account.
const tokensPath = "/tokens"

// shortID is the number of characters of a hash that identify a token. They cannot be used as a
// token.
const shortID = 12

// Token is a token of a data folder.
type Token struct {
	ID     string    `json:"id"`               // identifies it, and cannot be used as a token
	Secret string    `json:"secret,omitempty"` // only of one that was just made
	User   string    `json:"user"`
	Scopes string    `json:"scopes"` // separated by commas
	Owner  bool      `json:"owner,omitempty"`
	Made   time.Time `json:"made"`
	Ends   time.Time `json:"ends,omitzero"`    // zero: never
	Opened int       `json:"opened,omitempty"` // of one that was revoked: the sessions that were opened with it
}

// MakeToken has the process of a folder make a token with a user and scopes. It ends after life; 0: never.
func MakeToken(ctx context.Context, folder string, asked Token, life time.Duration) (t Token, err error) {
	err = askTokens(ctx, folder, http.MethodPost, url.Values{"user": {asked.User}, "scopes": {asked.Scopes}, "life": {life.String()}}, &t)
	return t, err
}

// ListTokens returns the tokens of the process of a folder, the oldest first.
func ListTokens(ctx context.Context, folder string) (list []Token, err error) {
	err = askTokens(ctx, folder, http.MethodGet, nil, &list)
	return list, err
}

// RevokeToken has the process of a folder take a token back, by the beginning of its ID.
func RevokeToken(ctx context.Context, folder, id string) (t Token, err error) {
	err = askTokens(ctx, folder, http.MethodDelete, url.Values{"id": {id}}, &t)
	return t, err
}

func askTokens(ctx context.Context, folder, method string, query url.Values, into any) error {
	var reply bytes.Buffer
	if err := requestControl(ctx, folder, method, tokensPath+"?"+query.Encode(), &reply); err != nil {
		return explainNoProcess(folder, err)
	}
	return json.Unmarshal(reply.Bytes(), into)
}

// explainNoProcess replaces an error of the control socket by one that says that no process has the
// folder, when that is the cause.
func explainNoProcess(folder string, err error) error {
	if isNoProcess(err) {
		return refusal("up.no_process", "folder", folder)
	}
	return err
}

// serveTokens serves the token requests of the control socket.
func (c *control) serveTokens(desk tokenAdmin) {
	for method, do := range map[string]func(context.Context, url.Values) (any, error){
		http.MethodPost: desk.make, http.MethodGet: desk.list, http.MethodDelete: desk.revoke,
	} {
		c.mux.HandleFunc(method+" "+tokensPath, func(w http.ResponseWriter, r *http.Request) {
			reply, err := do(r.Context(), r.URL.Query())
			if err != nil {
				refuseControl(w, err)
				return
			}
			_ = json.NewEncoder(w).Encode(reply)
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

func (d tokenAdmin) make(ctx context.Context, asked url.Values) (any, error) {
	life, err := time.ParseDuration(asked.Get("life"))
	if err != nil {
		return nil, err
	}
	secret := ids.Secret()
	token, err := auth.NewToken(secret, defaultAccount, asked.Get("user"), strings.Split(asked.Get("scopes"), ","), d.now(), life)
	if err != nil {
		return nil, TokenError(err, asked.Get("scopes"), life)
	}
	if err := d.table.PutToken(ctx, token); err != nil {
		return nil, err
	}
	made := d.shown(token)
	made.Secret = secret
	return made, nil
}

// TokenError returns the error of auth.NewToken with a sentence.
func TokenError(err error, scopes string, life time.Duration) error {
	switch {
	case errors.Is(err, auth.ErrTokenName):
		return refusal("tokens.name")
	case errors.Is(err, auth.ErrTokenScopes):
		return refusal("tokens.scopes", "scopes", scopes)
	case errors.Is(err, auth.ErrTokenLife):
		return refusal("tokens.life", "life", life.String())
	}
	return err
}

// shown returns a token as it is listed.
func (d tokenAdmin) shown(t auth.Token) Token {
	return Token{ID: t.Hash[:shortID], User: t.User, Scopes: scopesText(t), Owner: t.Hash == d.owner, Made: t.CreatedAt.UTC(), Ends: t.ExpiresAt.UTC()}
}

func (d tokenAdmin) list(ctx context.Context, _ url.Values) (any, error) {
	all, err := d.activeTokens(ctx)
	list := []Token{}
	for _, t := range all {
		if t.Kind == auth.KindToken {
			list = append(list, d.shown(t))
		}
	}
	return list, err
}

// revoke removes a token and the sessions that were opened with it. Their connections receive no
// further events.
func (d tokenAdmin) revoke(ctx context.Context, asked url.Values) (any, error) {
	all, err := d.activeTokens(ctx)
	if err != nil {
		return nil, err
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
		return nil, refusal("tokens.none", "id", id)
	case len(gone) > 1:
		return nil, refusal("tokens.several", "id", id)
	case gone[0].Hash == d.owner:
		return nil, refusal("tokens.owner")
	}
	for _, t := range all {
		if t.Parent == gone[0].Hash {
			gone = append(gone, t)
		}
	}
	for _, t := range gone { // the token first: no session is opened with it then
		if err := errors.Join(d.table.DeleteToken(ctx, t.Hash), realtime.Disconnect(ctx, d.table, t.Account, t.Hash, d.now())); err != nil {
			return nil, err
		}
	}
	taken := d.shown(gone[0])
	taken.Opened = len(gone) - 1
	return taken, nil
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
