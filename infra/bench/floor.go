package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
)

// floor does what any program would have to do for a turn or a run, and nothing
// else.
type floor struct {
	caller
	origin string
	log    *journal
	sys    *system
	stop   func()
}

// work is what a floor is asked for.
type work struct {
	Kind  string `json:"kind"`  // of the scenario
	Steps int    `json:"steps"` // 0: a turn
	Wide  bool   `json:"wide"`
	Extra int    `json:"extra"` // writes beyond the least
	Turn  bool   `json:"turn"`  // a turn that proposes
}

func startFloor(sys *system, path string) (*floor, error) {
	log, err := openJournal(path)
	if err != nil {
		return nil, err
	}
	f := &floor{caller: newCaller(sys.ctx, ""), log: log, sys: sys}
	f.origin, f.stop, err = listen(f)
	return f, err
}

func (f *floor) close() error {
	f.stop()
	return f.log.close()
}

// leastWrites is how many writes a turn or a run has that must reach the disk
// one after another. Side by side, steps share them.
func leastWrites(s scenario) int {
	switch {
	case !s.run:
		return 2
	case s.wide:
		return 4
	}
	return 2*s.steps + 2
}

// call is one operation of a client.
func (f *floor) call(s scenario, extra int) error {
	return f.post(f.origin, work{Kind: s.kind, Steps: s.steps, Wide: s.wide, Extra: extra, Turn: !s.run}, nil)
}

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
	_, _ = w.Write(answered)
}

// answered is what a floor answers: as long as a short answer of the system.
var answered = func() []byte {
	raw, _ := json.Marshal(map[string]any{"message": string(make([]byte, 100))})
	return raw
}()

func (f *floor) do(asked work) error {
	for range asked.Extra {
		if err := f.log.write(); err != nil {
			return err
		}
	}
	if err := f.log.write(); err != nil { // what was said; confirmed
		return err
	}
	var err error
	switch {
	case asked.Turn:
		err = f.caller.do(http.MethodPost, f.sys.modelURL+"/v1/chat/completions", f.sys.model.last(asked.Kind), nil)
	case asked.Wide:
		err = f.wave(asked.Steps)
	default:
		for range asked.Steps {
			if err = f.step(); err != nil {
				break
			}
		}
	}
	return errors.Join(err, f.log.write()) // what came of it; finished
}

func (f *floor) step() error {
	if err := f.log.write(); err != nil {
		return err
	}
	if err := f.caller.do(http.MethodPost, f.sys.echoURL+"/orders", []byte(order), nil); err != nil {
		return err
	}
	return f.log.write()
}

func (f *floor) wave(steps int) error {
	errs := make([]error, steps)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f.step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
