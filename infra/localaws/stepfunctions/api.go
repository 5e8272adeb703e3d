package stepfunctions

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"localaws/disk"
	"strings"
	"time"
	"unicode/utf16"
)

type startExecutionInput struct {
	ARN   string  `json:"stateMachineArn"`
	Name  string  `json:"name"`
	Input *string `json:"input"`
	Trace string  `json:"traceHeader"`
}

func (in *startExecutionInput) check() (input string, err error) {
	if in.Name == "" {
		in.Name = newUUID()
	}
	if err := checkName(in.Name); err != nil {
		return "", err
	}
	if in.Input == nil {
		return "{}", nil
	}
	input = *in.Input
	if len(input) > maxPayload {
		return "", invalid("input", "input", "Member must have length less than or equal to 262144")
	}
	if _, err := parseValue([]byte(input)); err != nil {
		why := jsonComplaint([]byte(input), err)
		if strings.TrimSpace(input) == "" {
			why = "Invalid execution input."
		}
		return "", refuse("InvalidExecutionInput", "Invalid State Machine Execution Input: '%s'", why)
	}
	return input, nil
}

// errNameTaken reports that an execution with that name exists.
var errNameTaken = errors.New("execution name is taken")

// startExecution makes one durable write: the execution, its name, and its states up to the first
// one that waits.
func (e *Engine) startExecution(in *startExecutionInput) (any, error) {
	if !e.isStarted() {
		return nil, errStopping
	}
	m, err := e.machines.get(in.ARN)
	if err != nil {
		return nil, err
	}
	input, err := in.check()
	if err != nil {
		return nil, err
	}
	if old, err := e.nameHolder(m.record.Name, in.Name); err != nil || old != nil {
		return e.answerRepeatedStart(old, input, err)
	}
	now := time.Now()
	rec := &executionRecord{
		Seq: e.nextSeq.Add(1), ARN: e.account.arn("execution", m.record.Name+":"+in.Name), Name: in.Name,
		Machine: m.record.Name, MachineARN: m.record.ARN, RoleARN: m.record.RoleARN,
		Definition: m.record.Definition, Revision: m.record.Revision, Trace: in.Trace,
		Input: input, Start: nanos(now), Status: statusRunning,
	}
	x := newExecution(e, rec, m.def)
	t := x.begin(now)
	old, err := x.create(t)
	if errors.Is(err, errNameTaken) {
		return e.answerRepeatedStart(old, input, nil)
	}
	if err != nil {
		return nil, err
	}
	return startResult(rec), nil
}

// begin computes the first transition. The execution stays busy until create.
func (x *execution) begin(now time.Time) *transition {
	x.busy = true
	t := newTransition(x, now)
	body := append(inputDetail("input", []byte(x.record.Input)), member{"roleArn", x.record.RoleARN})
	t.record("ExecutionStarted", 0, detail{"executionStartedEventDetails", body})
	root := &thread{x: x, id: rootThread, scope: x.def.root, state: x.def.root.startAt, input: x.input}
	x.threads[root.id], x.lastThread = root, root.id
	t.wake(root)
	t.run()
	return t
}

// create writes the execution and lets it run. It returns the other execution
// and errNameTaken when the name was taken first.
func (x *execution) create(t *transition) (old *executionRecord, err error) {
	begun := x.eng.outbox.changes(x.record) // numbered before the end, which may be in t
	first, err := t.entry()
	if err != nil {
		return nil, err
	}
	record, err := json.Marshal(x.record)
	if err != nil {
		return nil, err
	}
	err = x.eng.journal.store.Update(func(tx *disk.Tx) error {
		old, err = nameOwner(tx, x.record.Machine, x.record.Name, t.now)
		if err == nil && old != nil {
			err = errNameTaken
		}
		if err != nil {
			return err
		}
		return x.writeStart(tx, record, first, begun)
	})
	if err != nil {
		return old, err
	}
	x.eng.journal.committed()
	if t.end == nil {
		x.eng.adopt(x)
		x.start()
	}
	x.eng.outbox.deliver(begun)
	x.effect(t, first)
	if t.end == nil {
		x.eng.inBackground(func() { x.drain(t.ready) })
	}
	return nil, nil
}

func (x *execution) writeStart(tx *disk.Tx, record []byte, first *entry, begun []statusChange) error {
	key := seqKey(x.seq)
	for _, put := range []struct{ bucket, key, value []byte }{
		{bucketExecutions, key, record},
		{bucketNames, machineKey(x.record.Machine, []byte(x.record.Name)), key},
		{bucketIndex, machineKey(x.record.Machine, key), []byte{}},
		{bucketOpen, key, []byte{}},
	} {
		if err := bucket(tx, put.bucket).Put(put.key, put.value); err != nil {
			return err
		}
	}
	if err := putChanges(tx, begun); err != nil {
		return err
	}
	return first.write(tx)
}

// nameOwner returns the execution that has the name, if it still counts.
func nameOwner(tx *disk.Tx, machine, name string, now time.Time) (*executionRecord, error) {
	key := bucket(tx, bucketNames).Get(machineKey(machine, []byte(name)))
	if key == nil {
		return nil, nil
	}
	rec, err := readRecord(tx, binary.BigEndian.Uint64(key))
	if err != nil || rec == nil || (rec.Stop != 0 && now.Sub(fromNanos(rec.Stop)) > nameRetention) {
		return nil, err
	}
	return rec, nil
}

