// Package secrets reads secrets from AWS Secrets Manager: JSON objects of names
// and values, such as {"OPENAI_API_KEY": "…"}.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

// Secret is one secret, by its ARN.
type Secret struct {
	client *secretsmanager.Client
	arn    string
}

// New returns the secret with an ARN.
func New(config aws.Config, arn string) *Secret {
	return &Secret{client: secretsmanager.NewFromConfig(config), arn: arn}
}

// Value returns the value of a name. The error never holds any part of the
// secret.
func (s *Secret) Value(ctx context.Context, name string) (string, error) {
	out, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.arn})
	if err != nil {
		return "", err
	}
	var values map[string]string
	if json.Unmarshal([]byte(aws.ToString(out.SecretString)), &values) != nil {
		return "", errors.New("secrets: the secret is not a JSON object of strings")
	}
	if values[name] == "" {
		return "", fmt.Errorf("secrets: the secret has no %s", name)
	}
	return values[name], nil
}
