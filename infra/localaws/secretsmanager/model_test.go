package secretsmanager_test

import (
	"localaws/secretsmanager"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"pgregory.net/rapid"
)

// modelSecret is the model's state of a secret.
type modelSecret struct {
	current, previous string
	gone              time.Time // zero: not scheduled
}

// TestEngineFollowsModel makes random calls, at random times, with restarts between them.
func TestEngineFollowsModel(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp(root, "model-*")
		if err != nil {
			t.Fatal(err)
		}
		path, now, model := filepath.Join(folder, "secrets.json"), newClock(), map[string]*modelSecret{}
		reopen := func() *sdk.Client {
			e, err := secretsmanager.Open(path, secretsmanager.WithClock(now.Now))
			if err != nil {
				t.Fatal(err)
			}
			return client(e)
		}
		c := reopen()
		name := func() string { return rapid.SampledFrom([]string{"a", "a/b", "a-123456"}).Draw(t, "name") }
		text := func() string { return rapid.StringN(1, 8, -1).Filter(plain).Draw(t, "text") }
		find := func(n string) *modelSecret {
			h := model[n]
			if h != nil && !h.gone.IsZero() && !now.Now().Before(h.gone) {
				delete(model, n)
				return nil
			}
			return h
		}
		agree := func(err error, want bool) {
			if (err == nil) != want {
				t.Fatalf("it said %v; the model says %v", err, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(*rapid.T) {
				n, v := name(), text()
				_, err := c.CreateSecret(ctx, &sdk.CreateSecretInput{Name: &n, SecretString: &v})
				if agree(err, find(n) == nil); err == nil {
					model[n] = &modelSecret{current: v}
				}
			},
			"put": func(*rapid.T) {
				n, v := name(), text()
				_, err := c.PutSecretValue(ctx, &sdk.PutSecretValueInput{SecretId: &n, SecretString: &v})
				h := find(n)
				if agree(err, h != nil && h.gone.IsZero()); err == nil {
					h.previous, h.current = h.current, v
				}
			},
			"delete": func(*rapid.T) {
				n := name()
				_, err := c.DeleteSecret(ctx, &sdk.DeleteSecretInput{SecretId: &n, RecoveryWindowInDays: aws.Int64(7)})
				h := find(n)
				if agree(err, h != nil && h.gone.IsZero()); err == nil {
					h.gone = now.Now().AddDate(0, 0, 7)
				}
			},
			"force": func(*rapid.T) {
				n := name()
				_, err := c.DeleteSecret(ctx, &sdk.DeleteSecretInput{SecretId: &n, ForceDeleteWithoutRecovery: aws.Bool(true)})
				agree(err, true)
				delete(model, n)
			},
			"restore": func(*rapid.T) {
				n := name()
				_, err := c.RestoreSecret(ctx, &sdk.RestoreSecretInput{SecretId: &n})
				h := find(n)
				if agree(err, h != nil); h != nil {
					h.gone = time.Time{}
				}
			},
			"wait":    func(t *rapid.T) { now.pass(time.Duration(rapid.IntRange(1, 4).Draw(t, "days")) * 24 * time.Hour) },
			"restart": func(*rapid.T) { c = reopen() },
			"": func(t *rapid.T) {
				for _, n := range []string{"a", "a/b", "a-123456"} {
					h := find(n)
					for stage, want := range map[string]func() string{
						"AWSCURRENT": func() string { return h.current }, "AWSPREVIOUS": func() string { return h.previous },
					} {
						out, err := c.GetSecretValue(ctx, &sdk.GetSecretValueInput{SecretId: &n, VersionStage: &stage})
						there := h != nil && h.gone.IsZero() && want() != ""
						if (err == nil) != there || there && *out.SecretString != want() {
							t.Fatalf("%s %s: %v, %v; the model has %+v", n, stage, out, err, h)
						}
					}
				}
			},
		})
	})
}

func plain(s string) bool {
	for _, c := range s {
		if c == '\uFFFD' {
			return false
		}
	}
	return true
}
