package mcp

import (
	"bytes"
	"encoding/json"
)

// The methods that matter here.
const (
	methodDiscover = "server/discover"
	methodList     = "tools/list"
	methodCall     = "tools/call"
	methodChanged  = "notifications/tools/list_changed"
)

// message is one JSON-RPC message, either way.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *problem        `json:"error"`
	raw    []byte
}

// problem is what a server says went wrong.
type problem struct {
	Code    json.Number `json:"code"`
	Message string      `json:"message"`
}

// messages reads one message or, as 2025-03-26 has it, a list of them. What is
// neither is nothing.
func messages(raw []byte) []message {
	raw = bytes.TrimSpace(raw)
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

// maxBatch is how many messages are read of a list: what is beside an answer in one
// is little, and a list of nothings would be large when it is read.
const maxBatch = 1000

// elements are the first elements of a JSON list; nil for what is none.
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

// asks reports whether the message is a request, which awaits an answer.
func (m message) asks() bool { return m.Method != "" && !m.nobodys() }

// nobodys reports whether the message has no id.
func (m message) nobodys() bool { return len(m.ID) == 0 || string(m.ID) == "null" }

// answers reports whether the message is the answer to the request with an id.
func (m message) answers(id string) bool {
	return m.Method == "" && id != "" && string(m.ID) == id && (m.Error != nil) != (len(m.Result) > 0)
}

const maxID = 256

// declined is our answer to a request of a server.
func (m message) declined() []byte {
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

// asked is a request of a server as the SDK gets to see it: a ping, or something
// that nobody knows.
func (m message) asked() []byte {
	method := "declined"
	if m.Method == "ping" {
		method = m.Method
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"` + method + `"}`)
}

// token tells the SDK whether a tools/list or tools/call was answered. What the
// answer says is read from the exchange.
func (x *exchange) token() []byte {
	text := `{"jsonrpc":"2.0","id":` + x.id
	switch reply := x.answer(); {
	case reply == nil || reply.Error != nil:
		return []byte(text + `,"error":{"code":-32000,"message":"no result"}}`)
	case x.method == methodList:
		return []byte(text + `,"result":{"tools":[]}}`)
	}
	return []byte(text + `,"result":{"content":[]}}`)
}
