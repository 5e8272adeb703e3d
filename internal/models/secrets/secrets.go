// Package secrets stores and reads secrets in AWS Secrets Manager, or in a service
// with the same protocol. A secret is a JSON object of names and values, such as
// {"OPENAI_API_KEY": "…"}.
//
// No error contains any part of a secret or of the service's message: errors
// consist of the operation, the id and the error code. A
// caller that holds a value for longer than one call holds it as a Key, which is not
// printed.
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

	"piloto/internal/ground/retry"
)

// ErrNotFound means that the secret does not exist, is being deleted, or has no value of that name.
var ErrNotFound = errors.New("secrets: not found")

// Manager stores and reads secrets. It caches none: each call calls the service.
type Manager struct {
	client *secretsmanager.Client
	prefix string
}

// NewManager returns a manager. The names of its secrets begin with prefix: the name of the stack, or up to 200
// other characters that Secrets Manager allows.
func NewManager(config aws.Config, prefix string) *Manager {
	return &Manager{client: secretsmanager.NewFromConfig(config), prefix: prefix}
}

// Get returns the value of a name in a secret. id is the name or the ARN of the secret. It returns ErrNotFound when
// the secret or the name is missing, or the value is empty.
func (m *Manager) Get(ctx context.Context, id, name string) (string, error) {
	out, err := m.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &id})
	if isMissing(err) || isBeingDeleted(err) {
		return "", fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return "", scrub(ctx, "GetSecretValue", id, err)
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

// Retries of Put while the service deletes a secret of the same name: about six seconds in all, or less when ctx
// ends.
const (
	mostTries = 8
	firstWait = 50 * time.Millisecond
)

// errBusy means that the secret is being deleted.
var errBusy = errors.New("secrets: it is still being deleted")

// Put replaces the values of a secret, or creates the secret. A repetition changes only the version. A secret that
// is scheduled for deletion is restored first, and keeps its old values until the new ones are written. An ARN
// without a secret gives ErrNotFound, because a new secret would get another ARN.
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
		if err := retry.Wait(ctx, wait); err != nil {
			return fmt.Errorf("%w: %s: %w", errBusy, id, err)
		}
		wait *= 2
	}
}

// put tries once. It reports whether to try again because the secret changed its state meanwhile.
func (m *Manager) put(ctx context.Context, id string, text *string) (again bool, err error) {
	_, err = m.client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{SecretId: &id, SecretString: text})
	if err == nil {
		return false, nil
	}
	if isBeingDeleted(err) {
		return m.restore(ctx, id)
	}
	if !isMissing(err) {
		return false, scrub(ctx, "PutSecretValue", id, err)
	}
	if strings.HasPrefix(id, "arn:") {
		return false, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	_, err = m.client.CreateSecret(ctx, &secretsmanager.CreateSecretInput{Name: &id, SecretString: text})
	switch {
	case err == nil:
		return false, nil
	case isBeingDeleted(err):
		return m.restore(ctx, id)
	case isDuplicate(err): // another caller created it meanwhile
		return true, nil
	}
	return false, scrub(ctx, "CreateSecret", id, err)
}

// restore cancels the deletion of a secret. A missing secret means that the deletion is about to end.
func (m *Manager) restore(ctx context.Context, id string) (again bool, err error) {
	_, err = m.client.RestoreSecret(ctx, &secretsmanager.RestoreSecretInput{SecretId: &id})
	if err == nil || isMissing(err) || isBeingDeleted(err) {
		return true, nil
	}
	return false, scrub(ctx, "RestoreSecret", id, err)
}

// Delete removes a secret at once and permanently. A missing secret is not an error.
func (m *Manager) Delete(ctx context.Context, id string) error {
	_, err := m.client.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{
		SecretId: &id, ForceDeleteWithoutRecovery: aws.Bool(true),
	})
	if err == nil || isMissing(err) {
		return nil
	}
	return scrub(ctx, "DeleteSecret", id, err)
}
