// Package signed sends requests to AWS for which a function has no client of the SDK: of some services it uses one or two
// requests, and the SDK's client would be a large part of the function (ADR 49).
//
// One call is one attempt. The caller decides about repetitions and time limits.
package signed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Client sends requests to one service. It is safe for concurrent use.
type Client struct {
	http        aws.HTTPClient
	credentials aws.CredentialsProvider // nil: requests are not signed, because they stay in this process
	service     string
	region      string
	base        string // without a slash at its end
	signer      *v4.Signer
	now         func() time.Time
}

// New returns the client of a service, by the name that signatures have. The endpoint of the configuration comes before
// the given one.
func New(config aws.Config, service, endpoint string, now func() time.Time) *Client {
	if config.BaseEndpoint != nil {
		endpoint = *config.BaseEndpoint
	}
	c := &Client{
		http: config.HTTPClient, credentials: config.Credentials, service: service, region: config.Region,
		base: strings.TrimRight(endpoint, "/"), signer: v4.NewSigner(), now: now,
	}
	if c.http == nil {
		c.http = awshttp.NewBuildableClient()
	}
	if _, anonymous := c.credentials.(aws.AnonymousCredentials); anonymous {
		c.credentials = nil
	}
	return c
}

// Answer is what a service answered.
type Answer struct {
	Status int
	Kind   string // of an error: AccessDeniedException
	Header http.Header
	Body   []byte // at most what the caller takes, and one byte more
}

// Do sends a request and reads at most most+1 bytes of the answer. The path is escaped. The error means that there was no
// answer, or not the whole one.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, most int64) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", c.service, err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.sign(req, body); err != nil {
		return Answer{}, fmt.Errorf("%s: %w", c.service, err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", c.service, err)
	}
	defer func() { _ = res.Body.Close() }()
	a := Answer{Status: res.StatusCode, Header: res.Header}
	a.Kind, _, _ = strings.Cut(res.Header.Get("X-Amzn-Errortype"), ":")
	if a.Body, err = io.ReadAll(io.LimitReader(res.Body, most+1)); err != nil {
		return Answer{}, fmt.Errorf("%s: read the answer: %w", c.service, err)
	}
	return a, nil
}

func (c *Client) sign(req *http.Request, body []byte) error {
	if c.credentials == nil {
		return nil
	}
	credentials, err := c.credentials.Retrieve(req.Context())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return c.signer.SignHTTP(req.Context(), credentials, req, hex.EncodeToString(sum[:]), c.service, c.region, c.now())
}
