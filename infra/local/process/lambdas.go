package process

import (
	"cmp"
	"context"
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
	"piloto/internal/ground/failpoint"
)

// The modes in which functions run.
const (
	InProcess = "inprocess" // as code of this process
	AsProcess = "process"   // as the deployed executables, behind Lambda's Runtime API
)

// mostEnvironments is the largest number of execution environments of a function.
const mostEnvironments = 16

// lambdas holds the functions that run as processes of their own.
type lambdas struct {
	pools map[string]*lambda.Pool // by logical id
	log   *slog.Logger
}

// newLambdas makes the pools of the template's functions. Each function has the environment of a
// deployment, and nothing of the environment of this process.
func (p *Process) newLambdas(folder string) *lambdas {
	l := &lambdas{pools: map[string]*lambda.Pool{}, log: p.log}
	for _, fn := range p.template.Functions {
		env := slices.Concat(p.awsEndpoint.environment(), []string{boot.LocalVariable + "=" + p.localSettings().String()}, failpoint.Environment())
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

// prepareFunctions builds the functions in this process, or starts pools of the executables in
// folder.
func (p *Process) prepareFunctions(ctx context.Context, folder string) (err error) {
	f := p.functions
	f.byARN = map[string]string{}
	for _, fn := range p.template.Functions {
		f.byARN[p.names[fn.ID+".Arn"]] = fn.ID
	}
	world := p.world()
	if folder != "" {
		world.Counted = nil // each process counts on its own, and the table counts for all
	}
	if f.meter, err = boot.Meter(world, p.deployment.Environment[p.template.API.Authorizer]); err != nil {
		return err
	}
	if folder == "" {
		return f.build(func(fn template.Function) (boot.World, error) { return p.withRole(world, fn) }, p.deployment)
	}
	if p.awsEndpoint, err = openAWSEndpoint(p.engines, p.sockets.Management()); err != nil {
		return err
	}
	f.api = p.gateway()
	f.lambdas = p.newLambdas(folder)
	return p.startOne(ctx)
}

// startOne starts one function, the authorizer that every request needs. Executables for another
// machine or of another version therefore fail at the start, and not at the first request.
func (p *Process) startOne(ctx context.Context) error {
	id := cmp.Or(p.template.API.Authorizer, p.template.Functions[0].ID)
	if err := p.functions.lambdas.pools[id].Warm(ctx); err != nil {
		return refusal("up.wrong.start", "name", id).Because(err)
	}
	return nil
}

// invoke calls a function and returns its failure as Lambda reports it. It logs a failure that the
// function could not log itself.
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

// gateway returns the HTTP API of the template, which calls the functions.
func (p *Process) gateway() *apigateway.Gateway {
	o := apigateway.Options{
		Account: p.names["AWS::AccountId"], Region: awsRegion, API: p.names[p.template.API.ID],
		Route: func(method, path string) (apigateway.Route, bool) {
			r, ok := p.template.Route(method, path)
			return apigateway.Route{Key: r.Key(), Path: r.Path, Function: r.Function, Open: r.Open}, ok
		},
		Invoke: func(ctx context.Context, function string, event []byte) ([]byte, error) {
			out, failure, err := p.functions.call(ctx, function, event)
			if failure != nil {
				return nil, failure
			}
			return out, err
		},
		Trace: lambda.WithTrace, NewTrace: lambda.NewTrace, Now: p.Clock, Log: p.log,
	}
	if p.template.API.Authorizer != "" { // package template makes sure that it has no identity source and no cache
		o.Authorizer = &apigateway.Authorizer{Function: p.template.API.Authorizer}
	}
	return apigateway.New(o)
}

// lockedWriter is a log that many processes write to, one line at a time.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *lockedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
