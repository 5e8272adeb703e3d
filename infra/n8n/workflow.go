package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed *.json
var workflows embed.FS

//go:embed credentials/piloto.json
var credentials string

// workflow holds the parts of an exported n8n workflow that matter here.
type workflow struct {
	ID          string                               `json:"id"`
	Name        string                               `json:"name"`
	Active      bool                                 `json:"active"`
	Nodes       []*node                              `json:"nodes"`
	Connections map[string]map[string][][]connection `json:"connections"`
	Settings    map[string]any                       `json:"settings"`
	PinData     map[string]any                       `json:"pinData"`
	Tags        []string                             `json:"tags"`
}

type node struct {
	ID               string                    `json:"id"`
	Name             string                    `json:"name"`
	Type             string                    `json:"type"`
	TypeVersion      float64                   `json:"typeVersion"`
	Position         [2]float64                `json:"position"`
	Parameters       map[string]any            `json:"parameters"`
	OnError          string                    `json:"onError,omitempty"`
	RetryOnFail      bool                      `json:"retryOnFail,omitempty"`
	MaxTries         int                       `json:"maxTries,omitempty"`
	WaitBetweenTries int                       `json:"waitBetweenTries,omitempty"`
	WebhookID        string                    `json:"webhookId,omitempty"`
	Credentials      map[string]map[string]any `json:"credentials,omitempty"`
}

type connection struct {
	Node  string `json:"node"`
	Type  string `json:"type"`
	Index int    `json:"index"`
}

// load reads the workflows, by their file names.
func load() (map[string]*workflow, error) {
	names, err := fs.Glob(workflows, "*.json")
	if err != nil {
		return nil, err
	}
	out := map[string]*workflow{}
	for _, name := range names {
		raw, err := workflows.ReadFile(name)
		if err != nil {
			return nil, err
		}
		w := &workflow{}
		if err := json.Unmarshal(raw, w); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = w
	}
	return out, nil
}

// set sets the value of a setting, as a person does in «Ajustes».
func (w *workflow) set(name, value string) {
	for _, n := range w.Nodes {
		if n.Name != "Ajustes" {
			continue
		}
		fields := n.Parameters["assignments"].(map[string]any)["assignments"].([]any)
		for _, f := range fields {
			if field := f.(map[string]any); field["name"] == name {
				field["value"] = value
			}
		}
	}
}

// careless returns the workflow as many people build it: without a branch for a failed request. It answers at
// another path.
func (w *workflow) careless() (*workflow, error) {
	raw, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	raw = []byte(strings.ReplaceAll(string(raw), `"path":"piloto-chat"`, `"path":"careless"`))
	out := &workflow{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, err
	}
	out.ID, out.Name = "careless", "careless"
	for _, n := range out.Nodes {
		if n.OnError != "" {
			n.OnError, n.RetryOnFail = "", false
			out.Connections[n.Name]["main"] = out.Connections[n.Name]["main"][:1]
		}
		if n.WebhookID != "" {
			n.WebhookID = "careless"
		}
	}
	return out, nil
}

// write stores workflows and credentials for n8n to import.
func write(folder string, flows []*workflow, token, caller, key, told string) error {
	if err := os.Mkdir(filepath.Join(folder, "flows"), 0o700); err != nil {
		return err
	}
	for _, w := range flows {
		raw, err := json.Marshal(w)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "flows", w.ID+".json"), raw, 0o600); err != nil {
			return err
		}
	}
	filled := strings.NewReplacer(`"TOKEN"`, `"`+token+`"`, `"CALLER"`, `"`+caller+`"`, `"KEY"`, `"`+key+`"`, `"TOLD"`, `"`+told+`"`).Replace(credentials)
	return os.WriteFile(filepath.Join(folder, "credentials.json"), []byte(filled), 0o600)
}
