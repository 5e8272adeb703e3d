package main

import (
	"context"
	"errors"
	"fmt"
	"localaws/template"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"piloto/infra/local/process"
)

const (
	idle = 1300 * time.Millisecond // after this time a process has finished the work that the last request caused
	grip = 3 * time.Second         // how long an armed process is waited for
)

// harness holds the shared parts of all rounds: the binary, the model, the service, and a data
// folder in which the service is registered.
type harness struct {
	root, folder, binary string
	functions            string // the folder of the functions' executables; empty: they run in the process
	model                *model
	service              *service
	tools                *toolbox
	registered           base
	bases                map[string]base // by scenario
}

// base is the initial data folder of a scenario's rounds, with the user who created it.
type base struct {
	data  string
	user  user
	shift time.Duration // how long the machine was off before
}

// newHarness builds the process from the module at root, and stores all files in folder.
func newHarness(root, folder, lambda string, chosen []scenario) (*harness, error) {
	h := &harness{root: root, folder: folder, binary: filepath.Join(folder, "piloto"), bases: map[string]base{}}
	err := h.build(lambda)
	if err != nil {
		return nil, err
	}
	if h.model, err = newModel(); err != nil {
		return nil, err
	}
	if h.service, err = newService(); err != nil {
		return nil, err
	}
	if h.tools, err = newToolbox(h.service); err != nil {
		return nil, err
	}
	registered, err := h.prepare("base", base{}, scenario{setup: func(v *user) error {
		r, err := v.client.again(201, "POST", "/api/mcps", object("url", h.service.url, "name", "Tienda"))
		h.model.setServer("$S", r.text("mcp_id"))
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

// build builds the process, and the functions when they are processes of their own.
func (h *harness) build(lambda string) error {
	build := exec.CommandContext(context.Background(), "go", "build", "-tags", "failpoints", "-o", h.binary, "./cmd/piloto") //nolint:gosec // no word of it is given
	build.Dir, build.Stderr = h.root, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build ./cmd/piloto: %w", err)
	}
	if lambda != process.AsProcess {
		return nil
	}
	h.functions = filepath.Join(h.folder, "functions")
	t, err := template.Read(filepath.Join(h.root, "template.yaml"))
	if err != nil {
		return err
	}
	return process.BuildFunctions(context.Background(), h.root, h.functions, t.Functions, "failpoints")
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

// deployment returns a deployment with a copy of a base.
func (h *harness) deployment(name string, from base, sc scenario, at slot) (*deployment, error) {
	d := &deployment{
		binary: h.binary, root: h.root, functions: h.functions, folder: filepath.Join(h.folder, name), addr: at.addr, aws: at.aws, off: from.shift,
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

// slot holds the addresses of a sequence of rounds.
type slot struct{ addr, aws string }

func newSlot() (slot, error) {
	addr, err := freeAddress()
	if err != nil {
		return slot{}, err
	}
	other, err := freeAddress()
	return slot{addr, other}, err
}

// prepare creates the base of a scenario from another base. The user leaves when the process dies
// at the scenario's failpoint.
func (h *harness) prepare(name string, from base, sc scenario) (base, error) {
	at, err := newSlot()
	if err != nil {
		return base{}, err
	}
	d, err := h.deployment(name, from, sc, at)
	if err != nil {
		return base{}, err
	}
	d.closing = true // one process, without a restart
	defer d.close()
	if err := d.start(sc.until, sc.until != ""); err != nil {
		return base{}, err
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	v := h.newUser(ctx, user{}, d)
	done := make(chan error, 1)
	go func() { done <- sc.setup(v) }()
	if sc.until != "" {
		err = d.waitForDeath(sc.until)
		leave()
		if left := <-done; !errors.Is(left, errLeft) && !errors.Is(left, errLost) {
			err = errors.Join(err, left)
		}
	} else if err = <-done; err == nil {
		err = d.stop()
	}
	was := *v
	was.client, was.d = nil, nil
	return base{data: d.data(), user: was, shift: d.off + sc.off}, err
}

// newUser returns the user of a base as a client of a deployment.
func (h *harness) newUser(ctx context.Context, was user, d *deployment) *user {
	was.client, was.service, was.model, was.tools, was.d = newClient(ctx, d.addr), h.service, h.model, h.tools, d
	return &was
}

// round is one execution of a scenario.
type round struct {
	sc     scenario
	name   string
	point  string          // the failpoint at which the process dies; empty: none
	kills  []time.Duration // times of the kills, from the beginning
	traced bool            // all failpoints that pass are recorded
}

// result is the result of a round.
type result struct {
	round
	end    string // the final status of the run
	swept  bool   // the sweep had to finish some work
	died   bool   // at the point
	err    error
	points []string // the recorded failpoints of a traced round
	took   time.Duration
}

// run executes a round. The folder of a failed round is kept.
func (h *harness) run(r round, at slot) result {
	res := result{round: r}
	from, err := h.bases[r.sc.name], error(nil)
	if r.sc.until != "" { // its run makes requests, so each round needs a base of its own
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
	defer d.close()
	v := h.newUser(context.Background(), from.user, d)
	v.limit = r.sc.limit
	defer func() { v.watch.close() }()
	res.err = d.start(r.point, r.point != "" || r.traced)
	if res.err == nil {
		res.err = h.drive(v, &res)
	}
	res.swept = v.swept
	points, unread := d.passed()
	res.died = slices.Contains(points, r.point)
	_, failed := d.deathCount()
	res.err = errors.Join(res.err, failed, unread, d.stop())
	if res.err == nil {
		res.err = d.delivered()
	}
	if r.traced && res.err == nil {
		res.points = points
	}
	if res.err != nil {
		res.err = fmt.Errorf("%s, %s %v: %w\nits folder is %s", r.sc.name, r.point, r.kills, res.err, d.folder)
		return res
	}
	_ = errors.Join(os.RemoveAll(d.folder), os.RemoveAll(d.folder+"-base"))
	return res
}

// delivered checks that every status change of an execution is delivered. The next process delivers
// one that was in progress when the process stopped.
func (d *deployment) delivered() error {
	left, err := changesLeft(d.data())
	if err != nil || left == 0 {
		return err
	}
	if err := d.start("", false); err != nil {
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

// drive runs a user against a deployment that dies, and checks the final state.
func (h *harness) drive(v *user, res *result) error {
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
		if points, err := v.d.passed(); err != nil || slices.Contains(points, res.point) {
			break
		}
	}
	engines := newAWS(v.d.aws)
	res.end, err = check(v, engines)
	for _, other := range v.others {
		_, wrong := check(other, engines)
		err = errors.Join(err, wrong)
		v.swept = v.swept || other.swept
	}
	if err == nil && len(res.sc.env) > 0 {
		err = checkLedger(v)
	}
	if err == nil && res.sc.check != nil {
		err = res.sc.check(v)
	}
	return err
}
