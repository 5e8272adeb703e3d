package outbound

import (
	"context"
	"io"
	"net/http"

	"piloto/internal/tools/tool"
)

// maxHookAnswer is how much of an answer to a hook is read, in bytes.
const maxHookAnswer = 4 << 10

// Hooks sends messages to the addresses of hooks. It sends a request once, on a connection of its own, and follows no
// redirect.
type Hooks struct{ client *http.Client }

// NewHooks returns a Hooks with the limits of opts.
func NewHooks(opts Options) Hooks { return Hooks{newOnceClient(opts)} }

// Post implements hook.Sender. The error is ErrNotSent or ErrLost, with Args["reason"].
func (h Hooks) Post(ctx context.Context, url string, header map[string]string, body []byte) (status int, answered func(name string) string, said []byte, err error) {
	req, err := request(ctx, tool.Request{Origin: url, URL: url, Method: http.MethodPost, Body: body, Header: header}, nil)
	if err != nil {
		return 0, nil, nil, failure(err, false, "")
	}
	res, err := h.client.Do(req)
	if err != nil {
		return 0, nil, nil, failure(err, true, "")
	}
	defer func() { _ = res.Body.Close() }()
	if said, err = io.ReadAll(io.LimitReader(res.Body, maxHookAnswer)); err != nil {
		said = nil // its status is known all the same
	}
	return res.StatusCode, res.Header.Get, said, nil
}
