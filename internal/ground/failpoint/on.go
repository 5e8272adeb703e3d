//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// On reports whether failpoints are compiled in.
const On = true

var armed struct {
	sync.Mutex
	point string         // "moment#n"; empty: none
	trace *os.File       // one line for each passed failpoint; nil: no trace
	hits  map[string]int // by failpoint
	ahead time.Duration  // how far the clock is ahead
}

// Arm sets the failpoint at which the process dies ("moment#n"; empty: none), the file to which each passed
// failpoint is appended (empty: none), and how far the clock is ahead. A finished append survives the process.
func Arm(point, trace string, ahead time.Duration) error {
	armed.Lock()
	defer armed.Unlock()
	armed.point, armed.ahead, armed.hits = point, ahead, map[string]int{}
	if trace == "" {
		return nil
	}
	f, err := os.OpenFile(trace, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	armed.trace = f
	return err
}

// Here marks a failpoint: it counts and traces the pass, and kills the process at the armed one.
func Here(name string) {
	armed.Lock()
	defer armed.Unlock()
	if armed.hits == nil || armed.point == "" && armed.trace == nil {
		return
	}
	armed.hits[name]++
	hit := fmt.Sprintf("%s#%d", name, armed.hits[name])
	if armed.trace != nil {
		_, _ = armed.trace.WriteString(hit + "\n")
	}
	if hit == armed.point {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the lock is kept, so that no other failpoint passes
	}
}

// At marks the failpoint "owner.what.moment".
func At(owner, what, moment string) { Here(owner + "." + what + "." + moment) }

// Verb is At for the nearest exported method on the stack of a type as the runtime writes it:
// "Type" or "(*Type)". Its name is "owner.Method.moment"; the owner "" stands for the package of
// the type.
func Verb(owner, of, moment string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if path, method, ok := strings.Cut(frame.Function, "."+of+"."); ok {
			method, _, _ = strings.Cut(method, ".")
			if method != "" && method[0] >= 'A' && method[0] <= 'Z' {
				if owner == "" {
					owner = path[strings.LastIndexByte(path, '/')+1:]
				}
				At(owner, method, moment)
				return
			}
		}
		if !more {
			At(owner, "unnamed", moment)
			return
		}
	}
}

// Clock returns the clock to use: now, plus the armed difference.
func Clock(now func() time.Time) func() time.Time {
	armed.Lock()
	defer armed.Unlock()
	ahead := armed.ahead
	return func() time.Time { return now().Add(ahead) }
}
