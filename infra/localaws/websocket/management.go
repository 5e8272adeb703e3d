package websocket

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Management is the management API: POST, GET and DELETE of
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
		c.posted(w, r)
	case http.MethodGet:
		c.shown(w)
	case http.MethodDelete:
		g.remove(id)
		c.end(websocket.StatusNormalClosure, "Connection Closed Normally")
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusForbidden, "ForbiddenException", "Forbidden")
	}
}

// posted queues what is to be sent; the answer does not wait until it was.
func (c *client) posted(w http.ResponseWriter, r *http.Request) {
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

func (c *client) shown(w http.ResponseWriter) {
	c.mu.Lock()
	active := c.active
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"connectedAt": stamp(c.connected), "lastActiveAt": stamp(active),
		"identity": map[string]string{"sourceIp": c.source, "userAgent": c.agent},
	})
}

// refuse answers as the management API does.
func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}
