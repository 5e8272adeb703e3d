package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// world holds all running parts: the deployment, n8n, and the gates between them.
type world struct {
	folder string
	out    io.Writer

	product string // the deployment's program
	address string // its address, the same at every start
	token   string
	piloto  *program

	gate   *gate // from n8n to Piloto
	back   *gate // from Piloto to n8n
	editor *program
	hooks  string // origin of n8n
	caller string // the key of the callers of its webhooks

	channel *channel // where people read
	secret  string   // of the hook
}

// Time limits for a busy machine.
const (
	startLimit  = time.Minute
	editorLimit = 3 * time.Minute // n8n creates its database at the first start
	callLimit   = 90 * time.Second
)

// begin starts Piloto and n8n, with the workflows imported and published.
func (w *world) begin(ctx context.Context, editor, product string) error {
	var err error
	w.product, w.token, w.caller = product, ids.Secret(), ids.Secret()
	w.secret, w.channel = auth.NewWebhookSecret(), newChannel()
	if w.address, err = freeAddress(); err != nil {
		return err
	}
	if err := w.startPiloto(ctx); err != nil {
		return err
	}
	if w.gate, err = newGate(w.address); err != nil {
		return err
	}
	var hook struct {
		ID  string `json:"webhook_id"`
		Key string
	}
	if err := w.ask(ctx, http.MethodPost, "/api/webhooks", map[string]string{"name": "n8n"}, &hook); err != nil {
		return err
	}
	flows, err := w.workflows(hook.ID)
	if err != nil {
		return err
	}
	if err := write(w.folder, flows, w.token, w.caller, hook.Key, auth.WebhookKey(w.secret)); err != nil {
		return err
	}
	return w.startEditor(ctx, editor, flows)
}

// workflows returns the workflows of the files, with their settings, and a careless one.
func (w *world) workflows(webhook string) ([]*workflow, error) {
	files, err := load()
	if err != nil {
		return nil, err
	}
	careless, err := files["chat.json"].careless()
	if err != nil {
		return nil, err
	}
	agents, err := files["agent.json"].agents()
	if err != nil {
		return nil, err
	}
	flows := append([]*workflow{careless}, agents...)
	for _, f := range files {
		flows = append(flows, f)
	}
	for _, f := range flows {
		f.set("piloto_url", w.gate.URL)
		f.set("webhook_id", webhook)
		f.set("canal_url", w.channel.URL)
		f.set("pagina_url", w.gate.URL)
	}
	return flows, nil
}

func (w *world) startPiloto(ctx context.Context) (err error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.folder, "PILOTO_TOKEN=" + w.token}
	w.piloto, err = start(ctx, w.folder, "piloto", env, w.product, "up", "-v", "--addr", w.address, "-data", filepath.Join(w.folder, "data"))
	if err != nil {
		return err
	}
	return w.piloto.wait(ctx, startLimit, "piloto ready on ")
}

// startEditor imports, publishes and starts, in the order that n8n requires.
func (w *world) startEditor(ctx context.Context, path string, flows []*workflow) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	broker, err := freeAddress()
	if err != nil {
		return err
	}
	w.hooks = "http://" + address
	env := w.environment(address, broker)
	n8n := func(args ...string) error { return command(ctx, w.folder, "import", env, path, args...) }
	if err := n8n("import:credentials", "--input="+filepath.Join(w.folder, "credentials.json")); err != nil {
		return err
	}
	if err := n8n("import:workflow", "--separate", "--input="+filepath.Join(w.folder, "flows")); err != nil {
		return err
	}
	var ready []string
	for _, f := range flows {
		if err := n8n("publish:workflow", "--id="+f.ID); err != nil {
			return err
		}
		ready = append(ready, fmt.Sprintf("Activated workflow %q", f.Name))
	}
	if w.editor, err = start(ctx, w.folder, "n8n", env, path, "start"); err != nil {
		return err
	}
	if err := w.editor.wait(ctx, editorLimit, ready...); err != nil {
		return err
	}
	w.back, err = newGate(address)
	return err
}

// environment returns the variables of n8n: its own folder, loopback, and no telemetry.
func (w *world) environment(address, broker string) []string {
	_, port, _ := net.SplitHostPort(address)
	_, brokerPort, _ := net.SplitHostPort(broker)
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.folder,
		"N8N_USER_FOLDER=" + w.folder, "N8N_LISTEN_ADDRESS=127.0.0.1", "N8N_PORT=" + port,
		"N8N_RUNNERS_BROKER_PORT=" + brokerPort, "WEBHOOK_URL=" + w.hooks + "/",
		"N8N_DIAGNOSTICS_ENABLED=false", "N8N_VERSION_NOTIFICATIONS_ENABLED=false", "N8N_TEMPLATES_ENABLED=false",
		"N8N_PERSONALIZATION_ENABLED=false", "N8N_HIRING_BANNER_ENABLED=false", "N8N_LICENSE_AUTO_RENEW_ENABLED=false",
		"N8N_PYTHON_ENABLED=false",
	}
}

// end ends all started parts.
func (w *world) end() error {
	var errs []error
	for _, p := range []*program{w.editor, w.piloto} {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	for _, g := range []*gate{w.gate, w.back} {
		if g != nil {
			g.Close()
		}
	}
	if w.channel != nil {
		w.channel.Close()
	}
	return errors.Join(errs...)
}

// response is an HTTP response.
type response struct {
	Status int
	Header http.Header
	Text   string
}

// field returns a member of the response's JSON, "" when there is none.
func (s response) field(name string) string {
	var members map[string]any
	if json.Unmarshal([]byte(s.Text), &members) != nil || members[name] == nil {
		return ""
	}
	return fmt.Sprint(members[name])
}

// call sends one request. body is sent as a form when it is a string, else as JSON.
func call(ctx context.Context, method, url string, body any, header http.Header) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	kind, raw := "application/json", []byte(nil)
	switch b := body.(type) {
	case nil:
	case string:
		kind, raw = "application/x-www-form-urlencoded", []byte(b)
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			return response{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		return response{}, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return response{}, err
	}
	text, err := io.ReadAll(res.Body)
	return response{res.StatusCode, res.Header, string(text)}, errors.Join(err, res.Body.Close())
}

// ask sends a request to Piloto directly, past the gate. into is nil when the response does not matter.
func (w *world) ask(ctx context.Context, method, path string, body, into any) error {
	got, err := call(ctx, method, "http://"+w.address+path, body, http.Header{"Authorization": {"Bearer " + w.token}})
	if err != nil {
		return err
	}
	if got.Status >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, got.Status, got.Text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal([]byte(got.Text), into)
}

// hook calls a webhook of n8n with a valid key.
func (w *world) hook(ctx context.Context, method, path string, body any) (response, error) {
	if !strings.HasPrefix(path, "http") {
		path = w.hooks + "/webhook/" + path
	}
	return call(ctx, method, path, body, http.Header{"X-Caller-Key": {w.caller}})
}
