package auth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

var everyKind = []auth.Kind{auth.KindToken, auth.KindSession, auth.KindCode, auth.KindTicket}

// TestTableDumpContainsNoValidSecret: I14. The table has only hashes of tokens, sessions, codes
// and tickets, and no text in it is a valid secret.
func TestTableDumpContainsNoValidSecret(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	putToken(t, table.Access, "token-canary", auth.KindToken, time.Time{})
	putToken(t, table.Access, "code-canary", auth.KindCode, now.Add(time.Hour))
	session, err := auth.SessionFor(ctx, table.Access, "token-canary", auth.KindToken, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ticket, _, err := auth.NewTicket(ctx, table.Access, auth.Principal{Account: "acme", User: "ana", TokenID: ids.Hash("token-canary")}, now)
	if err != nil {
		t.Fatal(err)
	}
	out, err := dynamodb.NewFromConfig(config).Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil || len(out.Items) != 4 {
		t.Fatalf("%d rows, %v", len(out.Items), err)
	}
	for _, row := range out.Items {
		for attribute, v := range row {
			text, ok := v.(*types.AttributeValueMemberS)
			if !ok {
				continue
			}
			for _, secret := range []string{"canary", session, ticket} {
				if strings.Contains(text.Value, secret) {
					t.Errorf("%s holds a secret", attribute)
				}
			}
			_, afterMark, _ := strings.Cut(text.Value, "#")
			for _, shown := range []string{text.Value, afterMark, strings.ToUpper(afterMark)} {
				if _, err := auth.Authenticate(ctx, table.Access, shown, now, everyKind...); !errors.Is(err, auth.ErrRequired) {
					t.Errorf("%s signs in: %v", attribute, err)
				}
				if _, err := auth.TakeTicket(ctx, table.Access, shown, now); !errors.Is(err, auth.ErrRequired) {
					t.Errorf("%s opens a socket: %v", attribute, err)
				}
			}
		}
	}
}

// FuzzAuthenticate: I14. Only the secret itself is valid, and only for its kind.
func FuzzAuthenticate(f *testing.F) {
	table := fixture.Table(f)
	err := table.Access.PutToken(ctx, auth.Token{Hash: ids.Hash("good-secret"), Kind: auth.KindToken, Account: "acme", User: "ana", CreatedAt: now})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		"", "good-secret", "good-secre", "good-secret ", "GOOD-SECRET", "good-secret\x00", "eyJhbGciOiJub25lIn0.e30.", ids.Hash("good-secret"), "TOKEN#" + ids.Hash("good-secret"), "ｇood-secret",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, secret string) {
		for _, kind := range everyKind {
			p, err := auth.Authenticate(ctx, table.Access, secret, now, kind)
			good := secret == "good-secret" && kind == auth.KindToken
			if good != (err == nil) || !good && (p.Account != "" || !errors.Is(err, auth.ErrRequired)) {
				t.Fatalf("%q as a %s: %+v, %v", secret, kind, p, err)
			}
		}
	})
}