func (e *Engine) nameHolder(machine, name string) (rec *executionRecord, err error) {
	read := func(tx *disk.Tx) error {
		rec, err = nameOwner(tx, machine, name, time.Now())
		return err
	}
	if err = e.journal.store.View(read); err == nil && rec != nil && rec.Stop == 0 { // it may have ended since
		err = e.journal.read(read)
	}
	return rec, err
}

// answerRepeatedStart answers a start whose name is taken: the same execution while it is open and
// its input is the same, else an error.
func (e *Engine) answerRepeatedStart(old *executionRecord, input string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if old.Status == statusRunning && old.Input == input {
		return startResult(old), nil
	}
	return nil, refuse("ExecutionAlreadyExists", "Execution Already Exists: '%s'", old.ARN)
}

func startResult(rec *executionRecord) object {
	return object{{"executionArn", rec.ARN}, {"startDate", epoch(fromNanos(rec.Start))}}
}

// record returns the execution with this ARN.
func (e *Engine) record(arn string) (rec *executionRecord, err error) {
	machine, name, err := e.account.executionName(arn)
	if err != nil {
		return nil, err
	}
	err = e.journal.read(func(tx *disk.Tx) error {
		rec = nil
		key := bucket(tx, bucketNames).Get(machineKey(machine, []byte(name)))
		if key == nil {
			return nil
		}
		rec, err = readRecord(tx, binary.BigEndian.Uint64(key))
		return err
	})
	if err == nil && rec == nil {
		err = noExecution(arn)
	}
	return rec, err
}

// signal posts s and waits until its effect is durable. When the disk accepts no writes, signal
// returns an error at once; posted signals take effect when the disk accepts writes again.
func (e *Engine) signal(x *execution, s signal) error {
	if err := e.journal.store.Unwritable(); err != nil {
		return err
	}
	reply := make(chan error, 1)
	s.reply = reply
	if !e.inBackground(func() { x.post(s) }) {
		return errStopping
	}
	return <-reply
}

type stopExecutionInput struct {
	ARN   string `json:"executionArn"`
	Error string `json:"error"`
	Cause string `json:"cause"`
}

// checkErrorText checks the lengths of an error and a cause of a caller.
func checkErrorText(err, cause string) error {
	switch {
	case len(utf16.Encode([]rune(err))) > maxErrorText:
		return invalid("error", "error", "Member must have length less than or equal to 256")
	case len(utf16.Encode([]rune(cause))) > maxCauseText:
		return invalid("cause", "cause", "Member must have length less than or equal to 32768")
	}
	return nil
}

func (e *Engine) stopExecution(in *stopExecutionInput) (any, error) {
	if err := checkErrorText(in.Error, in.Cause); err != nil {
		return nil, err
	}
	rec, err := e.record(in.ARN)
	if err != nil {
		return nil, err
	}
	if x := e.find(rec.Seq); x != nil {
		err := e.signal(x, signal{kind: signalStop, fail: &failure{name: in.Error, cause: in.Cause}})
		if err != nil && !errors.Is(err, errOver) {
			return nil, err
		}
	}
	if rec, err = e.record(in.ARN); err != nil {
		return nil, err
	}
	if rec.Stop == 0 { // open, and the engine was not started
		return nil, errStopping
	}
	return object{{"stopDate", epoch(fromNanos(rec.Stop))}}, nil
}

type executionInput struct {
	ARN string `json:"executionArn"`
}

func (e *Engine) describeExecution(in *executionInput) (any, error) {
	rec, err := e.record(in.ARN)
	if err != nil {
		return nil, err
	}
	included := object{{"included", true}}
	out := append(summary(rec), object{
		{"redriveCount", number(0)},
		{"redriveStatus", "NOT_REDRIVABLE"},
		{"redriveStatusReason", "Execution is " + rec.Status + " and cannot be redriven"},
		{"input", rec.Input},
		{"inputDetails", included},
	}...)
	if rec.Status == statusSucceeded {
		out = append(out, member{"output", rec.Output}, member{"outputDetails", included})
	}
	if rec.Trace != "" {
		out = append(out, member{"traceHeader", rec.Trace})
	}
	return append(out, errorDetail(rec.Error, rec.Cause)...), nil
}

// summary returns the fields of an execution in lists.
func summary(rec *executionRecord) object {
	out := object{
		{"executionArn", rec.ARN},
		{"stateMachineArn", rec.MachineARN},
		{"name", rec.Name},
		{"status", rec.Status},
		{"startDate", epoch(fromNanos(rec.Start))},
	}
	if rec.Stop != 0 {
		out = append(out, member{"stopDate", epoch(fromNanos(rec.Stop))})
	}
	return out
}

func (e *Engine) describeForExecution(in *executionInput) (any, error) {
	rec, err := e.record(in.ARN)
	if err != nil {
		return nil, err
	}
	var text string
	if err := e.journal.read(func(tx *disk.Tx) error {
		text, err = definitionText(tx, rec.Definition)
		return err
	}); err != nil {
		return nil, err
	}
	current := &machineRecord{Updated: rec.Start}
	if m, err := e.machines.get(rec.MachineARN); err == nil {
		current = m.record
	}
	out := object{
		{"stateMachineArn", rec.MachineARN},
		{"name", rec.Machine},
		{"definition", text},
		{"roleArn", rec.RoleARN},
		{"updateDate", epoch(fromNanos(current.Updated))},
	}
	out = append(out, current.settings()...)
	if rec.Revision != "" {
		out = append(out, member{"revisionId", rec.Revision})
	}
	return out, nil
}
