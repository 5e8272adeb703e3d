package machines

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"localaws/conformance/outcome"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

const (
	// slack is the time by which an execution may end later than expected on a busy machine.
	slack = 3 * time.Second
	// patience limits the time of an execution, in any case.
	patience = 40 * time.Second
)

// regions are the regions of the cases, which run one after the other in each. moto copies all of a
// region's machines whenever it starts one, and cannot copy one that ran; the engines here have one
// region and ignore it.
var regions = []string{
	"us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1", "eu-west-2", "eu-west-3",
	"eu-central-1", "eu-north-1", "eu-south-1", "ap-south-1", "ap-east-1", "ap-northeast-1",
	"ap-northeast-2", "ap-southeast-1", "ap-southeast-2", "ca-central-1", "sa-east-1", "me-south-1", "af-south-1",
}

// A Suite runs the cases against endpoints. Its functions are served by a Lambda API of its own,
// whose address every subject needs before it starts.
type Suite struct {
	lambda *lambda
	server *http.Server
	url    string
	port   string
}

// Open starts the Lambda API on loopback.
func Open(ctx context.Context) (*Suite, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Suite{lambda: &lambda{cases: map[string]*Functions{}}, url: "http://" + listener.Addr().String()}
	if _, s.port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		return nil, err
	}
	s.server = &http.Server{Handler: s.lambda, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }() // until Close
	return s, nil
}

// LambdaURL returns the Lambda API, for `localaws -lambda URL`.
func (s *Suite) LambdaURL() string { return s.url }

// MotoEnv returns the environment in which moto_server calls that Lambda API: moto takes the port
// in MOTO_PORT for its own, and -p sets its real port.
func (s *Suite) MotoEnv() []string { return []string{"MOTO_PORT=" + s.port} }

// Close stops the Lambda API and cancels calls under way.
func (s *Suite) Close() error { return s.server.Close() }

// Run implements outcome.Run.
func (s *Suite) Run(ctx context.Context, subjects ...outcome.Subject) ([]outcome.Outcome, error) {
	cases, err := Cases()
	if err != nil {
		return nil, err
	}
	out := make([]outcome.Outcome, len(cases))
	for i := range cases {
		out[i] = outcome.Outcome{Area: cases[i].Topic, Name: cases[i].ID(), Failed: map[string]string{}, Skipped: map[string]string{}}
	}
	for n, subject := range subjects {
		if subject.Name == "moto" {
			if err := interpret(ctx, subject.URL); err != nil {
				return nil, fmt.Errorf("moto: %w", err)
			}
		}
		run := fmt.Sprintf("%d%x", n, time.Now().UnixNano()&0xfffff)
		next := make(chan int)
		var all sync.WaitGroup
		for _, region := range regions {
			r := &runner{suite: s, client: client(subject.URL, region), region: region, run: run}
			all.Go(func() {
				for i := range next { // each case has an outcome of its own
					if wrong := r.try(ctx, i, &cases[i]); len(wrong) > 0 {
						out[i].Failed[subject.Name] = strings.Join(wrong, "; ")
					}
				}
			})
		}
		for _, i := range longestFirst(cases) {
			if cases[i].Virtual != "" {
				out[i].Skipped[subject.Name] = cases[i].Virtual
				continue
			}
			next <- i
		}
		close(next)
		all.Wait()
	}
	return out, ctx.Err()
}

// longestFirst orders cases by their duration, so that no long one runs alone at the end.
func longestFirst(cases []Case) []int {
	takes := func(i int) float64 {
		switch c := &cases[i]; {
		case c.Elapsed != nil:
			return *c.Elapsed
		case c.Within != nil:
			return c.Within[1]
		}
		return 0
	}
	order := make([]int, len(cases))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(takes(b), takes(a)) })
	return order
}

// interpret turns on moto's execution of machines, which is off by default.
func interpret(ctx context.Context, url string) error {
	body := []byte(`{"stepfunctions":{"execute_state_machine":true}}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/moto-api/config", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("its configuration answers %s", res.Status)
	}
	return nil
}

func client(url, region string) *sfn.Client {
	return sfn.New(sfn.Options{
		Region: region, BaseEndpoint: aws.String(url), Retryer: retry.NewStandard(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

// A runner runs cases against one subject.
type runner struct {
	suite  *Suite
	client *sfn.Client
	region string
	run    string // unique among the runs against the same subject
}

const roleARN = "arn:aws:iam::123456789012:role/test"

// try runs one case and returns its differences.
func (r *runner) try(ctx context.Context, i int, c *Case) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	suffix := fmt.Sprintf("-x%sc%d", r.run, i)
	functions := &Functions{Script: c.Functions, Client: r.client}
	r.suite.lambda.serve(suffix, functions)
	defer r.suite.lambda.forget(suffix)
	machine, err := r.client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("machine" + suffix), Definition: aws.String(c.DefinitionText(suffix)), RoleArn: aws.String(roleARN),
	})
	if c.Refused != "" {
		var refused *types.InvalidDefinition
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.Refused) {
			return []string{fmt.Sprintf("answered %v, want InvalidDefinition at %s", err, c.Refused)}
		}
		return nil
	}
	if err != nil {
		return []string{err.Error()}
	}
	defer func() {
		_, _ = r.client.DeleteStateMachine(context.WithoutCancel(ctx), &sfn.DeleteStateMachineInput{StateMachineArn: machine.StateMachineArn})
	}()
	got, err := r.execute(ctx, machine.StateMachineArn, c.InputText(suffix), suffix)
	if err != nil {
		return []string{err.Error()}
	}
	got.Calls = functions.Calls()
	return c.Check(got, slack)
}

// execute runs the machine to its end. In the result, the suffix is removed and the region is
// us-east-1.
func (r *runner) execute(ctx context.Context, machine *string, input, suffix string) (Result, error) {
	started, err := r.client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: machine, Name: aws.String("run"), Input: &input,
	})
	if err != nil {
		return Result{}, err
	}
	end, err := r.end(ctx, started.ExecutionArn)
	if err != nil {
		return Result{}, err
	}
	plainNames := strings.NewReplacer(suffix, "", r.region, "us-east-1")
	plain := func(s *string) string { return plainNames.Replace(aws.ToString(s)) }
	out := Result{Status: string(end.Status), Output: plain(end.Output), Error: plain(end.Error), Cause: plain(end.Cause)}
	if end.StopDate != nil && end.StartDate != nil {
		out.Elapsed = end.StopDate.Sub(*end.StartDate)
	}
	out.History, err = r.history(ctx, started.ExecutionArn)
	return out, err
}

// end polls until the execution has ended.
func (r *runner) end(ctx context.Context, arn *string) (*sfn.DescribeExecutionOutput, error) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		out, err := r.client.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: arn})
		if err != nil || out.Status != types.ExecutionStatusRunning {
			return out, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("still running after %s", patience)
		}
	}
}

func (r *runner) history(ctx context.Context, arn *string) ([]string, error) {
	var out []string
	pages := sfn.NewGetExecutionHistoryPaginator(r.client, &sfn.GetExecutionHistoryInput{ExecutionArn: arn, MaxResults: 1000})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, ev := range page.Events {
			out = append(out, fmt.Sprintf("%d<%d %s", ev.Id, ev.PreviousEventId, ev.Type))
		}
	}
	return out, nil
}
