package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	idle = 1300 * time.Millisecond // what a process does by itself after the last request, it does by then
	grip = 3 * time.Second         // an armed process is waited for as long
)

// harness has what all rounds share: the binary, the model, the service, and a data
// folder with the service registered.
type harness struct {
	root, folder, binary string
	model                *model
	service              *service
	tools                *toolbox
	registered           base
	bases                map[string]base // by scenario
}

// base is the folder that the rounds of a scenario begin with, and who was there.
type base struct {
	data  string
	visit visit
	shift time.Duration // how long the machine was off until then
}

// newHarness builds the process, from root, and keeps everything in folder.
func newHarness(root, folder string, chosen []scenario) (*harness, error) {
	h := &harness{root: root, folder: folder, binary: filepath.Join(folder, "piloto"), bases: map[string]base{}}
	build := exec.CommandContext(context.Background(), "go", "build", "-tags", "failpoints", "-o", h.binary, "./infra/local") //nolint:gosec // no word of it is given
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("go build ./infra/local: %w", err)
	}
	var err error
	if h.model, err = newModel(); err != nil {
		return nil, err
	}
	if h.service, err = newService(); err != nil {
		return nil, err
	}
	if h.tools, err = newToolbox(h.service); err != nil {
		return nil, err
	}
	registered, err := h.prepare("base", base{}, scenario{setup: func(v *visit) error {
		r, err := v.again(201, "POST", "/api/mcps", object("url", h.service.url, "name", "Tienda"))
		h.model.tell("$S", r.text("mcp_id"))
		return err
	}})
	if err != nil {
		return nil, err
	}
	h.registered = registered
	for _, sc := range chosen {
		h.bases[sc.name] = registered
		if sc.setup == nil || sc.until != "" {
			continue
		}
		if h.bases[sc.name], err = h.prepare("base-"+sc.name, registered, sc); err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	return h, nil
}

func (h *harness) close() {
	if h.model != nil {
		h.model.close()
	}
	if h.service != nil {
		h.service.close()
	}
	if h.tools != nil {
		h.tools.close()
	}
}

// deployment returns one on a copy of a base.
func (h *harness) deployment(name string, from base, sc scenario, at place) (*deployment, error) {
	d := &deployment{
		binary: h.binary, root: h.root, folder: filepath.Join(h.folder, name), addr: at.addr, aws: at.aws, off: from.shift,
		env: append([]string{"OPENAI_BASE_URL=" + h.model.url, "OPENAI_MODEL=crash-1"}, sc.env...),
	}
	if from.data == "" {
		return d, os.MkdirAll(d.data(), 0o700)
	}
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return d, err
	}
	return d, copyFolder(from.data, d.data())
}

// place is where the processes of one round after the other are reached.
type place struct{ addr, aws string }

func newPlace() (place, error) {
	addr, err := freeAddress()
	if err != nil {
		return place{}, err
	}
	other, err := freeAddress()
	return place{addr, other}, err
}

