package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// maxAnswer bounds what is read of a provider's answer, in bytes.
const maxAnswer = 8 << 20

// mending reads a provider's answers whole and writes tool calls as the protocol
// has them: some compatible servers send the arguments as an object where a
// string that holds one belongs.
type mending struct{ doer *http.Client }

// RoundTrip implements http.RoundTripper.
func (m mending) RoundTrip(r *http.Request) (*http.Response, error) {
	transport := m.doer.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, readErr := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	if readErr == nil {
		body = mend(body)
	}
	// What was read before a failure is followed by that failure.
	res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{readErr}))
	res.ContentLength = -1
	res.Header.Del("Content-Length")
	return res, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// mend returns an answer whose tool calls all have strings for arguments; one
// that has nothing to mend, or cannot be read, is returned as it is.
func mend(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"tool_calls"`)) {
		return body
	}
	var answer map[string]json.RawMessage
	var choices []map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer["choices"], &choices) != nil {
		return body
	}
	mended := false
	for _, choice := range choices {
		var message map[string]json.RawMessage
		var calls []map[string]json.RawMessage
		if json.Unmarshal(choice["message"], &message) != nil || json.Unmarshal(message["tool_calls"], &calls) != nil {
			continue
		}
		for _, call := range calls {
			mended = mendCall(call) || mended
		}
		message["tool_calls"], _ = json.Marshal(calls)
		choice["message"], _ = json.Marshal(message)
	}
	if !mended {
		return body
	}
	answer["choices"], _ = json.Marshal(choices)
	out, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return out
}

func mendCall(call map[string]json.RawMessage) bool {
	var function map[string]json.RawMessage
	if json.Unmarshal(call["function"], &function) != nil {
		return false
	}
	arguments := bytes.TrimSpace(function["arguments"])
	if len(arguments) == 0 || arguments[0] == '"' {
		return false
	}
	function["arguments"], _ = json.Marshal(string(arguments))
	call["function"], _ = json.Marshal(function)
	return true
}
