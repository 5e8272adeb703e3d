package meter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// ByHand answers as a model from files: each request is written as FOLDER/NNNN.json, and its answer is read from NNNN.ans.json as
// soon as that is there: {"text"}, {"tools": [{"name", "args"}], "text"}, or {"status", "error"}.
type ByHand struct {
	folder string
	mu     sync.Mutex
	n      int
	wrote  func(file string)
}

// everyWhile is how often an answer is looked up.
const everyWhile = 200 * time.Millisecond

// NewByHand returns a model that a person answers in a folder. wrote is called with the file of each request.
func NewByHand(folder string, wrote func(file string)) (*ByHand, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // other programs of the person read it
		return nil, err
	}
	b := &ByHand{folder: folder, wrote: wrote}
	files, err := filepath.Glob(filepath.Join(folder, "[0-9][0-9][0-9][0-9].json"))
	for _, file := range files {
		n, _ := strconv.Atoi(filepath.Base(file)[:4])
		b.n = max(b.n, n)
	}
	return b, err
}

// written is the content of an answer's file.
type written struct {
	Text   string `json:"text"`
	Tools  []Tool `json:"tools"`
	Status int    `json:"status"`
	Error  string `json:"error"`
}

// ServeHTTP implements http.Handler.
func (b *ByHand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "by-hand", "object": "model"}}})
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, file, err := b.ask(r, raw)
	if err != nil {
		refuseByHand(w, http.StatusInternalServerError, err.Error())
		return
	}
	if file.Status != 0 {
		refuseByHand(w, file.Status, file.Error)
		return
	}
	answer := Answer{file.Text, file.Tools}
	var asked struct {
		Stream bool   `json:"stream"`
		Model  string `json:"model"`
	}
	_ = json.Unmarshal(raw, &asked) // a person may answer a request that is none
	body := map[string]any{"id": fmt.Sprint("c", n), "created": time.Now().Unix(), "model": asked.Model}
	usage := map[string]int{"prompt_tokens": max(1, len(raw)/charactersPerToken), "completion_tokens": max(1, len(answer.written())/charactersPerToken)}
	message, finish := answer.message(n)
	if !asked.Stream {
		body["object"], body["usage"] = "chat.completion", usage
		body["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}
		writeJSON(w, http.StatusOK, body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	body["object"] = "chat.completion.chunk"
	for _, choice := range []map[string]any{{"index": 0, "delta": message, "finish_reason": nil}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
		body["choices"] = []any{choice}
		fmt.Fprintf(w, "data: %s\n\n", encoded(body))
	}
	body["choices"], body["usage"] = []any{}, usage
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", encoded(body))
}

// ask writes the request, and waits for its answer until the client goes away.
func (b *ByHand) ask(r *http.Request, raw []byte) (int, written, error) {
	b.mu.Lock()
	b.n++
	n := b.n
	b.mu.Unlock()
	name := filepath.Join(b.folder, fmt.Sprintf("%04d", n))
	text, err := json.MarshalIndent(map[string]any{"n": n, "path": r.URL.Path, "bytes": len(raw), "request": json.RawMessage(raw)}, "", " ")
	if err == nil {
		err = os.WriteFile(name+".tmp", text, 0o644) //nolint:gosec // other programs of the person read it
	}
	if err == nil {
		err = os.Rename(name+".tmp", name+".json")
	}
	if err != nil {
		return n, written{}, err
	}
	if b.wrote != nil {
		b.wrote(name + ".json")
	}
	for {
		var answer written
		text, err := os.ReadFile(name + ".ans.json")
		if err == nil && json.Unmarshal(text, &answer) == nil { // a file that is being written is read again
			return n, answer, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, written{}, err
		}
		select {
		case <-r.Context().Done():
			return n, written{}, r.Context().Err()
		case <-time.After(everyWhile):
		}
	}
}

// message returns an answer as a message of chat completions, which is also the only piece of a stream.
func (a Answer) message(n int) (message map[string]any, finish string) {
	message, finish = map[string]any{"role": "assistant", "content": a.Text}, "stop"
	var calls []any
	for i, t := range a.Tools {
		arguments := string(t.Args)
		_ = json.Unmarshal(t.Args, &arguments) // a text is taken as it is
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": map[string]any{"name": t.Name, "arguments": arguments},
		})
	}
	if len(calls) > 0 {
		message["tool_calls"], finish = calls, "tool_calls"
	}
	return message, finish
}

func refuseByHand(w http.ResponseWriter, status int, why string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": why, "type": "by_hand"}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, encoded(body))
}
