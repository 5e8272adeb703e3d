package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"piloto/infra/local/process"
)

// Public prices in US dollars of us-east-1, on demand, as they are since 2024-11-01. Invocations of functions and requests of API Gateway are
// not counted here: their number is that of the requests and of the tasks.
const (
	perTransition = 25.0 / 1e6
	perWriteUnit  = 0.625 / 1e6
	perReadUnit   = 0.125 / 1e6
	perLogByte    = 0.50 / (1 << 30)
)

// units counts the calls of the embedded engines while it is on. The engine counts capacity units as DynamoDB does.
type units struct {
	mu     sync.Mutex
	client aws.HTTPClient // of the engines
	on     bool
	used   usage
}

// usage is the consumption of calls of the table.
type usage struct {
	writes, reads         float64 // capacity units
	writeCalls, readCalls int
}

// least returns the smaller of each number.
func (u usage) least(v usage) usage {
	return usage{min(u.writes, v.writes), min(u.reads, v.reads), min(u.writeCalls, v.writeCalls), min(u.readCalls, v.readCalls)}
}

// over is process.Options.Calls.
func (m *units) over(next aws.HTTPClient) aws.HTTPClient {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.client = next
	return clientFunc(func(r *http.Request) (*http.Response, error) { return m.do(next, r) })
}

// clientFunc is a function as aws.HTTPClient.
type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

func (m *units) do(next aws.HTTPClient, r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	on := m.on
	m.mu.Unlock()
	_, verb, ofTable := strings.Cut(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if !on || !ofTable {
		return next.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body = append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), bytes.TrimPrefix(body, []byte("{"))...)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	answer, err := next.Do(r)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, errors.Join(err, answer.Body.Close())
	}
	answer.Body = io.NopCloser(bytes.NewReader(raw))
	m.add(verb, raw)
	return answer, nil
}

