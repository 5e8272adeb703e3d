package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// aws reads the engines of a deployment by their own protocols.
type aws struct {
	tables   *dynamodb.Client
	machines *sfn.Client
}

func newAWS(addr string) *aws {
	config := sdk.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("crash", "crash", ""),
		BaseEndpoint: sdk.String("http://" + addr),
	}
	return &aws{dynamodb.NewFromConfig(config), sfn.NewFromConfig(config)}
}

// waitUntilIdle waits until no work is left, and returns an error with the remaining work after a
// time: a run that has not ended, an execution that runs, or a row that is due. For work that is
// due later, the machine is off for a while first. It is off twice where the work that was due then left
// more that is due later: a conclusion that is written after an hour holds credit, and the wallet is then due.
func (a *aws) waitUntilIdle(v *user) error {
	var left error
	off := 0
	v.idleFrom = time.Now()
	for deadline := time.Now().Add(endLimit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var later bool
		if later, left = a.remaining(v); left == nil {
			return nil
		}
		if later && (off == 0 || off == 1 && time.Since(v.idleFrom) > soon) {
			off++
			if err := v.d.kill(time.Hour); err != nil {
				return err
			}
			v.idleFrom = time.Now()
		}
	}
	return left
}

// remaining returns the remaining work as an error. later means that it is only due later.
func (a *aws) remaining(v *user) (later bool, left error) {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	rows, err := a.rows(ctx)
	if err != nil {
		return false, err
	}
	executions, err := a.executions(ctx)
	if err != nil { // one that waits for the lease of a conclusion, whose invocation died, goes on later
		waits := slices.ContainsFunc(rows, func(row map[string]types.AttributeValue) bool {
			return strings.HasPrefix(text(row["DuePK"]), "CONCLUDING#")
		})
		return waits && time.Since(v.idleFrom) > soon, err
	}
	for _, row := range rows {
		pk, sk, due := text(row["PK"]), text(row["SK"]), text(row["DuePK"])
		_, id, _ := strings.Cut(pk, "#R#")
		status := text(row["status"])
		switch {
		case strings.HasPrefix(due, "CONCLUDING#"): // the model is asked now, or an invocation that died left it to the schedule
			left, later = errors.Join(left, fmt.Errorf("what came of run %s was not told", id)), later || time.Since(v.idleFrom) > soon
		case sk != "RUN" && due != "":
			left, later = errors.Join(left, fmt.Errorf("%s of %s is left to do", due, pk)), true
		case strings.HasPrefix(due, "UNPLACED#"): // the run ended, and the sweep places its receipt in the chain
			left, later = errors.Join(left, fmt.Errorf("the receipt of run %s has no place", id)), true
		case sk == "JOB" && executions[text(row["job_id"])] != 1:
			left = errors.Join(left, fmt.Errorf("job %s was started %d times", text(row["job_id"]), executions[text(row["job_id"])]))
		case sk != "RUN":
		case due != "" || !slices.Contains(terminal, status):
			left = errors.Join(left, fmt.Errorf("run %s is %s, and due", id, status))
		case executions[id] > 1, executions[id] > 0 && slices.Contains([]string{"expired", "superseded"}, status):
			left = errors.Join(left, fmt.Errorf("run %s is %s, and was started %d times", id, status, executions[id]))
		case executions[id] == 0 && (slices.Contains([]string{"done", "error", "in_doubt"}, status) || len(v.service.got(id)) > 0):
			left = errors.Join(left, fmt.Errorf("run %s is %s, and was never started", id, status))
		}
		if sk == "RUN" {
			delete(executions, id)
		}
		if sk == "JOB" {
			delete(executions, text(row["job_id"]))
		}
	}
	for id := range executions {
		left = errors.Join(left, fmt.Errorf("there is an execution of %s, and no such run", id))
	}
	return later, left
}

// executions counts executions by their name; a running one is an error.
func (a *aws) executions(ctx context.Context) (map[string]int, error) {
	machines, err := a.machines.ListStateMachines(ctx, &sfn.ListStateMachinesInput{})
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, m := range machines.StateMachines {
		list, err := a.machines.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: m.StateMachineArn})
		if err != nil {
			return nil, err
		}
		for _, x := range list.Executions {
			count[*x.Name]++
			if x.StopDate == nil {
				err = errors.Join(err, fmt.Errorf("execution %s is %s", *x.Name, x.Status))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return count, nil
}

// rows reads the whole table.
func (a *aws) rows(ctx context.Context) ([]map[string]types.AttributeValue, error) {
	names, err := a.tables.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return nil, err
	}
	var rows []map[string]types.AttributeValue
	for _, name := range names.TableNames {
		pages := dynamodb.NewScanPaginator(a.tables, &dynamodb.ScanInput{TableName: &name, ConsistentRead: sdk.Bool(true)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			rows = append(rows, page.Items...)
		}
	}
	return rows, nil
}

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
