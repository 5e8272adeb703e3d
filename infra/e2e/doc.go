// Package e2e tests the whole deployment: it builds the one-process deployment, starts it as a person would, and
// talks to it over HTTP, by signals and in a browser. It contains only tests.
//
// The process under test is the real binary on its own data folder, and nothing in it depends on the test. Its
// model provider and services are small real servers that record every request. No test sleeps to wait for an
// event: it polls until a deadline. Every process that a test starts is ended.
//
// All tests run in both modes of the deployment: with functions in its process, and with functions as the deployed
// executables, in processes of their own:
//
//	go test ./infra/e2e
//	go test ./infra/e2e -lambda=process
//
// A test that can pass in only one mode is skipped in the other, with a reason.
//
// testdata/script holds the dialogues. They read as a manual: each shows one thing that a person or a client does,
// and the responses. The commands are listed in script_test.go.
package e2e