// add counts the units of an answer.
func (m *units) add(verb string, raw []byte) {
	var told struct{ ConsumedCapacity json.RawMessage }
	if json.Unmarshal(raw, &told) != nil || len(told.ConsumedCapacity) == 0 {
		return
	}
	type consumed struct{ CapacityUnits float64 }
	var all []consumed
	if json.Unmarshal(told.ConsumedCapacity, &all) != nil {
		all = []consumed{{}}
		if json.Unmarshal(told.ConsumedCapacity, &all[0]) != nil {
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	units, calls := &m.used.writes, &m.used.writeCalls
	switch verb {
	case "GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems":
		units, calls = &m.used.reads, &m.used.readCalls
	}
	*calls++
	for _, u := range all {
		*units += u.CapacityUnits
	}
}

// count counts the consumption of f.
func (m *units) count(f func() error) (usage, error) {
	m.mu.Lock()
	m.on, m.used = true, usage{}
	m.mu.Unlock()
	err := f()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on = false
	return m.used, err
}

// transitions counts the transitions of the execution of a run or a job: the states that were entered, and the repetitions of
// tasks. It returns when the execution has ended.
func (m *units) transitions(ctx context.Context, name string) (int, error) {
	client := sfn.New(sfn.Options{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: m.client, BaseEndpoint: aws.String("http://engines.local")})
	machines, err := client.ListStateMachines(ctx, &sfn.ListStateMachinesInput{})
	if err != nil {
		return 0, err
	}
	for _, machine := range machines.StateMachines {
		arn := strings.Replace(*machine.StateMachineArn, ":stateMachine:", ":execution:", 1) + ":" + name
		for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
			out, err := client.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &arn, MaxResults: 1000})
			if err != nil {
				break // it is one of another machine
			}
			entered, scheduled, tasks, ended := 0, 0, 0, false
			for _, e := range out.Events {
				switch kind := string(e.Type); {
				case kind == "TaskStateEntered":
					entered++
					tasks++
				case strings.HasSuffix(kind, "StateEntered"):
					entered++
				case kind == "LambdaFunctionScheduled", kind == "TaskScheduled":
					scheduled++
				case kind == "ExecutionSucceeded", kind == "ExecutionFailed":
					ended = true
				}
			}
			if ended {
				return entered + scheduled - tasks, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no execution that ended", name)
}

// costOf is the cost of one operation.
type costOf struct {
	name        string
	shared      int // steps for each invocation
	transitions int
	usage
	logs   float64 // bytes
	pushes int     // frames to a client that has the chat open; the rest is counted while nobody is connected
}

// dollars returns the price of a million operations.
func (c costOf) dollars() float64 {
	return 1e6 * (float64(c.transitions)*perTransition + c.writes*perWriteUnit + c.reads*perReadUnit + c.logs*perLogByte)
}

// runCost counts every scenario, with an invocation for each step as on AWS by default, and with shared invocations.
func runCost(ctx context.Context, o options, out io.Writer) error {
	var list []costOf
	for _, shared := range []int{1, 50} {
		costs, err := costsOf(ctx, o, shared)
		if err != nil {
			return err
		}
		list = append(list, costs...)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "for one operation\tsteps an invocation\ttransitions\twrite units\tread units\twrites\treads\tlogs, B\tpushes\t$ for a million\t")
	for _, c := range list {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%.0f\t%.1f\t%d\t%d\t%.0f\t%d\t%.0f\t\n", c.name, c.shared, c.transitions, c.writes, c.reads, c.writeCalls, c.readCalls, c.logs, c.pushes, c.dollars())
	}
	return table.Flush()
}

// costsOf counts the scenarios in deployments of their own.
func costsOf(ctx context.Context, o options, shared int) ([]costOf, error) {
	list, err := costsIn(ctx, o, shared, scenarios)
	if err != nil || shared > 1 {
		return list, err
	}
	for _, of := range [][]scenario{paidScenarios, toldScenarios, lookingScenarios} {
		more, err := costsIn(ctx, o, shared, of)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// costsIn counts scenarios in one deployment.
func costsIn(ctx context.Context, o options, shared int, of []scenario) (list []costOf, err error) {
	d := deployed{parameters: maps.Clone(process.Unlimited()), paid: of[0].paid, units: &units{}}
	d.parameters["StepsPerInvocation"] = fmt.Sprint(shared)
	err = withDeployment(ctx, o, d, func(folder string, sys *system) error {
		register := sys.register
		if of[0].looks > 0 {
			register = sys.registerShelf
		}
		mcp, err := register()
		if err != nil {
			return err
		}
		for _, s := range of {
			if !o.only.MatchString(s.name) || shared > 1 && !s.run {
				continue
			}
			if err := sys.model.script(s, mcp); err != nil {
				return err
			}
			c, err := sys.costOf(ctx, s, filepath.Join(folder, logName))
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			c.shared = shared
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// counted is how often an operation is counted. Other work of the process meanwhile (the sweep) must not be
// taken for a part of it, so the least is reported.
const counted = 3

// costOf counts the operations of a scenario. The first one is not counted, because it fills the caches.
func (s *system) costOf(ctx context.Context, sc scenario, log string) (costOf, error) {
	newChat := s.chatsOf(sc)
	chat, err := newChat()
	if err != nil {
		return costOf{}, err
	}
	var least costOf
	for n := range counted + 1 {
		if sc.run || sc.job {
			if chat, err = newChat(); err != nil {
				return least, err
			}
		}
		c, err := s.costOfOne(ctx, sc, chat, log)
		switch {
		case err != nil:
			return least, err
		case n == 1:
			least = c
		case n > 1:
			least.transitions = min(least.transitions, c.transitions)
			least.usage, least.logs = least.least(c.usage), min(least.logs, c.logs)
		}
	}
	if sc.run || sc.job {
		if chat, err = newChat(); err != nil {
			return least, err
		}
	}
	least.pushes, err = s.pushesOf(ctx, sc, chat, log)
	return least, err
}

// pushesOf counts the pushes of one operation to a client that has its chat open.
func (s *system) pushesOf(ctx context.Context, sc scenario, chat, log string) (n int, err error) {
	l, err := s.listen(ctx, chat)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	_, err = s.costOfOne(ctx, sc, chat, log)
	return l.awaitQuiet(), err
}

// costOfOne counts one operation.
func (s *system) costOfOne(ctx context.Context, sc scenario, chat, log string) (costOf, error) {
	c := costOf{name: sc.name}
	var d draft
	operate := func() (err error) {
		if sc.routed {
			return s.route("session", sc)
		}
		d, err = s.say(chat, sc)
		return err
	}
	if sc.job {
		operate = func() error {
			id, err := s.work(chat, sc)
			if err != nil {
				return err
			}
			c.transitions, err = s.units.transitions(ctx, id)
			return err
		}
	}
	if sc.run { // its turn is not a part of it
		if err := operate(); err != nil {
			return c, err
		}
		operate = func() (err error) {
			if err := s.execute(d, sc.steps); err != nil {
				return err
			}
			c.transitions, err = s.units.transitions(ctx, d.run)
			return err
		}
	}
	time.Sleep(10 * pause)
	before, err := os.Stat(log)
	if err != nil {
		return c, err
	}
	if c.usage, err = s.units.count(operate); err != nil {
		return c, err
	}
	time.Sleep(10 * pause)
	after, err := os.Stat(log)
	if err == nil {
		c.logs = float64(after.Size() - before.Size())
	}
	return c, err
}
