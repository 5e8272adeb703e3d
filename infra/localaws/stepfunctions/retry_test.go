package stepfunctions

import (
	"testing"
	"time"
)

func TestRetryDelays(t *testing.T) {
	for _, c := range []struct {
		r     retrier
		count int
		want  time.Duration
	}{
		{retrier{interval: 1, backoff: 2}, 0, time.Second},
		{retrier{interval: 1, backoff: 2}, 5, 32 * time.Second},
		{retrier{interval: 3, backoff: 1.5}, 2, 6750 * time.Millisecond},
		{retrier{interval: 1, backoff: 10, maxDelay: 60}, 8, time.Minute},
		{retrier{interval: 99_999_999, backoff: 2}, 5000, maxSeconds * time.Second},
	} {
		if got := c.r.delay(c.count); got != c.want {
			t.Errorf("%+v after %d retries waits %s, want %s", c.r, c.count, got, c.want)
		}
		c.r.jitter = true
		low, high := c.want, time.Duration(0)
		for range 200 {
			got := c.r.delay(c.count)
			low, high = min(low, got), max(high, got)
		}
		if low > c.want/4 || high < c.want/4*3 || high > c.want {
			t.Errorf("%+v with full jitter waits between %s and %s, want all of 0 to %s", c.r, low, high, c.want)
		}
	}
}

func TestFailuresMatchErrorEquals(t *testing.T) {
	for _, c := range []struct {
		f     failure
		names []string
		want  bool
	}{
		{failure{name: "X"}, []string{"Y", "X"}, true},
		{failure{name: "X"}, []string{"States.ALL"}, true},
		{failure{name: "X"}, []string{"States.TaskFailed"}, true},
		{failure{name: errTimeout}, []string{"States.TaskFailed"}, false},
		{failure{name: errTimeout}, []string{"States.Timeout"}, true},
		{failure{name: errTimeout, alias: errHeartbeat}, []string{"States.HeartbeatTimeout"}, true},
		{failure{name: "X", branch: true}, []string{"States.BranchFailed"}, true},
		{failure{name: "X"}, []string{"States.BranchFailed"}, false},
		{failure{name: errRuntime, final: true, branch: true}, []string{"States.BranchFailed"}, false},
		{*runtimeFailure("x"), []string{"States.ALL"}, false},
		{*runtimeFailure("x"), []string{"States.Runtime"}, false},
	} {
		if got := c.f.matches(c.names); got != c.want {
			t.Errorf("%s matches %v: %t", c.f.name, c.names, got)
		}
	}
}
