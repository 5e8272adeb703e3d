// Package secrets keeps and reads secrets in AWS Secrets Manager, or in what
// speaks its protocol. A secret is a JSON object of names and values, such as
// {"OPENAI_API_KEY": "…"}.
//
// No error holds any part of a secret, whatever the service answered: errors are
// made of the operation, the id and the kind of failure, never of the message.
// Who has to hold a value for longer than a call holds it as a Key, which shows
// nothing when it is printed.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// ErrNotFound says that there is no such secret, that it is being deleted, or
// that it has no value of that name.
var ErrNotFound = errors.New("secrets: not found")

// Manager keeps and reads secrets. It holds none: each call asks the service.
type Manager struct {
	client *secretsmanager.Client
	prefix string
}

// NewManager returns a manager. ProviderID begins with prefix: the name of the
// stack, or up to 200 other characters that Secrets Manager allows.
func NewManager(config aws.Config, prefix string) *Manager {
	return &Manager{client: secretsmanager.NewFromConfig(config), prefix: prefix}
}

// Get returns the value of a name in a secret, which id means by its name or
// ARN. It returns ErrNotFound when either is missing or the value is empty.
func (m *Manager) Get(ctx context.Context, id, name string) (string, error) {
	out, err := m.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id})
	if missing(err) || beingDeleted(err) {
		return "", fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return "", told(ctx, "GetSecretValue", id, err)
	}
	var values map[string]string
	if json.Unmarshal([]byte(aws.ToString(out.SecretString)), &values) != nil {
		return "", fmt.Errorf("secrets: %s is not a JSON object of texts", id)
	}
	if values[name] == "" {
		return "", fmt.Errorf("%w: %s has no %s", ErrNotFound, id, name)
	}
	return values[name], nil
}

// How long Put goes on while the service is still deleting a secret of the same
// name: about six seconds in all, or less when ctx ends.
const (
	mostTries = 8
	firstWait = 50 * time.Millisecond
)

// errBusy says that Put met a secret that is neither there nor gone.
var errBusy = errors.New("secrets: it is still being deleted")

// Put makes a secret hold exactly these values, and creates it when there is
// none; doing it again changes nothing but the version. One that was scheduled
// for deletion is restored first, and has its old values until the new ones are
// written. An ARN of no secret is ErrNotFound: its name would be another's.
func (m *Manager) Put(ctx context.Context, id string, values map[string]string) error {
	text, err := json.Marshal(values)
	if err != nil || values == nil {
		return fmt.Errorf("secrets: %s: there are no values to keep", id)
	}
	secret, wait := string(text), firstWait
	for try := 1; ; try++ {
		again, err := m.put(ctx, id, &secret)
		if !again {
			return err
		}
		if try == mostTries {
			return fmt.Errorf("%w: %s", errBusy, id)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", errBusy, id, ctx.Err())
		case <-time.After(wait):
			wait *= 2
		}
	}
}

// put tries once, and reports whether to try again because the secret changed
// its state meanwhile.
func (m *Manager) put(ctx context.Context, id string, text *string) (again bool, err error) {
	_, err = m.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &id, SecretString: text})
	if err == nil {
		return false, nil
	}
	if beingDeleted(err) {
		return m.restore(ctx, id)
	}
	if !missing(err) {
		return false, told(ctx, "PutSecretValue", id, err)
	}
	if strings.HasPrefix(id, "arn:") {
		return false, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	_, err = m.client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &id, SecretString: text})
	switch {
	case err == nil:
		return false, nil
	case beingDeleted(err):
		return m.restore(ctx, id)
	case exists(err): // somebody else was faster
		return true, nil
	}
	return false, told(ctx, "CreateSecret", id, err)
}

// restore takes a secret back from deletion. That one cannot be found is a
// deletion that is about to end.
func (m *Manager) restore(ctx context.Context, id string) (again bool, err error) {
	_, err = m.client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: &id})
	if err == nil || missing(err) || beingDeleted(err) {
		return true, nil
	}
	return false, told(ctx, "RestoreSecret", id, err)
}

// Delete removes a secret at once and for good. One that is missing is fine.
func (m *Manager) Delete(ctx context.Context, id string) error {
	_, err := m.client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{
		SecretId: &id, ForceDeleteWithoutRecovery: aws.Bool(true),
	})
	if err == nil || missing(err) {
		return nil
	}
	return told(ctx, "DeleteSecret", id, err)
}