// prepare makes the folder of a scenario out of another. Whoever was there leaves when
// the process dies at the moment that was named.
func (h *harness) prepare(name string, from base, sc scenario) (base, error) {
	at, err := newPlace()
	if err != nil {
		return base{}, err
	}
	d, err := h.deployment(name, from, sc, at)
	if err != nil {
		return base{}, err
	}
	d.closing = true // one process, and no other in its place
	defer d.leave()
	if err := d.start(sc.until, ""); err != nil {
		return base{}, err
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	v := h.visitor(ctx, visit{}, d)
	done := make(chan error, 1)
	go func() { done <- sc.setup(v) }()
	if sc.until != "" {
		err = d.dies(sc.until)
		leave()
		if left := <-done; !errors.Is(left, errLeft) && !errors.Is(left, errLost) {
			err = errors.Join(err, left)
		}
	} else if err = <-done; err == nil {
		err = d.stop()
	}
	was := *v
	was.client, was.d = nil, nil
	return base{data: d.data(), visit: was, shift: d.off + sc.off}, err
}

// visitor goes on in a deployment where was left off.
func (h *harness) visitor(ctx context.Context, was visit, d *deployment) *visit {
	was.client, was.service, was.model, was.tools, was.d = newClient(ctx, d.addr), h.service, h.model, h.tools, d
	return &was
}

// round is one life of a scenario.
type round struct {
	sc     scenario
	name   string
	point  string          // where the process dies; empty: nowhere
	kills  []time.Duration // when it is killed, from the beginning
	traced bool            // every moment that passes is noted
}

// result is how a round went.
type result struct {
	round
	end    string // how the run ended
	swept  bool   // the sweep had to find something
	deaths int
	err    error
	points []string // that passed, of a traced round
	took   time.Duration
}

// run runs a round. The folder of one that failed stays.
func (h *harness) run(r round, at place) result {
	res := result{round: r}
	from, err := h.bases[r.sc.name], error(nil)
	if r.sc.until != "" { // its run makes requests: each round has one of its own
		from, err = h.prepare(r.name+"-base", h.registered, r.sc)
	}
	if err != nil {
		res.err = fmt.Errorf("%s: %w", r.name, err)
		return res
	}
	d, err := h.deployment(r.name, from, r.sc, at)
	if err != nil {
		res.err = err
		return res
	}
	defer d.leave()
	trace := ""
	if r.traced {
		trace = filepath.Join(d.folder, "trace")
	}
	v := h.visitor(context.Background(), from.visit, d)
	v.limit = r.sc.limit
	defer func() { v.watch.leave() }()
	res.err = d.start(r.point, trace)
	if res.err == nil {
		res.err = h.live(v, &res)
	}
	var died error
	res.deaths, died = d.dead()
	res.swept = v.swept
	res.err = errors.Join(res.err, died, d.stop())
	if res.err == nil {
		res.err = d.delivered()
	}
	if r.traced && res.err == nil {
		raw, err := os.ReadFile(trace) //nolint:gosec // of the round
		res.points, res.err = strings.Fields(string(raw)), err
	}
	if res.err != nil {
		res.err = fmt.Errorf("%s, %s %v: %w\nits folder is %s", r.sc.name, r.point, r.kills, res.err, d.folder)
		return res
	}
	_ = errors.Join(os.RemoveAll(d.folder), os.RemoveAll(d.folder+"-base"))
	return res
}

// delivered holds that every status change of an execution is delivered. One that was
// under way when the process stopped is, by the next.
func (d *deployment) delivered() error {
	left, err := changesLeft(d.data())
	if err != nil || left == 0 {
		return err
	}
	if err := d.start("", ""); err != nil {
		return err
	}
	time.Sleep(idle)
	if err := d.stop(); err != nil {
		return err
	}
	if left, err = changesLeft(d.data()); left > 0 {
		return fmt.Errorf("%d status changes were not delivered", left)
	}
	return err
}

// live has somebody use a deployment that dies, and checks what is there afterwards.
func (h *harness) live(v *visit, res *result) error {
	began := time.Now()
	stopped := make(chan error, 1)
	go func() {
		var errs []error
		for _, after := range res.kills {
			time.Sleep(time.Until(began.Add(after)))
			errs = append(errs, v.d.kill(0))
		}
		stopped <- errors.Join(errs...)
	}()
	err := res.sc.drive(v)
	res.took = time.Since(began)
	if err := errors.Join(err, <-stopped); err != nil {
		return err
	}
	if res.traced {
		time.Sleep(idle)
	}
	for deadline := time.Now().Add(grip); res.point != "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if deaths, _ := v.d.dead(); deaths > 0 {
			break
		}
	}
	engines := newAWS(v.d.aws)
	res.end, err = v.check(engines)
	for _, other := range v.others {
		_, wrong := other.check(engines)
		err = errors.Join(err, wrong)
		v.swept = v.swept || other.swept
	}
	if err == nil && len(res.sc.env) > 0 {
		err = v.checkBooks()
	}
	if err == nil && res.sc.holds != nil {
		err = res.sc.holds(v)
	}
	return err
}
