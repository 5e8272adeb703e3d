package stepfunctions

import (
	"errors"
	"localaws/disk"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// TestDamagedJournalRefusesToStart: an open execution that cannot be read is never silently lost.
func TestDamagedJournalRefusesToStart(t *testing.T) {
	for name, damage := range map[string]func(tx *disk.Tx) error{
		"thread":     func(tx *disk.Tx) error { return bucket(tx, bucketJournal).Put(threadKey(1, rootThread), []byte{9, 9}) },
		"record":     func(tx *disk.Tx) error { return bucket(tx, bucketExecutions).Put(seqKey(1), []byte("{")) },
		"no record":  func(tx *disk.Tx) error { return bucket(tx, bucketExecutions).Delete(seqKey(1)) },
		"definition": func(tx *disk.Tx) error { return deletePrefix(bucket(tx, bucketDefinitions), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "", &functions{}).start()
				w.run(w.create("m", waitMachine), "r", "{}")
				w.close()
				store, err := disk.Open(w.path)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
				if err := store.Update(damage); err != nil {
					t.Fatal(err)
				}
				e, err := Open(store, w.fns, quiet())
				if err == nil {
					err = e.Start(ctx)
					_ = e.Close()
				}
				if err == nil || (name != "record" && !errors.Is(err, errCodec)) {
					t.Errorf("started: %v", err)
				}
			})
		})
	}
}

// TestClosedStoreStopsExecutionsWithoutActing: an effect that cannot be recorded does not happen.
func TestClosedStoreStopsExecutionsWithoutActing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fns := &functions{}
		w := newWorld(t, "", fns).start()
		arn := w.create("m", `{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":5,"Next":"T"},"T":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","End":true}}}`)
		w.run(arn, "r", "{}")
		if err := w.store.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(fns.Calls()) != 0 {
			t.Error("a task ran that is not in the journal")
		}
		_, err := w.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn})
		checkRefusal(t, err, "InternalServerError", "Internal error")
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
}
