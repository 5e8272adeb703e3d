package process

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"localaws/apigateway"
	"localaws/lambda"
	"localaws/stepfunctions"
	"localaws/template"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"piloto/internal/boot"
)

// The ways to run functions.
const (
	InProcess = "inprocess" // as code of this process
	AsProcess = "process"   // as the executables that are deployed, behind Lambda's Runtime API
)

// mostEnvironments is how many execution environments a function has at most.
const mostEnvironments = 16

// lambdas are the functions as processes of their own.
type lambdas struct {
	pools map[string]*lambda.Pool // by logical id
	log   *slog.Logger
}

// lambdas makes the template's functions ready to be called, each with what a
// deployment would give it, and nothing of the environment of this process.
func (p *Process) lambdas(folder string) *lambdas {
	l := &lambdas{pools: map[string]*lambda.Pool{}, log: p.log}
	for _, fn := range p.template.Functions {
		env := append(p.backstage.environment(), boot.LocalVariable+"="+p.local().String())
		for _, name := range slices.Sorted(maps.Keys(p.deployment.Environment[fn.ID])) {
			env = append(env, name+"="+p.deployment.Environment[fn.ID][name])
		}
		l.pools[fn.ID] = lambda.NewPool(lambda.Config{
			Name: p.names[fn.ID], ARN: p.names[fn.ID+".Arn"], Bootstrap: filepath.Join(folder, fn.Name, bootstrap),
			Env: env, Memory: fn.Memory, LogGroup: p.deployment.LogGroups[fn.ID], Timeout: fn.Timeout, Log: p.Log,
		}, mostEnvironments)
	}
	return l
}

// staff has the functions ready to be called: as code of this process, or as the
// executables in folder.
func (p *Process) staff(ctx context.Context, folder string) (err error) {
	f := p.functions
	f.byARN = map[string]string{}
	for _, fn := range p.template.Functions {
		f.byARN[p.names[fn.ID+".Arn"]] = fn.ID
	}
	world := p.world()
	if folder != "" {
		world.Counted = nil // each process counts by itself, and the table for all
	}
	if f.meter, err = boot.Meter(world, p.deployment.Environment[p.template.API.Authorizer]); err != nil {
		return err
	}
	if folder == "" {
		return f.build(func(fn template.Function) (boot.World, error) { return p.held(world, fn) }, p.deployment)
	}
	if p.backstage, err = openBackstage(p.engines, p.sockets.Management()); err != nil {
		return err
	}
	f.api = p.gateway()
	f.lambdas = p.lambdas(folder)
	return p.try(ctx)
}

// try starts one function, the one that every request needs: executables of another
// machine, or of another version, are told now, and not to whoever first needs them.
func (p *Process) try(ctx context.Context) error {
	id := cmp.Or(p.template.API.Authorizer, p.template.Functions[0].ID)
	if err := p.functions.lambdas.pools[id].Warm(ctx); err != nil {
		return fmt.Errorf("functions: %s does not start: %w", id, err)
	}
	return nil
}

// invoke calls a function. Its failure is as Lambda tells it; one that the function
// could not log itself is logged.
func (l *lambdas) invoke(ctx context.Context, id string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	out, failed, err := l.pools[id].Invoke(ctx, payload)
	if failed != nil {
		if failed.Type == lambda.ErrorExit || failed.Type == lambda.ErrorTimeout {
			l.log.ErrorContext(ctx, "function.cut_off", "function", id, "error", failed)
		}
		return nil, &stepfunctions.FunctionError{Type: failed.Type, Message: failed.Message, Payload: failed.Payload}, nil
	}
	return out, nil, err
}

// close ends every process.
func (l *lambdas) close() {
	var all sync.WaitGroup
	for _, pool := range l.pools {
		all.Go(pool.Close)
	}
	all.Wait()
}

// gateway is what stands before the functions: the HTTP API of the template.
func (p *Process) gateway() *apigateway.Gateway {
	o := apigateway.Options{
		Account: p.names["AWS::AccountId"], Region: awsRegion, API: p.names[p.template.API.ID],
		Route: func(method, path string) (apigateway.Route, bool) {
			r, ok := p.template.Route(method, path)
			return apigateway.Route{Key: r.Key(), Path: r.Path, Function: r.Function, Open: r.Open}, ok
		},
		Invoke: func(ctx context.Context, function string, event []byte) ([]byte, error) {
			out, failure, err := p.functions.task(ctx, function, event)
			if failure != nil {
				return nil, failure
			}
			return out, err
		},
		Trace: lambda.WithTrace, NewTrace: lambda.NewTrace, Now: p.Clock, Log: p.log,
	}
	if p.template.API.Authorizer != "" { // it has no identity source, and keeps nothing: template sees to that
		o.Authorizer = &apigateway.Authorizer{Function: p.template.API.Authorizer}
	}
	return apigateway.New(o)
}

// shared is a log that many processes write to: one line at a time.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
