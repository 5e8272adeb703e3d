package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"piloto/internal/tools/tool"
)

// legacyVersion is the version requested from servers that answer on one stream: they do not negotiate before it.
const legacyVersion = "2025-11-25"

// session is an open session with a server.
type session struct {
	root *exchanges // the exchanges that opened it
	sdk  *mcp.ClientSession
	end  context.CancelFunc
}

// exchanges returns a new record for requests on the session.
func (s *session) exchanges(keys tool.Keys) *exchanges {
	e := newExchanges(s.root.base, keys)
	e.changed, e.exchanged = s.root.changed, s.root.exchanged
	if s.root.streamed {
		e.streamed, e.stream = true, s.root
	}
	return e
}

// open connects and negotiates a version. The record holds the exchanges, also after a failure. Afterwards it
// belongs to the session.
func open(ctx context.Context, w *wire, via tool.Transport, e *exchanges) (*session, error) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: e.base, HTTPClient: w.client(), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxAnswer,
	}
	var opts *mcp.ClientSessionOptions
	if via == tool.TransportSSE {
		e.streamed = true
		transport = &mcp.SSEClientTransport{Endpoint: e.base, HTTPClient: w.client(), MaxEventSize: maxAnswer}
		opts = &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "piloto", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{}, // this client offers no capability
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	lasting, end := context.WithCancel(context.WithoutCancel(ctx)) // a stream is read as long as the session lives
	stop := context.AfterFunc(ctx, end)
	s, err := client.Connect(e.in(lasting), transport, opts)
	if !stop() {
		if err == nil {
			_ = s.Close()
		}
		err = ctx.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	e.forget()
	return &session{root: e, sdk: s, end: end}, nil
}

// close ends the session, and notifies the server.
func (s *session) close() {
	_ = s.sdk.Close()
	s.end()
}

// title returns the server's title or name.
func (s *session) title() string {
	res := s.sdk.InitializeResult()
	if res == nil || res.ServerInfo == nil {
		return ""
	}
	if res.ServerInfo.Title != "" {
		return res.ServerInfo.Title
	}
	return res.ServerInfo.Name
}

// Limits of a listing.
const (
	maxListing = 8 << 20 // bytes
	maxPages   = 100
	maxTools   = 2000
)

// list reads the server's tools, page by page, without parsing them. A list that comes back to a page, or whose next
// page the server does not know, ends there: the tools before are kept. After a failure the record holds the last exchange.
func (s *session) list(ctx context.Context, e *exchanges) (listing, error) {
	var all listing
	ctx = e.in(ctx)
	bytesRead, cursor := 0, ""
	read := map[string]bool{"": true} // the cursors
	for page := 1; ; page++ {
		_, err := s.sdk.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		reply := e.last(methodList).answer()
		switch {
		case reply == nil:
			return listing{page: page}, cmp.Or(err, errNoReply)
		case page > 1 && reply.Error != nil && reply.Error.Code == codeInvalidParams:
			all.warn("the server does not know the next page of its list of tools, which it named itself: what came before was kept")
			return all, nil
		case reply.Error != nil:
			return listing{page: page}, cmp.Or(err, errNoReply)
		}
		e.forget()
		if bytesRead += len(reply.Result); bytesRead > maxListing {
			return listing{page: page}, errTooLarge
		}
		if cursor, err = all.add(reply.Result); err != nil {
			return listing{page: page}, err
		}
		switch {
		case len(all.tools) > maxTools:
			all.tools = all.tools[:maxTools]
			all.warn("there are more than %d tools: the rest was left out", maxTools)
			return all, nil
		case cursor == "":
			return all, nil
		case read[cursor]:
			all.warn("the server's list of tools comes back to a page that it gave before: what it gave was kept")
			return all, nil
		case page == maxPages:
			all.warn("the list of tools has more than %d pages: the rest was left out", maxPages)
			return all, nil
		}
		read[cursor] = true
	}
}

// listing holds the tools of tools/list, not yet parsed. A tool that is listed again in the same words is held once.
type listing struct {
	tools    []json.RawMessage
	warnings []string
	page     int // that failed, the first is 1; 0: none
	seen     map[string]bool
}

// has reports whether a tool is held in the same words already, and notes it.
func (l *listing) has(raw json.RawMessage) bool {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	defer func() { l.seen[string(raw)] = true }()
	return l.seen[string(raw)]
}

func (l *listing) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// add appends one page, and returns the cursor of the next.
func (l *listing) add(result json.RawMessage) (next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor any               `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return "", errNoTools
	}
	if page.Tools == nil && !bytes.Contains(result, []byte(`"tools"`)) {
		return "", errNoTools
	}
	for _, raw := range page.Tools {
		if !l.has(raw) {
			l.tools = append(l.tools, raw)
		}
	}
	switch cursor := page.NextCursor.(type) {
	case string:
		next = cursor
	case float64: // the protocol has texts only
		next = strconv.FormatFloat(cursor, 'f', -1, 64)
	}
	return next, nil
}

var errNoTools = errors.New("the list of tools is none")
