package stepfunctions

import (
	"bytes"
	"encoding/binary"
	"localaws/disk"
	"slices"
	"strconv"
	"strings"
)

type listExecutionsInput struct {
	ARN     string `json:"stateMachineArn"`
	MapRun  string `json:"mapRunArn"`
	Status  string `json:"statusFilter"`
	Redrive string `json:"redriveFilter"`
	pageInput
}

var executionStatuses = []string{"SUCCEEDED", "TIMED_OUT", "PENDING_REDRIVE", "ABORTED", "FAILED", "RUNNING"}

// listExecutions lists the newest first.
func (e *Engine) listExecutions(in *listExecutionsInput) (any, error) {
	switch {
	case in.MapRun != "" || in.Redrive != "":
		return nil, refuse("ValidationException", "Map runs and redrives are not supported by this deployment")
	case in.Status != "" && !slices.Contains(executionStatuses, in.Status):
		return nil, invalid(in.Status, "statusFilter", "Member must satisfy enum value set: ["+strings.Join(executionStatuses, ", ")+"]")
	}
	m, err := e.machines.get(in.ARN)
	if err != nil {
		return nil, err
	}
	scope := "executions " + m.record.Name + " " + in.Status
	limit, after, err := in.page(scope, 3096)
	if err != nil {
		return nil, err
	}
	before := ^uint64(0)
	if after != "" {
		if before, err = strconv.ParseUint(after, 10, 64); err != nil {
			return nil, refuse("InvalidToken", "Invalid Token: 'Invalid token'")
		}
	}
	var list []any
	var more bool
	err = e.journal.read(func(tx *disk.Tx) error {
		list, more, err = listBefore(tx, m.record.Name, in.Status, &before, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := object{{"executions", list}}
	if more {
		out = append(out, member{"nextToken", pageToken(scope, strconv.FormatUint(before, 10))})
	}
	return out, nil
}

// listBefore lists executions older than before, which it moves to the last one listed; more
// reports whether there are others.
func listBefore(tx *disk.Tx, machine, status string, before *uint64, limit int) (list []any, more bool, err error) {
	list = []any{}
	prefix := machineKey(machine, nil)
	c := bucket(tx, bucketIndex).Cursor()
	start := machineKey(machine, seqKey(*before))
	k, _ := c.Seek(start)
	if k == nil {
		k, _ = c.Last()
	}
	for ; k != nil && (bytes.Compare(k, start) >= 0); k, _ = c.Prev() {
	}
	for ; hasPrefix(k, prefix) && len(k) == len(prefix)+8; k, _ = c.Prev() {
		rec, err := readRecord(tx, binary.BigEndian.Uint64(k[len(prefix):]))
		if err != nil {
			return nil, false, err
		}
		if rec == nil || (status != "" && rec.Status != status) {
			continue
		}
		if len(list) == limit {
			return list, true, nil
		}
		list = append(list, append(summary(rec), member{"redriveCount", number(0)}))
		*before = rec.Seq
	}
	return list, false, nil
}
