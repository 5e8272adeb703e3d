package websocket

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Management returns the handler of the management API: POST, GET and DELETE of
// [/{stage}]/@connections/{id}.
func (g *Gateway) Management() http.Handler { return http.HandlerFunc(g.manage) }

func (g *Gateway) manage(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/"+g.options.Stage)
	id, ok := strings.CutPrefix(path, "/@connections/")
	if !ok || id == "" || strings.Contains(id, "/") {
		refuse(w, http.StatusForbidden, "ForbiddenException", "Forbidden")
		return
	}
	c := g.find(id)
	if c == nil {
		refuse(w, http.StatusGone, "GoneException", "")
		return
	}
	switch r.Method {
	case http.MethodPost:
		c.servePost(w, r)
	case http.MethodGet:
		c.serveGet(w)
	case http.MethodDelete:
		g.remove(id)
		c.end(websocket.StatusNormalClosure, "Connection Closed Normally")
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusForbidden, "ForbiddenException", "Forbidden")
	}
}

// servePost queues a message; the response does not wait until it was sent.
func (c *client) servePost(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxMessage+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequestException", "Bad Request")
		return
	}
	if len(data) > MaxMessage {
		refuse(w, http.StatusRequestEntityTooLarge, "PayloadTooLargeException", "Payload too large")
		return
	}
	if !c.post(websocket.MessageText, data) {
		refuse(w, http.StatusGone, "GoneException", "")
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (c *client) serveGet(w http.ResponseWriter) {
	c.mu.Lock()
	active := c.active
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"connectedAt": timestamp(c.connected), "lastActiveAt": timestamp(active),
		"identity": map[string]string{"sourceIp": c.source, "userAgent": c.agent},
	})
}

// refuse responds with an error of the management API.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}
