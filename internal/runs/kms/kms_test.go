package kms_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/infra/local/fixture"
	"piloto/internal/runs/kms"
	"piloto/internal/runs/receipt"
)

const arn = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"

// service answers Sign and GetPublicKey as KMS does, with a key of its own.
type service struct {
	t       *testing.T
	private *ecdsa.PrivateKey
	refuse  string
	asked   map[string]int
	body    map[string]string // of the last request
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	s.asked[action]++
	s.body = map[string]string{}
	if err := json.NewDecoder(r.Body).Decode(&s.body); err != nil || s.body["KeyId"] != arn {
		s.t.Errorf("%s: %v %v", action, s.body, err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if s.refuse != "" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type":"` + s.refuse + `","message":"no"}`))
		return
	}
	out := map[string]any{"KeyId": arn}
	switch action {
	case "GetPublicKey":
		out["PublicKey"], _ = x509.MarshalPKIXPublicKey(&s.private.PublicKey)
	case "Sign":
		digest, err := base64.StdEncoding.DecodeString(s.body["Message"])
		if err != nil || len(digest) != sha256.Size {
			s.t.Errorf("it was asked to sign %q", s.body["Message"])
		}
		out["Signature"], _ = ecdsa.SignASN1(rand.Reader, s.private, digest)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func newService(t *testing.T, curve elliptic.Curve) (*service, *kms.Signer) {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, private: private, asked: map[string]int{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, kms.New(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
	}, arn)
}

func TestSignReturnsVerifiableSignature(t *testing.T) {
	ctx := context.Background()
	s, signer := newService(t, elliptic.P256())
	key, err := signer.Key(ctx)
	if err != nil || key.Alg != receipt.ECDSAP256 || key.Check() != nil {
		t.Fatalf("%+v, %v", key, err)
	}
	message := []byte("a head")
	value, err := signer.Sign(ctx, message)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(key.PublicKey))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(message)
	if of, ok := public.(*ecdsa.PublicKey); !ok || !ecdsa.VerifyASN1(of, sum[:], value) {
		t.Error("it is not signed")
	}
	if s.body["MessageType"] != "DIGEST" || s.body["SigningAlgorithm"] != "ECDSA_SHA_256" {
		t.Errorf("it was asked for %v", s.body)
	}
	if _, err := signer.Key(ctx); err != nil || s.asked["GetPublicKey"] != 1 {
		t.Errorf("the public half was asked for %d times: %v", s.asked["GetPublicKey"], err)
	}
}

func TestKeyReturnsRefusalAndRetriesLater(t *testing.T) {
	ctx := context.Background()
	s, signer := newService(t, elliptic.P256())
	s.refuse = "ThrottlingException"
	if _, err := signer.Key(ctx); err == nil || !strings.Contains(err.Error(), "ThrottlingException") {
		t.Errorf("%v", err)
	}
	if _, err := signer.Sign(ctx, []byte("x")); err == nil {
		t.Error("it signed")
	}
	s.refuse = ""
	if _, err := signer.Key(ctx); err != nil {
		t.Error(err)
	}
}

func TestKeyRefusesOtherCurve(t *testing.T) {
	_, signer := newService(t, elliptic.P384())
	if _, err := signer.Key(context.Background()); err == nil {
		t.Error("a key of P-384 can be used")
	}
}

// The receipts of a deployment on AWS are as valid as those of one process.
func TestReceiptSignedByKMSIsValid(t *testing.T) {
	ctx := context.Background()
	_, signer := newService(t, elliptic.P256())
	w := fixture.NewWorld(t)
	w.Runs.Sealer = &receipt.Sealer{Store: w.Store.Receipts, Signer: signer, Now: w.Clock, Log: slog.New(slog.DiscardHandler)}
	r := w.Propose(fixture.To("GET", "/rooms", ""))
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	links, err := w.Store.Receipts.Links(ctx, fixture.Account, 0, 10)
	if err != nil || len(links) != 1 {
		t.Fatalf("%v, %v", links, err)
	}
	keys, err := w.Store.Receipts.SigningKeys(ctx)
	if err != nil || len(keys) != 1 || keys[0].Alg != receipt.ECDSAP256 {
		t.Fatalf("%v, %v", keys, err)
	}
	if wrong := receipt.VerifyChain(links, keys); len(wrong) > 0 {
		t.Error(wrong)
	}
	links[0].RunHead = "another"
	if wrong := receipt.VerifyChain(links, keys); len(wrong) == 0 {
		t.Error("another link holds too")
	}
}
