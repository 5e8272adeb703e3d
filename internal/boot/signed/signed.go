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

// New returns the client of a service, by the name that it has in signatures and in addresses. The endpoint of the
// configuration comes first, then the given one; without both it is the service's own in the region.
func New(config aws.Config, service, endpoint string, now func() time.Time) *Client {
	switch {
	case config.BaseEndpoint != nil:
		endpoint = *config.BaseEndpoint
	case endpoint == "":
		endpoint = "https://" + service + "." + config.Region + "." + domain(config.Region)
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

// domain returns the domain of AWS in a region.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// Do sends a request and returns the status, the headers, and at most most+1 bytes of the answer. The path is escaped.
// The error means that there was no answer, or not the whole one.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, most int64) (int, http.Header, []byte, error) {
	failed := func(err error) (int, http.Header, []byte, error) {
		return 0, nil, nil, fmt.Errorf("%s: %w", c.service, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return failed(err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := c.sign(req, body); err != nil {
		return failed(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	if err != nil {
		return failed(err)
	}
	return res.StatusCode, res.Header, answer, nil
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
