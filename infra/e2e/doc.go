// Package e2e owns the proof that the deployed whole does its job: it builds the
// one-process deployment, starts it as a person would, and talks to it over HTTP,
// by signals and in a browser. There is no code here but tests.
//
// What stays true: the process under test is the real binary on a data folder of
// its own, and nothing in it knows that it is tested. What it talks to, a model
// provider and services to act on, are small real servers that record every
// request they get. Nothing sleeps to wait for something else: what must happen
// is polled until a deadline, and every process that is started is ended.
//
// Everything here holds in both modes of the deployment: functions in its process,
// and as the executables that deploy, in processes of their own:
//
//	go test ./infra/e2e
//	go test ./infra/e2e -lambda=process
//
// What can hold in one of them only says why, and is skipped in the other.
//
// testdata/script holds the dialogues. They read as a manual: each is one thing a
// person or a client does, with what they see. The commands they use are listed
// in script_test.go.
package e2e
