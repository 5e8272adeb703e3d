package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// forms are the routes to which a form of the page sends when its script does not run, with their fields.
var forms = map[string][]string{
	"/api/send":  {"chat_id", "message", "digest"},
	"/api/chats": {"project_id"},
}

// ServeHTTP serves a form of the page as the request of its route, and answers with the way back to the chat. The
// request passes all checks of the route. As every write with a cookie, a form is accepted from the page's own origin
// only.
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fields := forms[r.URL.Path]
	if fields == nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.serve(w, r)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, MaxBody))
	values, wrong := url.ParseQuery(string(raw))
	body, known := map[string]string{}, false
	for _, name := range fields {
		list := values[name]
		known = known || len(list) > 0
		if len(list) > 0 && list[len(list)-1] != "" { // the newest card is the last one
			body[name] = strings.ReplaceAll(list[len(list)-1], "\r\n", "\n")
		}
	}
	sent, unsent := json.Marshal(body)
	if err != nil || wrong != nil || unsent != nil || !known { // it is refused as it is
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(raw), r.Body))
		t.serve(w, r)
		return
	}
	r = r.Clone(r.Context())
	receive(r, sent)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	got := &formAnswer{header: w.Header(), status: http.StatusOK}
	t.serve(got, r)
	got.show(w, body["chat_id"])
}

// formAnswer records the answer to a form.
type formAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (f *formAnswer) Header() http.Header         { return f.header }
func (f *formAnswer) WriteHeader(status int)      { f.status = status }
func (f *formAnswer) Write(p []byte) (int, error) { return f.body.Write(p) }

// show leads to the chat, or says in plain text why nothing was done.
func (f *formAnswer) show(w http.ResponseWriter, chat string) {
	var said struct {
		ChatID string `json:"chat_id"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
		Action string `json:"action"`
	}
	_ = json.Unmarshal(f.body.Bytes(), &said) // an answer that is no JSON says nothing
	f.header.Del("Content-Length")
	f.header.Set("Content-Type", "text/plain; charset=utf-8")
	if f.status < http.StatusMultipleChoices {
		if chat == "" {
			chat = said.ChatID
		}
		f.header.Set("Location", "/?chat="+url.QueryEscape(chat))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	w.WriteHeader(f.status)
	_, _ = io.WriteString(w, said.Title+"\n\n"+said.Detail+"\n"+said.Action+"\n")
}
