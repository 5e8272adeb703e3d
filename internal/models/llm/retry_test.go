package llm_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/internal/ground/fault"
	"piloto/internal/models/llm"
)

// provider is a scripted model: one line for each call, the last one for all further calls.
type provider struct {
	lines []line
	calls int
	at    []time.Duration // since born
	born  time.Time
}

type line struct {
	takes time.Duration
	said  []string // sent to the sink
	reply llm.Reply
	err   error
}

func (p *provider) Complete(ctx context.Context, r llm.Request) (llm.Reply, error) {
	l := p.lines[min(p.calls, len(p.lines)-1)]
	p.calls++
	p.at = append(p.at, time.Since(p.born))
	for _, s := range l.said {
		r.Sink.Text(s)
	}
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		text := strings.Join(l.said, "")
		return llm.Reply{Text: text, Usage: llm.Usage{Output: 3, Estimated: true}}, llm.Stopped(ctx)
	}
	return l.reply, l.err
}

// page is the text that a person sees.
type page struct {
	text   string
	resets int
}

func (p *page) Text(delta string) { p.text += delta }
func (p *page) Reset()            { p.text, p.resets = "", p.resets+1 }

func longest(d time.Duration) time.Duration { return d }

var patient = llm.Retry{Most: 4, Base: time.Second, Cap: 3 * time.Second, Now: time.Now, Rand: longest}

func failing(errs ...error) *provider {
	p := &provider{born: time.Now()}
	for _, err := range errs {
		p.lines = append(p.lines, line{err: err, reply: llm.Reply{Provider: "p"}})
		if err == nil {
			p.lines[len(p.lines)-1].reply.Text = "hola"
		}
	}
	return p
}

func TestOnlyTransientFailuresAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		again bool
	}{
		"limited":                 {llm.ErrLimited, true},
		"unreachable":             {llm.ErrUnreachable.Because(io.ErrUnexpectedEOF), true},
		"a refused key":           {llm.ErrNoKey, false},
		"a refused request":       {llm.ErrRefused, false},
		"stopped by someone else": {llm.ErrStopped, false},
		"not a fault":             {io.EOF, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := failing(c.err, nil)
				reply, err := patient.Complete(t.Context(), p, llm.Request{}, nil)
				if c.again && (err != nil || reply.Text != "hola" || p.calls != 2) {
					t.Errorf("%+v, %v after %d calls", reply, err, p.calls)
				}
				if !c.again && (!errors.Is(err, c.err) || p.calls != 1) {
					t.Errorf("%v after %d calls", err, p.calls)
				}
			})
		})
	}
}

func TestTheWaitsDoubleUpToTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing(llm.ErrUnreachable)
		reply, err := llm.Retry{Most: 6, Base: time.Second, Cap: 5 * time.Second, Now: time.Now, Rand: longest}.
			Complete(t.Context(), p, llm.Request{}, nil)
		if !errors.Is(err, llm.ErrUnreachable) || reply.Text != "" {
			t.Errorf("%+v, %v", reply, err)
		}
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second, 17 * time.Second}
		if d := cmp.Diff(want, p.at); d != "" {
			t.Error(d)
		}
	})
}

func TestTheJitterIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var asked []time.Duration
		draw := func(d time.Duration) time.Duration {
			asked = append(asked, d)
			return time.Duration(random.Int64N(int64(d)))
		}
		p := failing(llm.ErrLimited)
		_, err := llm.Retry{Most: 5, Base: time.Second, Cap: 4 * time.Second, Now: time.Now, Rand: draw}.
			Complete(t.Context(), p, llm.Request{}, nil)
		if d := cmp.Diff([]time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second}, asked); d != "" || err == nil {
			t.Error(d, err)
		}
	})
}

