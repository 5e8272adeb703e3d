package boot

import (
	"fmt"
	"net/http"
	"os"

	"piloto/internal/gateway"
)

// StartChat runs functions/chat. Like every Start function it reads the
// environment, serves the Lambda runtime, and does not return.
func StartChat() { StartHTTP(Chat) }

// StartConfirm runs functions/confirm.
func StartConfirm() { StartHTTP(Confirm) }

// StartEligibility runs functions/eligibility.
func StartEligibility() { StartHTTP(Eligibility) }

// StartRecords runs functions/records.
func StartRecords() { StartHTTP(Records) }

// StartStep runs functions/step.
func StartStep() { startTask(Step) }

// StartSettle runs functions/settle.
func StartSettle() { startTask(Settle) }

// StartSweep runs functions/sweep.
func StartSweep() { startTask(Sweep) }

// StartAuthorize runs functions/authorize.
func StartAuthorize() { startTask(Authorize) }

// StartHTTP runs a function that answers HTTP, for the packages below this one. Like
// every Start function it reads the environment, serves the Lambda runtime, and does
// not return.
func StartHTTP(build func(World, Environment) (http.Handler, error)) {
	e := environ()
	w, err := lambdaWorld(e).placed(e)
	must(err)
	h, err := build(w, e)
	must(err)
	gateway.StartHTTP(h)
}

func startTask(build func(World, Environment) (gateway.Function, error)) {
	e := environ()
	w, err := lambdaWorld(e).placed(e)
	must(err)
	f, err := build(w, e)
	must(err)
	gateway.StartFunction(f)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
