package mcp

import (
	"bytes"
	"encoding/json"
)

// The JSON-RPC methods that this package handles.
const (
	methodDiscover = "server/discover"
	methodList     = "tools/list"
	methodCall     = "tools/call"
	methodChanged  = "notifications/tools/list_changed"
	methodProgress = "notifications/progress"

	methodCancelled = "notifications/cancelled"
)

// message is one JSON-RPC message, in either direction.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *problem        `json:"error"`
	raw    []byte
}

// problem is the error object of a message.
type problem struct {
	Code    json.Number `json:"code"`
	Message string      `json:"message"`
}

// codeInvalidParams is the code of JSON-RPC for parameters that the server does not accept, a cursor among them.
const codeInvalidParams = "-32602"

// messages parses one message, or a list of them as in version 2025-03-26, with or without a byte order mark. Anything
// else gives no message.
func messages(raw []byte) []message {
	raw = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("\ufeff")))
	if len(raw) == 0 {
		return nil
	}
	each := []json.RawMessage{raw}
	if raw[0] == '[' {
		if each = elements(raw); each == nil {
			return nil
		}
	}
	var list []message
	for _, one := range each {
		m := message{raw: one}
		if err := json.Unmarshal(one, &m); err == nil {
			list = append(list, m)
		}
	}
	return list
}

// maxBatch limits how many messages of a list are read. A genuine list holds few messages beside an answer, and a
// list of empty elements would need much memory.
const maxBatch = 1000

// elements returns the first maxBatch elements of a JSON list, or nil.
func elements(raw []byte) []json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var each []json.RawMessage
	for dec.More() && len(each) < maxBatch {
		var one json.RawMessage
		if err := dec.Decode(&one); err != nil {
			return nil
		}
		each = append(each, one)
	}
	return each
}

// isRequest reports whether the message is a request, which expects an answer.
func (m message) isRequest() bool { return m.Method != "" && !m.hasNoID() }

// hasNoID reports whether the message has no id.
func (m message) hasNoID() bool { return len(m.ID) == 0 || string(m.ID) == "null" }

// isAnswerTo reports whether the message answers the request with an id. Some servers return the number as a text.
func (m message) isAnswerTo(id string) bool {
	return m.Method == "" && m.isOf(id) && (m.Error != nil) != (len(m.Result) > 0)
}

// isOf reports whether the message has the id of a request.
func (m message) isOf(id string) bool {
	return id != "" && (string(m.ID) == id || string(m.ID) == `"`+id+`"`)
}

// sdkAnswer returns the message that answers a request in the form that the SDK gets: with the id of the request.
func (m message) sdkAnswer(id string) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(m.raw, &members); err != nil {
		return m.raw
	}
	members["id"] = json.RawMessage(id)
	raw, err := json.Marshal(members)
	if err != nil {
		return m.raw
	}
	return raw
}

const maxID = 256

// declineReply returns the answer to a request of a server: it declines all but a ping.
func (m message) declineReply() []byte {
	id := m.ID
	if len(id) > maxID {
		id = json.RawMessage("null")
	}
	text := `{"jsonrpc":"2.0","id":` + string(id)
	if m.Method == "ping" {
		return []byte(text + `,"result":{}}`)
	}
	return []byte(text + `,"error":{"code":-32601,"message":"not supported by this client"}}`)
}

// sdkRequest returns a request of a server in the form that the SDK gets: a ping, or an unknown method.
func (m message) sdkRequest() []byte {
	method := "declined"
	if m.Method == "ping" {
		method = m.Method
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"` + method + `"}`)
}

// placeholder returns an answer without content, from which the SDK learns only whether a tools/list or tools/call
// succeeded. The real answer is read from the exchange.
func (x *exchange) placeholder() []byte {
	text := `{"jsonrpc":"2.0","id":` + x.id
	switch reply := x.answer(); {
	case reply == nil || reply.Error != nil:
		return []byte(text + `,"error":{"code":-32000,"message":"no result"}}`)
	case x.method == methodList:
		return []byte(text + `,"result":{"tools":[]}}`)
	}
	return []byte(text + `,"result":{"content":[]}}`)
}
