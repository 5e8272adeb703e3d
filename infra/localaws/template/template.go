// Package template reads template.yaml for the one-process deployment. The file that SAM deploys
// also defines here the functions, their events, their environment, and their table and state
// machine.
//
// One rule holds: nothing in the file is skipped silently. A resource, a property, an intrinsic or
// an expression is either supported here, or on a list with the reason why it has no use in one
// process, or an error that names its line and path. Intrinsics keep their form until
// [Template.Resolve] gets their values.
package template

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// Template is a template.yaml, read and checked.
type Template struct {
	Path          string
	Stack         string // its name; empty: local
	Parameters    []Parameter
	Functions     []Function
	Tables        []Table
	Buckets       []Bucket
	StateMachines []StateMachine
	LogGroups     []LogGroup
	API           API
	Socket        SocketAPI
	Unused        []Unused // resources without a counterpart in one process

	files      fs.FS // has the definitions of the state machines
	conditions map[string]*yaml.Node
	cors       *allowance // nil: no permissions for pages of other origins
	outputs    []Output
	resources  map[string]string // logical id → type
	roles      map[string]role
	policies   map[string]Value // the document of each managed policy
}

// Parameter is a value that a deployment may choose.
type Parameter struct {
	Name    string
	Default string
	Has     bool // whether there is a default
	Number  bool
	Allowed []string
	Pattern string // a regular expression over the whole value
	Min     string
	Max     string
	Line    int
}

// Function is one Lambda function.
type Function struct {
	ID          string // logical id: ChatFunction
	Name        string // chat
	Folder      string // functions/chat
	Timeout     time.Duration
	Memory      int    // MB
	LogGroup    Value  // its name; the zero Value: Lambda's own
	Role        string // logical id; empty: SAM makes one
	Environment map[string]Value
	Schedules   []Schedule
	Rules       []Rule
	Line        int
}

// Schedule calls a function at a fixed rate.
type Schedule struct {
	Event string
	Every time.Duration
}

// Rule calls a function with the events that match its pattern.
type Rule struct {
	Event   string
	Pattern Value // an EventBridge pattern of exact values
}

// StateMachine is a Standard workflow.
type StateMachine struct {
	ID            string
	Definition    string // file, relative to the template
	Substitutions map[string]Value
	Line          int
}

// API is the HTTP API: every route of the template, and its authorizer.
type API struct {
	ID         string
	Authorizer string // logical id of the function called before every route that is not open
	Routes     []Route
	Line       int
}

// Route is one route of the API.
type Route struct {
	Function string // logical id
	Event    string
	Method   string // "ANY" matches each
	Path     string // "/api/chats/{id}", "/assets/{proxy+}" or "$default"
	Open     bool   // no authorizer
	Line     int
}

// Key returns API Gateway's name of a route: "GET /api/chats/{id}" or "$default".
func (r Route) Key() string {
	if r.Path == defaultPath {
		return defaultPath
	}
	return r.Method + " " + r.Path
}

// Unused is a resource that has no use in one process.
type Unused struct {
	ID     string
	Type   string
	Reason string
}

// Output is an output value of a deployment.
type Output struct {
	Name  string
	Value Value

	condition Value // scalar with the name of a condition; without a node there is always the output
}

// Function returns the function with a logical id.
func (t *Template) Function(id string) (Function, bool) {
	i := slices.IndexFunc(t.Functions, func(f Function) bool { return f.ID == id })
	if i < 0 {
		return Function{}, false
	}
	return t.Functions[i], true
}

// Read reads the template at path. Its error joins all faults, in the order of the file, each as
// "template.yaml:12: Resources.X.Properties.Y: …".
func Read(path string) (*Template, error) {
	return read(os.DirFS(filepath.Dir(path)), filepath.Base(path), path)
}

// ReadFS reads a template from a file system that has its state machines too, such as one in an executable.
func ReadFS(files fs.FS, name string) (*Template, error) { return read(files, name, name) }

func read(files fs.FS, name, path string) (*Template, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read the template %s: %w", path, err)
	}
	t, err := Parse(path, text)
	if t != nil {
		t.files = files
	}
	return t, err
}

// Parse reads a template from text; path names it in errors, and its folder has the state machines.
func Parse(path string, text []byte) (*Template, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	r := &reader{
		integrations: map[string]string{},
		out: &Template{
			Path:       path,
			files:      os.DirFS(filepath.Dir(path)),
			conditions: map[string]*yaml.Node{},
			resources:  map[string]string{},
			roles:      map[string]role{},
			policies:   map[string]Value{},
		},
	}
	found := &problems{file: filepath.Base(path)}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("%s: the file is empty", found.file)
	}
	r.document(node{Value{node: doc.Content[0]}, found})
	if len(found.list) > 0 {
		slices.SortStableFunc(found.list, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
		errs := make([]error, len(found.list))
		for i, p := range found.list {
			errs[i] = p.err
		}
		return nil, errors.Join(errs...)
	}
	return r.out, nil
}

// Definition returns the definition of a state machine with its substitutions replaced by the
// values of a deployment.
func (t *Template) Definition(m StateMachine, d *Deployment) ([]byte, error) {
	text, err := fs.ReadFile(t.files, filepath.ToSlash(filepath.Clean(m.Definition)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.ID, err)
	}
	for name, value := range d.Substitutions[m.ID] {
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte("${"+name+"}"), quoted[1:len(quoted)-1])
	}
	if at := placeholder.FindString(string(text)); at != "" {
		return nil, fmt.Errorf("%s: %s has no substitution in the template", m.Definition, at)
	}
	return text, nil
}
