package receipt

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The signature algorithms of a head.
const (
	Ed25519   = "ed25519"           // over the message
	ECDSAP256 = "ecdsa-p256-sha256" // over the SHA-256 of the message; the value is in ASN.1 DER
)

// Key is the public half of a signing key. From is the time of its first signature. Until is the
// time of the first signature of its successor; nil: the key is still in use. The times are only
// informative, because two machines may sign with the old and the new key at once.
type Key struct {
	ID        string     `json:"id"` // hex SHA-256 of the public key in DER; users can pin it
	Alg       string     `json:"alg" enum:"ed25519,ecdsa-p256-sha256"`
	PublicKey string     `json:"public_key"` // PEM, PKIX
	From      time.Time  `json:"from"`
	Until     *time.Time `json:"until,omitempty"`
}

// Signature is the signature of a head.
type Signature struct {
	KeyID string `json:"key_id"`
	Alg   string `json:"alg"`
	Value string `json:"value"` // base64
}

// The reasons why a head is not proven to be signed by the owner of a key.
var (
	ErrUnsigned   = errors.New("it has no signature: nothing shows who wrote it")
	ErrUnknownKey = errors.New("it is signed with a key that was not given")
	ErrForged     = errors.New("its signature is not of what it says")
)

// errKey means that a key cannot be used.
var errKey = errors.New("receipt: it is no Ed25519 key and no ECDSA key of P-256")

// KeyOf returns the Key of a public half: an ed25519.PublicKey, or an *ecdsa.PublicKey of P-256.
func KeyOf(public crypto.PublicKey) (Key, error) {
	k := Key{Alg: Ed25519}
	switch p := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if k.Alg = ECDSAP256; p.Curve != elliptic.P256() {
			return Key{}, errKey
		}
	default:
		return Key{}, errKey
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return Key{}, fmt.Errorf("receipt: %w", err)
	}
	sum := sha256.Sum256(der)
	k.ID = hex.EncodeToString(sum[:])
	k.PublicKey = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return k, nil
}

// public parses the key, and checks that it matches its id and its algorithm.
func (k Key) public() (crypto.PublicKey, error) {
	block, rest := pem.Decode([]byte(k.PublicKey))
	if block == nil || block.Type != "PUBLIC KEY" || len(rest) > 0 {
		return nil, errors.New("its public half is not in PEM")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its public half cannot be read")
	}
	same, err := KeyOf(public)
	if err != nil {
		return nil, err
	}
	if same.ID != k.ID || same.Alg != k.Alg {
		return nil, errors.New("its id or its alg is that of another key")
	}
	return public, nil
}

// Check returns the reason why a key cannot be used to verify, or nil.
func (k Key) Check() error {
	if _, err := k.public(); err != nil {
		return fmt.Errorf("key %.16s: %w", k.ID, err)
	}
	return nil
}

// verify checks that the signature of a message is by one of the keys.
func (s *Signature) verify(message []byte, keys []Key) error {
	if s == nil {
		return ErrUnsigned
	}
	at := slices.IndexFunc(keys, func(k Key) bool { return k.ID == s.KeyID })
	if at < 0 {
		return fmt.Errorf("%w: %.64s", ErrUnknownKey, s.KeyID)
	}
	value, err := base64.StdEncoding.Strict().DecodeString(s.Value)
	if err != nil || base64.StdEncoding.EncodeToString(value) != s.Value || s.Alg != keys[at].Alg {
		return ErrForged
	}
	public, err := keys[at].public()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownKey, err)
	}
	if !verifies(public, message, value) {
		return ErrForged
	}
	return nil
}

func verifies(public crypto.PublicKey, message, value []byte) bool {
	switch p := public.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(p, message, value)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(message)
		return ecdsa.VerifyASN1(p, sum[:], value)
	}
	return false
}

// Local signs with an Ed25519 key in the memory of this process.
type Local struct {
	private ed25519.PrivateKey
	key     Key
}

// NewLocal returns the signer with the private key in a PEM text (PKCS #8). Its errors do not
// contain the key.
func NewLocal(text []byte) (*Local, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("receipt: it is no private key in PEM")
	}
	read, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := read.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("receipt: it is no Ed25519 private key")
	}
	key, err := KeyOf(private.Public())
	return &Local{private, key}, err
}

// NewPrivate creates a private key for NewLocal.
func NewPrivate() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Key implements Signer.
func (l *Local) Key(context.Context) (Key, error) { return l.key, nil }

// Sign implements Signer.
func (l *Local) Sign(_ context.Context, message []byte) ([]byte, error) {
	return ed25519.Sign(l.private, message), nil
}
