package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
)

// floor does only the work that any program would need for a turn or a run.
type floor struct {
	caller caller
	origin string
	log    *journal
	sys    *system
	stop   func()
}

// work is a request to a floor.
type work struct {
	Kind  string `json:"kind"`  // of the scenario
	Steps int    `json:"steps"` // 0: a turn
	Wide  bool   `json:"wide"`
	Extra int    `json:"extra"` // writes beyond the least
	Turn  bool   `json:"turn"`
	Apart bool   `json:"apart"` // each write has its own fdatasync

	Routed bool `json:"routed"`
	Job    bool `json:"job"`
	Looks  int  `json:"looks"`
}

func startFloor(sys *system, path string) (*floor, error) {
	log, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	f := &floor{caller: newCaller(sys.caller.ctx, ""), log: log, sys: sys}
	f.origin, f.stop, err = listen(f)
	return f, err
}

func (f *floor) close() error {
	f.stop()
	return f.log.close()
}

// leastWrites returns the number of writes of a turn or a run that must reach the disk one after another. Steps
// that run side by side share writes.
func leastWrites(s scenario) int {
	switch {
	case s.routed:
		return 0
	case s.job:
		return 3*(s.looks+1) + 1
	case !s.run:
		return 2
	case s.wide:
		return 4
	}
	return 2*s.steps + 2
}

// call is one operation of a client.
func (f *floor) call(w work) error { return f.caller.post(f.origin, w, nil) }

func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked work
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err == nil {
		err = f.do(asked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(constantAnswer)
}

// constantAnswer is the answer of a floor: as long as a short answer of the system.
var constantAnswer = func() []byte {
	raw, _ := json.Marshal(map[string]any{"message": string(make([]byte, 100))})
	return raw
}()

func (f *floor) do(asked work) error {
	write := f.log.write
	if asked.Apart {
		write = f.log.writeApart
	}
	for range asked.Extra {
		if err := write(); err != nil {
			return err
		}
	}
	if asked.Routed {
		return f.relay()
	}
	if err := write(); err != nil { // the message; confirmed; started
		return err
	}
	if asked.Job {
		return f.rounds(asked, write)
	}
	step := func() error {
		if err := write(); err != nil {
			return err
		}
		if err := f.caller.do(http.MethodPost, f.sys.echoURL+"/orders", []byte(order), nil); err != nil {
			return err
		}
		return write()
	}
	var err error
	switch {
	case asked.Turn:
		err = f.caller.do(http.MethodPost, f.sys.modelURL+"/v1/chat/completions", f.sys.model.last(asked.Kind), nil)
	case asked.Wide:
		err = wave(asked.Steps, step)
	default:
		for range asked.Steps {
			if err = step(); err != nil {
				break
			}
		}
	}
	return errors.Join(err, write()) // the result; finished
}

// rounds makes the rounds of a job: asked, answered and handled. The job ends with the last one.
func (f *floor) rounds(asked work, write func() error) error {
	for n := range asked.Looks + 1 {
		if err := write(); err != nil {
			return err
		}
		if err := f.caller.do(http.MethodPost, f.sys.modelURL+"/v1/chat/completions", f.sys.model.last(asked.Kind), nil); err != nil {
			return err
		}
		if err := write(); err != nil {
			return err
		}
		if n < asked.Looks {
			if err := f.caller.get(f.sys.shelfURL+itemsPath(n, 0), nil); err != nil {
				return err
			}
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// relay is a bare proxy: it calls the model, and then the agent.
func (f *floor) relay() error {
	err := f.caller.do(http.MethodPost, f.sys.modelURL+"/v1/chat/completions", f.sys.model.last("routed"), nil)
	if err != nil {
		return err
	}
	return f.caller.again(f.sys.agentURL, f.sys.agent.last())
}

func wave(steps int, step func() error) error {
	errs := make([]error, steps)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
