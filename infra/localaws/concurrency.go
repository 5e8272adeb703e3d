package localaws

import (
	"context"
	"localaws/stepfunctions"
	"net/http"
)

// limited calls functions as an account of Lambda does: as many at once as it has places.
type limited struct {
	functions stepfunctions.Invoker
	places    chan struct{} // holds a token for each call under way
}

// Limited returns an invoker that calls at most most functions at once. A further call is refused at once with Lambda's
// TooManyRequestsException, and its function does not run.
func Limited(functions stepfunctions.Invoker, most int) stepfunctions.Invoker {
	return limited{functions, make(chan struct{}, most)}
}

// Invoke implements stepfunctions.Invoker.
func (l limited) Invoke(ctx context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	select {
	case l.places <- struct{}{}:
	default:
		return nil, nil, &serviceFault{code: "TooManyRequestsException", message: "Rate Exceeded.", status: http.StatusTooManyRequests}
	}
	defer func() { <-l.places }()
	return l.functions.Invoke(ctx, arn, payload)
}
