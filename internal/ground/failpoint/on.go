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

// On says whether moments are compiled in.
const On = true

var armed struct {
	sync.Mutex
	point string         // "moment#n"; empty: none
	trace *os.File       // of the moments that passed, one to a line; nil: none is kept
	hits  map[string]int // by moment
	ahead time.Duration  // of the clock
}

// Arm names the moment to die at ("moment#n"; empty: none), the file that each
// moment is appended to (empty: none), and how far ahead the clock goes. An append
// that was made survives the process.
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

// Here is a moment.
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
		select {} // the lock is kept: nothing passes any more
	}
}

// At is the moment before or after something of an owner: "owner.what.moment".
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

// Clock is the clock to go by: now, as far ahead as was asked for.
func Clock(now func() time.Time) func() time.Time {
	armed.Lock()
	defer armed.Unlock()
	ahead := armed.ahead
	return func() time.Time { return now().Add(ahead) }
}
