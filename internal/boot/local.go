package boot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// LocalVariable is the environment variable with a Local, as JSON, for functions that the one-process deployment
// runs as separate processes. It removes guards (AllowLoopback lets a function call its own machine), so no other
// deployment may set it. A test checks that template.yaml never does.
const LocalVariable = "PILOTO_LOCAL"

// Local holds the settings of a deployment on one machine: the members of World of the same names.
type Local struct {
	AllowLoopback bool      `json:"allow_loopback"`
	AloneSince    time.Time `json:"alone_since"`
	Demo          bool      `json:"demo"`
	DemoKey       string    `json:"demo_key"`
	Keyless       bool      `json:"keyless"`
	SocketPath    string    `json:"socket_path"`
}

// String returns the value of the variable.
func (l Local) String() string {
	text, err := json.Marshal(l)
	if err != nil { // a year outside of 0 to 9999
		panic("boot: " + err.Error())
	}
	return string(text)
}

// On returns the world on one machine, with the settings of l.
func (w World) On(l Local) World {
	w.Local, w.AllowLoopback, w.AloneSince = true, l.AllowLoopback, l.AloneSince
	w.Demo, w.DemoKey, w.Keyless, w.SocketPath = l.Demo, l.DemoKey, l.Keyless, l.SocketPath
	return w
}

// withLocal returns the world on one machine if the environment has LocalVariable, else the world on AWS.
func (w World) withLocal(e Environment) (World, error) {
	text, ok := e[LocalVariable]
	if !ok {
		return w, nil
	}
	var l *Local
	strict := json.NewDecoder(bytes.NewReader([]byte(text)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&l); err != nil {
		return w, fmt.Errorf("boot: %s: %w", LocalVariable, err)
	}
	if _, err := strict.Token(); l == nil || !errors.Is(err, io.EOF) {
		return w, fmt.Errorf("boot: %s: it is one object of JSON, and nothing beside it", LocalVariable)
	}
	return w.On(*l), nil
}