func TestAZeroRetryTriesOnce(t *testing.T) {
	p := failing(llm.ErrLimited)
	_, err := llm.Retry{Now: time.Now}.Complete(t.Context(), p, llm.Request{}, nil)
	if !errors.Is(err, llm.ErrLimited) || p.calls != 1 {
		t.Errorf("%v after %d calls", err, p.calls)
	}
	synctest.Test(t, func(t *testing.T) {
		p := failing(llm.ErrLimited, nil) // without a base there is no jitter to draw
		if _, err := (llm.Retry{Most: 2, Now: time.Now}).Complete(t.Context(), p, llm.Request{}, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestRetryWaitsAsLongAsTheProviderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing(llm.WithRetryAfter(llm.ErrLimited, 7*time.Second), nil)
		if _, err := patient.Complete(t.Context(), p, llm.Request{}, nil); err != nil || p.at[1] != 8*time.Second {
			t.Errorf("%v, asked again at %v", err, p.at)
		}
	})
}

func TestAWaitThatDoesNotFitEndsAtOnce(t *testing.T) {
	for asked, fits := range map[time.Duration]bool{9 * time.Second: true, 10 * time.Second: false, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			p := failing(llm.WithRetryAfter(llm.ErrLimited, asked), nil)
			_, err := patient.Complete(ctx, p, llm.Request{}, nil)
			if fits {
				if err != nil || p.at[1] < asked || p.at[1] > asked+500*time.Millisecond {
					t.Errorf("%v: %v, asked again at %v", asked, err, p.at)
				}
				return
			}
			if after, ok := llm.RetryAfter(err); !errors.Is(err, llm.ErrLimited) || !ok || after != min(asked, llm.MaxRetryAfter) {
				t.Errorf("%v: %v, %v", asked, err, after)
			}
			if waited := time.Since(p.born); waited != 0 {
				t.Errorf("%v: it was waited %v for nothing", asked, waited)
			}
		})
	}
}

func TestTheJitterLeavesTheAttemptHalfOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := failing(llm.ErrUnreachable, nil)
		if _, err := patient.Complete(ctx, p, llm.Request{}, nil); err != nil || p.at[1] != 500*time.Millisecond {
			t.Errorf("%v, asked again at %v", err, p.at)
		}
	})
}

func TestStopEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := failing(llm.WithRetryAfter(llm.ErrLimited, time.Minute))
		time.AfterFunc(2*time.Second, cancel)
		_, err := patient.Complete(ctx, p, llm.Request{}, nil)
		if !errors.Is(err, context.Canceled) || !llm.ErrStopped.Is(fault.Of(err)) || !errors.Is(err, llm.ErrLimited) {
			t.Errorf("%v", err)
		}
		if waited := time.Since(p.born); waited != 2*time.Second || p.calls != 1 {
			t.Errorf("%d calls in %v", p.calls, waited)
		}
	})
}

func TestTheTextSoFarIsReturnedWhenTheContextEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want []error
	}{
		"stopped": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, []error{context.Canceled, llm.ErrStopped}},
		"out of time": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, []error{context.DeadlineExceeded, llm.ErrUnreachable}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := c.end(t.Context())
				defer cancel()
				p := &provider{lines: []line{{takes: time.Hour, said: []string{"ho", "la"}}}, born: time.Now()}
				var seen page
				var attempts []llm.Attempt
				reply, err := patient.Complete(ctx, p, llm.Request{Sink: &seen}, func(a llm.Attempt) { attempts = append(attempts, a) })
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("%v is not %v", err, want)
					}
				}
				if reply.Text != "hola" || !reply.Usage.Estimated || seen.text != "hola" || seen.resets != 0 {
					t.Errorf("%+v; the page shows %+v", reply, seen)
				}
				if len(attempts) != 1 || attempts[0].Outcome != fault.Of(c.want[1]).Code {
					t.Errorf("%+v", attempts)
				}
			})
		})
	}
}

