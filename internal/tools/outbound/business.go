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
	"piloto/internal/tools/tool"
)

// ErrBusiness is a source that told nothing of a company; Args["reason"] is a word
// for the log: target, dns, refused, tls, timeout, reset, protocol, status,
// too_large, unreadable or declined.
var ErrBusiness = fault.New(fault.Upstream, "business.unread")

// maxBusinessAnswer is how much of an answer about a company is read, in bytes.
const maxBusinessAnswer = 256 << 10

// Businesses asks services what there is to know of a company (document 001). It
// sends no key, follows no redirect, and asks once.
type Businesses struct{ client *http.Client }

// NewBusinesses returns a Businesses for what opts allow.
func NewBusinesses(opts Options) Businesses { return Businesses{newOnceClient(opts)} }

// Context asks a URL for the business context of a company:
//
//	POST {"codOpe":"OBTENER_CONTEXTO_NEGOCIO","id_empresa":7}
//	→ {"success":true,"contexto_negocio":"Somos un spa…"}
//
// The context may be a text, or an object or a list, which is told as compact
// JSON. Without one the text is "". The error is ErrBusiness.
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
		return nil, unread("target", err)
	}
	res, err := b.client.Do(req)
	if err != nil {
		return nil, unread(reason(err), clean(err, ""))
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		return nil, unread("status", errors.New(res.Status))
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxBusinessAnswer+1))
	switch {
	case err != nil:
		return nil, unread(reason(err), clean(err, ""))
	case len(answer) > maxBusinessAnswer:
		return nil, ErrBusiness.With("reason", "too_large")
	}
	return answer, nil
}

func unread(reason string, cause error) *fault.Error {
	return ErrBusiness.With("reason", reason).Because(cause)
}

// Why an answer tells nothing.
var (
	errUnreadable = errors.New("unreadable") // not the JSON that it should be
	errDeclined   = errors.New("declined")   // the service says that it did not succeed
)

// businessContext reads an answer as services write it that were made for people
// who are not strict: with a mark before it, and with truth as a word or a number.
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
