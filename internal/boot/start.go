package boot

import (
	"fmt"
	"net/http"
	"os"

	"piloto/internal/edge/gateway"
)

// StartConfirm runs functions/confirm. Like every Start function it reads the
// environment, serves the Lambda runtime, and does not return.
func StartConfirm() { StartHTTP(Confirm) }

// StartEligibility runs functions/eligibility.
func StartEligibility() { StartHTTP(Eligibility) }

// StartAuthorize runs functions/authorize.
func StartAuthorize() { StartTask(Authorize) }

// StartHTTP runs an HTTP function, for the packages below this one. Like every Start function it reads the
// environment, serves the Lambda runtime, and does not return.
func StartHTTP(build func(World, Environment) (http.Handler, error)) {
	e := environ()
	e.paceGC()
	w, err := lambdaWorld(e).withLocal(e)
	must(err)
	h, err := build(w, e)
	must(err)
	c, err := read[Edge](e)
	must(err)
	c.edge().StartHTTP(h)
}

// StartTask runs a function that a state machine or AWS invokes, for the same packages.
func StartTask(build func(World, Environment) (gateway.Function, error)) {
	e := environ()
	e.paceGC()
	w, err := lambdaWorld(e).withLocal(e)
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
