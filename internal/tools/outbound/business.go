package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/tools/tool"
)

// ErrBusiness means that a source returned no context of a company. Args["reason"] is a word for the log: target,
// dns, refused, tls, timeout, reset, protocol, status, too_large, unreadable or declined.
var ErrBusiness = fault.New(fault.Upstream, "business.unread")

// maxBusinessAnswer limits the size of a response about a company, in bytes.
const maxBusinessAnswer = 256 << 10

// Businesses requests the business context of companies from services (document 001). It sends no key, follows no
// redirect, and does not retry.
type Businesses struct{ client *http.Client }

// NewBusinesses returns a Businesses with the limits of opts.
func NewBusinesses(opts Options) Businesses { return Businesses{newOnceClient(opts)} }

// Context requests the business context of a company from a URL:
//
//	POST {"codOpe":"OBTENER_CONTEXTO_NEGOCIO","id_empresa":7}
//	→ {"success":true,"contexto_negocio":"Somos un spa…"}
//
// The context may be a text, or an object or a list, which is returned as compact JSON.
// Without a context the text is "". The error is ErrBusiness.
func (b Businesses) Context(ctx context.Context, url string, company int64) (string, error) {
	body, err := json.Marshal(map[string]any{"codOpe": "OBTENER_CONTEXTO_NEGOCIO", "id_empresa": company})
	if err != nil {
		return "", err
	}
	answer, err := b.post(ctx, url, body)
	if err != nil {
		return "", err
	}
	text, err := businessContext(answer)
	if err != nil {
		return "", ErrBusiness.With("reason", err.Error())
	}
	return text, nil
}

func (b Businesses) post(ctx context.Context, url string, body []byte) ([]byte, error) {
	req, err := request(ctx, tool.Request{
		Origin: url, URL: url, Method: http.MethodPost, Body: body,
		Header: map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
	}, nil)
	if err != nil {
		return nil, businessError("target", err)
	}
	res, err := b.client.Do(req)
	if err != nil {
		return nil, businessError(reason(err), clean(err, ""))
	}
	defer func() { _ = res.Body.Close() }()
	if meaning.Of(res.StatusCode, false) != meaning.Done {
		return nil, businessError("status", errors.New(res.Status))
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxBusinessAnswer+1))
	switch {
	case err != nil:
		return nil, businessError(reason(err), clean(err, ""))
	case len(answer) > maxBusinessAnswer:
		return nil, ErrBusiness.With("reason", "too_large")
	}
	return answer, nil
}

func businessError(reason string, cause error) *fault.Error {
	return ErrBusiness.With("reason", reason).Because(cause)
}

// The reasons why a response holds no context.
var (
	errUnreadable = errors.New("unreadable") // not the expected JSON
	errDeclined   = errors.New("declined")   // the service reports a failure
)

// businessContext reads a response leniently: it accepts a byte order mark, and a boolean written as a word or a
// number.
func businessContext(answer []byte) (string, error) {
	answer = bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf"))
	var said struct {
		Success json.RawMessage `json:"success"`
		Context json.RawMessage `json:"contexto_negocio"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return "", errUnreadable
	}
	switch strings.ToLower(strings.Trim(string(said.Success), `"`)) {
	case "true", "1":
	default:
		return "", errDeclined
	}
	var text string
	switch c := bytes.TrimSpace(said.Context); {
	case len(c) == 0 || string(c) == "null":
	case c[0] == '"':
		if err := json.Unmarshal(c, &text); err != nil {
			return "", errUnreadable
		}
	case string(c) == "{}" || string(c) == "[]":
	case c[0] == '{' || c[0] == '[':
		var compact bytes.Buffer
		if err := json.Compact(&compact, c); err != nil {
			return "", errUnreadable
		}
		text = compact.String()
	}
	return strings.TrimSpace(text), nil
}
