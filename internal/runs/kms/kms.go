// Package kms signs with a key of AWS Key Management Service: an ECC_NIST_P256 key whose private
// half never leaves the service.
//
// A process reads the public half once, and sends only the SHA-256 of a message.
package kms

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"piloto/internal/runs/receipt"
)

// Signer implements receipt.Signer.
type Signer struct {
	client *kms.Client
	arn    string

	mu  sync.Mutex
	key receipt.Key // set after the first read
}

// New returns the signer of the key with an ARN.
func New(config aws.Config, arn string) *Signer {
	return &Signer{client: kms.NewFromConfig(config), arn: arn}
}

// Key returns the public half of the key.
func (s *Signer) Key(ctx context.Context) (receipt.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key.ID != "" {
		return s.key, nil
	}
	out, err := s.client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &s.arn})
	if err != nil {
		return receipt.Key{}, err
	}
	public, err := x509.ParsePKIXPublicKey(out.PublicKey)
	if err != nil {
		return receipt.Key{}, fmt.Errorf("kms: the public half of %s: %w", s.arn, err)
	}
	if s.key, err = receipt.KeyOf(public); err != nil {
		return receipt.Key{}, fmt.Errorf("kms: %s: %w", s.arn, err)
	}
	return s.key, nil
}

// Sign signs the SHA-256 of a message; the value is in ASN.1 DER.
func (s *Signer) Sign(ctx context.Context, message []byte) ([]byte, error) {
	sum := sha256.Sum256(message)
	out, err := s.client.Sign(ctx, &kms.SignInput{
		KeyId: &s.arn, Message: sum[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return nil, err
	}
	return out.Signature, nil
}

var _ receipt.Signer = (*Signer)(nil)
