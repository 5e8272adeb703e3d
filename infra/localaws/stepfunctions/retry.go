package stepfunctions

import (
	"math"
	mathrand "math/rand/v2"
	"slices"
	"time"
)

// A retrier is one entry of Retry.
type retrier struct {
	errors   []string
	interval int // seconds before the first retry
	attempts int
	backoff  float64
	maxDelay int // seconds; 0 means unbounded
	jitter   bool
}

// A catcher is one entry of Catch.
type catcher struct {
	errors     []string
	next       string
	resultPath *path // nil: the error output is dropped
}

// maxDelaySeconds is AWS's bound on MaxDelaySeconds. Its documentation excludes the bound itself,
// and requires an IntervalSeconds of at least 1; its validation accepts both.
const maxDelaySeconds = 31_622_400

func (r *reader) retriers(obj object, at string) []retrier {
	items := r.list(obj, "Retry", at, false)
	var out []retrier
	for i, item := range items {
		here := pointer(at+"/Retry", i)
		r.onlyFields(item, here, "Comment", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate",
			"MaxDelaySeconds", "JitterStrategy")
		x := retrier{interval: 1, attempts: 3}
		x.errors = r.errorNames(item, here, i == len(items)-1)
		if n, ok := r.count(item, "IntervalSeconds", here, 0, maxSeconds); ok {
			x.interval = n
		}
		if n, ok := r.count(item, "MaxAttempts", here, 0, maxSeconds); ok {
			x.attempts = n
		}
		x.backoff = r.number(item, "BackoffRate", here, 1, 2)
		if n, ok := r.count(item, "MaxDelaySeconds", here, 1, maxDelaySeconds); ok {
			x.maxDelay = n
		}
		if v, ok := item.get("JitterStrategy"); ok {
			x.jitter = v == "FULL"
			if v != "FULL" && v != "NONE" {
				r.schema(here+"/JitterStrategy", "Value should be one of the following: [NONE, FULL]")
			}
		}
		out = append(out, x)
	}
	return out
}

func (r *reader) catchers(obj object, at string) []catcher {
	items := r.list(obj, "Catch", at, false)
	var out []catcher
	for i, item := range items {
		here := pointer(at+"/Catch", i)
		r.onlyFields(item, here, "Comment", "ErrorEquals", "Next", "ResultPath")
		x := catcher{errors: r.errorNames(item, here, i == len(items)-1), next: r.requiredText(item, "Next", here)}
		var holder state
		r.resultPath(&holder, item, here)
		x.resultPath = holder.resultPath
		out = append(out, x)
	}
	return out
}

// errorNames reads ErrorEquals; States.ALL stands alone and last.
func (r *reader) errorNames(obj object, at string, last bool) []string {
	v, there := obj.get("ErrorEquals")
	items, ok := v.([]any)
	if !there {
		r.schema(at, "These fields are required: [ErrorEquals]")
		return nil
	}
	if !ok {
		r.schema(at+"/ErrorEquals", "Expected value of type Array")
		return nil
	}
	if len(items) == 0 {
		r.schema(at+"/ErrorEquals", "Value cannot be empty")
		return nil
	}
	var names []string
	for i, item := range items {
		name, ok := item.(string)
		if !ok {
			r.schema(pointer(at+"/ErrorEquals", i), "Expected value of type String")
		}
		if name == errAll && (len(items) > 1 || !last) {
			r.schema(at+"/ErrorEquals", "States.ALL must appear alone and at end of list")
		}
		names = append(names, name)
	}
	return names
}

// retryDelay finds the retrier for f on a state; used counts how often each retrier was used. It
// returns the retrier and the delay before the next attempt.
func retryDelay(list []retrier, used []int, f *failure) (which int, delay time.Duration, ok bool) {
	for i := range list {
		if !f.matches(list[i].errors) {
			continue
		}
		count := 0
		if i < len(used) {
			count = used[i]
		}
		if count >= list[i].attempts {
			return 0, 0, false
		}
		return i, list[i].delay(count), true
	}
	return 0, 0, false
}

// delay returns the delay before the retry that follows count earlier ones: interval·backoff^count,
// at most maxDelay, then a random part of it when jitter is on.
func (x *retrier) delay(count int) time.Duration {
	s := float64(x.interval) * math.Pow(x.backoff, float64(count))
	limit := float64(maxSeconds)
	if x.maxDelay > 0 {
		limit = float64(x.maxDelay)
	}
	s = min(s, limit)
	if x.jitter {
		s *= mathrand.Float64()
	}
	return time.Duration(s * float64(time.Second))
}

// findCatcher returns the first catcher for f.
func findCatcher(list []catcher, f *failure) *catcher {
	i := slices.IndexFunc(list, func(c catcher) bool { return f.matches(c.errors) })
	if i < 0 {
		return nil
	}
	return &list[i]
}
