package boot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// LocalVariable holds a Local, as JSON, in the environment of functions that the
// one-process deployment runs as processes of their own. It takes guards away
// (AllowLoopback lets a function call the machine that it runs on), so that no other
// deployment may set it: template.yaml never does, which a test holds.
const LocalVariable = "PILOTO_LOCAL"

// Local is what a deployment on one machine tells its functions, and no other does:
// the members of World of the same names.
type Local struct {
	AllowLoopback bool      `json:"allow_loopback"`
	AloneSince    time.Time `json:"alone_since"`
	Demo          bool      `json:"demo"`
	DemoKey       string    `json:"demo_key"`
	Keyless       bool      `json:"keyless"`
	SocketPath    string    `json:"socket_path"`
}

// String is the value of the variable.
func (l Local) String() string {
	text, err := json.Marshal(l)
	if err != nil { // a time that no calendar has
		panic("boot: " + err.Error())
	}
	return string(text)
}

// On returns the world on one machine, as l has it.
func (w World) On(l Local) World {
	w.Local, w.AllowLoopback, w.AloneSince = true, l.AllowLoopback, l.AloneSince
	w.Demo, w.DemoKey, w.Keyless, w.SocketPath = l.Demo, l.DemoKey, l.Keyless, l.SocketPath
	return w
}

// placed is the world where the environment says that it is: without the variable,
// on AWS.
func (w World) placed(e Environment) (World, error) {
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