func TestTheSinkReceivesTheReturnedText(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []line
		want   string
		resets int
	}{
		"at once":                     {[]line{{said: []string{"uno"}, reply: llm.Reply{Text: "uno"}}}, "uno", 0},
		"after a cut":                 {[]line{{said: []string{"un"}, err: llm.ErrUnreachable}, {said: []string{"dos"}, reply: llm.Reply{Text: "dos"}}}, "dos", 1},
		"after silence":               {[]line{{err: llm.ErrLimited}, {said: []string{"dos"}, reply: llm.Reply{Text: "dos"}}}, "dos", 0},
		"what nobody sees":            {[]line{{said: []string{"\u200b", "\n\u2060"}, reply: llm.Reply{Text: "\u200b\n\u2060"}}}, "", 1},
		"seen beside unseen":          {[]line{{said: []string{"\u200buno"}, reply: llm.Reply{Text: "\u200buno"}}}, "\u200buno", 0},
		"never":                       {[]line{{said: []string{"a"}, err: llm.ErrUnreachable}}, "", 4},
		"refused in the middle of it": {[]line{{said: []string{"a"}, err: llm.ErrRefused}}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{lines: c.lines, born: time.Now()}
				var seen page
				reply, _ := patient.Complete(t.Context(), p, llm.Request{Sink: &seen}, nil)
				if reply.Text != c.want || seen.text != c.want || seen.resets != c.resets {
					t.Errorf("%+v; the page shows %+v", reply, seen)
				}
			})
		})
	}
}

func TestEveryAttemptIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &provider{born: start, lines: []line{
			{takes: time.Second, err: llm.ErrLimited, reply: llm.Reply{Provider: "groq", Model: "m"}},
			{takes: 2 * time.Second, err: llm.ErrUnreachable},
			{takes: 3 * time.Second, reply: llm.Reply{Text: "a", Provider: "groq", Model: "m-2", Usage: llm.Usage{Input: 5, Output: 1}}},
		}}
		var got []llm.Attempt
		_, err := llm.Retry{Most: 3, Base: time.Second, Cap: time.Second, Now: time.Now, Rand: longest}.
			Complete(t.Context(), p, llm.Request{Model: "m"}, func(a llm.Attempt) { got = append(got, a) })
		want := []llm.Attempt{
			{At: start.Add(1 * time.Second), Provider: "groq", Model: "m", Outcome: "rate_limited", Latency: time.Second},
			{At: start.Add(4 * time.Second), Model: "m", Outcome: "provider_unreachable", Latency: 2 * time.Second},
			{At: start.Add(8 * time.Second), Provider: "groq", Model: "m-2", Outcome: llm.OK, Latency: 3 * time.Second, Usage: llm.Usage{Input: 5, Output: 1}},
		}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

func TestTheProvidersWaitIsBoundedAndReturned(t *testing.T) {
	for after, want := range map[time.Duration]string{
		0: "0", time.Millisecond: "1", 1500 * time.Millisecond: "2", time.Minute: "60", time.Hour: "300", -time.Second: "",
	} {
		err := llm.WithRetryAfter(llm.ErrLimited.Because(io.EOF), after)
		got, ok := llm.RetryAfter(err)
		if ok != (want != "") || ok && got != min(after, llm.MaxRetryAfter) || err.Args["retry_after"] != want {
			t.Errorf("%v: %v %v %v", after, got, ok, err.Args)
		}
		if !errors.Is(err, llm.ErrLimited) || !errors.Is(err, io.EOF) {
			t.Errorf("%v: %v lost what it is", after, err)
		}
	}
	if _, ok := llm.RetryAfter(llm.ErrLimited); ok || llm.ErrLimited.Args != nil {
		t.Error("nothing was asked")
	}
}

// breaking is a model that writes a text and fails while its caller stops it.
type breaking struct{ stop func() }

func (b breaking) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	r.Sink.Text("a")
	b.stop()
	return llm.Reply{}, llm.ErrUnreachable
}

func TestAFailureDuringAStopIsAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seen page
	reply, err := patient.Complete(ctx, breaking{cancel}, llm.Request{Sink: &seen}, nil)
	if !errors.Is(err, context.Canceled) || !llm.ErrStopped.Is(fault.Of(err)) || reply.Text != seen.text {
		t.Errorf("%+v, %v; the page shows %q", reply, err, seen.text)
	}
}
